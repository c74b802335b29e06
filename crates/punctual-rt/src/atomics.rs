//! The atomics of the lock-free modules, in one place so that a model checker can put its own there.

pub use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
