//! Watches the program for as long as asked, and keeps what was seen.

use super::allocations::Allocations;
use super::bill::{Bill, Prices};
use super::child::Program;
use super::code::{Space, Spaces};
use super::cycles_file::CyclesFile;
use super::flow::Flow;
use super::late::{Caught, Known, Search, paced};
use super::marks::Marks;
use super::members::Members;
use super::process;
use super::stacks::Stacks;
use super::{InspectError, Target, Wanted, calls, target};
use crate::sys::usage;
use crate::trace::{ProgramTrace, TraceError};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Call, Cost, Digest, End, Offsets, Person, Record, Rules, Saved, Seen, Unprobed};
use punctual_numbers::trace::Tid;
use punctual_rt::now;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

/// Time between two readings of the trace. A buffer holds more than 80,000 records.
const TICK: Duration = Duration::from_millis(20);
/// Time between two readings of threads and their settings; longer where reading takes long.
const LOOK: Nanos = Nanos::from_ms(500);
/// Time between two reports of what is known.
const TELL: Nanos = Nanos::from_secs(1);
/// Readings of threads may use one part in this many of the time.
const LOOK_PART: u64 = 20;
/// Time between two looks at cycles that ended. The flight recorder must hear of late ones while it still has their records.
const CYCLES: Nanos = Nanos::from_ms(250);
/// Threads whose system calls are looked at, without a trace.
const SAMPLED_MAX: usize = 64;

/// Everything that was seen.
pub struct Observed {
    pub pid: u32,
    pub started: Option<MonoTime>,
    pub members: Members,
    /// Who woke threads of the program, as they were called and ranked then.
    pub people: BTreeMap<Tid, Person>,
    pub spaces: Spaces,
    pub length: Nanos,
    pub end: End,
    /// What the records came to; `None` without a trace.
    pub digest: Option<Digest>,
    pub lost: u64,
    /// Call stacks that were dropped.
    pub lost_stacks: u64,
    /// Calls of the allocator that were probed.
    pub hits: u64,
    /// Why allocations were not looked for, or not all the time.
    pub unprobed: Option<Unprobed>,
    pub own_cpu: Nanos,
    /// What all this took, and what was given up meanwhile.
    pub bill: Bill,
    /// The sum of that; `None` without a trace.
    pub cost: Option<Cost>,
    pub blind_events: Vec<String>,
    /// By thread, what was kept of late cycles; the error says why nothing could be.
    pub late: Result<BTreeMap<u32, Caught>, String>,
    /// Whether the kernel refused to show what threads wait in.
    pub waits_hidden: bool,
    /// Marks in the program's own code; `None` if they were not looked for.
    pub marks: Option<Marks>,
}

impl Observed {
    fn begin(pid: u32, members: Members, spaces: Spaces, bill: Bill) -> Self {
        Self {
            pid,
            started: None,
            members,
            people: BTreeMap::new(),
            spaces,
            length: Nanos::default(),
            end: End::Duration,
            digest: None,
            lost: 0,
            lost_stacks: 0,
            hits: 0,
            unprobed: None,
            own_cpu: Nanos::default(),
            bill,
            cost: None,
            blind_events: Vec::new(),
            late: Ok(BTreeMap::new()),
            waits_hidden: false,
            marks: None,
        }
    }
}

