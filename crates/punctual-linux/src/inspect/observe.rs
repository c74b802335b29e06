//! Watches the program for as long as asked, and keeps what was seen.

use super::child::Program;
use super::code::Space;
use super::late::{Caught, Known, Search};
use super::process::{self, Seen};
use super::stacks::Stacks;
use super::{InspectError, Target, Wanted, calls, target};
use crate::sys::usage;
use crate::trace::{ProgramTrace, TraceError};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Call, End, Offsets, Record};
use punctual_rt::now;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
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
    /// Names of the processes that the program started, by their numbers.
    pub children: BTreeMap<u32, String>,
    pub space: Space,
    pub length: Nanos,
    pub end: End,
    /// Records in order of time; `None` without a trace.
    pub records: Option<Vec<Record>>,
    pub lost: u64,
    pub own_cpu: Nanos,
    pub blind_events: Vec<String>,
    /// How far other clocks are ahead of the monotonic one.
    pub offsets: Offsets,
    /// By thread, what was kept of late cycles; the error says why nothing could be.
    pub late: Result<BTreeMap<u32, Caught>, String>,
    /// Whether the kernel refused to show what threads wait in.
    pub waits_hidden: bool,
}

pub fn observe(
    wanted: &Wanted,
    trace: Option<ProgramTrace>,
    calls: &[Call],
    interrupted: &AtomicBool,
) -> Result<Observed, InspectError> {
    let found = target::find(&wanted.target, wanted.thread.as_ref())?;
    let cpu_before = usage::own_cpu();
    // Opening the search stops every CPU for moments, so it is done before anything is observed.
    let search = (trace.is_some() && wanted.causes).then(|| Search::open(&wanted.cpus));
    let mut tracing = trace.map(|trace| Tracing { trace, stacks: None });
    if let (Some(pid), Some(some)) = (found, &mut tracing) {
        let begun = some.begin(&process::thread_ids(pid), wanted, calls);
        tracing = begun.is_ok().then_some(tracing).flatten();
    }
    let from = now();
    let mut program = start(wanted, tracing.as_mut(), calls)?;
    let pid = found.or(program.as_ref().map(Program::pid)).unwrap_or_default();
    let mut watch = Watch {
        pid,
        is_ours: program.is_some(),
        looked: MonoTime::default(),
        look: LOOK,
        samples_stacks: tracing.as_ref().is_some_and(|tracing| tracing.stacks.is_some()),
        seen: Observed {
            pid,
            name: String::new(),
            started: program.is_some().then_some(from),
            threads: BTreeMap::new(),
            children: BTreeMap::new(),
            space: Space::of(pid),
            length: Nanos::default(),
            end: End::Duration,
            records: tracing.is_some().then(Vec::new),
            lost: 0,
            own_cpu: Nanos::default(),
            blind_events: Vec::new(),
            offsets: offsets(),
            late: Ok(BTreeMap::new()),
            waits_hidden: false,
        },
    };
    if found.is_some() {
        watch.seen.space.read();
    }
    let mut sources = Sources { tracing, search, calls };
    watch.seen.end = watch.until_end(wanted, &mut sources, &mut program, from, interrupted);
    watch.look();
    let Sources { mut tracing, search, .. } = sources;
    let mut seen = watch.seen;
    seen.length = now().since(from);
    if let (Some(tracing), Some(records)) = (&mut tracing, &mut seen.records) {
        tracing.trace.end();
        tracing.drain(pid, &mut seen.space, records);
        seen.lost = tracing.trace.lost();
        seen.blind_events.clone_from(&tracing.trace.blind);
        if let Some(search) = search {
            let known = Known { records, threads: &seen.threads, calls, offsets: &seen.offsets, limit: wanted.limit };
            seen.late = search.end(&known);
        }
        records.sort_by_key(|record| record.at);
    }
    drop(tracing);
    seen.own_cpu = usage::own_cpu().minus(cpu_before);
    if seen.threads.is_empty() { Err(InspectError::EndedAtOnce) } else { Ok(seen) }
}

