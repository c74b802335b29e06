//! The watch of a program's own threads: for months, without touching them.
//!
//! ```text
//! Sought -> study (inspect, a few seconds) -> lanes -> run (two records a cycle) -> keep, as the watch of our own threads
//! ```
//! A run ends with the program, at midnight, or when the program has other threads than it had. The next one begins a new
//! segment, so that no time between is unaccounted for.

mod burden;
mod causes;
mod run;

use super::keep::{Household, Keeper, Turn};
use super::{Said, TRY_AGAIN, Wanted, WatchError, length, settle, wait};
use crate::inspect::{self, Program, Sought, Target, ThreadFilter};
use crate::measure::{self, Setting};
use crate::trace::{Followed, ReleaseTrace, TraceError, sweep};
use burden::Frugality;
pub use burden::Saving;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Engine, Inspection, Policy, ReleasedBy, Setup, ThreadReport};
use punctual_numbers::recording::{EndReason, WatchedProgram, WatchedThread};
use punctual_rt::kernel::{real_time, sleep_for};
use run::Run;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long the program is looked at closely before its threads are followed.
const STUDY: Nanos = Nanos::from_secs(3);
/// Least time between two such looks because of other threads.
const STUDY_APART: Nanos = Nanos::from_secs(60);
/// Least time between two searches for a program that is not there. A search takes at most one part in this many of the time.
const SEARCH: Nanos = Nanos::from_secs(1);
const SEARCH_PART: u64 = 1000;
/// Threads that are followed: those of the highest priorities, so that filters and buffers hold them.
const THREADS_MAX: usize = 64;

/// Which program is watched.
#[derive(Clone, Debug)]
pub struct Subject {
    pub target: Target,
    /// The only threads that are followed; all that something paces if `None`.
    pub thread: Option<ThreadFilter>,
    /// Whether to wait for the program if it does not run yet.
    pub waits: bool,
    pub budget: Option<Nanos>,
}

/// A thread that is followed, as it was found in the study.
#[derive(Clone, Debug)]
pub struct Lane {
    pub number: u32,
    pub tid: u32,
    pub name: String,
    pub by: ReleasedBy,
    pub period: Nanos,
    pub policy: Option<(Policy, u32)>,
    pub cpus: CpuSet,
    pub is_locked: bool,
}

/// What a study found.
struct Studied {
    pid: u32,
    program: WatchedProgram,
    lanes: Vec<Lane>,
    /// All threads that were there, by number and name.
    threads: Vec<(u32, String)>,
}

pub fn watch(wanted: &Wanted, subject: &Subject, home: &mut Household<'_>) -> Result<EndReason, WatchError> {
    let interrupted = home.interrupted;
    let until = wanted.duration.map(|length| measure::now().plus(length));
    let mut sought = Sought::new(&subject.target, subject.thread.as_ref(), subject.waits)?;
    let mut frugality = Frugality::new(wanted.share, wanted.setting.explain.is_some());
    let mut studied: Option<Studied> = None;
    let mut has_watched = false;
    while let Some(program) = find(&mut sought, until, home) {
        let known = studied.take().filter(|known| known.pid == program.pid && known.threads == program.threads());
        let fresh = match known {
            Some(known) => Ok(known),
            None => study(subject, &program, &wanted.setting, interrupted),
        };
        let fresh = match fresh {
            Ok(fresh) => fresh,
            // It ended while it was looked at, or it is another program's turn.
            Err(_) if program.has_ended() || interrupted.load(Relaxed) => continue,
            Err(error) if !has_watched && !subject.waits => return Err(error),
            Err(error) => {
                (home.said)(&Said::NotMeasured(error.to_string()));
                wait(TRY_AGAIN, interrupted);
                continue;
            }
        };
        let left = until.map(|until| until.since(measure::now()));
        if left.is_some_and(|left| left == Nanos::ZERO) {
            break;
        }
        frugality.begins(real_time());
        let ends = AtomicBool::new(false);
        let longest = fresh.lanes.iter().map(|lane| lane.period).max().unwrap_or_default();
        let mut keeper = Keeper::uncosted(home, &ends, longest);
        let run = Run::begin(&fresh, subject, wanted, &frugality);
        let ended = match run {
            Ok(run) => run.until_end(&program, length(real_time(), left), &mut frugality, &mut keeper),
            Err(error) if !has_watched => return Err(error.into()),
            Err(error) => {
                keeper.says(&Said::NotMeasured(error.to_string()));
                drop(keeper);
                wait(TRY_AGAIN, interrupted);
                continue;
            }
        };
        has_watched = true;
        let turn = keeper.finish();
        settle(home);
        match ended {
            EndReason::LimitExceeded => return Ok(ended),
            _ if interrupted.load(Relaxed) => return Ok(EndReason::Interrupted),
            EndReason::ProgramEnded => (home.said)(&Said::ProgramEnded(sought.name().to_owned())),
            _ => studied = Some(fresh).filter(|_| turn == Some(Turn::NextSegment) || turn.is_none()),
        }
    }
    Ok(if interrupted.load(Relaxed) { EndReason::Interrupted } else { EndReason::Completed })
}

