//! Packs a histogram as `HdrHistogram` does: version 2 of its encoding, three digits, deflated, in Base64.
//!
//! Each value below 2048 has its own cell. Every later octave has 1024 cells, twice as wide as those of the octave
//! before. Only the counts up to the largest value are written, each as a number of one to nine bytes. Successive empty
//! cells are written as one negative number. The reader of the same encoding is `foreign/hdr.rs`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::collections::BTreeMap;

const DIGITS: u32 = 3;
/// Base-2 logarithm of the number of cells per octave, which is half the smallest power of two that is at least 2 *
/// 10^`DIGITS`.
const HALF: u32 = 10;
const PLAIN: u32 = 0x1c84_9313;
const DEFLATED: u32 = 0x1c84_9314;

#[derive(Default)]
pub struct Packed {
    /// Number of values by cell index.
    counts: BTreeMap<u64, u64>,
}

impl Packed {
    pub fn add(&mut self, value: u64, count: u64) {
        let held = self.counts.entry((octave(value) << HALF) + (value >> octave(value))).or_default();
        *held = held.saturating_add(count);
    }

    /// The largest value that the last non-empty cell can hold.
    pub fn largest(&self) -> u64 {
        let Some((index, _)) = self.counts.last_key_value() else { return 0 };
        let octave = (index >> HALF).saturating_sub(1);
        let within = index - (octave << HALF);
        (within << octave) + ((1 << octave) - 1)
    }

    /// The packed text. Its header states `highest` as the largest value that the histogram can count.
    pub fn text(&self, highest: u64) -> Result<String, &'static str> {
        let mut counts = Vec::new();
        let mut next = 0;
        if self.counts.is_empty() {
            number(&mut counts, 0);
        }
        for (index, count) in &self.counts {
            match index - next {
                0 => {}
                // A single empty cell is written as the count 0.
                1 => number(&mut counts, 0),
                empty => number(&mut counts, -as_signed(empty)?),
            }
            number(&mut counts, as_signed(*count)?);
            next = index + 1;
        }
        let mut plain = words(&[PLAIN, length(&counts)?, 0, DIGITS]);
        plain.extend([1, highest, 1f64.to_bits()].into_iter().flat_map(u64::to_be_bytes));
        plain.extend(counts);
        let deflated = deflated(&plain)?;
        Ok(STANDARD.encode([words(&[DEFLATED, length(&deflated)?]), deflated].concat()))
    }
}

fn deflated(plain: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut deflate = Compress::new(Compression::default(), true);
    let mut deflated = Vec::new();
    loop {
        // `compress_vec` writes only into reserved room and never grows the vector.
        deflated.reserve(plain.len().max(1 << 10));
        let rest = usize::try_from(deflate.total_in()).ok().and_then(|taken| plain.get(taken..)).unwrap_or_default();
        match deflate.compress_vec(rest, &mut deflated, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return Ok(deflated),
            Ok(_) => {}
            Err(_) => return Err("it could not be deflated"),
        }
    }
}

/// Base-2 logarithm of the width of the cell that holds `value`.
fn octave(value: u64) -> u64 {
    u64::from((u64::BITS - value.leading_zeros()).saturating_sub(HALF + 1))
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn length(bytes: &[u8]) -> Result<u32, &'static str> {
    u32::try_from(bytes.len()).map_err(|_| "it is larger than 4 GB")
}

fn as_signed(count: u64) -> Result<i64, &'static str> {
    i64::try_from(count).map_err(|_| "a count beyond 63 bits cannot be packed")
}

/// Appends a number in one to nine bytes: its sign in the lowest bit, then seven bits in each byte and eight in the
/// ninth.
fn number(to: &mut Vec<u8>, signed: i64) {
    let mut rest = u64::from_ne_bytes(((signed << 1) ^ (signed >> 63)).to_ne_bytes());
    for _ in 0..8 {
        let [low, ..] = rest.to_le_bytes();
        if rest < 0x80 {
            return to.push(low);
        }
        to.push(low | 0x80);
        rest >>= 7;
    }
    let [low, ..] = rest.to_le_bytes();
    to.push(low);
}
