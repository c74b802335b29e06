//! Waiting for another thread: a signal that may be given from a loop, and a lock that lends priority.

mod pi_mutex;
mod pi_word;
mod semaphore;
mod signal;

pub use pi_mutex::{PiGuard, PiMutex};
pub use signal::Signal;
