//! Waiting for another thread: a signal that a loop may post, and a lock with priority inheritance.

mod pi_mutex;
mod pi_word;
mod semaphore;
mod signal;

pub use pi_mutex::{PiGuard, PiMutex};
pub use signal::Signal;