pub fn observe(
    wanted: &Wanted,
    trace: Option<(ProgramTrace, Nanos)>,
    calls: &[Call],
    interrupted: &AtomicBool,
    told: Option<&mut dyn FnMut(&Observed)>,
) -> Result<Observed, InspectError> {
    let found = target::find(&wanted.target, wanted.thread.as_ref())?;
    let cycles_file = wanted.cycles.as_deref().map(CyclesFile::create).transpose()?;
    let cpu_before = usage::own_cpu();
    // Opening the search stops every CPU for moments, so it is done before anything is observed.
    let searched = trace.as_ref().filter(|_| wanted.causes);
    let search = searched.map(|(trace, _)| Search::open(&wanted.cpus, trace.engine()));
    let mut prices = Prices::default();
    let mut tracing = trace.map(|(mut trace, unrecorded)| {
        prices = Prices::measure(&mut trace, &wanted.cpus, unrecorded);
        Tracing { trace, stacks: None }
    });
    let mut members = found.map(|pid| Members::new(pid, wanted.children));
    if let Some(members) = &mut members {
        members.find_children();
        members.look();
        if let Some(some) = &mut tracing {
            let tids: Vec<u32> = members.threads.keys().copied().collect();
            let only = found.filter(|_| !wanted.children);
            tracing = some.begin(&tids, only, wanted, calls).is_ok().then_some(tracing).flatten();
        }
    }
    let from = now();
    let mut program = start(wanted, tracing.as_mut(), calls)?;
    let pid = found.or(program.as_ref().map(Program::pid)).unwrap_or_default();
    let members = members.unwrap_or_else(|| Members::new(pid, true));
    let mut spaces = Spaces::new();
    if found.is_some() {
        spaces.extend(members.processes.keys().map(|pid| (*pid, Space::of(*pid))));
        spaces.values_mut().for_each(Space::read);
    }
    let mut watch = Watch {
        is_ours: program.is_some(),
        is_traced: tracing.is_some(),
        looked: MonoTime::default(),
        look: LOOK,
        samples_stacks: tracing.as_ref().is_some_and(|tracing| tracing.stacks.is_some()),
        dropped: 0,
        told: from,
        seen: Observed::begin(pid, members, spaces, Bill::new(prices, wanted.cost, from, cpu_before)),
    };
    watch.seen.started = program.is_some().then_some(from);
    watch.seen.marks = wanted.may_trace.then(Marks::new);
    let allocations = Allocations::new(wanted.allocations && tracing.is_some());
    let flow = tracing.is_some().then(|| Flow::new(digest(wanted, calls, program.is_some())));
    let cycles_at = MonoTime::default();
    let mut sources = Sources { tracing, flow, search, causes: 0, allocations, cycles_file, cycles_at };
    watch.seen.end = watch.until_end(wanted, &mut sources, &mut program, from, interrupted, told);
    watch.look(0);
    let mut seen = watch.seen;
    seen.marks.iter_mut().for_each(Marks::drain);
    seen.length = now().since(from);
    let causes = sources.causes();
    finish(&mut seen, sources, wanted.limit)?;
    let (at, own) = (now(), usage::own_cpu());
    seen.own_cpu = own.minus(cpu_before);
    seen.cost = seen.digest.is_some().then(|| seen.bill.cost(at, own, causes));
    if program.is_some() {
        drop(program);
        seen.members.end();
    }
    if seen.members.threads.is_empty() { Err(InspectError::EndedAtOnce) } else { Ok(seen) }
}

/// What the program's records are to come to. One that was started is followed from its beginning.
fn digest(wanted: &Wanted, calls: &[Call], is_started: bool) -> Digest {
    let mut digest =
        Digest::new(Rules { calls: calls.to_vec(), offsets: offsets(), limit: wanted.limit, inside_until: None });
    if is_started {
        digest.keep_start();
    }
    if wanted.causes || wanted.cycles.is_some() {
        digest.keep_cycles();
    }
    digest
}

/// Reads what is left in the sources, and closes them.
fn finish(seen: &mut Observed, sources: Sources, limit: Option<Nanos>) -> Result<(), InspectError> {
    let Sources { tracing, flow, search, mut allocations, mut cycles_file, .. } = sources;
    let (Some(mut tracing), Some(mut flow)) = (tracing, flow) else {
        return cycles_file.map_or(Ok(()), CyclesFile::end);
    };
    tracing.trace.end();
    flow.read(&mut seen.bill, |records| {
        tracing.drain(&mut seen.members, &mut seen.people, &mut seen.spaces, records);
        allocations.drain(&seen.members.threads, &seen.spaces, records);
    });
    seen.hits = allocations.hits();
    let (probed, unprobed) = allocations.end();
    seen.unprobed = unprobed;
    let mut digest = flow.end();
    digest.probed(&probed);
    digest.settle();
    seen.lost = tracing.trace.lost();
    seen.lost_stacks = tracing.dropped();
    seen.blind_events.clone_from(&tracing.trace.blind);
    let ended = digest.ended();
    if let Some(file) = &mut cycles_file {
        file.add(&ended);
    }
    if let Some(mut search) = search {
        search.look(&ended, &Known { digest: &digest, threads: &seen.members.threads, limit });
        seen.late = search.end();
    }
    seen.digest = Some(digest);
    cycles_file.map_or(Ok(()), CyclesFile::end)
}

