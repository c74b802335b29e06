//! Reads any bytes as a recording, and makes a report of what was read.
//!
//! If the first byte is 0, the other bytes are the whole file. Otherwise the first byte is the kind of a frame and the
//! others are its payload, after a valid header and with the right checksum, which a fuzzer does not find by chance.

#![no_main]

mod framing;

use framing::{begun, frames_of, header, put};
use libfuzzer_sys::fuzz_target;
use punctual_numbers::recording::{encode, encode_preamble, read};
use punctual_numbers::report::Report;

fuzz_target!(|bytes: &[u8]| {
    let Some((way, rest)) = bytes.split_first() else { return };
    if *way == 0 { as_file(rest) } else { as_payload(*way, rest) }
});

fn as_file(bytes: &[u8]) {
    if let Ok(recording) = read(bytes) {
        let good = recording.cut_off.as_ref().map_or(bytes.len() as u64, |cut| cut.good_bytes);
        assert!(good <= bytes.len() as u64);
        let report = Report::of(&recording);
        let due: u64 = report.cpus.iter().fold(0, |total, cpu| total.saturating_add(cpu.row.due));
        assert_eq!(due, report.verdict.due);
    }
}

/// Reads a frame of this kind with this payload. A frame that was accepted must survive writing and reading.
fn as_payload(kind: u8, payload: &[u8]) {
    let mut file = begun(header());
    put(&mut file, kind, payload);
    let frames = frames_of(&file);
    assert!(!frames.is_empty(), "the header stands");
    let mut again = Vec::new();
    encode_preamble(&mut again);
    for frame in &frames {
        encode(frame, &mut again).expect("what was read can be written");
    }
    assert_eq!(frames, frames_of(&again));
    as_file(&file);
}
