//! Watches the program for as long as asked, and keeps what was seen.

use super::child::Program;
use super::process::{self, Thread};
use super::symbols::Maps;
use super::{InspectError, Target, Wanted, target};
use crate::sys::usage;
use crate::trace::ProgramTrace;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Counters, End, Record};
use punctual_rt::now;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

/// Time between two readings of the trace. A buffer holds more than 80,000 records.
const TICK: Duration = Duration::from_millis(20);
/// Time between two readings of threads and their settings; longer where reading takes long.
const LOOK: Nanos = Nanos::from_ms(500);
/// Readings of threads may use one part in this many of the time.
const LOOK_PART: u64 = 20;
/// Records that are kept: about 100 MB.
const RECORDS_MAX: usize = 1_500_000;
/// Threads whose system calls are looked at, without a trace.
const SAMPLED_MAX: usize = 64;

/// Everything that was seen.
pub struct Observed {
    pub pid: u32,
    pub name: String,
    pub started: Option<MonoTime>,
    pub threads: BTreeMap<u32, Seen>,
    pub maps: Option<Maps>,
    pub length: Nanos,
    pub end: End,
    /// Records in order of time; `None` without a trace.
    pub records: Option<Vec<Record>>,
    pub lost: u64,
    pub own_cpu: Nanos,
    pub blind_events: Vec<String>,
    /// Whether the kernel refused to show what threads wait in.
    pub waits_hidden: bool,
}

pub struct Seen {
    pub last: Thread,
    first_counters: Option<Counters>,
    /// System calls that the thread was found in, with their arguments, and how often.
    pub found_in: BTreeMap<(u32, [u64; 2]), u64>,
}

impl Seen {
    pub fn growth(&self) -> Option<Counters> {
        Some(process::growth(&self.first_counters?, &self.last.counters?))
    }
}

pub fn observe(
    wanted: &Wanted,
    mut trace: Option<ProgramTrace>,
    interrupted: &AtomicBool,
) -> Result<Observed, InspectError> {
    let found = target::find(&wanted.target, wanted.thread.as_ref())?;
    let cpu_before = usage::own_cpu();
    if let (Some(pid), Some(tracing)) = (found, &trace) {
        let followed = tracing.follow(&process::thread_ids(pid)).and_then(|()| tracing.begin());
        trace = followed.is_ok().then_some(trace).flatten();
    }
    let from = now();
    let mut program = start(&wanted.target, trace.as_ref())?;
    let pid = found.or(program.as_ref().map(Program::pid)).unwrap_or_default();
    let mut watch = Watch {
        pid,
        is_ours: program.is_some(),
        looked: MonoTime::default(),
        look: LOOK,
        seen: Observed {
            pid,
            name: String::new(),
            started: program.is_some().then_some(from),
            threads: BTreeMap::new(),
            maps: None,
            length: Nanos::default(),
            end: End::Duration,
            records: trace.is_some().then(Vec::new),
            lost: 0,
            own_cpu: Nanos::default(),
            blind_events: trace.as_ref().map(|trace| trace.blind.clone()).unwrap_or_default(),
            waits_hidden: false,
        },
    };
    watch.seen.end = watch.until_end(wanted, &mut trace, &mut program, from, interrupted);
    watch.look();
    let mut seen = watch.seen;
    seen.length = now().since(from);
    if let (Some(trace), Some(records)) = (&mut trace, &mut seen.records) {
        trace.end();
        trace.drain(records);
        seen.lost = trace.lost();
        records.sort_by_key(|record| record.at);
    }
    drop(trace);
    seen.own_cpu = usage::own_cpu().minus(cpu_before);
    if seen.threads.is_empty() { Err(InspectError::EndedAtOnce) } else { Ok(seen) }
}

fn start(target: &Target, trace: Option<&ProgramTrace>) -> Result<Option<Program>, InspectError> {
    let Target::Command(words) = target else { return Ok(None) };
    Program::start(words, |tid| {
        if let Some(trace) = trace {
            // Without the trace of its start, the program is still found by its number.
            let _ = trace.follow(&[tid]).and_then(|()| trace.begin());
        }
    })
    .map(Some)
}

struct Watch {
    pid: u32,
    is_ours: bool,
    looked: MonoTime,
    look: Nanos,
    seen: Observed,
}

impl Watch {
    fn until_end(
        &mut self,
        wanted: &Wanted,
        trace: &mut Option<ProgramTrace>,
        program: &mut Option<Program>,
        from: MonoTime,
        interrupted: &AtomicBool,
    ) -> End {
        loop {
            self.look_if_time();
            if let (Some(trace), Some(records)) = (trace.as_mut(), &mut self.seen.records) {
                trace.drain(records);
                if records.len() > RECORDS_MAX {
                    return End::Full;
                }
            } else {
                self.sample();
            }
            let ended = program.as_mut().map_or_else(|| !process::is_running(self.pid), Program::has_ended);
            match () {
                () if ended => return End::ProgramEnded,
                () if interrupted.load(Relaxed) => return End::Interrupted,
                () if now().since(from) >= wanted.duration => return End::Duration,
                () => sleep(TICK),
            }
        }
    }

    fn look_if_time(&mut self) {
        // A program that has just been started is still being loaded: its first look would show another one.
        let is_new = self.is_ours && self.seen.maps.is_none();
        if is_new || now().since(self.looked) >= self.look {
            self.look();
        }
    }

    /// Reads the threads and their settings. What was read before stays if a thread is gone.
    fn look(&mut self) {
        let from = now();
        let tids = process::thread_ids(self.pid);
        for (tid, thread) in process::threads(self.pid, &tids) {
            let seen = self.seen.threads.entry(tid).or_insert_with(|| Seen {
                first_counters: thread.counters,
                last: thread.clone(),
                found_in: BTreeMap::new(),
            });
            seen.last = thread;
        }
        if let Some(name) = process::name(self.pid) {
            self.seen.name = name;
        }
        self.seen.maps = Maps::read(self.pid).or(self.seen.maps.take());
        self.looked = now();
        self.look = LOOK.max(self.looked.since(from).times(LOOK_PART));
    }

    fn sample(&mut self) {
        for (tid, seen) in self.seen.threads.iter_mut().take(SAMPLED_MAX) {
            match process::current_call(self.pid, *tid) {
                Ok(Some(call)) => *seen.found_in.entry(call).or_default() += 1,
                Ok(None) => {}
                Err(()) => self.seen.waits_hidden |= process::is_running(self.pid),
            }
        }
    }
}