/// How far other clocks are ahead at present.
pub fn offsets() -> Offsets {
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
            let _ = tracing.begin(&[tid], None, wanted, calls);
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
    /// Records these threads, and those that they start later. Stacks are of the process `only`, if one is named.
    fn begin(&mut self, tids: &[u32], only: Option<u32>, wanted: &Wanted, calls: &[Call]) -> Result<(), TraceError> {
        let sampled = Stacks::open(self.trace.stack_events(), tids, &wanted.cpus, only);
        self.stacks = sampled.and_then(|stacks| stacks.switch(true).map(|()| stacks)).ok();
        if self.stacks.is_none() {
            self.trace.record_stacks(&calls::waits(calls));
        }
        self.trace.follow(tids)?;
        self.trace.begin()
    }

    /// Samples no more stacks. Whether any were sampled.
    fn end_stacks(&self) -> bool {
        let were_sampled = self.stacks.as_ref().is_some_and(|stacks| stacks.switch(false).is_ok());
        self.trace.end_stacks() || were_sampled
    }

    fn dropped(&self) -> u64 {
        self.stacks.as_ref().map_or(0, Stacks::lost)
    }

    fn drain(
        &mut self,
        members: &mut Members,
        people: &mut BTreeMap<Tid, Person>,
        spaces: &mut Spaces,
        records: &mut Vec<Record>,
    ) {
        let before = records.len();
        self.trace.drain(records);
        let new = records.get(before..).unwrap_or_default();
        members.learn(new);
        meet(people, new);
        if let Some(stacks) = &mut self.stacks {
            stacks.drain(spaces, records);
        }
    }
}

/// Reads who woke threads of the program, while they are there.
fn meet(people: &mut BTreeMap<Tid, Person>, records: &[Record]) {
    for record in records.iter().filter(|record| matches!(record.seen, Seen::Waking { .. })) {
        let id = u32::try_from(record.tid).ok().filter(|id| *id != 0);
        if let (Some(id), Entry::Vacant(new)) = (id, people.entry(record.tid)) {
            if let Some(name) = process::name(id) {
                new.insert((name, process::kernel_priority(id)));
            }
        }
    }
}

/// What is read while the program is observed.
struct Sources {
    tracing: Option<Tracing>,
    /// Together with the trace.
    flow: Option<Flow>,
    search: Option<Search>,
    /// Records of what the CPUs did, of a search that was given up.
    causes: u64,
    allocations: Allocations,
    cycles_file: Option<CyclesFile>,
    /// When cycles were looked at.
    cycles_at: MonoTime,
}

impl Sources {
    /// Reads the records since the last call, and looks at the cycles that ended; false without a trace.
    fn read(&mut self, seen: &mut Observed, limit: Option<Nanos>) -> bool {
        let Self { tracing, flow, search, allocations, cycles_file, cycles_at, .. } = self;
        let (Some(tracing), Some(flow)) = (tracing, flow) else { return false };
        let Observed { members, people, spaces, bill, .. } = seen;
        flow.read(bill, |records| {
            tracing.drain(members, people, spaces, records);
            allocations.drain(&members.threads, spaces, records);
        });
        members.threads.keys().filter_map(|tid| Tid::try_from(*tid).ok()).for_each(|tid| flow.digest.know(tid));
        if now().since(*cycles_at) >= CYCLES {
            *cycles_at = now();
            flow.digest.probed(allocations.probed());
            flow.digest.go_on();
            let ended = flow.digest.ended();
            if let Some(file) = cycles_file {
                file.add(&ended);
            }
            let known = Known { digest: &flow.digest, threads: &members.threads, limit };
            if let Some(search) = search {
                search.look(&ended, &known);
            }
            if allocations.is_due() {
                allocations.begin(&paced(&known), &members.threads, spaces);
            }
        }
        true
    }

    /// Records of what the CPUs do, so far.
    fn causes(&self) -> u64 {
        self.search.as_ref().map_or(self.causes, Search::records)
    }

    /// Gives this up, if it costs something.
    fn give_up(&mut self, what: Saved, seen: &mut Observed) -> bool {
        let (Some(tracing), Some(flow)) = (&self.tracing, &mut self.flow) else { return false };
        match what {
            Saved::Causes => {
                let Some(search) = self.search.take() else { return false };
                self.causes = search.records();
                seen.late = search.end();
                true
            }
            Saved::Stacks => tracing.end_stacks(),
            Saved::Allocations => self.allocations.stop_all(),
            Saved::Inside => {
                let waits = flow.digest.pacing_calls();
                let until = now();
                let is_done = !waits.is_empty() && tracing.trace.record_only(&waits).is_ok();
                if is_done {
                    flow.digest.inside_until(until);
                }
                is_done
            }
        }
    }
}

