//! The sleep of a core's thread, as the system call that it is.

use std::ffi::c_long;

/// The system call by which a thread of a core sleeps until an instant, for code that has to make the call itself, such
/// as assembler code that keeps registers over it. Made by [`CoreThread::sleep_call`](crate::CoreThread::sleep_call).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepCall {
    number: c_long,
    arguments: [u64; 5],
    /// The place of the instant's address among the arguments.
    instant: usize,
}

impl SleepCall {
    pub(crate) const fn new(number: c_long, arguments: [u64; 5], instant: usize) -> Self {
        Self { number, arguments, instant }
    }

    /// The number of the system call.
    ///
    /// # Real-time
    /// Reads memory.
    pub const fn number(self) -> c_long {
        self.number
    }

    /// The arguments of the system call. `instant` is the address of a `timespec` of `CLOCK_MONOTONIC` that outlives it.
    ///
    /// # Real-time
    /// Reads memory.
    #[must_use]
    pub fn arguments(self, instant: u64) -> [u64; 5] {
        std::array::from_fn(|place| if place == self.instant { instant } else { self.arguments[place] })
    }
}
