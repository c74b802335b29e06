//! Finds the tables in the raw kernel image of arm64, which has no sections and no symbols.
//!
//! Pointers are stored in place or, in older kernels, in a table of relocations (`R_AARCH64_RELATIVE`), from which they
//! are inserted. The link address is the one to which nearly all pointers refer. This module does not know the format
//! of records, unlike [`setup`](super::setup).

use super::setup::{Memory, Piece};
use super::{ImageWord, Unpacked};
use punctual_facts::machine::Arch;
use std::collections::BTreeMap;

const RELATIVE: u64 = 0x403;
/// Smallest number of relocations in a table. Fewer triples of the right form may be coincidence.
const FEWEST_RELOCATIONS: usize = 1000;
/// Kernels are linked at multiples of two to the power of this number.
const LINK_SHIFT: u32 = 27;
/// Indices of header words: the offset of the kernel, and its size in memory.
const TEXT_OFFSET: usize = 1;
const IMAGE_SIZE: usize = 2;

pub(super) fn kernel(bytes: &[u8]) -> Unpacked<'_> {
    Unpacked { arch: Arch::Arm64, bytes, words }
}

fn words(bytes: &[u8]) -> Result<Vec<ImageWord>, String> {
    let mut numbers: Vec<u64> =
        bytes.chunks_exact(8).filter_map(|c| Some(u64::from_le_bytes(c.try_into().ok()?))).collect();
    let (Some(offset), Some(size)) = (numbers.get(TEXT_OFFSET).copied(), numbers.get(IMAGE_SIZE).copied()) else {
        return Err("it is cut off".to_owned());
    };
    let moves = relocations(&numbers);
    let pointers = || numbers.iter().copied().filter(|number| is_pointer(*number));
    let base = match moves.len() {
        0 => base(pointers()),
        _ => base(moves.iter().map(|(place, _)| *place)),
    };
    let base = base.and_then(|base| base.checked_add(offset)).ok_or("no pointers are found in it")?;
    for (place, value) in moves {
        let at = place.checked_sub(base).and_then(|at| usize::try_from(at / 8).ok());
        if let Some(number) = at.and_then(|at| numbers.get_mut(at)) {
            *number = value;
        }
    }
    let placed: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let memory = Memory::new(vec![Piece { address: base, bytes: &placed, size }]);
    let mut words = memory.setup(&placed)?;
    words.extend(memory.params(&placed)?);
    Ok(words)
}

/// Pairs of an address and the pointer that belongs there.
fn relocations(numbers: &[u64]) -> Vec<(u64, u64)> {
    let triples = numbers.windows(3).filter(|w| w[1] == RELATIVE && is_pointer(w[0]) && is_pointer(w[2]));
    let found: Vec<(u64, u64)> = triples.map(|w| (w[0], w[2])).collect();
    if found.len() < FEWEST_RELOCATIONS { Vec::new() } else { found }
}

/// Whether a number lies in the kernel's half of the address space, and is not a small negative number.
fn is_pointer(number: u64) -> bool {
    number >> 48 == 0xffff && number >> 32 != 0xffff_ffff
}

/// The multiple of the link alignment below which most pointers have their nearest multiple.
fn base(pointers: impl Iterator<Item = u64>) -> Option<u64> {
    let mut counts = BTreeMap::<u64, usize>::new();
    for pointer in pointers {
        *counts.entry(pointer >> LINK_SHIFT).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(multiple, _)| multiple << LINK_SHIFT)
}
