//! The watch: measures for months beside other work, and keeps what it saw in a store of bounded size.
//!
//! ```text
//! run after run of `measure` -> keep (act, cost, serve) -> store: one segment for each run
//! ```
//! A run lasts to the next midnight UTC at most. Each begins anew with its threads, its trace and its list of the worst, so
//! that nothing grows with the months, and a watch that goes on after midnight does what one does after a crash.

mod act;
mod cost;
mod keep;
mod program;
mod serve;
mod store;

pub use crate::burden::Burden;
pub use act::{Action, Lateness, Snapshot};
pub use program::{Saving, Subject};
pub use serve::Place;
pub use store::{BYTES_MIN, SegmentFile, Store, StoreError, files, read_segments, read_together};

use crate::inspect::InspectError;
use crate::measure::{self, MeasureError, Pace, Setting};
use crate::trace::TraceError;
use act::Actions;
use cost::Cost;
use keep::{Household, Keeper, Turn};
use punctual_hist::Nanos;
use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::{Amount, Scenario};
use punctual_numbers::watch::DAY;
use punctual_rt::kernel::real_time;
use serve::{Figures, Server, with};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use thiserror::Error;

/// The store of the superuser's watch. It is not in the folder of the journal, which only the superuser may read.
pub const STORE: &str = "/var/lib/punctual-watch";
/// The number of the largest latencies of a day that count as late, so that records of them are kept.
pub const RAREST: u64 = 16;
/// Windows that each CPU may have in a segment before that is condensed.
pub const WINDOWS_EACH: u32 = 64;
/// Size of the kernel's trace buffer for each watched CPU: more than a second of 20 000 records.
pub const BUFFER_BYTES: u64 = 1 << 20;
/// Time after which a run that could not be begun is tried again.
const TRY_AGAIN: Nanos = Nanos::from_secs(60);
/// A run that would be shorter than this is left out: the next one begins with the next day.
const SHORTEST: Nanos = Nanos::from_secs(2);

/// What is watched, and what is done with it.
pub struct Wanted {
    pub store: PathBuf,
    pub bytes_max: u64,
    pub what: What,
    pub setting: Setting,
    /// Largest share of one CPU for each watched CPU or thread.
    pub share: f64,
    pub actions: Vec<Action>,
    pub snapshot: Snapshot,
    pub metrics: Option<Place>,
    /// How long to watch; `None` for ever.
    pub duration: Option<Nanos>,
}

pub enum What {
    /// Threads of our own. The scenario says what each run measures; its length is ignored.
    Own(Scenario),
    Program(Subject),
}

/// What the watch says while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Late(Lateness),
    ActionFailed(String),
    /// The store cannot be written to. The watch goes on and tries again.
    NotWritten(String),
    /// A run could not be begun. The watch tries again.
    NotMeasured(String),
    /// The watch costs more than it may, and takes a longer period. Shares are those of one CPU.
    Costly {
        share: f64,
        limit: f64,
        before: Nanos,
        now: Nanos,
    },
    /// The watch of a program has measured what it costs, or does without something. The limit is a share of one CPU.
    Cost {
        burden: Burden,
        /// What one record takes of the thread that it is about.
        each: Nanos,
        limit: f64,
        saving: Saving,
    },
    /// The program with this name does not run, and is waited for.
    Waits(String),
    ProgramEnded(String),
}

pub type SaidTo<'a> = &'a mut dyn FnMut(&Said);

#[derive(Debug, Error)]
pub enum WatchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Measure(#[from] MeasureError),
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error("the kernel's trace is needed to watch a program: {0}")]
    Trace(#[from] TraceError),
    #[error("the kernel's trace is needed to watch a program: {0}")]
    NoTrace(String),
    #[error(
        "nothing paces any of the {threads} threads of {name} that ran within 3 s; look at them with \
         punctual inspect --duration 60s {name}"
    )]
    NothingPaced { name: String, threads: usize },
    #[error("answer at the place of --metrics: {0}")]
    Metrics(#[source] io::Error),
}

