//! Reads a Perfetto trace back in tests: only the fields of protocol buffers that pair beginnings and ends of slices.

use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Slice {
    pub name: String,
    pub length_ns: u64,
}

/// A field of a message: its field number, and its value as a number or as bytes.
enum Field<'a> {
    Number(u64, u64),
    Bytes(u64, &'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        fields.push(match key & 7 {
            0 => Field::Number(key >> 3, varint(&mut bytes)),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(key >> 3, value)
            }
            other => panic!("wire type {other}"),
        });
    }
    fields
}

fn number(message: &[u8], field: u64) -> Option<u64> {
    fields(message).iter().find_map(|f| match f {
        Field::Number(of, value) if *of == field => Some(*value),
        _ => None,
    })
}

fn bytes(message: &[u8], field: u64) -> Option<&[u8]> {
    fields(message).into_iter().find_map(|f| match f {
        Field::Bytes(of, value) if of == field => Some(value),
        _ => None,
    })
}

/// All slices of a trace. Panics if slices of a track do not nest or are not in the order of time.
pub fn slices(trace: &[u8]) -> Vec<Slice> {
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut slices = Vec::new();
    for field in fields(trace) {
        let Field::Bytes(1, packet) = field else { panic!("a trace is packets") };
        let Some(event) = bytes(packet, 11) else { continue };
        let (at, row) = (number(packet, 8).unwrap(), number(event, 11).unwrap());
        assert!(last.insert(row, at).is_none_or(|before| before <= at), "track {row} goes back in time");
        let name = || String::from_utf8(bytes(event, 23).unwrap().to_vec()).unwrap();
        match number(event, 9) {
            Some(1) => open.entry(row).or_default().push((name(), at)),
            Some(2) => {
                let (name, begun) = open.get_mut(&row).and_then(Vec::pop).unwrap();
                slices.push(Slice { name, length_ns: at - begun });
            }
            kind => assert_eq!(kind, Some(3)),
        }
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    slices
}
