//! What the lock-free modules are built on, under one name.
//!
//! The model tests (`tests/model.rs`) compile the same sources against a module of this name whose types explore
//! every interleaving; so those modules take atomics, shared ownership and cells from here only.

pub(crate) use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::Arc;

/// Memory that two threads take turns in; who is next must be agreed on by other means.
pub(crate) struct Cell<T>(core::cell::UnsafeCell<T>);

impl<T> Cell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Lends a pointer for reading.
    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Lends a pointer for writing.
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