/// Watches until the time is up, `interrupted` is set, or an action stops it.
pub fn run(wanted: &Wanted, interrupted: &AtomicBool, said: SaidTo<'_>) -> Result<EndReason, WatchError> {
    let store = Store::open(&wanted.store, wanted.bytes_max)?;
    let figures: Figures = Arc::default();
    let server =
        wanted.metrics.as_ref().map(|place| Server::open(place, &figures)).transpose().map_err(WatchError::Metrics)?;
    let actions = Actions::new(wanted.actions.clone(), wanted.snapshot.clone(), store.folder());
    let mut home = Household { store, figures, server, actions, interrupted, said, notes: Vec::new() };
    match &wanted.what {
        What::Own(scenario) => own(wanted, scenario.clone(), &mut home),
        What::Program(subject) => program::watch(wanted, subject, &mut home),
    }
}

/// Watches with threads of our own.
fn own(wanted: &Wanted, mut scenario: Scenario, home: &mut Household<'_>) -> Result<EndReason, WatchError> {
    let interrupted = home.interrupted;
    let setting = Setting { pace: Pace::SPARING, ..wanted.setting.clone() };
    #[allow(clippy::cast_precision_loss, reason = "a machine has few CPUs")]
    let limit = wanted.share * scenario.threads.len() as f64;
    let until = wanted.duration.map(|length| measure::now().plus(length));
    let mut has_measured = false;
    loop {
        let left = until.map(|until| until.since(measure::now()));
        if left.is_some_and(|left| left == Nanos::ZERO) {
            return Ok(EndReason::Completed);
        }
        scenario.length = Amount::Time(length(real_time(), left));
        let ends = AtomicBool::new(false);
        let period = scenario.threads.iter().map(|thread| thread.period).max().unwrap_or_default();
        let mut keeper = Keeper::new(home, &ends, Cost::new(limit), period);
        let reason = match measure::measure(&scenario, &setting, &ends, &mut keeper) {
            // What was possible before may become so again: a CPU that is off-line, a limit that was lowered.
            Err(error) if has_measured => {
                drop(keeper);
                (home.said)(&Said::NotMeasured(error.to_string()));
                wait(TRY_AGAIN, interrupted);
                EndReason::Stalled
            }
            ended => {
                let reason = ended?;
                has_measured = true;
                let turn = keeper.finish();
                settle(home);
                if let Some(Turn::Period(longer)) = turn {
                    scenario.threads.iter_mut().for_each(|thread| thread.period = longer.max(thread.period));
                }
                if turn.is_some() && reason == EndReason::Interrupted { EndReason::Completed } else { reason }
            }
        };
        match reason {
            EndReason::Interrupted | EndReason::LimitExceeded => return Ok(reason),
            _ if interrupted.load(Relaxed) => return Ok(EndReason::Interrupted),
            _ => {}
        }
    }
}

/// Sleeps, unless the watch is interrupted.
fn wait(length: Nanos, interrupted: &AtomicBool) {
    let until = measure::now().plus(length);
    while measure::now() < until && !interrupted.load(Relaxed) {
        punctual_rt::kernel::sleep_for(Pace::SPARING.tick);
    }
}

/// Brings the store in order after a run.
fn settle(home: &mut Household<'_>) {
    if let Err(error) = home.store.end() {
        (home.said)(&Said::NotWritten(error.to_string()));
    }
    let bytes = files(home.store.folder()).map_or(0, |files| files.iter().map(|file| file.bytes).sum());
    with(&home.figures, |watching| watching.store_bytes = bytes);
}

/// How long the next run is to be: to midnight, or to the end of the watch.
fn length(unix_ns: u64, left: Option<Nanos>) -> Nanos {
    let day = DAY.as_ns();
    let mut to_midnight = Nanos::from_ns(day - unix_ns % day);
    if to_midnight < SHORTEST {
        to_midnight = to_midnight.plus(DAY);
    }
    left.map_or(to_midnight, |left| left.min(to_midnight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_midnight_or_with_the_watch() {
        let day = |days: u64, s: u64| days * DAY.as_ns() + s * 1_000_000_000;
        let hours = |n: u64| Nanos::from_secs(n * 3600);
        assert_eq!(length(day(20_000, 0), None), DAY);
        assert_eq!(length(day(20_000, 79_200), None), hours(2));
        assert_eq!(length(day(20_000, 79_200), Some(hours(1))), hours(1));
        assert_eq!(length(day(20_000, 86_399), None), DAY.plus(Nanos::from_secs(1)), "one second is no run");
        assert_eq!(length(day(20_000, 86_399), Some(Nanos::from_secs(5))), Nanos::from_secs(5));
    }
}
