//! Reads the trace back with a decoder that knows only protocol buffers, and nothing of the writer. With
//! `PUNCTUAL_TRACE=FILE` the trace is kept, to be read by other tools.

use crate::log::{Kept, record};
use punctual_rt::log::{Drain, Kind};

#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Float(f64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number of more than ten bytes");
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (float, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Float(f64::from_le_bytes(float.try_into().unwrap()))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, field));
    }
    found
}

/// The fields that are reached by following `path` through nested messages.
fn at(bytes: &[u8], path: &[u64]) -> Vec<Field> {
    let (number, rest) = path.split_first().unwrap();
    let here = fields(bytes).into_iter().filter(|(n, _)| n == number).map(|(_, field)| field);
    if rest.is_empty() {
        return here.collect();
    }
    here.flat_map(|field| match field {
        Field::Bytes(inner) => at(&inner, rest),
        other => panic!("{number} is {other:?}, not a message"),
    })
    .collect()
}

fn number(bytes: &[u8], path: &[u64]) -> Option<u64> {
    match at(bytes, path).as_slice() {
        [] => None,
        [Field::Number(number)] => Some(*number),
        other => panic!("{path:?} is {other:?}"),
    }
}

fn text(bytes: &[u8], path: &[u64]) -> Option<String> {
    match at(bytes, path).as_slice() {
        [] => None,
        [Field::Bytes(text)] => Some(String::from_utf8(text.clone()).unwrap()),
        other => panic!("{path:?} is {other:?}"),
    }
}

fn trace() -> Vec<Vec<u8>> {
    let out = Kept::default();
    let mut drain = Drain::new().trace(out.clone());
    let (mut control, mut other) = (drain.writer("control", 16), drain.writer("other", 1));
    control.of_this_thread();
    control.push(record(1_000, Kind::Begin, "cycle", &[]));
    control.push(record(1_500, Kind::Message, "phase {} ns of {}, {}", &[(-350).into(), 2u32.into(), 0.5.into()]));
    control.push(record(2_000, Kind::End, "cycle", &[]));
    control.push(record(2_500, Kind::Counter, "torque", &[1.5.into()]));
    control.push(record(2_600, Kind::Counter, "torque", &[2.5.into()]));
    control.push(record(2_700, Kind::Counter, "queue", &[(-3i64).into()]));
    other.push(record(3_000, Kind::Message, "plain", &[]));
    other.push(record(3_001, Kind::Message, "lost", &[]));
    drain.finish().unwrap();
    if let Some(path) = std::env::var_os("PUNCTUAL_TRACE") {
        std::fs::write(path, out.bytes()).unwrap();
    }
    let bytes = |field| if let Field::Bytes(bytes) = field { bytes } else { panic!("{field:?}") };
    let packets = fields(&out.bytes());
    assert!(packets.iter().all(|(field, _)| *field == 1), "a trace is packets only");
    packets.into_iter().map(|(_, packet)| bytes(packet)).collect()
}

#[test]
fn every_row_is_described_before_it_is_used() {
    let packets = trace();
    let process = u64::from(std::process::id());
    assert_eq!(number(&packets[0], &[13]), Some(1), "the first packet clears the state");
    let clocks = at(&packets[0], &[6, 1, 1]);
    assert_eq!(clocks, [3, 6, 1].map(Field::Number), "monotonic, boot time, real time");
    let mut known: Vec<(u64, Option<String>)> = Vec::new();
    for packet in &packets {
        assert_eq!(number(packet, &[10]), Some(1));
        if let Some(identity) = number(packet, &[60, 1]) {
            let name = text(packet, &[60, 2]).or(text(packet, &[60, 4, 5]));
            assert!(known.iter().all(|(other, _)| *other != identity));
            if let Some(parent) = number(packet, &[60, 5]) {
                assert!(known.iter().any(|(other, _)| *other == parent), "a parent comes first");
            }
            known.push((identity, name));
        }
        if let Some(track) = number(packet, &[11, 11]) {
            assert!(known.iter().any(|(identity, _)| *identity == track));
            assert_eq!(number(packet, &[58]), Some(3), "monotonic clock");
            assert!(number(packet, &[8]).is_some());
        }
    }
    let names: Vec<&str> = known.iter().filter_map(|(_, name)| name.as_deref()).collect();
    assert_eq!(names, ["control", "torque", "queue", "other"]);
    let processes: Vec<u64> = packets.iter().filter_map(|packet| number(packet, &[60, 3, 1])).collect();
    assert_eq!(processes, [process]);
    let threads: Vec<_> =
        packets.iter().filter_map(|p| Some((number(p, &[60, 4, 1])?, number(p, &[60, 4, 2])?))).collect();
    assert_eq!(threads, [(process, u64::from(punctual_rt::kernel::thread_id()))]);
}

#[test]
fn events_come_back_as_they_were_logged() {
    let packets = trace();
    let events: Vec<&Vec<u8>> = packets.iter().filter(|packet| !at(packet, &[11]).is_empty()).collect();
    let told =
        |event: &&Vec<u8>| (number(event, &[8]).unwrap(), number(event, &[11, 9]).unwrap(), text(event, &[11, 23]));
    let name = |name: &str| Some(name.to_owned());
    let (begin, end, instant, counter) = (1, 2, 3, 4);
    let expected = [
        (1_000, begin, name("cycle")),
        (1_500, instant, name("phase {} ns of {}, {}")),
        (2_000, end, None),
        (2_500, counter, None),
        (2_600, counter, None),
        (2_700, counter, None),
        (3_000, instant, name("plain")),
    ];
    let all: Vec<_> = events.iter().map(told).collect();
    assert_eq!(all[..7], expected);
    assert_eq!((all.len(), &all[7].2), (8, &name("records lost")));
    assert_eq!(number(events[7], &[11, 4, 3]), Some(1));

    let note = |path: &[u64]| at(events[1], path);
    assert_eq!(text(events[1], &[11, 4, 6]), name("phase -350 ns of 2, 0.5"));
    let minus = Field::Number(350u64.wrapping_neg());
    assert_eq!((note(&[11, 4, 4]), note(&[11, 4, 3])), (vec![minus], vec![Field::Number(2)]));
    assert_eq!(note(&[11, 4, 5]), [Field::Float(0.5)]);
    assert_eq!(at(events[3], &[11, 44]), [Field::Float(1.5)]);
    assert_eq!(at(events[5], &[11, 30]), [Field::Number(3u64.wrapping_neg())]);
    assert_eq!(number(events[3], &[11, 11]), number(events[4], &[11, 11]), "one track per counter");
}
