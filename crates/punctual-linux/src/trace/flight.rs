//! The flight recorder: a thread that reads the trace during the measurement, takes late activations, and cuts windows
//! for those that are kept.
//!
//! It is an ordinary thread on housekeeping CPUs and runs every few milliseconds. The housekeeping thread takes its
//! results when it is ready, so that a single thread determines the order of frames.

use super::around::Witness;
use super::cut::{self, TRAIL, Target, cut};
use super::engine::{Engine, MeasuredThread};
use super::names::NameBook;
use crate::probe::{CrowdedOut, LateReader, SeenActivation};
use crate::sys::sched;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::keep::{Keep, Keeper};
use punctual_numbers::trace::{Blind, Incomplete, Late, LateList, LateTotal, SelfTest, Tid, TraceTotal, Window};
use punctual_rt::now;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

const TICK: Nanos = Nanos::from_ms(10);
/// Time between two looks if the trace is read only after late activations. The buffers must hold what is recorded in
/// this time.
const TICK_WHEN_LATE: Nanos = Nanos::from_secs(1);
/// Seed of the draws that decide which late activations keep their windows.
const SEED: u64 = 1;
/// Interval of reading the counters. A late activation causes an extra reading, but not within `SAMPLE_AGAIN` of the
/// previous one, so that a burst of late activations does not turn reading itself into a load.
const SAMPLE: Nanos = Nanos::from_ms(100);
const SAMPLE_AGAIN: Nanos = Nanos::from_ms(20);
/// Longest time of cutting windows in one pass. The thread must return to reading the trace before that overflows. The
/// remaining windows are cut in the next pass.
const AT_ONCE: Nanos = Nanos::from_ms(5);
const WAITING_MAX: usize = 4096;
/// When to stop waiting for the records of an activation, because the reader is stuck or the records were lost.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Largest number of late activations that are listed individually between two looks of the housekeeping thread.
const LATE_MAX: usize = 4096;
/// The trace of a CPU is unreliable if at least `HOLES_MIN` of its windows, and one in `HOLES_PART` of all, lack
/// records that were not counted as lost.
const HOLES_MIN: u64 = 3;
const HOLES_PART: u64 = 100;
/// Each time the kept windows have grown by this number of bytes, fewer of the following windows are kept. The worst
/// are always kept.
const BYTES_UNTIL_SPARING: u64 = 64 << 20;

/// When the kernel's trace is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TracePace {
    /// All the time, so that nothing is lost however long it takes until an activation is found to be late.
    #[default]
    Steady,
    /// Only after a late activation. Until then the kernel overwrites its oldest records, which costs no reading.
    WhenLate,
}

struct Thread {
    cpu: u32,
    tid: Tid,
    /// Whether the thread may also run on other CPUs, which are not traced.
    roams: bool,
    tap: Option<LateReader>,
    crowded_out: CrowdedOut,
    total: LateTotal,
    /// Number of windows cut, and of those with missing records.
    cut: (u64, u64),
    /// Why the self-test doubts all windows of this CPU; `None` if it does not.
    doubted: Option<Incomplete>,
}

/// An activation whose trace is not completely read yet.
struct Waiting {
    activation: Target,
    late: bool,
}

#[derive(Debug, Default)]
pub struct Found {
    pub windows: Vec<Window>,
    pub late: LateList,
}

struct Core {
    pace: TracePace,
    engine: Option<Box<dyn Engine>>,
    witness: Witness,
    sampled: MonoTime,
    threads: Vec<Thread>,
    phase: u16,
    /// Whether a traced phase is under way.
    on: bool,
    keeper: Keeper,
    book: NameBook,
    waiting: VecDeque<Waiting>,
    /// Windows that were written, by slot, as long as a later one may displace them to another slot.
    held: BTreeMap<u32, Window>,
    bytes: u64,
    windows: Vec<Window>,
    late: Vec<Late>,
}

