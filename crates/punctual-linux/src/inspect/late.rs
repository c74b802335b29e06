//! Looks for what made threads of the program late: keeps what the kernel did on their CPUs around late cycles.
//!
//! The flight recorder does this as it does for a measurement. It learns of cycles from the program's own records, soon
//! after they ended. Nothing is recorded before a thread is known that a timer paces.

use super::process::Seen;
use crate::probe::SeenActivation;
use crate::trace::{self, Engine, EngineChoice, Flight, MeasuredThread, Opened, TracePace, Wish};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::inspect::{Cycle, Digest, Engine as ProgramEngine, Setup, WakeUp};
use punctual_numbers::trace::keep::late_threshold;
use punctual_numbers::trace::{LateTotal, SelfTest, Tid, Window};
use punctual_rt::now;
use std::collections::BTreeMap;

/// Size of the trace buffer of each CPU, in bytes: two seconds of 50,000 records each.
const BUFFER_BYTES: u64 = 8 << 20;
/// Windows that are kept, late and ordinary ones: some 60 kB each on a busy machine.
const WINDOWS_MAX: u32 = 600;
/// Threads for which causes are looked for: those of the highest priorities.
const THREADS_MAX: usize = 4;
/// A thread is followed once it has had this many cycles.
const CYCLES_MIN: u64 = 5;
/// Of the cycles of one look, at most this many are kept as ordinary ones, for comparison.
const ORDINARY: usize = 8;

/// Finds the threads to follow, and hands their late cycles to the flight recorder.
pub struct Search {
    state: State,
    cpus: CpuSet,
}

enum State {
    /// No thread is known yet that a timer paces.
    Ready(Box<dyn Engine>, Vec<SelfTest>),
    On(Box<Chase>),
    Failed(String),
}

/// Late cycles of one thread.
#[derive(Clone, Debug, Default)]
pub struct Caught {
    pub windows: Vec<Window>,
    /// By CPU, the numbers of late cycles, with or without a window.
    pub late: BTreeMap<u32, LateTotal>,
}

/// What is known of the program at a look.
pub struct Known<'a> {
    pub digest: &'a Digest,
    pub threads: &'a BTreeMap<u32, Seen>,
    /// Cycles with more latency than this are late, whatever is usual.
    pub limit: Option<Nanos>,
}

impl Search {
    /// Uses the engine that records the program as well, if it can.
    pub fn open(cpus: &CpuSet, engine: ProgramEngine) -> Self {
        let choice = if engine == ProgramEngine::Bpf { EngineChoice::Bpf } else { EngineChoice::Tracefs };
        let wish = Wish { choice, cpus, online: cpus, buffer_bytes: Some(BUFFER_BYTES) };
        let Opened { engine, refused } = trace::open(&wish);
        let state = match engine {
            Some((engine, self_test)) => State::Ready(engine, self_test),
            None => State::Failed(refused.into_iter().map(|refused| refused.why).collect::<Vec<_>>().join("; ")),
        };
        Self { state, cpus: cpus.clone() }
    }

    /// Records of what the CPUs do that the kernel wrote so far.
    pub fn records(&self) -> u64 {
        match &self.state {
            State::On(chase) => chase.flight.totals().iter().map(|total| total.records).sum(),
            State::Ready(..) | State::Failed(_) => 0,
        }
    }

    /// Hands cycles that ended to the flight recorder, soon after they did.
    pub fn look(&mut self, ended: &[(Tid, Cycle)], known: &Known<'_>) {
        if matches!(self.state, State::Ready(..)) {
            self.begin(known);
        } else if let State::On(chase) = &mut self.state {
            chase.take(ended, known);
        }
    }

    fn begin(&mut self, known: &Known<'_>) {
        let chosen = chosen(known, &self.cpus);
        if chosen.is_empty() {
            return;
        }
        let State::Ready(mut engine, self_test) =
            std::mem::replace(&mut self.state, State::Failed("the search could not begin".to_owned()))
        else {
            return;
        };
        engine.measures(&chosen);
        match Flight::start(Some(engine), &self_test, &chosen, WINDOWS_MAX, TracePace::Steady) {
            Ok(flight) => self.state = State::On(Box::new(Chase::begin(flight, chosen))),
            Err(error) => self.state = State::Failed(error.to_string()),
        }
    }

    /// What was caught of each thread. The error says why nothing could be.
    pub fn end(self) -> Result<BTreeMap<u32, Caught>, String> {
        match self.state {
            State::Ready(..) => Ok(BTreeMap::new()),
            State::Failed(why) => Err(why),
            State::On(chase) => Ok(chase.end()),
        }
    }
}

