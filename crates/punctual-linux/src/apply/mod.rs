//! Carrying a plan out, and taking it back.
//!
//! ```text
//! Transaction::begin -> apply(changes) -> Applied        revert(extent) -> Reverted
//!       look -> (journal: intent) -> act -> (journal: outcome)     journal -> undo -> (journal: undone) -> no trace
//! ```
//!
//! Every step's before-value is on the disk before the step is done, so that the machine can be put back however and
//! whenever the program ends. It decides nothing: which changes, in which order and how far one may go arrive as values
//! of `punctual_tuning::plan`.
//!
//! [`Hand`] is the only way to the machine; [`Machine`] is the hand of the one this program runs on. `look` says what is
//! there, `act` does a step, `undo` undoes one; [`transaction`] and [`mod@revert`] put them into sequence, [`supervise`] and
//! [`guard`] see to it that things go back when nobody is left to say so.

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
/// A limit on the CPUs' sleep, in force as long as it lives.
pub use punctual_rt::setup::LatencyRequest;
pub use revert::{Extent, Reverted, Trouble, UndoneStep, revert, revert_pending};
pub use transaction::{Applied, Fate, Request, Transaction, Tried, confirm};
