//! Looks for causes while a scenario runs: decides which phases are traced, which activations are late, and what goes
//! into the recording.

use super::terms::{Explain, Setting};
use crate::probe::{Collector, LateReader, LateTap, Probe, SeenActivation};
use crate::trace::{self, Engine, Flight, MeasuredThread, Opened, Reserve, Wish};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{Counts, Nanos};
use punctual_numbers::recording::Frame;
use punctual_numbers::scenario::Scenario;
use punctual_numbers::trace::keep::{late_threshold, rarest_threshold};
use punctual_numbers::trace::{Blind, RefusedRung, Rung, SelfTest, Tracing};

/// Number of ordinary activations that each thread reports per phase, for comparison with late ones.
const ORDINARY: u64 = 400;

pub(super) struct Causes {
    flight: Flight,
    tracing: Tracing,
    explain: Explain,
    /// Activations with a larger latency count as late, whatever is usual on the machine.
    budget: Nanos,
    /// An activation with a larger latency ends the run, and its cause must be found.
    limit: Nanos,
    former: Vec<Counts>,
    on: bool,
}

impl Causes {
    /// Starts to look for causes with the best available means. The error says why there is none.
    pub(super) fn start(
        explain: &Explain,
        scenario: &Scenario,
        setting: &Setting,
        probes: &[Probe],
    ) -> Result<Self, String> {
        let online = &setting.cpus.online;
        let limit = scenario.limit.unwrap_or(Nanos::MAX);
        // Reserves open files for the recording and the loads, which are opened only after the files of this search.
        let reserve = Reserve::new(online.len() as u64);
        let thread = |probe: &Probe| MeasuredThread { cpu: probe.granted.cpu, tid: probe.granted.tid };
        let threads: Vec<MeasuredThread> = probes.iter().map(thread).collect();
        let mut tracing = Tracing {
            rung: Rung::Deltas,
            refused: Vec::new(),
            phases: traced_phases(explain, scenario),
            events: Vec::new(),
            blind: vec![Blind::Records],
            clock: String::new(),
            buffer_bytes: 0,
            threshold: explain.threshold.map(|threshold| threshold.min(limit)),
            windows_max: explain.windows_max,
            self_test: Vec::new(),
        };
        let engine = open(explain, &scenario.cpus(), online, &threads, &mut tracing);
        let flight = Flight::start(engine, &tracing.self_test, &threads, explain.windows_max, setting.pace.trace)
            .map_err(|error| format!("causes are not looked for: no thread could be started: {error}"))?;
        drop(reserve);
        tracing.blind.extend(flight.blind());
        if tracing.rung == Rung::Deltas && flight.is_blind() {
            tracing.rung = Rung::InProcess;
            tracing.refused.push(RefusedRung { rung: Rung::Deltas, why: "no counter can be read".to_owned() });
        }
        let (explain, budget) = (explain.clone(), scenario.budget.unwrap_or(Nanos::MAX));
        Ok(Self { flight, tracing, explain, budget, limit, former: vec![Counts::new(); probes.len()], on: false })
    }

    pub(super) fn frame(&self) -> Frame {
        Frame::Tracing(self.tracing.clone())
    }

    /// Prepares tracing for a phase. Call this before the phase, because it stops every CPU for moments.
    pub(super) fn prepare(&mut self, phase: u16) {
        self.on = self.tracing.phases.contains(&phase);
        self.flight.prepare(self.on);
    }

    /// Makes a tap for each measuring thread, through which it passes on late activations. There are none if the phase
    /// is not traced.
    pub(super) fn taps(&self, scenario: &Scenario, phase: usize) -> Vec<LateTap> {
        if !self.on {
            return Vec::new();
        }
        let tap = |(thread, former): (&_, &Counts)| {
            let punctual_numbers::scenario::ProbeThread { period, .. } = *thread;
            let each = scenario.due(phase, period) / ORDINARY;
            LateTap::new(self.threshold(former), each)
        };
        let (taps, readers): (Vec<_>, Vec<LateReader>) = scenario.threads.iter().zip(&self.former).map(tap).unzip();
        self.flight.begin(u16::try_from(phase).unwrap_or(u16::MAX), readers);
        taps
    }

