//! Puts bytes from the fuzzer into frames of a recording. The checksums are computed here, because a fuzzer does not
//! find the right one by chance.

use punctual_numbers::recording::{Frame, FrameReader, encode, encode_preamble};
use std::sync::OnceLock;

/// The first bytes of a recording: the preamble and the frame `header`.
pub fn begun(header: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    encode(header, &mut bytes).expect("the golden header can be written");
    bytes
}

/// Appends a frame: [u32 length][u8 kind][payload][u32 checksum].
pub fn put(file: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let start = file.len();
    file.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.push(kind);
    file.extend(payload);
    let checksum = crc32fast::hash(&file[start..]);
    file.extend(checksum.to_le_bytes());
}

/// The frames of a recording, up to the first damaged one.
pub fn frames_of(bytes: &[u8]) -> Vec<Frame> {
    let (mut reader, mut frames) = (FrameReader::new(), Vec::new());
    let _damage_is_fine = reader.feed(bytes, |frame| frames.push(frame));
    frames
}

/// The header of the recording in `fixtures/recordings/format-1.hex`.
pub fn header() -> &'static Frame {
    static HEADER: OnceLock<Frame> = OnceLock::new();
    HEADER.get_or_init(|| {
        let hex = include_str!("../../fixtures/recordings/format-1.hex");
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let golden: Vec<u8> = digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
        frames_of(&golden).swap_remove(0)
    })
}