/// The threads to follow, once for each CPU that they may run on.
fn chosen(known: &Known<'_>, cpus: &CpuSet) -> Vec<MeasuredThread> {
    let on_cpus = |tid: u32| {
        let its = setup(tid, known).map_or_else(|| cpus.clone(), |setup| setup.cpus.clone());
        let measured: Vec<u32> = its.iter().filter(|cpu| cpus.contains(*cpu)).collect();
        measured.into_iter().map(move |cpu| MeasuredThread { cpu, tid })
    };
    paced(known).into_iter().take(THREADS_MAX).flat_map(on_cpus).collect()
}

fn setup<'a>(tid: u32, known: &Known<'a>) -> Option<&'a Setup> {
    known.threads.get(&tid).and_then(|seen| seen.last.setup.as_ref())
}

/// Threads with cycles, those of the highest priorities first.
pub fn paced(known: &Known<'_>) -> Vec<u32> {
    let its = |tid: Tid| u32::try_from(tid).ok().filter(|tid| known.threads.contains_key(tid));
    let mut paced: Vec<u32> = known.digest.with_cycles(CYCLES_MIN).filter_map(its).collect();
    paced.sort_by_key(|tid| (setup(*tid, known).and_then(Setup::kernel_priority).unwrap_or(i32::MAX), *tid));
    paced
}

/// The flight recorder at work.
struct Chase {
    flight: Flight,
    /// What the flight recorder numbers.
    lanes: Vec<MeasuredThread>,
    /// By thread, its latencies so far, and the latest wake-up that was handed over.
    told: BTreeMap<u32, (Counts, MonoTime)>,
    windows: BTreeMap<u32, Window>,
    late: BTreeMap<(u32, u32), LateTotal>,
}

impl Chase {
    fn begin(flight: Flight, lanes: Vec<MeasuredThread>) -> Self {
        flight.begin(0, Vec::new());
        let begun = now();
        let told = lanes.iter().map(|lane| (lane.tid, (Counts::new(), begun))).collect();
        Self { flight, lanes, told, windows: BTreeMap::new(), late: BTreeMap::new() }
    }

    fn take(&mut self, ended: &[(Tid, Cycle)], known: &Known<'_>) {
        let tids: Vec<u32> = self.told.keys().copied().collect();
        for tid in tids {
            let its = ended.iter().filter(|(of, _)| Tid::try_from(tid).is_ok_and(|tid| tid == *of));
            let wake_ups: Vec<WakeUp> = its.filter_map(|(_, cycle)| WakeUp::of(cycle)).collect();
            self.hand_over(tid, &wake_ups, known.limit);
        }
        self.collect();
    }

    fn hand_over(&mut self, tid: u32, wake_ups: &[WakeUp], limit: Option<Nanos>) {
        let Self { flight, lanes, told, .. } = self;
        let Some((counts, last)) = told.get_mut(&tid) else { return };
        // A cycle that was released before the recorder began has no records.
        let new: Vec<&WakeUp> = wake_ups.iter().filter(|wake_up| wake_up.release > *last).collect();
        for wake_up in &new {
            counts.record(wake_up.latency());
        }
        let threshold = late_threshold(counts).min(limit.unwrap_or(Nanos::MAX));
        for (index, _) in lanes.iter().enumerate().filter(|(_, lane)| lane.tid == tid) {
            flight.set_threshold(index, threshold);
        }
        let each = new.len().div_ceil(ORDINARY).max(1);
        for (nth, wake_up) in new.iter().enumerate() {
            let late = wake_up.latency() > threshold;
            let is_its = |lane: &MeasuredThread| lane.tid == tid && lane.cpu == wake_up.cpu;
            if let Some(lane) = lanes.iter().position(is_its).filter(|_| late || nth % each == 0) {
                flight.add(lane, SeenActivation { release: wake_up.release, woke: wake_up.woke, late });
            }
        }
        *last = new.last().map_or(*last, |wake_up| wake_up.release);
    }

    fn collect(&mut self) {
        let found = self.flight.take();
        self.windows.extend(found.windows.into_iter().map(|window| (window.slot, window)));
        for (lane, total) in self.lanes.iter().zip(found.late.totals) {
            let sum = self.late.entry((lane.tid, lane.cpu)).or_default();
            *sum = LateTotal {
                cpu: lane.cpu,
                count: sum.count + total.count,
                latency: sum.latency.plus(total.latency),
                threshold: total.threshold,
                passed_over: sum.passed_over + total.passed_over,
            };
        }
    }

    fn end(mut self) -> BTreeMap<u32, Caught> {
        self.flight.end();
        self.collect();
        let mut caught: BTreeMap<u32, Caught> = self.told.keys().map(|tid| (*tid, Caught::default())).collect();
        for window in self.windows.into_values() {
            let tid = u32::try_from(window.tid).unwrap_or_default();
            caught.entry(tid).and_modify(|of_it| of_it.windows.push(window));
        }
        for ((tid, cpu), total) in self.late {
            caught.entry(tid).and_modify(|of_it| {
                of_it.late.insert(cpu, total);
            });
        }
        caught
    }
}
