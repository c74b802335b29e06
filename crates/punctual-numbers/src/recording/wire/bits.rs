//! A stream of bits, and numbers in it.
//!
//! A recording of weeks consists mostly of counts and maxima that differ little from their neighbours; in whole bytes
//! the file would be too large. All numbers use one code: exponential Golomb of a given order, which is short near zero
//! and never longer than 129 bits plus the order. This module knows numbers and bytes, not what they mean.

/// Why the payload of a frame cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) &'static str);

const SHORT: Damage = Damage("a frame ends too early");

/// Appends bits to a byte buffer, least significant first.
pub(crate) struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    pending: u64,
    /// Bits in `pending`; fewer than 8 between calls.
    filled: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, pending: 0, filled: 0 }
    }

    /// Appends the low `width` bits of `value`; `width` is at most 64.
    pub(crate) fn bits(&mut self, value: u64, width: u32) {
        if width > 32 {
            self.bits(value, 32);
            return self.bits(value >> 32, width - 32);
        }
        self.pending |= (value & mask(width)) << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.bytes.push(self.pending.to_le_bytes()[0]);
            self.pending >>= 8;
            self.filled -= 8;
        }
    }

    /// Appends `value` in exponential Golomb code. Numbers below `2^order` take `order + 1` bits, and each doubling
    /// beyond takes two bits more.
    #[allow(clippy::cast_possible_truncation, reason = "the head's top bit is written as a one, the rest has 64 bits")]
    pub(crate) fn number(&mut self, order: u32, value: u64) {
        let head = u128::from(value >> order) + 1;
        let extra = head.ilog2();
        self.bits(0, extra);
        self.bits(1, 1);
        self.bits(head as u64, extra);
        self.bits(value, order);
    }

    /// Appends the difference `to - from`, which takes few bits if it is near zero, positive or negative.
    pub(crate) fn difference(&mut self, order: u32, from: u64, to: u64) {
        self.number(order, zigzag(to.wrapping_sub(from)));
    }

    pub(crate) fn align(&mut self) {
        if self.filled > 0 {
            self.bits(0, 8 - self.filled);
        }
    }

    /// Appends whole bytes at the next byte boundary, so that `grep` can find text in a recording.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.align();
        self.bytes.extend_from_slice(bytes);
    }
}

/// Reads what [`BitWriter`] wrote. Arbitrary bytes give an error at worst, never a panic.
#[derive(Clone)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_mul(8).saturating_sub(self.at)
    }

    /// At least the next 57 bits; zeros stand for bits past the end of the bytes.
    fn window(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = if let Some(eight) = rest.first_chunk::<8>() {
            *eight
        } else {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            word
        };
        u64::from_le_bytes(word) >> (self.at % 8)
    }

    fn advance(&mut self, width: u32) -> Result<(), Damage> {
        let width = width as usize;
        if width > self.left() {
            return Err(SHORT);
        }
        self.at += width;
        Ok(())
    }

    pub(crate) fn bits(&mut self, width: u32) -> Result<u64, Damage> {
        if width > 32 {
            let low = self.bits(32)?;
            return Ok(low | self.bits(width - 32)? << 32);
        }
        let value = self.window() & mask(width);
        self.advance(width)?;
        Ok(value)
    }

    pub(crate) fn number(&mut self, order: u32) -> Result<u64, Damage> {
        let window = self.window();
        let extra = window.trailing_zeros();
        let width = 2 * extra + 1 + order;
        if width > 57 {
            return self.long_number(order);
        }
        self.advance(width)?;
        let head = (window >> (extra + 1) & mask(extra)) + (1 << extra) - 1;
        Ok(head << order | (window >> (2 * extra + 1)) & mask(order))
    }

    #[cold]
    #[allow(clippy::cast_possible_truncation, reason = "checked to fit right before")]
    fn long_number(&mut self, order: u32) -> Result<u64, Damage> {
        let mut extra = 0;
        while self.bits(1)? == 0 {
            extra += 1;
            if extra > 64 {
                return Err(Damage("a number has more than 64 bits"));
            }
        }
        let head = u128::from(self.bits(extra)?) + (1u128 << extra) - 1;
        if head > u128::from(u64::MAX >> order) {
            return Err(Damage("a number has more than 64 bits"));
        }
        Ok((head as u64) << order | self.bits(order)?)
    }

    pub(crate) fn difference(&mut self, order: u32, from: u64) -> Result<u64, Damage> {
        Ok(from.wrapping_add(unzigzag(self.number(order)?)))
    }

    fn align(&mut self) -> Result<(), Damage> {
        let width = (8 - self.at % 8) % 8;
        if self.bits(u32::try_from(width).unwrap_or(0))? == 0 { Ok(()) } else { Err(Damage("padding is not zero")) }
    }

    pub(crate) fn bytes(&mut self, count: u64) -> Result<&'a [u8], Damage> {
        self.align()?;
        let from = self.at / 8;
        let to = usize::try_from(count).ok().and_then(|count| from.checked_add(count)).ok_or(SHORT)?;
        let bytes = self.bytes.get(from..to).ok_or(SHORT)?;
        self.at = to * 8;
        Ok(bytes)
    }

    /// Reads the number of items that follow. Each takes at least one bit, so a number above that of the remaining bits
    /// is damage.
    pub(crate) fn count(&mut self, order: u32) -> Result<usize, Damage> {
        let count = self.number(order)?;
        usize::try_from(count).ok().filter(|count| *count <= self.left()).ok_or(SHORT)
    }

    /// Fails if anything but padding is left.
    pub(crate) fn finish(mut self) -> Result<(), Damage> {
        self.align()?;
        if self.left() == 0 { Ok(()) } else { Err(Damage("a frame is longer than its content")) }
    }
}

