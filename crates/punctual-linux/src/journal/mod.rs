//! The journal: what was done to this machine and how to undo it, on the disk before it is done.
//!
//! ```text
//! begun -> intent (with what was there) -> outcome -> intent -> ... -> applied -> leaving -> undone ... -> reverted
//! ```
//!
//! Records are only appended, one per line, and each is synced before the step that it announces is done. When nothing
//! is left to undo, the journal and its folder are removed, so that nothing of us remains on the machine.
//!
//! [`record`] contains the values, [`mod@format`] their form on disk, [`session`] their meaning together, [`store`] the
//! file.

pub mod format;
pub mod record;
pub mod session;
pub mod store;

pub use record::{Begun, Intent, JournalRecord, KeptSetting, Owner, Purpose, StepOutcome, TuningRequest, Undone, Was};
pub use session::{Contents, Entry, Now, Pending, Session, SessionStage};
pub use store::{Journal, JournalError, read};
