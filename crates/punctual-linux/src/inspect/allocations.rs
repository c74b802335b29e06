//! Probes the functions of the allocator (uprobes), so that allocations without a system call are seen as well.
//!
//! The kernel puts a breakpoint into the memory of the process, and takes it out again when the probe is closed, also if
//! this program is killed. A hit costs the program some microseconds, so that the probes are limited three times: only
//! threads that are paced are sampled, hits may take [`PART`] of the time, and each event counts itself down in the
//! kernel between two readings.

use super::code::{Function, REGISTERS, Space, Spaces, Unwinder};
use super::process::{self, Seen as Thread};
use super::sample::{Sample, time};
use crate::sys::samples::{Event, Ring, SampleEvent, Sampled};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{Probed, Record, Seen, Unprobed};
use punctual_numbers::trace::{Address, Context, Tid};
use punctual_rt::now;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::sync::Arc;

/// Functions of allocators, in the C library or in place of it, and in Go.
const FUNCTIONS: [&str; 9] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "reallocarray",
    "runtime.mallocgc",
];
/// Threads that are sampled: those of the highest priorities.
const THREADS_MAX: usize = 4;
/// What a hit takes of the program at most, with the copying of the stack: 4 to 5 us were measured.
pub const HIT: Nanos = Nanos::from_us(5);
/// Hits may take one part in this many of the time.
const PART: u64 = 100;
/// This many hits are seen in any case.
const HITS_MIN: u64 = 2_000;
/// Hits of one function in one thread between two readings.
const HITS_AT_ONCE: u32 = 400;
/// If the program has other threads, each of their calls is a hit too, of about 1.3 us, which nobody counts. So the
/// probes are then taken away after this time.
const ALONE_MAX: Nanos = Nanos::from_secs(5);
/// Time between two looks for paced threads.
const LOOK: Nanos = Nanos::from_ms(250);
const LOOK_AGAIN: Nanos = Nanos::from_secs(2);
const STACK_BYTES: u32 = 2048;
/// Pages of each thread's ring: more than a thousand samples between two readings.
const RING_PAGES: usize = 1024;
const SAMPLE: u32 = 9;
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";

/// The probes of all sampled threads.
pub struct Allocations {
    /// The kernel's number of this kind of events; the error says why there is none.
    kind: Result<u32, Unprobed>,
    looked: Option<MonoTime>,
    probes: BTreeMap<u32, Probes>,
    unwinders: BTreeMap<u32, Unwinder>,
    hits: u64,
    /// What was looked at, of each thread.
    probed: BTreeMap<Tid, Probed>,
    /// Whether no more probes are to be set.
    is_stopped: bool,
}

/// The probes of one thread. The ring is closed after the events that write to it.
struct Probes {
    pid: u32,
    events: Vec<SampleEvent>,
    ring: Ring,
    from: MonoTime,
    /// By address, the functions.
    functions: BTreeMap<u64, &'static str>,
}

impl Allocations {
    pub fn new(wanted: bool) -> Self {
        let kind = || {
            let text = std::fs::read_to_string(KIND).map_err(|error| format!("{KIND}: {error}"))?;
            text.trim().parse().map_err(|_| format!("{KIND}: {}", text.trim()))
        };
        let kind = if wanted { kind().map_err(Unprobed::Refused) } else { Err(Unprobed::NotAsked) };
        Self {
            kind,
            looked: None,
            probes: BTreeMap::new(),
            unwinders: BTreeMap::new(),
            hits: 0,
            probed: BTreeMap::new(),
            is_stopped: false,
        }
    }

    /// Whether it is time to look for paced threads, and worth it. Once some are known, others are looked for less often.
    pub fn is_due(&mut self) -> bool {
        let wait = if self.probed.is_empty() { LOOK } else { LOOK_AGAIN };
        let is_time = self.looked.is_none_or(|at| now().since(at) >= wait);
        let is_due = self.kind.is_ok() && !self.is_stopped && self.probed.len() < THREADS_MAX && is_time;
        self.looked = if is_due { Some(now()) } else { self.looked };
        is_due
    }

    /// Probes the first of these threads, which are paced, in order of their importance.
    pub fn begin(&mut self, paced: &[u32], threads: &BTreeMap<u32, Thread>, spaces: &Spaces) {
        let Ok(kind) = self.kind else { return };
        for tid in paced {
            let known = Tid::try_from(*tid).is_ok_and(|tid| self.probed.contains_key(&tid));
            let Some(thread) = threads.get(tid).filter(|_| !known && self.probed.len() < THREADS_MAX) else { continue };
            let functions = spaces.get(&thread.pid).map(|space| space.functions(&FUNCTIONS)).unwrap_or_default();
            if functions.is_empty() {
                self.kind = Err(Unprobed::NoAllocator);
                return;
            }
            match Probes::open(kind, thread.pid, *tid, &functions) {
                Ok(probes) => self.add(*tid, probes),
                // The thread has ended in the meantime, or the program with its files.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) || !process::is_running(thread.pid) => {}
                Err(error) => self.kind = Err(Unprobed::Refused(error.to_string())),
            }
        }
    }

    fn add(&mut self, tid: u32, probes: Probes) {
        if let Ok(id) = Tid::try_from(tid) {
            self.probed.insert(id, Probed { from: probes.from, to: None });
        }
        self.probes.insert(tid, probes);
    }

