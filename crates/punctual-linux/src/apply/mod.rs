//! Carries out a plan, and undoes it.
//!
//! ```text
//! Transaction::begin -> apply(changes) -> Applied        revert(extent) -> Reverted
//!       look -> (journal: intent) -> act -> (journal: outcome)     journal -> undo -> (journal: undone) -> no trace
//! ```
//!
//! The previous value of every step is on the disk before the step is done, so the machine can be restored however and
//! whenever the program ends. This module decides nothing: the changes, their order and the allowed blast radius arrive
//! as values of `punctual_tuning::plan`.
//!
//! [`Hand`] is the only way to the machine, and [`Machine`] is the hand of the machine that this program runs on.
//! `look` inspects, `act` does a step, `undo` undoes one. [`transaction`] and [`mod@revert`] put steps into sequence.
//! [`supervise`] and [`guard`] make sure that changes are undone when nobody is left to do so.

mod act;
mod error;
pub mod guard;
mod look;
mod machine;
mod replace;
mod revert;
mod signals;
pub mod supervise;
mod transaction;
mod undo;

pub use crate::hand::{FileKind, Hand, Lock, LockAnswer, Meta, Ran, UnitState, UnitVerb};
pub use error::EngineError;
pub use machine::{Machine, is_alive, now, this_process};
/// A limit on exit latencies of idle states, in force until the value is dropped.
pub use punctual_rt::setup::LatencyRequest;
pub use revert::{Extent, Reverted, Trouble, UndoneStep, revert, revert_pending};
pub use transaction::{Applied, Fate, Request, Transaction, Tried, confirm};