const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Maps signed differences near zero to small unsigned numbers: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
pub(crate) const fn zigzag(difference: u64) -> u64 {
    let sign = if difference >> 63 == 1 { u64::MAX } else { 0 };
    (difference << 1) ^ sign
}

const fn unzigzag(code: u64) -> u64 {
    let sign = if code & 1 == 1 { u64::MAX } else { 0 };
    (code >> 1) ^ sign
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longest_numbers_fit() {
        for order in [0, 1, 7, 48, 56] {
            for value in [0, 1, u64::MAX - 1, u64::MAX] {
                let mut bytes = Vec::new();
                let mut writer = BitWriter::new(&mut bytes);
                writer.number(order, value);
                writer.align();
                let mut reader = BitReader::new(&bytes);
                assert_eq!(reader.number(order), Ok(value), "order {order}");
                assert_eq!(reader.finish(), Ok(()));
            }
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_damage() {
        assert!(BitReader::new(&[0; 40]).number(0).is_err());
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        writer.bits(0, 60);
        writer.bits(u64::MAX, 64);
        writer.bits(u64::MAX, 64);
        writer.align();
        assert!(BitReader::new(&bytes).number(20).is_err());
    }

    proptest! {
        #[test]
        fn written_numbers_are_read(values in prop::collection::vec((0u32..=56, any::<u64>(), 0u32..64), 0..60)) {
            let values: Vec<(u32, u64)> = values.into_iter().map(|(order, v, shift)| (order, v >> shift)).collect();
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            for (order, value) in &values {
                writer.number(*order, *value);
                writer.difference(*order, 77, *value);
                writer.bits(*value, *order);
            }
            writer.bytes(b"text");
            let mut reader = BitReader::new(&bytes);
            for (order, value) in &values {
                prop_assert_eq!(reader.number(*order), Ok(*value));
                prop_assert_eq!(reader.difference(*order, 77), Ok(*value));
                prop_assert_eq!(reader.bits(*order), Ok(*value & mask(*order)));
            }
            prop_assert_eq!(reader.bytes(4), Ok(&b"text"[..]));
            prop_assert_eq!(reader.finish(), Ok(()));
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..40), order in 0u32..=56) {
            let mut reader = BitReader::new(&bytes);
            while reader.number(order).is_ok() {}
            prop_assert!(reader.left() <= bytes.len() * 8);
        }
    }
}
