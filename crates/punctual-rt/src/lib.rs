#![doc = include_str!("../README.md")]
//!
//! # Which call may do what
//!
//! The documentation of each call has a section *Real-time*. A `const fn` may be called anywhere. In short:
//!
//! | when | calls | what they may do |
//! |---|---|---|
//! | before the loop | [`TaskConfig::check`], [`Task::spawn`], [`Group`], [`Cyclic::new`], [`Setup::apply`], [`Stats::create`], [`spsc()`], [`latest()`], [`log::Drain`], [`watchdog::Watchdog::start`] | allocate, fault, read files, block, and fail |
//! | to wait | [`Cyclic::wait`], [`Pacer::wait`], [`Delay::until`] | enter the kernel to sleep, and poll the clock; nothing else |
//! | in the loop | [`Cycle::steer`], [`Cyclic::finish`], [`Sender::push`], [`Receiver::pop`], [`LatestWriter::write`], [`LatestReader::read`], [`servo::PhaseServo::sample`], [`watchdog::Heart::beat`], [`rt_log!`], [`marks`], [`now`] | read the clock; they neither allocate, lock nor enter the kernel |
//! | in the loop, if necessary | [`sync::Signal::post`], [`sync::Semaphore::post`], [`sync::PiMutex::lock`] | enter the kernel if a thread waits there or holds the lock; the owner of the lock then runs at the caller's priority |
//! | on any other thread, at any time | [`StatsReader::snapshot`], [`Task::stop`], [`Stopper::stop`] | allocate, without the loop noticing |
//! | after the loop | [`Task::join`], dropping | block, free |
//!
//! # Units
//!
//! Lengths and instants are types. Every other quantity has its unit as the last word of its name (`stack_bytes`,
//! `spin_ppm`, `rt_time_us`).
//!
//! | type | what it is | made by | arithmetic, which saturates |
//! |---|---|---|---|
//! | [`Nanos`] | a length of time up to 584 years | [`Nanos::from_ns`], `from_us`, `from_ms`, `from_secs`, [`From<Duration>`](std::time::Duration) | `+` `-`, `*` and `/` with a `u64`, [`Nanos::whole`] |
//! | [`MonoTime`] | an instant of `CLOCK_MONOTONIC` | [`now`] | `+` and `-` with [`Nanos`], `+` with [`Delta`]; the difference of two is a [`Nanos`], or by [`MonoTime::signed_since`] a [`Delta`] |
//! | [`Delta`] | a signed length, up to 292 years either way | [`Delta::from_ns`], [`Nanos::ahead`] | `+` `-` |
//!
//! # Real-time cores
//!
//! If the kernel has EVL or Cobalt (Xenomai), it paces [`Policy::Fifo`] tasks that sleep, so that Linux cannot delay them;
//! see [`TaskConfig::backend`]. The rows *to wait* and *in the loop* of the first table stay as they are: such calls keep
//! a task out-of-band. Every call that enters Linux takes it in-band until its next sleep, which is counted, or with
//! [`InBand::Strict`] ends the loop. A lock of Linux that is held is an error there ([`LockError::OutOfBand`]);
//! [`sync::PiMutex::on`] and [`sync::Semaphore::on`] make those of the core.
//!
//! # Errors, by phase
//!
//! | when | error | what to do |
//! |---|---|---|
//! | a configuration is checked | [`ConfigError`] | change the program: no system would take it |
//! | a thread is set up | [`SetupError`] | grant the right or raise the limit that [`Error::remedy`] names, or ask for [`Require::BestEffort`] and look at [`Task::refusals`] |
//! | at a lock | [`LockError`] | handle it in the loop: the lock was not taken |
//! | another program's statistics are read | [`PageError`] | report it to the user |
//!
//! All of them convert into [`Error`]. After the set-up a loop has no errors: unexpected events are counted in its
//! statistics, and [`Wake`] describes them.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, clippy::cast_sign_loss))]

#[macro_use]
mod setters;
mod atomics;
mod backend;
mod channel;
pub mod check;
mod error;
mod grid;
mod idle;
mod interference;
pub mod kernel;
mod latest;
pub mod log;
pub mod marks;
mod memory;
#[cfg(doctest)]
mod misuse;
#[cfg(test)]
mod noise;
mod pacer;
mod page;
pub mod phase;
mod policy;
mod poll;
mod release;
pub mod servo;
pub mod setup;
pub mod stats;
mod stop;
pub mod sync;
mod sys;
mod task;
mod wait;
mod wake;
pub mod watchdog;

pub use backend::{Backend, CoreThread, InBand, SwitchCause};
pub use channel::{Receiver, Sender, spsc};
pub use error::{ConfigError, CoreRefusal, Error, LockError, PageError, SetupError};
pub use grid::{Grid, Overrun};
pub use latest::{LatestReader, LatestWriter, Reading, latest};
pub use memory::{Memory, lock_memory, prefault_stack};
pub use pacer::{Delay, Pacer, TOLERANCE};
pub use policy::Policy;
pub use punctual_hist::{Activation, Counts, Delta, MonoTime, Nanos};
pub use setup::{Grants, LatencyQos, Prepared, Refusal, Require, Setup};
pub use stats::{Stats, StatsConfig, StatsReader, StatsWriter};
pub use stop::Stopper;
pub use sys::{DriverCalls, SleepCall, now};
pub use task::{Control, Cycle, Cyclic, Ended, Group, Phase, PhaseClock, Task, TaskConfig};
pub use wait::{Event, Margin, Means, Sleeper, Wait};
pub use wake::{Class, Wake};
