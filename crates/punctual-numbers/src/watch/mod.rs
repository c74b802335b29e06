//! What a watch keeps of months, and what it tells of them.
//!
//! ```text
//! frames of a run -> condensed (steps of five minutes, the worst of the day) -> Segment -> History (days and gaps)
//!                    condense                                                  segment    history
//! ```
//! A watch writes one recording after another, at least one a day: each is a segment of its store. This module must not know
//! where segments are stored.

mod condense;
mod history;
mod lane;
mod segment;
#[cfg(test)]
mod tests;

pub use condense::{Detail, condensed};
pub use history::{Day, EventsOfDay, Gap, GapReason, History, WatchedCpu};
pub use lane::Lane;
pub use segment::{Segment, WorstOfSegment};

use punctual_hist::Nanos;

/// Days begin at midnight UTC, because local time has days of 23 and 25 hours.
pub const DAY: Nanos = Nanos::from_secs(86_400);

/// The number of the day since 1970 at this wall clock.
pub const fn day_of(unix_ns: u64) -> u64 {
    unix_ns / DAY.as_ns()
}
