//! Keeps what the kernel did on the CPUs of a program around its latest activations, by the flight recorder.

use super::Lane;
use crate::measure::Setting;
use crate::probe::SeenActivation;
use crate::trace::{self, Flight, MeasuredThread, Opened, TracePace, Wish};
use crate::watch::{RAREST, WINDOWS_EACH};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::WakeUp;
use punctual_numbers::recording::Frame;
use punctual_numbers::trace::keep::rarest_threshold;
use punctual_numbers::trace::{TraceTotal, Tracing};
use punctual_numbers::watch::{self as numbers, DAY};
use std::collections::BTreeMap;

/// Memory for the kernel's trace of all CPUs, and the most for one: two seconds of 20,000 records.
const BUFFERS_BYTES: u64 = 32 << 20;
const BUFFER_BYTES: u64 = 2 << 20;
/// Ordinary activations of each thread that are kept each day, for comparison.
const ORDINARY: u64 = 400;

pub struct Causes {
    flight: Flight,
    tracing: Tracing,
    /// What the flight recorder numbers: each thread once for each CPU that it may run on.
    measured: Vec<MeasuredThread>,
    thresholds: BTreeMap<u32, Nanos>,
    /// When an ordinary activation of each thread was handed over last.
    ordinary: BTreeMap<u32, MonoTime>,
}

impl Causes {
    /// Starts to look for causes. The error says why that is not possible.
    pub fn start(lanes: &[Lane], setting: &Setting) -> Result<Self, String> {
        let on_cpus = |lane: &Lane| {
            let tid = lane.tid;
            lane.cpus.iter().map(|cpu| MeasuredThread { cpu, tid }).collect::<Vec<_>>()
        };
        let measured: Vec<MeasuredThread> = lanes.iter().flat_map(on_cpus).collect();
        let cpus: CpuSet = measured.iter().map(|thread| thread.cpu).collect();
        let count = cpus.len() as u64;
        let bytes = BUFFER_BYTES.min(BUFFERS_BYTES / count.max(1));
        let explain = setting.explain.clone().unwrap_or_default();
        let wish =
            Wish { choice: explain.engine, cpus: &cpus, online: &setting.cpus.online, buffer_bytes: Some(bytes) };
        let Opened { engine, refused } = trace::open(&wish);
        let Some((mut engine, self_test)) = engine else {
            return Err(refused.into_iter().map(|refused| refused.why).collect::<Vec<_>>().join("; "));
        };
        engine.measures(&measured);
        let windows_max = WINDOWS_EACH.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        let mut tracing = Tracing {
            rung: engine.rung(),
            refused,
            phases: vec![0],
            events: engine.event_names(),
            blind: engine.blind(),
            clock: trace::CLOCK.to_owned(),
            buffer_bytes: engine.buffer_bytes(),
            threshold: None,
            windows_max,
            self_test,
        };
        let flight = Flight::start(Some(engine), &tracing.self_test, &measured, windows_max, TracePace::WhenLate)
            .map_err(|error| format!("no thread could be started: {error}"))?;
        tracing.blind.extend(flight.blind());
        flight.begin(0, Vec::new());
        let (thresholds, ordinary) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { flight, tracing, measured, thresholds, ordinary })
    }

    pub fn frame(&self) -> Frame {
        Frame::Tracing(self.tracing.clone())
    }

    /// Sets which activations of a thread are late: the few with the largest latencies so far.
    pub fn learn(&mut self, tid: u32, lane: &numbers::Lane) {
        let threshold = rarest_threshold(&lane.latencies(), RAREST);
        self.thresholds.insert(tid, threshold);
        for (index, _) in self.measured.iter().enumerate().filter(|(_, thread)| thread.tid == tid) {
            self.flight.set_threshold(index, threshold);
        }
    }

    pub fn add(&mut self, tid: u32, wake_up: &WakeUp) {
        let WakeUp { release, woke, cpu } = *wake_up;
        let late = self.thresholds.get(&tid).is_some_and(|threshold| wake_up.latency() > *threshold);
        let last = self.ordinary.get(&tid);
        let is_its_turn = last.is_none_or(|last| woke.since(*last) >= DAY.divided_by(ORDINARY));
        if !late && !is_its_turn {
            return;
        }
        if !late {
            self.ordinary.insert(tid, woke);
        }
        let is_its = |thread: &MeasuredThread| *thread == MeasuredThread { cpu, tid };
        if let Some(place) = self.measured.iter().position(is_its) {
            self.flight.add(place, SeenActivation { release, woke, late });
        }
    }

    /// What was kept since the last call.
    pub fn take(&self) -> Vec<Frame> {
        let found = self.flight.take();
        let windows = found.windows.into_iter().map(|window| Frame::Window(Box::new(window)));
        let is_late = found.late.totals.iter().any(|total| total.count > 0);
        windows.chain(is_late.then_some(Frame::Late(found.late))).collect()
    }

    /// Records that the kernel wrote so far.
    pub fn records(&self) -> u64 {
        self.flight.totals().iter().map(|total| total.records).sum()
    }

    pub fn end(self) -> Vec<Frame> {
        self.flight.end();
        let mut frames = self.take();
        let totals: Vec<TraceTotal> = self.flight.totals();
        frames.push(Frame::TraceTotals(totals));
        frames
    }
}
