//! Finds the two tables of a kernel with its command line words: those of `__setup` and `early_param`, and of
//! `__param`.
//!
//! A linked kernel does not mark these tables, so their records are recognised by form: pointers to names and into the
//! kernel, and small numbers. The longest run of such records is the table, if it contains words that every kernel has.
//! This module does not know about files and formats.

use super::{ImageWord, WordKind};

/// `struct obs_kernel_param`: name, function, early.
const SETUP_BYTES: usize = 24;
/// `struct kernel_param`: name, module, operations, permission with level and flags, value.
const PARAM_BYTES: usize = 40;
/// Smallest number of records in a table. Shorter runs of records may be coincidence.
const CHANCE: usize = 8;
/// Longest name of a word, in bytes.
const MOST_OF_NAME: usize = 128;
/// Words of `init/main.c` and `kernel/panic.c`, which every kernel has.
const ALWAYS_SETUP: [&str; 4] = ["init=", "rdinit=", "quiet", "loglevel"];
const ALWAYS_PARAM: [&str; 2] = ["initcall_debug", "panic"];

pub(super) struct Memory<'a> {
    pieces: Vec<Piece<'a>>,
}

/// A range of memory: `bytes` lie at `address`. After them, up to `size`, memory is zero and not in the file.
pub(super) struct Piece<'a> {
    pub(super) address: u64,
    pub(super) bytes: &'a [u8],
    pub(super) size: u64,
}

impl<'a> Memory<'a> {
    pub(super) fn new(pieces: Vec<Piece<'a>>) -> Self {
        Self { pieces }
    }

    fn has(&self, address: u64) -> bool {
        self.pieces.iter().any(|piece| address.checked_sub(piece.address).is_some_and(|at| at < piece.size))
    }

    /// The text at an address, if it can be the name of a word.
    fn name(&self, address: u64) -> Option<&'a str> {
        let bytes = self.pieces.iter().find_map(|piece| {
            let at = usize::try_from(address.checked_sub(piece.address)?).ok()?;
            piece.bytes.get(at..)
        })?;
        let end = bytes.iter().take(MOST_OF_NAME).position(|b| !b.is_ascii_graphic())?;
        if end == 0 || bytes[end] != 0 {
            return None;
        }
        std::str::from_utf8(&bytes[..end]).ok()
    }

    /// The words that `__setup` and `early_param` registered; their table may begin anywhere in `region`.
    pub(super) fn setup(&self, region: &[u8]) -> Result<Vec<ImageWord>, String> {
        let found = table(region, SETUP_BYTES, &ALWAYS_SETUP, |record| {
            let early = u64_at(record, 16);
            // Obsolete words have a record without a handler.
            let is_one = early <= 1 && (u64_at(record, 8) == 0 || self.has(u64_at(record, 8)));
            let kind = if early == 1 { WordKind::Early } else { WordKind::Setup };
            is_one.then(|| self.name(u64_at(record, 0))).flatten().map(|name| ImageWord { name: name.to_owned(), kind })
        });
        found.ok_or_else(|| "its table of __setup is not found".to_owned())
    }

    pub(super) fn params(&self, region: &[u8]) -> Result<Vec<ImageWord>, String> {
        let found = table(region, PARAM_BYTES, &ALWAYS_PARAM, |record| self.param(record));
        found.ok_or_else(|| "its table of __param is not found".to_owned())
    }

    fn param(&self, record: &[u8]) -> Option<ImageWord> {
        let permission = u16::from_le_bytes([record[24], record[25]]);
        let level = i8::from_le_bytes([record[26]]);
        let value = u64_at(record, 32);
        // Parameters of built-in code have no module.
        let is_one = u64_at(record, 8) == 0
            && self.has(u64_at(record, 16))
            && permission <= 0o777
            && (-1..=7).contains(&level)
            && record[28..32] == [0; 4]
            && (value == 0 || self.has(value));
        let name = self.name(u64_at(record, 0)).filter(|_| is_one)?;
        Some(ImageWord { name: name.to_owned(), kind: WordKind::Param(permission) })
    }
}

/// The longest run of records that contains the words every kernel has. Other tables look similar but lack these words.
/// Records lie at multiples of eight bytes.
fn table(
    region: &[u8],
    size: usize,
    always: &[&str],
    parse: impl Fn(&[u8]) -> Option<ImageWord>,
) -> Option<Vec<ImageWord>> {
    let (mut best, mut at) = (None, 0);
    while at + size <= region.len() {
        let run: Vec<ImageWord> = region[at..].chunks_exact(size).map_while(&parse).collect();
        // A longer run may begin within the records of a short one.
        at += if run.len() < CHANCE { 8 } else { run.len() * size };
        let is_it = run.len() >= CHANCE && always.iter().all(|wanted| run.iter().any(|word| word.name == **wanted));
        if is_it && best.as_ref().is_none_or(|best: &Vec<ImageWord>| run.len() > best.len()) {
            best = Some(run);
        }
    }
    best
}

/// Reads the number at an offset of a record. The callers make sure that records are long enough.
fn u64_at(record: &[u8], at: usize) -> u64 {
    record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}