    /// Adds the allocations that were sampled, and ends the probes that cost too much.
    pub fn drain(&mut self, threads: &BTreeMap<u32, Thread>, spaces: &Spaces, records: &mut Vec<Record>) {
        let mut costly = Vec::new();
        for (tid, probes) in &mut self.probes {
            let empty = Space::default();
            let space = spaces.get(&probes.pid).unwrap_or(&empty);
            let before = self.hits;
            probes.read(self.unwinders.entry(probes.pid).or_default(), space, &mut self.hits, records);
            let length = now().since(probes.from);
            let has_others = threads.iter().any(|(other, thread)| thread.pid == probes.pid && other != tid);
            let takes = HIT.times(self.hits.saturating_sub(HITS_MIN)).times(PART);
            if takes > length || (has_others && length > ALONE_MAX) || probes.go_on(self.hits > before).is_err() {
                costly.push(*tid);
            }
        }
        for tid in costly {
            self.stop(tid);
        }
    }

    /// Takes all probes away, and sets no more. Whether there were any.
    pub fn stop_all(&mut self) -> bool {
        self.is_stopped = true;
        let tids: Vec<u32> = self.probes.keys().copied().collect();
        for tid in &tids {
            self.stop(*tid);
        }
        !tids.is_empty()
    }

    fn stop(&mut self, tid: u32) {
        self.probes.remove(&tid);
        let probed = Tid::try_from(tid).ok().and_then(|tid| self.probed.get_mut(&tid));
        if let Some(probed) = probed {
            probed.to = Some(now());
        }
    }

    /// The threads whose allocations are looked for, or were.
    pub fn probed(&self) -> &BTreeMap<Tid, Probed> {
        &self.probed
    }

    /// The number of calls that were probed so far.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// What was looked at, of each thread; and if none was, why.
    pub fn end(self) -> (BTreeMap<Tid, Probed>, Option<Unprobed>) {
        let why = self.kind.err().or_else(|| self.probed.is_empty().then_some(Unprobed::NoThread));
        let early = self.probed.values().filter_map(|probed| Some(probed.to?.since(probed.from))).min();
        (self.probed, why.or(early.map(Unprobed::After)))
    }
}

impl Probes {
    fn open(kind: u32, pid: u32, tid: u32, functions: &[Function]) -> io::Result<Self> {
        let mut events: Vec<SampleEvent> = Vec::new();
        let mut ring = None;
        for function in functions {
            let path = CString::new(function.path.as_str())?;
            let event = SampleEvent::open(Sampled {
                event: Event::Probe { kind, path: &path, at: function.in_file },
                tid,
                cpu: None,
                registers: REGISTERS,
                stack_bytes: STACK_BYTES,
                tells_mappings: false,
            })?;
            match events.first() {
                Some(first) => event.write_to(first)?,
                None => ring = Some(Ring::of(&event, RING_PAGES)?),
            }
            events.push(event);
        }
        let ring = ring.ok_or(io::ErrorKind::InvalidInput)?;
        events.iter().try_for_each(|event| event.allow(HITS_AT_ONCE))?;
        let functions = functions.iter().map(|function| (function.address, function.name)).collect();
        Ok(Self { pid, events, ring, from: now(), functions })
    }

    /// Allows as many hits again.
    fn go_on(&self, were_hits: bool) -> io::Result<()> {
        if were_hits { self.events.iter().try_for_each(|event| event.allow(HITS_AT_ONCE)) } else { Ok(()) }
    }

    fn read(&mut self, unwinder: &mut Unwinder, space: &Space, hits: &mut u64, records: &mut Vec<Record>) {
        let Self { ring, functions, .. } = self;
        ring.read(|kind, _, contents| {
            let sample = Some(contents).filter(|_| kind == SAMPLE).and_then(Sample::of);
            let (Some(sample), Some(at)) = (sample, time(contents)) else { return };
            *hits += 1;
            let stack: Arc<[Address]> = unwinder.follow_entry(space, &sample.registers, sample.stack).into();
            let function = stack.first().and_then(|Address(at)| functions.get(at)).copied().unwrap_or("an allocator");
            let seen = Seen::Allocated { function, stack };
            let at = MonoTime::from_ns(at);
            records.push(Record { at, cpu: 0, tid: sample.tid, context: Context::default(), seen });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_or_cannot_be_is_said() {
        assert_eq!(Allocations::new(false).end().1, Some(Unprobed::NotAsked));
        let mut without = Allocations { kind: Ok(0), ..Allocations::new(false) };
        assert!(without.is_due() && !without.is_due());
        let own = std::process::id();
        let thread = process::threads(own, &[own]).remove(&own).unwrap();
        let threads = BTreeMap::from([(own, Thread::first(own, &thread))]);
        without.begin(&[own], &threads, &Spaces::new());
        without.looked = None;
        assert!(!without.is_due());
        assert_eq!(without.end().1, Some(Unprobed::NoAllocator));
        let nobody = Allocations { kind: Ok(0), ..Allocations::new(false) };
        assert_eq!(nobody.end().1, Some(Unprobed::NoThread));
    }

    #[test]
    fn the_allocator_of_this_program_is_found() {
        let mut space = Space::of(std::process::id());
        space.read();
        let functions = space.functions(&FUNCTIONS);
        let malloc = functions.iter().find(|function| function.name == "malloc").unwrap();
        assert_eq!(malloc.address, libc::malloc as *const () as usize as u64, "{functions:?}");
    }
}