fn offsets() -> Offsets {
    let ns = |time: Timespec| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    let ahead = |time: Timespec| ns(time) - ns(clock_gettime(ClockId::Monotonic));
    Offsets {
        realtime: ahead(clock_gettime(ClockId::Realtime)),
        boottime: ahead(clock_gettime(ClockId::Boottime)),
        // Every kernel that this program runs on has this clock.
        tai: clock_gettime_dynamic(DynamicClockId::Tai).map(ahead).unwrap_or_default(),
    }
}

fn start(wanted: &Wanted, tracing: Option<&mut Tracing>, calls: &[Call]) -> Result<Option<Program>, InspectError> {
    let Target::Command(words) = &wanted.target else { return Ok(None) };
    Program::start(words, |tid| {
        if let Some(tracing) = tracing {
            // Without the trace of its start, the program is still found by its number.
            let _ = tracing.begin(&[tid], wanted, calls);
        }
    })
    .map(Some)
}

/// What records the program: the trace, and call stacks where they can be sampled.
struct Tracing {
    trace: ProgramTrace,
    stacks: Option<Stacks>,
}

impl Tracing {
    /// Records these threads, and those that they start later.
    fn begin(&mut self, tids: &[u32], wanted: &Wanted, calls: &[Call]) -> Result<(), TraceError> {
        let sampled = Stacks::open(self.trace.stack_events(), tids, &wanted.cpus);
        self.stacks = sampled.and_then(|stacks| stacks.switch(true).map(|()| stacks)).ok();
        if self.stacks.is_none() {
            self.trace.record_stacks(&calls::waits(calls));
        }
        self.trace.follow(tids)?;
        self.trace.begin()
    }

    fn drain(&mut self, pid: u32, space: &mut Space, records: &mut Vec<Record>) {
        self.trace.drain(records);
        if let Some(stacks) = &mut self.stacks {
            stacks.drain(pid, space, records);
        }
    }
}

/// What is read while the program is observed.
struct Sources<'a> {
    tracing: Option<Tracing>,
    search: Option<Search>,
    calls: &'a [Call],
}

struct Watch {
    pid: u32,
    is_ours: bool,
    looked: MonoTime,
    look: Nanos,
    samples_stacks: bool,
    seen: Observed,
}

impl Watch {
    fn until_end(
        &mut self,
        wanted: &Wanted,
        sources: &mut Sources<'_>,
        program: &mut Option<Program>,
        from: MonoTime,
        interrupted: &AtomicBool,
    ) -> End {
        loop {
            self.look_if_time();
            if let (Some(tracing), Some(records)) = (sources.tracing.as_mut(), &mut self.seen.records) {
                tracing.drain(self.pid, &mut self.seen.space, records);
                if let Some(search) = &mut sources.search {
                    let (calls, threads) = (sources.calls, &self.seen.threads);
                    search.look(&Known { records, threads, calls, offsets: &self.seen.offsets, limit: wanted.limit });
                }
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
        let is_new = self.is_ours && self.seen.threads.is_empty();
        if is_new || now().since(self.looked) >= self.look {
            self.look();
        }
    }

    /// Reads the threads and their settings. What was read before stays if a thread is gone.
    fn look(&mut self) {
        let from = now();
        let tids = process::thread_ids(self.pid);
        for (tid, thread) in process::threads(self.pid, &tids) {
            let seen = self.seen.threads.entry(tid).or_insert_with(|| Seen::first(&thread));
            seen.last = thread;
        }
        self.seen.children.extend(process::children(self.pid, &tids));
        if let Some(name) = process::name(self.pid) {
            self.seen.name = name;
        }
        // The samples tell of new mappings themselves, and of those that are gone by now.
        if !self.samples_stacks {
            self.seen.space.read();
        }
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
