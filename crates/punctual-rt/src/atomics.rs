//! Atomics, shared ownership and cells for the lock-free modules.
//!
//! The model tests (`tests/model.rs`) compile the same modules against a replacement of this one, whose types explore
//! every interleaving. So the lock-free modules take these types from here only.

pub(crate) use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::Arc;

/// Memory that two threads access in turns. The code that uses the cell decides which thread may access it.
pub(crate) struct Cell<T>(core::cell::UnsafeCell<T>);

impl<T> Cell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Passes a pointer for reading to `read`.
    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Passes a pointer for writing to `write`.
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