pub struct Flight {
    core: Arc<Mutex<Core>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flight {
    /// Starts the recorder thread. Nothing is recorded yet.
    pub fn start(
        engine: Option<Box<dyn Engine>>,
        self_test: &[SelfTest],
        threads: &[MeasuredThread],
        windows_max: u32,
        pace: TracePace,
    ) -> std::io::Result<Self> {
        let book = if engine.is_some() { NameBook::read() } else { NameBook::default() };
        let thread = |MeasuredThread { cpu, tid }: &MeasuredThread| Thread {
            cpu: *cpu,
            tid: Tid::try_from(*tid).unwrap_or_default(),
            roams: roams(*tid),
            tap: None,
            crowded_out: CrowdedOut::default(),
            total: LateTotal { cpu: *cpu, ..LateTotal::default() },
            cut: (0, 0),
            doubted: self_test.iter().find(|test| test.cpu == *cpu).and_then(doubt),
        };
        let mut witness = Witness::new(&threads.iter().map(|thread| thread.cpu).collect(), threads);
        if engine.is_none() {
            // Without an engine, counters may also be read in phases in which nothing may disturb the measured CPUs.
            witness.leave_alone();
        }
        let core = Arc::new(Mutex::new(Core {
            pace,
            engine,
            witness,
            sampled: MonoTime::default(),
            threads: threads.iter().map(thread).collect(),
            phase: 0,
            on: false,
            keeper: Keeper::new(threads.iter().map(|thread| thread.cpu), windows_max, SEED),
            book,
            waiting: VecDeque::new(),
            held: BTreeMap::new(),
            bytes: 0,
            windows: Vec::new(),
            late: Vec::new(),
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, until) = (Arc::clone(&core), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("trace".into()).spawn(move || run(&of_thread, &until, pace))?;
        Ok(Self { core, stop, thread: Some(thread) })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches events on for a traced phase, and off for others. Must not be called while measuring.
    pub fn prepare(&self, traced: bool) {
        let mut core = self.core();
        let Some(engine) = &mut core.engine else { return };
        if traced { engine.enable() } else { engine.disable() }
    }

    /// Begins a traced phase; `taps` has one tap per measuring thread, in order, or none for threads of other programs.
    pub fn begin(&self, phase: u16, taps: Vec<LateReader>) {
        let mut core = self.core();
        core.phase = phase;
        core.on = true;
        for (thread, tap) in core.threads.iter_mut().zip(taps) {
            (thread.tap, thread.crowded_out) = (Some(tap), CrowdedOut::default());
        }
        if let Some(engine) = &mut core.engine {
            // If this fails, windows are empty and report it.
            let _ = engine.begin();
        }
        core.witness.begin(now());
    }

    /// Ends the traced phase and cuts all remaining windows.
    pub fn end(&self) {
        let mut core = self.core();
        if let Some(engine) = &mut core.engine {
            engine.end();
        }
        core.take_late();
        core.sample(now(), Nanos::ZERO);
        core.cut_ripe(None);
        core.on = false;
        core.threads.iter_mut().for_each(|thread| thread.tap = None);
    }

    /// Sets the latency above which activations of thread number `thread` are late from now on.
    pub fn set_threshold(&self, thread: usize, threshold: Nanos) {
        let mut core = self.core();
        let Core { threads, engine, .. } = &mut *core;
        let Some(thread) = threads.get_mut(thread) else { return };
        thread.total.threshold = threshold;
        if let Some(tap) = &thread.tap {
            tap.set_threshold(threshold);
        }
        if let Some(engine) = engine {
            engine.late_is(thread.cpu, threshold);
        }
    }

    /// Adds an activation of thread number `thread` that came through no tap.
    pub fn add(&self, thread: usize, seen: SeenActivation) {
        self.core().note(thread, seen);
    }

    pub fn take(&self) -> Found {
        let mut core = self.core();
        core.witness.saw(now());
        let windows = std::mem::take(&mut core.windows);
        let late = std::mem::take(&mut core.late);
        let totals = core.threads.iter_mut().map(Thread::take_total).collect();
        Found { windows, late: LateList { late, totals } }
    }

    pub fn is_blind(&self) -> bool {
        self.core().witness.is_blind()
    }

    pub fn blind(&self) -> Vec<Blind> {
        let core = self.core();
        let firmware = (!core.witness.counts_firmware()).then_some(Blind::Firmware);
        firmware.into_iter().chain(core.witness.missing()).collect()
    }

    /// CPUs whose windows lack records that the kernel did not count as lost.
    pub fn holes(&self) -> Vec<u32> {
        let core = self.core();
        core.threads.iter().filter(|thread| thread.has_holes()).map(|thread| thread.cpu).collect()
    }

    pub fn totals(&self) -> Vec<TraceTotal> {
        let core = self.core();
        let mut totals = core.engine.as_ref().map(|engine| engine.totals()).unwrap_or_default();
        if core.pace == TracePace::WhenLate {
            // Records that were overwritten before anybody wanted to read them are no loss. Each window says itself
            // whether records of it are missing.
            for total in &mut totals {
                total.lost = 0;
            }
        }
        totals
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        // Dropping `core` removes the tracing instance.
    }
}

fn run(core: &Mutex<Core>, stop: &AtomicBool, pace: TracePace) {
    let tick = if pace == TracePace::Steady { TICK } else { TICK_WHEN_LATE };
    // Gives the thread precedence over other ordinary tasks. If the kernel refuses this, the thread is sometimes late.
    let _ = rustix::process::nice(-10);
    while !stop.load(Relaxed) {
        // The end of the measurement wakes the thread, so that nobody waits for a long tick.
        std::thread::park_timeout(std::time::Duration::from_nanos(tick.as_ns()));
        core.lock().unwrap_or_else(PoisonError::into_inner).step();
    }
}

/// Whether a thread may run on several CPUs; `false` if that is unknown.
fn roams(tid: u32) -> bool {
    let pid = i32::try_from(tid).ok().and_then(rustix::process::Pid::from_raw);
    pid.and_then(|pid| sched::cpus(Some(pid)).ok()).is_some_and(|cpus| cpus.len() > 1)
}

/// The reason why a failed self-test doubts all windows of its CPU.
fn doubt(test: &SelfTest) -> Option<Incomplete> {
    match () {
        () if test.is_warped() => Some(Incomplete::Warped),
        () if test.misses_timers() => Some(Incomplete::Holes),
        () => None,
    }
}

impl Thread {
    fn has_holes(&self) -> bool {
        self.cut.1 >= HOLES_MIN && self.cut.1.saturating_mul(HOLES_PART) >= self.cut.0
    }

    fn take_total(&mut self) -> LateTotal {
        if let Some(tap) = &self.tap {
            self.total.threshold = tap.threshold();
        }
        let LateTotal { cpu, threshold, .. } = self.total;
        std::mem::replace(&mut self.total, LateTotal { cpu, threshold, ..LateTotal::default() })
    }
}

impl Core {
    fn step(&mut self) {
        if !self.on {
            return;
        }
        let at = now();
        self.witness.saw(at);
        // Late activations are taken before the trace is read, so that the trace extends beyond them.
        self.take_late();
        let reads = self.pace == TracePace::Steady || !self.waiting.is_empty();
        if let Some(engine) = self.engine.as_mut().filter(|_| reads) {
            engine.drain();
        }
        self.sample(at, if self.waiting.is_empty() { SAMPLE } else { SAMPLE_AGAIN });
        self.cut_ripe(Some(now().plus(AT_ONCE)));
    }

    /// Reads the counters unless they were read less than `apart` ago.
    fn sample(&mut self, at: MonoTime, apart: Nanos) {
        if at.since(self.sampled) >= apart {
            self.sampled = at;
            self.witness.sample(at);
        }
    }

    fn take_late(&mut self) {
        for n in 0..self.threads.len() {
            while let Some(seen) = self.threads.get_mut(n).and_then(|thread| thread.tap.as_mut()?.take()) {
                self.note(n, seen);
            }
            let Some(thread) = self.threads.get_mut(n) else { continue };
            let Some(tap) = &thread.tap else { continue };
            let crowded_out = tap.crowded_out();
            let before = std::mem::replace(&mut thread.crowded_out, crowded_out);
            let more = crowded_out.count.saturating_sub(before.count);
            thread.total.count += more;
            thread.total.passed_over += more;
            thread.total.latency = thread.total.latency.plus(crowded_out.latency.minus(before.latency));
        }
    }

    fn note(&mut self, thread: usize, seen: SeenActivation) {
        let Some(thread) = self.threads.get_mut(thread) else { return };
        let SeenActivation { release, woke, late } = seen;
        let Thread { cpu, tid, doubted, .. } = *thread;
        let crowded = self.waiting.len() >= WAITING_MAX;
        if late {
            thread.total.count += 1;
            thread.total.latency = thread.total.latency.plus(seen.latency());
            thread.total.passed_over += u64::from(crowded);
            if self.late.len() < LATE_MAX {
                self.late.push(Late { cpu, release, latency: seen.latency() });
            }
        }
        if !crowded {
            let activation = Target { cpu, tid, release, woke, phase: self.phase, doubted };
            self.waiting.push_back(Waiting { activation, late });
        }
    }

    /// Cuts windows of activations whose trace is read; without `until`, of all activations.
    fn cut_ripe(&mut self, until: Option<MonoTime>) {
        while let Some(first) = self.waiting.front() {
            let at = now();
            if until.is_some_and(|until| at >= until || !self.is_ripe(&first.activation, at)) {
                break;
            }
            if let Some(waiting) = self.waiting.pop_front() {
                self.keep(&waiting);
            }
        }
    }

    fn is_ripe(&self, activation: &Target, at: MonoTime) -> bool {
        let is_read = |engine: &dyn Engine| {
            engine.covered(activation.cpu).is_some_and(|covered| covered.span.to >= activation.woke.plus(TRAIL))
        };
        let is_told = self.witness.reaches(activation.woke) && self.engine.as_deref().is_none_or(is_read);
        is_told || at.since(activation.woke) > PATIENCE
    }

    fn keep(&mut self, Waiting { activation, late }: &Waiting) {
        if self.bytes > BYTES_UNTIL_SPARING {
            self.bytes = 0;
            self.keeper.be_sparing();
        }
        let cpu = activation.cpu;
        let (place, moved) = if *late {
            let Some(Keep { place, moved }) = self.keeper.late(cpu, activation.woke.since(activation.release)) else {
                // The activation was neither drawn for the sample nor among the worst. It counts as passed over only
                // once fewer windows are kept to save memory.
                return self.pass_over(cpu, self.keeper.sparing() > 0);
            };
            (place, moved)
        } else {
            let Some(place) = self.keeper.ordinary(cpu) else { return };
            (place, None)
        };
        if let Some((to, window)) = moved.zip(self.held.remove(&place.slot)) {
            self.hand_out(cut::moved(window, to));
        }
        let around = self.witness.around(cpu, activation.release, activation.woke);
        let window = Window { around, ..cut(activation, place, self.engine.as_deref(), &mut self.book) };
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.cpu == cpu) {
            thread.cut.0 += 1;
            thread.cut.1 += u64::from(!thread.roams && cut::lacks_switch(&window));
        }
        self.held.retain(|slot, held| self.keeper.may_move(held.cpu, *slot));
        if self.keeper.may_move(cpu, place.slot) {
            self.held.insert(place.slot, window.clone());
        }
        self.hand_out(window);
    }

    fn hand_out(&mut self, window: Window) {
        self.bytes += cut::bytes(&window);
        self.windows.push(window);
    }

    fn pass_over(&mut self, cpu: u32, late: bool) {
        if let Some(thread) = self.threads.iter_mut().find(|thread| thread.cpu == cpu) {
            thread.total.passed_over += u64::from(late);
        }
    }
}
