//! How a reader knows that what it copied was not being written meanwhile: a counter that is odd while the one writer
//! is at work. The writer never waits; the reader tries again.
//!
//! Knows nothing of what is guarded: those are relaxed atomic words of somebody else.

use crate::atomics::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// The counter.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    /// The writer is about to write.
    #[inline]
    pub(crate) fn begin(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
        fence(Release);
    }

    /// The writer has written.
    #[inline]
    pub(crate) fn end(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Release);
    }

    /// Where the writer stands, to be asked again after copying; `None` while it is writing.
    pub(crate) fn resting(&self) -> Option<u64> {
        let seen = self.0.load(Acquire);
        (seen & 1 == 0).then_some(seen)
    }

    /// Whether nothing was written since `seen`, so that what was copied meanwhile belongs together.
    pub(crate) fn unchanged_since(&self, seen: u64) -> bool {
        fence(Acquire);
        self.0.load(Relaxed) == seen
    }
}
