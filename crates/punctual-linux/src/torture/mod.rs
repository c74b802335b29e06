//! Tests that try to break what the kernel promises: registers that survive every switch, locks that lend their owner
//! the priority of those who wait, memory that stays locked, timers that are never early and never lost.
//!
//! [`run`] takes an [`Order`] and returns an [`Outcome`]. Every test is bounded in time, and ends early when its flag
//! is set. No thread has a priority above [`PRIORITY_MAX`], and on a machine of several CPUs one of them keeps a share
//! that no real-time thread takes. Where a real-time core runs beside Linux, [`switches`] has threads of that core among its
//! own, and [`mutex`] tries the locks of EVL, too; all other tests are about Linux.

mod checker;
mod core;
mod doubt;
mod fpu;
mod heap;
mod mutex;
mod outcome;
pub mod own_tests;
mod seat;
mod switches;
mod timers;

pub use crate::sys::registers::{Unit, Writer};
pub use checker::{ActKind, Corruption, Plant};
pub use core::{CoreName, Share};
pub use doubt::Doubt;
pub use heap::{Heap, HeapRow};
pub use mutex::{ChainRow, Mutexes};
pub use outcome::{End, Findings, Integrity, IntegrityRow, Outcome, Verdict};
pub use seat::{Kind, PRIORITY_MAX, Place};
pub use timers::{TimerKind, TimerRow, Timers};

use crate::load::Launcher;
use crate::privilege;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_hist::{MonoTime, Nanos};
use punctual_rt::{Policy, now, setup};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Most threads, or timers of a kind, on one CPU.
pub const THREADS_MAX: u32 = 1000;
/// The chain of eight locks, the thread that disturbs and the one that waits have a priority each.
const MUTEX_PRIORITY_MIN: u8 = mutex::PRIORITIES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    Switches,
    Fpu,
    Mutex,
    Heap,
    Timers,
}

#[derive(Clone, Debug)]
pub struct Order {
    pub test: Test,
    /// All CPUs that this process may use, if `None`.
    pub cpus: Option<CpuSet>,
    /// Threads on each CPU or, for timers, timers of each kind.
    pub threads: u32,
    pub length: Nanos,
    pub priority: u8,
    /// Whether one register is spoilt once, to see that it is noticed.
    pub plant: bool,
    /// How the program starts a load of its own.
    pub launcher: Launcher,
    pub load_dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TortureError {
    #[error("CPUs {cpus} cannot be tested: they are not online, or this process may not use them; there are {usable}")]
    NoSuchCpu { cpus: CpuSet, usable: CpuSet },
    #[error("{threads} threads on each CPU cannot be tested: write {least} to {THREADS_MAX}")]
    Threads { threads: u32, least: u32 },
    #[error("priority {priority} cannot be used: it must be {least} to {PRIORITY_MAX}")]
    Priority { priority: u8, least: u8 },
    #[error("a test of no time tests nothing: write for example --duration 10s")]
    NoTime,
    #[error("cannot start a thread for CPU {cpu}: {source}; are fewer threads enough (ulimit -u)?")]
    Start { cpu: u32, source: std::io::Error },
    #[error("cannot set up a thread on CPU {cpu}: {source}")]
    Setup { cpu: u32, source: punctual_rt::Error },
    #[error("a thread on CPU {cpu} cannot {operation}: {source}")]
    Work { cpu: u32, operation: &'static str, source: std::io::Error },
    #[error(
        "the real-time core was stopped during the test, and ended a thread on CPU {cpu}: start it (`evl start`, `corectl \
         --start`), and run the test again"
    )]
    CoreLost { cpu: u32 },
    #[error(transparent)]
    Load(#[from] crate::load::LoadError),
}

/// What every thread of a test looks at to know whether to go on.
pub(crate) struct Control<'a> {
    interrupted: &'a AtomicBool,
    failed: AtomicBool,
    length: Nanos,
    until: MonoTime,
}

impl Control<'_> {
    /// The same for the first half of the time.
    fn until_half(&self) -> Self {
        let left = self.until.since(now());
        let (length, until) = (left / 2, now() + left / 2);
        Control { interrupted: self.interrupted, failed: AtomicBool::new(false), length, until }
    }

    fn goes_on(&self) -> bool {
        self.goes_on_until(self.until)
    }

    fn goes_on_until(&self, until: MonoTime) -> bool {
        now() < until && !self.interrupted.load(Relaxed) && !self.failed.load(Relaxed)
    }
}

impl Order {
    /// The least number of threads that a test can do with: nothing is switched where there is one thread.
    fn threads_min(&self) -> u32 {
        if self.test == Test::Switches { 2 } else { 1 }
    }

    fn checked(&self) -> Result<(), TortureError> {
        let least = self.threads_min();
        if !(least..=THREADS_MAX).contains(&self.threads) {
            return Err(TortureError::Threads { threads: self.threads, least });
        }
        let least = if self.test == Test::Mutex { MUTEX_PRIORITY_MIN } else { 1 };
        if !(least..=PRIORITY_MAX).contains(&self.priority) {
            return Err(TortureError::Priority { priority: self.priority, least });
        }
        if self.length == Nanos::ZERO { Err(TortureError::NoTime) } else { Ok(()) }
    }
}

/// Runs a test until its time is over, or `interrupted` is set.
pub fn run(order: &Order, cpus: &Cpus, interrupted: &AtomicBool) -> Result<Outcome, TortureError> {
    order.checked()?;
    let refused = real_time_refused(order.priority);
    let mut place = Place::of(order.cpus.as_ref(), cpus, refused.is_none())?;
    bound_run_away();
    let takes_core = matches!(order.test, Test::Switches | Test::Mutex);
    let core = if takes_core { Share::of(&place.real_time, order.priority) } else { Ok(None) };
    let core_refused = core.as_ref().err().cloned();
    place.core = core.ok().flatten();
    let started = now();
    let control = Control {
        interrupted,
        failed: AtomicBool::new(false),
        length: order.length,
        until: started.plus(order.length),
    };
    let findings = match order.test {
        Test::Switches => Findings::Switches(switches::run(order, &place, &control)?),
        Test::Fpu => Findings::Fpu(fpu::run(order, &place, &control)?),
        Test::Mutex => Findings::Mutex(mutex::run(order, &place, &control)?),
        Test::Heap => Findings::Heap(heap::run(order, &place, cpus, &control)?),
        Test::Timers => Findings::Timers(timers::run(order, &place, &control)?),
    };
    let end = if interrupted.load(Relaxed) { End::Interrupted } else { End::TimeUp };
    Ok(Outcome::of(place, now().since(started), end, refused, findings).with_core_refused(core_refused))
}

/// Why this process may not have real-time threads of this priority, as a new thread tries it; `None` if it may.
fn real_time_refused(priority: u8) -> Option<String> {
    let tried = std::thread::spawn(move || setup::set_policy(Policy::Fifo(priority))).join();
    match tried {
        Ok(Err(error)) => Some(match privilege::explain_policy(error.errno()) {
            text if text.is_empty() => error.to_string(),
            text => text,
        }),
        Ok(Ok(())) | Err(_) => None,
    }
}

/// Makes the kernel end this process if one of its real-time threads runs for seconds without sleeping, which would be
/// a bug of ours and make the machine unusable.
fn bound_run_away() {
    const TWO_SECONDS_IN_US: u64 = 2_000_000;
    let limit = Rlimit { current: Some(TWO_SECONDS_IN_US), ..getrlimit(Resource::Rttime) };
    // Fails if a lower hard limit is already in force, which is just as good.
    let _ = setrlimit(Resource::Rttime, limit);
}
