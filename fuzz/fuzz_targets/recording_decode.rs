//! Any bytes are a recording, a recording that was cut off, or refused; and whatever was read can be reported on.
//!
//! Two ways in, by the first byte: the bytes as a file, or as one frame's payload behind a good header and with the
//! right checksum, which a fuzzer does not find by itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_core::recording::{Frame, FrameReader, encode, encode_preamble, read};
use punctual_core::report::Report;
use std::sync::OnceLock;

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

/// A frame of this kind with this payload is refused, or can be written and read again as the same.
fn as_payload(kind: u8, payload: &[u8]) {
    let mut file = header().to_vec();
    let start = file.len();
    file.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.push(kind);
    file.extend(payload);
    let checksum = crc32fast::hash(&file[start..]);
    file.extend(checksum.to_le_bytes());
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

fn frames_of(bytes: &[u8]) -> Vec<Frame> {
    let (mut reader, mut frames) = (FrameReader::new(), Vec::new());
    let _damage_is_fine = reader.feed(bytes, |frame| frames.push(frame));
    frames
}

/// The first line and the header of the golden recording.
fn header() -> &'static [u8] {
    static HEADER: OnceLock<Vec<u8>> = OnceLock::new();
    HEADER.get_or_init(|| {
        let golden = golden();
        let line = golden.iter().position(|byte| *byte == b'\n').expect("a first line") + 1;
        let length = u32::from_le_bytes(*golden[line..].first_chunk().expect("a frame")) as usize;
        golden[..line + 5 + length + 4].to_vec()
    })
}

fn golden() -> Vec<u8> {
    let hex = include_str!("../../fixtures/recordings/format-1.hex");
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
