//! One numbered record of a few words that a reader gets whole or not at all.
//!
//! Knows nothing of what the words mean.

use crate::atomics::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// A record of `WORDS` words. All zero is one never written.
#[repr(C, align(64))]
pub(crate) struct Slot<const WORDS: usize> {
    /// Twice the record's number, plus 1 while it is written, plus 2 once it is there.
    stamp: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Slot<WORDS> {
    /// Replaces the record by number `number`. Only one thread may.
    #[inline]
    pub(crate) fn write(&self, number: u64, words: &[u64; WORDS]) {
        let stamp = number.wrapping_mul(2);
        self.stamp.store(stamp.wrapping_add(1), Relaxed);
        fence(Release);
        for (cell, word) in self.words.iter().zip(words) {
            cell.store(*word, Relaxed);
        }
        self.stamp.store(stamp.wrapping_add(2), Release);
    }

    /// Fetches the record's cache line.
    #[inline]
    #[allow(dead_code, reason = "the model checker's copy does without")]
    pub(crate) fn warm(&self) -> u64 {
        self.stamp.load(Relaxed)
    }

    /// Changes one word of the record that is there. A reader sees the word before or after.
    #[inline]
    pub(crate) fn amend(&self, word: usize, value: u64) {
        if let Some(cell) = self.words.get(word) {
            cell.store(value, Relaxed);
        }
    }

    /// The record with its number; `None` if never written, or being written just now.
    #[inline]
    pub(crate) fn read(&self) -> Option<(u64, [u64; WORDS])> {
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