/// Waits until the program runs. `None` if the watch ends before.
fn find(sought: &mut Sought, until: Option<MonoTime>, home: &mut Household<'_>) -> Option<Program> {
    let mut has_said = false;
    loop {
        let from = measure::now();
        if home.interrupted.load(Relaxed) || until.is_some_and(|until| from >= until) {
            return None;
        }
        if let Some(program) = sought.find() {
            return Some(program);
        }
        if !std::mem::replace(&mut has_said, true) {
            (home.said)(&Said::Waits(sought.name().to_owned()));
        }
        let pause = SEARCH.max(measure::now().since(from).times(SEARCH_PART));
        let end = from.plus(pause).min(until.unwrap_or(MonoTime::from_ns(u64::MAX)));
        while measure::now() < end && !home.interrupted.load(Relaxed) {
            sleep_for(SEARCH.min(end.since(measure::now())));
        }
    }
}

/// Looks at the program closely for a few seconds, to know what paces each of its threads.
fn study(
    subject: &Subject,
    program: &Program,
    setting: &Setting,
    interrupted: &AtomicBool,
) -> Result<Studied, WatchError> {
    let threads = program.threads();
    let wanted = inspect::Wanted {
        target: Target::Process(program.pid),
        children: false,
        thread: subject.thread.clone(),
        duration: STUDY,
        limit: None,
        may_trace: true,
        cycles: None,
        engine: None,
        allocations: false,
        causes: false,
        cpus: setting.cpus.online.clone(),
        machine: Vec::new(),
        cost: f64::INFINITY,
    };
    let inspection = inspect::run(&wanted, interrupted, None)?;
    let is_traced = inspection.engine != Engine::Counters;
    let refused = inspection.refused.last().filter(|_| !is_traced).map(|refused| refused.why.clone());
    let lanes = lanes(&inspection, &setting.cpus.online);
    if let Some(why) = refused {
        return Err(WatchError::NoTrace(why));
    }
    if lanes.is_empty() {
        return Err(WatchError::NothingPaced { name: program.name.clone(), threads: inspection.threads.len() });
    }
    let thread = |lane: &Lane| WatchedThread { number: lane.number, tid: lane.tid, name: lane.name.clone() };
    Ok(Studied {
        pid: program.pid,
        program: WatchedProgram {
            pid: program.pid,
            name: program.name.clone(),
            threads: lanes.iter().map(thread).collect(),
        },
        lanes,
        threads,
    })
}

/// The threads that something paces in cycles, those of the highest priorities first. Several of one name get numbers.
fn lanes(inspection: &Inspection, online: &CpuSet) -> Vec<Lane> {
    let mut paced: Vec<&ThreadReport> = inspection.threads.iter().filter(|thread| thread.cycles.is_some()).collect();
    let priority = |thread: &ThreadReport| thread.setup.as_ref().and_then(Setup::kernel_priority);
    paced.sort_by_key(|thread| (priority(thread).unwrap_or(i32::MAX), thread.tid));
    let chosen: Vec<&ThreadReport> =
        paced.into_iter().filter(|thread| ReleasedBy::of(&thread.pace).is_some()).take(THREADS_MAX).collect();
    let lane = |(number, thread): (usize, &&ThreadReport)| {
        let alike = chosen.iter().take(number).filter(|before| before.name == thread.name).count();
        let name = if alike == 0 { thread.name.clone() } else { format!("{} {}", thread.name, alike + 1) };
        let setup = thread.setup.as_ref();
        let cpus = setup.map_or_else(|| online.clone(), |setup| setup.cpus.intersection(online));
        Some(Lane {
            number: u32::try_from(number).ok()?,
            tid: thread.tid,
            name,
            by: ReleasedBy::of(&thread.pace)?,
            period: thread.cycles.as_ref()?.period.unwrap_or_default(),
            policy: setup.and_then(|setup| Some((setup.policy?, setup.priority))),
            cpus,
            is_locked: setup.and_then(|setup| setup.locked_bytes).is_some_and(|bytes| bytes > 0),
        })
    };
    chosen.iter().enumerate().filter_map(lane).collect()
}

fn followed(lanes: &[Lane]) -> Vec<Followed> {
    lanes.iter().map(|lane| Followed { tid: lane.tid, by: lane.by }).collect()
}

fn open(lanes: &[Lane], online: &CpuSet) -> Result<(ReleaseTrace, Nanos), TraceError> {
    sweep();
    let mut trace = ReleaseTrace::open(online)?;
    let cost = trace.cost()?;
    trace.follow(&followed(lanes))?;
    Ok((trace, cost))
}
