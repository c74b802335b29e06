//! Recordings around bytes that a fuzzer made up: frames with the right checksum, which it does not find by itself.

use punctual_numbers::recording::{Frame, FrameReader, encode, encode_preamble};
use std::sync::OnceLock;

/// The beginning of a recording with this header.
pub fn begun(header: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    encode(header, &mut bytes).expect("the golden header can be written");
    bytes
}

/// One more frame: [u32 length][u8 kind][payload][u32 checksum].
pub fn put(file: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let start = file.len();
    file.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.push(kind);
    file.extend(payload);
    let checksum = crc32fast::hash(&file[start..]);
    file.extend(checksum.to_le_bytes());
}

/// The frames of a recording, up to where it is damaged.
pub fn frames_of(bytes: &[u8]) -> Vec<Frame> {
    let (mut reader, mut frames) = (FrameReader::new(), Vec::new());
    let _damage_is_fine = reader.feed(bytes, |frame| frames.push(frame));
    frames
}

/// The header of the golden recording.
pub fn header() -> &'static Frame {
    static HEADER: OnceLock<Frame> = OnceLock::new();
    HEADER.get_or_init(|| {
        let hex = include_str!("../../fixtures/recordings/format-1.hex");
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let golden: Vec<u8> = digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
        frames_of(&golden).swap_remove(0)
    })
}
