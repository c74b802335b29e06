//! Writes the seeds of the fuzz targets from the golden files: `cargo run --example seeds` in this directory.
//!
//! Seeds are not committed, because they say nothing the golden files do not say.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/recording_decode");
    fs::create_dir_all(&directory)?;
    let golden = golden();
    fs::write(directory.join("file"), [&[0][..], &golden].concat())?;
    let mut rest = golden.iter().position(|byte| *byte == b'\n').map_or(&[][..], |end| &golden[end + 1..]);
    let mut number = 0;
    // [u32 length][u8 kind][payload][u32 checksum]: the kind and the payload are the seed.
    while let Some((length, framed)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        fs::write(directory.join(format!("frame-{number}")), &framed[..1 + length])?;
        rest = &framed[1 + length + 4..];
        number += 1;
    }
    Ok(())
}

fn golden() -> Vec<u8> {
    let hex = include_str!("../../fixtures/recordings/format-1.hex");
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
