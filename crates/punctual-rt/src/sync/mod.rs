//! Waiting for another thread: a signal that a loop may post, a semaphore and a lock with priority inheritance that Linux
//! or a real-time core serves.

mod pi_mutex;
mod pi_word;
mod posts;
mod semaphore;
mod signal;

pub use pi_mutex::{PiGuard, PiMutex};
pub use semaphore::Semaphore;
pub use signal::Signal;
