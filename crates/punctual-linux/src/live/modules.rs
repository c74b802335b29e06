//! The memory modules as the firmware describes them (SMBIOS, structures of type 17). Serial numbers and asset tags,
//! which identify a single module, are left out.

use punctual_facts::fact::Fact;

const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;
const MOST_SLOTS: usize = 256;

/// One line for each slot of the table: `slot=NAME bank=NAME size_mib=N width=TOTAL/DATA rated_mts=N configured_mts=N`.
pub(super) fn described(table: &[u8]) -> Fact<Vec<u8>> {
    let slots = Structures(table).filter(|structure| structure.kind() == MEMORY_DEVICE).take(MOST_SLOTS);
    let line = |slot: Structure| {
        format!(
            "slot={} bank={} size_mib={} width={}/{} rated_mts={} configured_mts={}\n",
            slot.name(0x10),
            slot.name(0x11),
            slot.size_mib(),
            slot.known_u16(0x08),
            slot.known_u16(0x0a),
            slot.speed_mts(0x15, 0x54),
            slot.speed_mts(0x20, 0x58),
        )
    };
    let text = slots.map(line).collect::<Vec<_>>().concat();
    if text.is_empty() { Fact::Absent } else { Fact::Known(text.into_bytes()) }
}

/// The remaining bytes of a table. Each structure begins with a part that contains its own length, followed by strings
/// that end with two zero bytes.
struct Structures<'a>(&'a [u8]);

struct Structure<'a> {
    formatted: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Iterator for Structures<'a> {
    type Item = Structure<'a>;

    fn next(&mut self) -> Option<Structure<'a>> {
        let length = usize::from(*self.0.get(1)?);
        // The header alone has four bytes. A shorter length would make the loop endless.
        if length < 4 || self.0[0] == END_OF_TABLE {
            return None;
        }
        let (formatted, rest) = (self.0.get(..length)?, self.0.get(length..)?);
        let end = rest.windows(2).position(|pair| pair == [0, 0]).unwrap_or(rest.len());
        self.0 = rest.get(end + 2..).unwrap_or_default();
        Some(Structure { formatted, strings: &rest[..end] })
    }
}

impl Structure<'_> {
    fn kind(&self) -> u8 {
        self.formatted[0]
    }

    /// The number at this offset; zero if this version of the structure is shorter.
    fn u16(&self, at: usize) -> u16 {
        let bytes = self.formatted.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> u32 {
        let bytes = self.formatted.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    /// The number at this offset; zero if the firmware wrote all ones for an unknown number.
    fn known_u16(&self, at: usize) -> u16 {
        Some(self.u16(at)).filter(|number| *number != u16::MAX).unwrap_or(0)
    }

    fn size_mib(&self) -> u32 {
        match self.u16(0x0c) {
            // 0xffff means that the size is unknown; 0x7fff means that it is in a larger field.
            u16::MAX => 0,
            0x7fff => self.u32(0x1c) & 0x7fff_ffff,
            size if size & 0x8000 != 0 => u32::from(size & 0x7fff) / 1024,
            size => u32::from(size),
        }
    }

    fn speed_mts(&self, at: usize, extended: usize) -> u32 {
        match self.u16(at) {
            u16::MAX => self.u32(extended) & 0x7fff_ffff,
            speed => u32::from(speed),
        }
    }

    /// The string whose number is at this offset, as one word.
    fn name(&self, at: usize) -> String {
        let number = usize::from(self.formatted.get(at).copied().unwrap_or(0));
        let string =
            number.checked_sub(1).and_then(|n| self.strings.split(|byte| *byte == 0).nth(n)).unwrap_or_default();
        let plain = |c: char| if c.is_ascii_graphic() { c } else { '_' };
        String::from_utf8_lossy(string).trim().chars().take(32).map(plain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A structure of type 17 of SMBIOS 2.7, with a serial number among its strings.
    fn module(size: u16, rated: u16, configured: u16) -> Vec<u8> {
        let mut bytes = vec![0; 0x22];
        (bytes[0], bytes[1]) = (MEMORY_DEVICE, 0x22);
        bytes[0x08] = 72;
        bytes[0x0a] = 64;
        bytes[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
        (bytes[0x10], bytes[0x11], bytes[0x18]) = (1, 2, 3);
        bytes[0x15..0x17].copy_from_slice(&rated.to_le_bytes());
        bytes[0x20..0x22].copy_from_slice(&configured.to_le_bytes());
        bytes.extend(b"ChannelA-DIMM0\0BANK 0\0SERIAL99\0\0");
        bytes
    }

    #[test]
    fn tells_modules_and_no_serial_numbers() {
        let mut table = vec![1, 4, 0, 0, b'X', 0, 0];
        table.extend(module(8192, 3200, 2933));
        table.extend(module(0, 0, 0));
        table.extend([END_OF_TABLE, 4, 0, 0, 0, 0]);
        let text = String::from_utf8(described(&table).known().unwrap().clone()).unwrap();
        assert_eq!(
            text,
            "slot=ChannelA-DIMM0 bank=BANK_0 size_mib=8192 width=72/64 rated_mts=3200 configured_mts=2933\n\
             slot=ChannelA-DIMM0 bank=BANK_0 size_mib=0 width=72/64 rated_mts=0 configured_mts=0\n"
        );
        assert_eq!(described(&[]), Fact::Absent);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0_usize..200) {
            let _ = described(&bytes);
            let mut table = module(0x7fff, u16::MAX, u16::MAX);
            table.truncate(cut);
            table.extend(bytes);
            let _ = described(&table);
        }
    }
}
