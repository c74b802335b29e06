//! The journal: what was done to this machine and how to undo it, on the disk before it is done.
//!
//! ```text
//! begun -> intent (with what was there) -> outcome -> intent -> ... -> applied -> leaving -> undone ... -> reverted
//! ```
//!
//! Append-only, one record a line, each synced before what it announces happens. When nothing is left to undo, the
//! journal and its folder are removed: a machine that was put back has no trace of us.
//!
//! [`record`] are the values, [`mod@format`] their form on disk, [`session`] what they amount to, [`store`] the file.

pub mod format;
pub mod record;
pub mod session;
pub mod store;

pub use record::{Asked, Begun, Intent, Outcome, Owner, Purpose, Record, Undone, Was};
pub use session::{Contents, Entry, Now, Pending, Session, Stage};
pub use store::{Journal, JournalError, read};
