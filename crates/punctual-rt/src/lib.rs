//! The run-time library: what an application needs to keep its period.
//!
//! A periodic thread is four values: a [`Grid`] that knows when the next release is and how many were skipped, a
//! [`Waiter`] that sleeps until then, a [`Recorder`] that keeps statistics another thread can read, and the thread
//! itself, set up by [`setup`] and *verified*, not assumed.
//!
//! Everything that may allocate or fail happens before the loop; in the loop nothing allocates, locks or prints, and
//! the only kernel entry is the wait.
//!
//! ```
//! use punctual_rt::{Grid, Mechanism, Nanos, Recorder, Waiter, now};
//!
//! let period = Nanos::from_ms(1);
//! let mut waiter = Waiter::new(Mechanism::Absolute)?;
//! let epoch = now().plus(Nanos::from_ms(2));
//! let mut grid = Grid::new(epoch, period);
//! let (mut recorder, reader) = Recorder::new(epoch, period, Some(Nanos::from_us(50)));
//! for _ in 0..5 {
//!     let woke = waiter.wait_until(grid.release());
//!     let step = grid.advance(woke, punctual_rt::MonoTime::from_ns(u64::MAX));
//!     recorder.record(step, woke);
//!     // … the work …
//! }
//! assert_eq!(reader.ran().count() + reader.skipped().count() + reader.gaps_waiting(), grid.index());
//! # Ok::<(), punctual_rt::Error>(())
//! ```
//!
//! This crate knows nothing of the tool: no machine facts, no recordings, no reports.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, clippy::cast_sign_loss))]

mod atomics;
mod blocks;
mod channel;
mod error;
mod gaps;
mod latest;
pub mod log;
mod memory;
mod policy;
mod recorder;
pub mod setup;
pub mod sync;
pub mod sys;
mod timing;
mod wait;
mod wake;
pub mod watchdog;

pub use blocks::Block;
pub use channel::{Receiver, Sender, spsc};
pub use error::Error;
pub use gaps::Gap;
pub use latest::{LatestReader, LatestWriter, Reading, latest};
pub use memory::{lock_memory, prefault_stack};
pub use policy::Policy;
pub use punctual_hist::{Activation, Counts, Delta, MonoTime, Nanos};
pub use recorder::{GAP_DEFERRED, Recorder, RecorderReader};
pub use sys::now;
pub use timing::{Grid, Step};
pub use wait::{Mechanism, Waiter};
pub use wake::{Class, Wake};
