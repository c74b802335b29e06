//! The atomics of the lock-free modules, in one place so that a model checker can put its own there.

pub(crate) use core::sync::atomic::*;
