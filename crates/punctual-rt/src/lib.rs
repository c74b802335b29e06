//! The run-time library: what an application needs to keep its period.
//!
//! A periodic thread is a [`Grid`] that knows when the next release is and how many were missed, a [`Wait`] that gets
//! there, statistics another thread can read, and the thread itself, set up by [`setup`] and *verified*, not assumed.
//!
//! Everything that may allocate or fail happens before the loop; in the loop nothing allocates, locks or prints, and
//! the only kernel entry is the wait.
//!
//! This crate knows nothing of the tool: no machine facts, no recordings, no reports.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, clippy::cast_sign_loss))]

mod atomics;
mod channel;
pub mod check;
mod error;
mod grid;
mod idle;
mod interference;
pub mod kernel;
mod latest;
pub mod log;
mod memory;
#[cfg(doctest)]
mod misuse;
mod pacer;
pub mod phase;
mod policy;
mod poll;
mod release;
pub mod servo;
pub mod setup;
pub mod stats;
pub mod sync;
mod sys;
mod task;
mod wait;
mod wake;
pub mod watchdog;

pub use channel::{Receiver, Sender, spsc};
pub use error::{ConfigError, Error, LockError, PageError, SetupError};
pub use grid::{Grid, Overrun};
pub use latest::{LatestReader, LatestWriter, Reading, latest};
pub use memory::{Memory, lock_memory, prefault_stack};
pub use pacer::{Delay, Pacer, TOLERANCE};
pub use policy::Policy;
pub use punctual_hist::{Activation, Counts, Delta, MonoTime, Nanos};
pub use setup::{Grants, LatencyQos, Prepared, Refusal, Require, Setup};
pub use stats::{Stats, StatsConfig, StatsReader, StatsWriter};
pub use sys::now;
pub use task::{Control, Cycle, Cyclic, Ended, Group, Phase, PhaseClock, Stopper, Task, TaskConfig};
pub use wait::{Event, Margin, Means, Sleeper, Wait};
pub use wake::{Class, Wake};