    /// Sets the first thresholds from the latencies of the warm-up.
    pub(super) fn warmed_up(&self, collectors: &[Collector]) {
        self.set_thresholds(collectors.iter().map(Collector::warm_up_counts));
    }

    /// Returns what tracing found since the last call, and updates the thresholds.
    pub(super) fn look(&self, collectors: &mut [Collector]) -> Vec<Frame> {
        if !self.on {
            return Vec::new();
        }
        self.set_thresholds(collectors.iter().map(Collector::ran_so_far));
        self.collect(collectors)
    }

    pub(super) fn end_phase(&mut self, collectors: &mut [Collector]) -> Vec<Frame> {
        let frames = if self.on {
            self.hand_over_gaps(collectors);
            self.flight.end();
            self.collect(collectors)
        } else {
            Vec::new()
        };
        for (former, collector) in self.former.iter_mut().zip(collectors) {
            former.merge(&collector.ran_so_far());
        }
        self.on = false;
        frames
    }

    pub(super) fn finish(self) -> Vec<Frame> {
        let totals = Frame::TraceTotals(self.flight.totals());
        let mut tracing = self.tracing;
        let known = tracing.blind.clone();
        let found = self.flight.holes().into_iter().map(Blind::Holes).filter(|holes| !known.contains(holes));
        tracing.blind.extend(found);
        // Tracing was found to be blind in places during the run. This frame replaces the one from the start.
        if tracing.blind == known { vec![totals] } else { vec![Frame::Tracing(tracing), totals] }
    }

    fn collect(&self, collectors: &mut [Collector]) -> Vec<Frame> {
        self.hand_over_gaps(collectors);
        let found = self.flight.take();
        let mut frames: Vec<Frame> = found.windows.into_iter().map(|window| Frame::Window(Box::new(window))).collect();
        if found.late.totals.iter().any(|total| total.count > 0) {
            frames.push(Frame::Late(found.late));
        }
        frames
    }

    /// Reports gaps that were judged to be latencies to the tracer.
    fn hand_over_gaps(&self, collectors: &mut [Collector]) {
        for (thread, collector) in collectors.iter_mut().enumerate() {
            for activation in collector.take_judged() {
                let (release, woke) = (activation.release, activation.woke);
                self.flight.add(thread, SeenActivation { release, woke, late: true });
            }
        }
    }

    fn set_thresholds(&self, counts: impl Iterator<Item = Counts>) {
        for (thread, (mut so_far, former)) in counts.zip(&self.former).enumerate() {
            so_far.merge(former);
            self.flight.set_threshold(thread, self.threshold(&so_far));
        }
    }

    fn threshold(&self, so_far: &Counts) -> Nanos {
        let asked = match (self.explain.threshold, self.explain.rarest) {
            (Some(threshold), _) => threshold,
            (None, Some(count)) => rarest_threshold(so_far, count),
            (None, None) => late_threshold(so_far).min(self.budget),
        };
        asked.min(self.limit)
    }
}

fn open(
    explain: &Explain,
    cpus: &CpuSet,
    online: &CpuSet,
    threads: &[MeasuredThread],
    tracing: &mut Tracing,
) -> Option<Box<dyn Engine>> {
    let wish = Wish { choice: explain.engine, cpus, online, buffer_bytes: explain.buffer_bytes };
    let Opened { engine, refused } = trace::open(&wish);
    tracing.refused = refused;
    let (mut engine, self_test) = engine?;
    engine.measures(threads);
    tracing.rung = engine.rung();
    tracing.events = engine.event_names();
    tracing.blind = engine.blind();
    tracing.blind.extend(holes(&self_test));
    trace::CLOCK.clone_into(&mut tracing.clock);
    tracing.buffer_bytes = engine.buffer_bytes();
    tracing.self_test = self_test;
    Some(engine)
}

/// CPUs whose traces are known to lack records.
fn holes(self_test: &[SelfTest]) -> impl Iterator<Item = Blind> {
    self_test.iter().filter(|test| test.has_holes()).map(|test| Blind::Holes(test.cpu))
}

fn traced_phases(explain: &Explain, scenario: &Scenario) -> Vec<u16> {
    let count = u16::try_from(scenario.load_phases.len()).unwrap_or(u16::MAX);
    (0..count).filter(|phase| explain.phases.is_empty() || explain.phases.contains(phase)).collect()
}
