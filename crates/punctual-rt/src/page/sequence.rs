//! A sequence counter, which shows readers whether the writer disturbed their copy: it is odd while the single writer
//! is writing. The writer never waits; a reader tries again.
//!
//! The guarded data lies elsewhere, in relaxed atomic words.

use crate::atomics::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// The counter; odd while the writer is writing.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    /// Marks the beginning of a write.
    #[inline]
    pub(crate) fn begin(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
        fence(Release);
    }

    /// Marks the end of a write.
    #[inline]
    pub(crate) fn end(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Release);
    }

    /// The counter before a copy, to be compared afterwards; `None` while the writer is writing.
    pub(crate) fn resting(&self) -> Option<u64> {
        let seen = self.0.load(Acquire);
        (seen & 1 == 0).then_some(seen)
    }

    /// Whether nothing was written since `seen`, so that the values copied meanwhile belong together.
    pub(crate) fn unchanged_since(&self, seen: u64) -> bool {
        fence(Acquire);
        self.0.load(Relaxed) == seen
    }
}
