//! What a real-time core does for a lock and for a semaphore. Tests answer in place of a core.
//!
//! The model tests compile this file as well.

use punctual_hist::MonoTime;

/// The calls of a core for a lock. Each fails with an `errno`.
pub(crate) trait LockCalls {
    /// The bits of a word that name the owner.
    const OWNER: u32;
    /// Takes the lock, and sleeps while another thread holds it. Moves the thread out-of-band.
    fn enter(&self, deadline: Option<MonoTime>) -> Result<(), i32>;
    /// Takes the lock if it is free. Moves the thread out-of-band.
    fn try_enter(&self) -> Result<(), i32>;
    /// Releases the lock, which the caller owns.
    fn exit(&self) -> Result<(), i32>;
}

/// The calls of a core for a semaphore. Each fails with an `errno`.
pub(crate) trait CountCalls {
    /// Takes a post, and sleeps while there is none. Moves the thread out-of-band.
    fn wait(&self, deadline: Option<MonoTime>) -> Result<(), i32>;
    /// Adds a post, or hands it to a thread that waits. Threads of Linux may call it, too.
    fn post(&self) -> Result<(), i32>;
}

/// The calling thread, as the core knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The handle by which the core knows the thread; never 0.
    pub(crate) handle: u32,
    pub(crate) is_in_band: bool,
    /// Whether the core has to be told of every lock, because the thread has no priority there or is being debugged.
    pub(crate) tells_all: bool,
}
