//! A numbered record of a few words, which a reader gets whole or not at all.
//!
//! The Loom model in `tests/model_stats.rs` of `punctual-rt` checks every interleaving of a writer and a reader.

use crate::atomics::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// A numbered record of `WORDS` words, which one thread writes and any number of threads read. Nobody waits.
///
/// A record whose bytes are all zero was never written, so a slot can lie in zeroed memory shared with another process.
#[repr(C, align(64))]
pub struct Slot<const WORDS: usize> {
    /// Twice the record's number, plus 1 while the record is being written, plus 2 when it is complete.
    stamp: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Slot<WORDS> {
    /// Replaces the record by one with number `number`, which must be larger than the previous number. Only one thread
    /// may write.
    ///
    /// # Real-time
    /// Wait-free: one store for each word, and two more.
    #[inline]
    pub fn write(&self, number: u64, words: &[u64; WORDS]) {
        let stamp = number.wrapping_mul(2);
        self.stamp.store(stamp.wrapping_add(1), Relaxed);
        fence(Release);
        for (cell, word) in self.words.iter().zip(words) {
            cell.store(*word, Relaxed);
        }
        self.stamp.store(stamp.wrapping_add(2), Release);
    }

    /// Loads the record's stamp, so that its cache line is in the cache.
    ///
    /// # Real-time
    /// One load.
    #[inline]
    pub fn warm(&self) -> u64 {
        self.stamp.load(Relaxed)
    }

    /// Changes one word of the current record. A reader gets the word as it was before, or as it is after.
    ///
    /// # Real-time
    /// One store.
    #[inline]
    pub fn amend(&self, word: usize, value: u64) {
        if let Some(cell) = self.words.get(word) {
            cell.store(value, Relaxed);
        }
    }

    /// The record and its number; `None` if it was never written, or is being written at this moment.
    #[inline]
    pub fn read(&self) -> Option<(u64, [u64; WORDS])> {
        let stamp = self.stamp.load(Acquire);
        if stamp == 0 || stamp & 1 == 1 {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, cell) in words.iter_mut().zip(&self.words) {
            *word = cell.load(Relaxed);
        }
        fence(Acquire);
        (self.stamp.load(Relaxed) == stamp).then_some(((stamp >> 1).wrapping_sub(1), words))
    }
}

impl<const WORDS: usize> Default for Slot<WORDS> {
    fn default() -> Self {
        Self { stamp: AtomicU64::new(0), words: core::array::from_fn(|_| AtomicU64::new(0)) }
    }
}
