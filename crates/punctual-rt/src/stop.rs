//! Tells a loop to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Ends a loop; can be used in any thread.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<AtomicBool>);

impl Stopper {
    /// Ends the loop at its next release, or within 0.1 s if that release is later.
    ///
    /// # Real-time
    /// One store.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether the loop was told to end.
    ///
    /// # Real-time
    /// One load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Relaxed)
    }
}