struct Watch {
    is_ours: bool,
    /// Whether records tell of new threads and processes.
    is_traced: bool,
    looked: MonoTime,
    look: Nanos,
    samples_stacks: bool,
    /// Samples that had been dropped at the last look.
    dropped: u64,
    /// When it was told last what is known.
    told: MonoTime,
    seen: Observed,
}

impl Watch {
    fn until_end(
        &mut self,
        wanted: &Wanted,
        sources: &mut Sources,
        program: &mut Option<Program>,
        from: MonoTime,
        interrupted: &AtomicBool,
        mut told: Option<&mut dyn FnMut(&Observed)>,
    ) -> End {
        loop {
            let dropped = sources.tracing.as_ref().map_or(0, Tracing::dropped);
            self.look_if_time(dropped);
            self.seen.marks.iter_mut().for_each(Marks::drain);
            if !sources.read(&mut self.seen, wanted.limit) {
                self.sample();
            }
            if self.seen.bill.is_too_much(now(), sources.causes()) {
                self.save(sources);
            }
            if let Some(told) = &mut told {
                self.tell(sources, from, told);
            }
            let first_ended = program.as_mut().map_or_else(|| !process::is_running(self.seen.pid), Program::has_ended);
            // A program may leave its work to processes that it started, and end itself.
            let ended = first_ended && !self.seen.members.is_any_running();
            match () {
                () if ended => return End::ProgramEnded,
                () if interrupted.load(Relaxed) => return End::Interrupted,
                () if now().since(from) >= wanted.duration => return End::Duration,
                () => sleep(TICK),
            }
        }
    }

    /// Tells what is known, if it is time to.
    fn tell(&mut self, sources: &mut Sources, from: MonoTime, told: &mut dyn FnMut(&Observed)) {
        if now().since(self.told) < TELL {
            return;
        }
        self.told = now();
        self.seen.length = self.told.since(from);
        self.seen.lost = sources.tracing.as_ref().map_or(0, |tracing| tracing.trace.lost());
        self.seen.digest = sources.flow.as_mut().map(|flow| std::mem::take(&mut flow.digest));
        told(&self.seen);
        if let (Some(flow), Some(digest)) = (&mut sources.flow, self.seen.digest.take()) {
            flow.digest = digest;
        }
    }

    /// Gives up the next thing that costs something.
    fn save(&mut self, sources: &mut Sources) {
        let at = now();
        let left: Vec<Saved> = Saved::ORDER.into_iter().filter(|what| !self.seen.bill.has_given_up(*what)).collect();
        if let Some(what) = left.into_iter().find(|what| sources.give_up(*what, &mut self.seen)) {
            self.seen.bill.give_up(what, at);
            // Samples of stacks tell of new mappings, as long as there are any.
            self.samples_stacks &= what != Saved::Stacks;
        }
    }

    fn look_if_time(&mut self, dropped: u64) {
        // A program that has just been started is still being loaded: its first look would show another one.
        let is_new = self.is_ours && self.seen.members.threads.is_empty();
        if is_new || now().since(self.looked) >= self.look {
            self.look(dropped);
        }
    }

    fn look(&mut self, dropped: u64) {
        let from = now();
        let Self { seen: Observed { members, spaces, marks, .. }, is_traced, .. } = self;
        // The trace tells of new processes itself.
        if !*is_traced {
            members.find_children();
        }
        members.look();
        if let Some(marks) = marks {
            marks.look(members);
        }
        // The samples tell of new mappings themselves, and of those that are gone by now, unless some were dropped.
        if !self.samples_stacks || dropped > std::mem::replace(&mut self.dropped, dropped) {
            for pid in members.processes.keys() {
                spaces.entry(*pid).or_insert_with(|| Space::of(*pid)).read();
            }
        }
        self.looked = now();
        self.look = LOOK.max(self.looked.since(from).times(LOOK_PART));
    }

    fn sample(&mut self) {
        for (tid, seen) in self.seen.members.threads.iter_mut().take(SAMPLED_MAX) {
            match process::current_call(seen.pid, *tid) {
                Ok(Some(call)) => *seen.found_in.entry(call).or_default() += 1,
                Ok(None) => {}
                Err(()) => self.seen.waits_hidden |= process::is_running(seen.pid),
            }
        }
    }
}
