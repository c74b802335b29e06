//! Reads one sample of perf: whose it is, its registers and the top of its stack.

use super::code::{REGISTERS, Registers};

pub struct Sample<'a> {
    pub tid: i32,
    /// The kernel's number of the event.
    pub event: u16,
    pub registers: Registers,
    pub stack: &'a [u8],
}

impl<'a> Sample<'a> {
    /// `None` if the kernel could not copy registers, or those of a program of 32 bits.
    pub fn of(contents: &'a [u8]) -> Option<Self> {
        const OF_64_BITS: u64 = 2;
        let mut parts = Parts(contents);
        parts.half()?;
        let tid = i32::try_from(parts.half()?).ok()?;
        parts.word()?;
        let length = usize::try_from(parts.half()?).ok()?;
        let event = u16::from_ne_bytes(*parts.bytes(length)?.first_chunk()?);
        if parts.word()? != OF_64_BITS {
            return None;
        }
        let count = usize::try_from(REGISTERS.count_ones()).ok()?;
        let values: Vec<u64> = (0..count).map_while(|_| parts.word()).collect();
        let size = usize::try_from(parts.word()?).ok()?;
        let copied = parts.bytes(size)?;
        let filled = parts.word().and_then(|filled| usize::try_from(filled).ok()).unwrap_or(0);
        let stack = copied.get(..filled).unwrap_or(copied);
        Some(Self { tid, event, registers: Registers::of(values.into_iter()), stack })
    }
}

/// The time of a sample, which stands behind its ids, in nanoseconds.
pub fn time(contents: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(*contents.get(8..)?.first_chunk()?))
}

/// Reads the parts of a record one after the other.
pub struct Parts<'a>(pub &'a [u8]);

impl<'a> Parts<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(part)
    }

    pub fn half(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub fn word(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_sample_is_none() {
        for length in 0..64 {
            assert!(Sample::of(&vec![0xff; length]).is_none());
        }
        assert_eq!((time(&[0; 15]), time(&[0; 16])), (None, Some(0)));
    }
}
