//! Masks serial numbers in the firmware's tables (SMBIOS 3, chapter 7). The bytes are overwritten, so that all offsets
//! stay the same.

/// Types of structures, each with the offsets of the fields that refer to identifying strings, such as serial numbers.
const STRINGS: [(u8, &[usize]); 7] = [
    (1, &[7]),           // system: serial number
    (2, &[7, 8]),        // board: serial number, asset tag
    (3, &[7, 8]),        // chassis: serial number, asset tag
    (4, &[0x20, 0x21]),  // processor: serial number, asset tag
    (17, &[0x18, 0x19]), // memory: serial number, asset tag
    (22, &[7]),          // battery: serial number
    (39, &[8, 9]),       // power supply: serial number, asset tag
];
/// Types of structures that hold only free text from the maker or the installer.
const FREE_TEXT: [u8; 2] = [11, 12];
const SYSTEM: u8 = 1;
const UUID: std::ops::Range<usize> = 8..24;
const HEADER: usize = 4;

pub(super) fn is_table(path: &str) -> bool {
    path.contains("/firmware/dmi/tables/") || (path.contains("/firmware/dmi/entries/") && path.ends_with("/raw"))
}

/// The firmware's table with each identifying string overwritten by `x`.
pub(super) fn masked(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut start = 0;
    while let Some(structure) = out.get_mut(start..).filter(|rest| rest.len() >= HEADER) {
        let (kind, length) = (structure[0], usize::from(structure[1]));
        // Without a valid length the next structure cannot be found, so the rest of the table is cleared.
        if length < HEADER || length > structure.len() {
            structure[HEADER..].fill(0);
            return out;
        }
        start += mask_structure(structure, kind, length);
    }
    out
}

/// Masks the first structure and returns the offset of the next one.
fn mask_structure(bytes: &mut [u8], kind: u8, length: usize) -> usize {
    if kind == SYSTEM && length >= UUID.end {
        bytes[UUID].fill(0);
    }
    let places = STRINGS.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, places)| *places);
    let wanted: Vec<u8> = places.iter().filter(|place| **place < length).map(|place| bytes[*place]).collect();
    let (mut at, mut number) = (length, 0_u8);
    // Each string ends with a zero byte, and an empty string ends the list.
    while at < bytes.len() && bytes[at] != 0 {
        let end = bytes[at..].iter().position(|b| *b == 0).map_or(bytes.len(), |length| at + length);
        number = number.saturating_add(1);
        if wanted.contains(&number) || FREE_TEXT.contains(&kind) {
            bytes[at..end].fill(b'x');
        }
        at = end + 1;
    }
    // A structure without strings ends with two zero bytes.
    if number == 0 { length + 2 } else { at + 1 }
}

#[cfg(test)]
mod tests {
    use super::masked;
    use proptest::prelude::*;

    #[test]
    fn only_what_tells_machines_apart_is_overwritten() {
        let mut system = vec![1, 27, 0, 1, 1, 2, 0, 3];
        system.extend([0xab; 16]);
        system.extend([6, 0, 0]);
        system.extend(b"Maker\0Model\0SN-4711\0\0");
        let mut memory = vec![17, 0x1c, 2, 0];
        memory.resize(0x18, 0);
        memory.extend([1, 0, 2, 0]);
        memory.extend(b"0123ABCD\0PART-9\0\0");
        let free = b"\x0b\x05\x03\x00\x01owner: me\0\0";
        let none = b"\x7f\x04\x04\x00\0\0";
        let table = [&system[..], &memory, free, none].concat();
        let out = masked(&table);
        assert_eq!(out.len(), table.len());
        let text = String::from_utf8_lossy(&out).into_owned();
        for kept in ["Maker\0Model\0xxxxxxx\0\0", "xxxxxxxx\0PART-9\0\0", "xxxxxxxxx\0\0\u{7f}"] {
            assert!(text.contains(kept), "no {kept:?} in {text:?}");
        }
        assert!(!out.contains(&0xab));
    }

    proptest! {
        #[test]
        fn no_table_makes_it_panic_or_grow(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(masked(&bytes).len(), bytes.len());
        }
    }
}
