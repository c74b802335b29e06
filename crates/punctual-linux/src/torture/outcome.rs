//! What a test came to: its findings, whether the promise was held, and what stands against saying so.

use super::Test;
use super::checker::{Checked, Corruption, Plant};
use super::doubt::Doubt;
use super::heap::Heap;
use super::mutex::Mutexes;
use super::own_tests::OwnTests;
use super::seat::{Kind, Place};
use super::timers::Timers;
use crate::sys::registers::{Unit, registers};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Number of corruptions that are told in detail. All are counted.
const KEPT: usize = 16;

#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Whether the kernel kept its promise.
    pub verdict: Verdict,
    /// What stands against relying on the verdict.
    pub doubts: Vec<Doubt>,
    #[serde(flatten)]
    pub place: Place,
    /// Why there was no real-time thread, as a sentence; null if there were some.
    pub real_time_refused: Option<String>,
    /// Why no thread of the real-time core took part although the machine has one, as a sentence; null otherwise.
    pub core_refused: Option<String>,
    /// How long the test ran.
    #[serde(rename = "took_ns")]
    pub took: Nanos,
    /// Why the test ended.
    pub end: End,
    /// What the test saw.
    pub findings: Findings,
    /// Results of the tests that the second kernel brings along; empty if they were not asked for.
    pub own_tests: Vec<OwnTests>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Held,
    Broken,
    Inconclusive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    TimeUp,
    Interrupted,
}

#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "test", rename_all = "kebab-case")]
pub enum Findings {
    Switches(Integrity),
    Fpu(Integrity),
    Mutex(Mutexes),
    Heap(Heap),
    Timers(Timers),
}

/// Whether registers kept their contents.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Integrity {
    /// Parts of the CPU whose registers were tested.
    pub units: Vec<Unit>,
    /// Number of registers that were tested; a register of two parts counts twice.
    pub registers: usize,
    /// What happened on each CPU.
    pub cpus: Vec<IntegrityRow>,
    /// Number of signals handled meanwhile; null if the test sends none.
    pub signals: Option<u64>,
    /// Number of signal handlers whose own registers were changed.
    pub spoilt_handlers: u64,
    /// The first corruptions of the threads.
    pub corruptions: Vec<Corruption>,
    /// The corruption that was made on purpose; null if none was asked for.
    pub plant: Option<Plant>,
}

/// What happened on one CPU.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntegrityRow {
    pub cpu: u32,
    /// Number of threads under `SCHED_OTHER`.
    pub plain: u32,
    /// Number of threads under `SCHED_FIFO`.
    pub real_time: u32,
    /// Number of threads of the real-time core.
    pub out_of_band: u32,
    /// How often these left the core for Linux, as the core counts it. They come back with their next sleep.
    pub in_band_switches: u64,
    /// How often one of these threads gave its CPU away, as the kernel counts it.
    pub switches: u64,
    /// How often all registers were filled and compared.
    pub checks: u64,
    /// Number of page faults of these threads.
    pub faults: u64,
    /// Number of registers that did not hold what was written.
    pub corruptions: u64,
}

impl Integrity {
    pub(super) fn of(checked: Vec<Checked>) -> Self {
        let mut rows: BTreeMap<u32, IntegrityRow> = BTreeMap::new();
        let (mut corruptions, mut plant) = (Vec::new(), None);
        for thread in checked {
            let cpu = thread.seat.cpu;
            let row = rows.entry(cpu).or_insert_with(|| IntegrityRow { cpu, ..IntegrityRow::default() });
            row.plain += u32::from(thread.seat.kind == Kind::Plain);
            row.real_time += u32::from(thread.seat.kind == Kind::RealTime);
            row.out_of_band += u32::from(thread.seat.kind == Kind::OutOfBand);
            row.in_band_switches += thread.in_band_switches;
            row.switches += thread.usage.switches;
            row.faults += thread.usage.minor_faults + thread.usage.major_faults;
            row.checks += thread.checks;
            row.corruptions += thread.corruptions;
            plant = plant.or(thread.plant);
            corruptions.extend(thread.kept);
        }
        corruptions.truncate(KEPT);
        let mut units: Vec<Unit> = Vec::new();
        for register in registers() {
            if !units.contains(&register.unit) {
                units.push(register.unit);
            }
        }
        let cpus = rows.into_values().collect();
        Self { units, registers: registers().len(), cpus, signals: None, spoilt_handlers: 0, corruptions, plant }
    }

    pub(super) fn with_signals(checked: Vec<Checked>, signals: u64, spoilt_handlers: u64) -> Self {
        Self { signals: Some(signals), spoilt_handlers, ..Self::of(checked) }
    }

    /// Number of registers that were changed, those of signal handlers included.
    pub fn corrupted(&self) -> u64 {
        self.cpus.iter().map(|row| row.corruptions).sum::<u64>() + self.spoilt_handlers
    }

    fn doubts(&self, doubts: &mut Vec<Doubt>) {
        if self.registers == 0 {
            doubts.push(Doubt::NoRegisters);
        } else if self.cpus.iter().any(|row| row.checks == 0) || self.signals == Some(0) {
            doubts.push(Doubt::NothingTried);
        }
        if self.plant.as_ref().is_some_and(|plant| !plant.caught) {
            doubts.push(Doubt::PlantMissed);
        }
    }
}

impl Findings {
    pub fn test(&self) -> Test {
        match self {
            Self::Switches(_) => Test::Switches,
            Self::Fpu(_) => Test::Fpu,
            Self::Mutex(_) => Test::Mutex,
            Self::Heap(_) => Test::Heap,
            Self::Timers(_) => Test::Timers,
        }
    }

    fn is_broken(&self) -> bool {
        match self {
            Self::Switches(integrity) | Self::Fpu(integrity) => integrity.corrupted() > 0,
            Self::Mutex(mutexes) => mutexes.is_broken(),
            Self::Heap(heap) => heap.is_broken(),
            Self::Timers(timers) => timers.is_broken(),
        }
    }

    fn doubts(&self, doubts: &mut Vec<Doubt>) {
        match self {
            Self::Switches(integrity) | Self::Fpu(integrity) => integrity.doubts(doubts),
            Self::Mutex(mutexes) => mutexes.doubts(doubts),
            Self::Heap(heap) => heap.doubts(doubts),
            Self::Timers(timers) => timers.doubts(doubts),
        }
    }
}

impl Outcome {
    pub(super) fn of(place: Place, took: Nanos, end: End, refused: Option<String>, findings: Findings) -> Self {
        let verdict = Verdict::Inconclusive;
        let (doubts, own_tests) = (Vec::new(), Vec::new());
        let core_refused = None;
        Self { verdict, doubts, place, real_time_refused: refused, core_refused, took, end, findings, own_tests }
            .judged()
    }

    /// Adds why no thread of the real-time core took part, if there is a core.
    pub(super) fn with_core_refused(self, core_refused: Option<String>) -> Self {
        Self { core_refused, ..self }.judged()
    }

    /// Adds the results of the second kernel's own tests, which count as those of this one.
    #[must_use]
    pub fn with_own_tests(self, own_tests: Vec<OwnTests>) -> Self {
        Self { own_tests, ..self }.judged()
    }

    fn judged(mut self) -> Self {
        self.doubts.clear();
        if self.real_time_refused.is_some() {
            self.doubts.push(Doubt::NoRealTime);
        }
        if self.core_refused.is_some() {
            self.doubts.push(Doubt::NoOutOfBand);
        }
        self.findings.doubts(&mut self.doubts);
        if self.own_tests.iter().any(OwnTests::is_incomplete) {
            self.doubts.push(Doubt::OwnTestsFailed);
        }
        self.verdict = if self.findings.is_broken() || self.own_tests.iter().any(OwnTests::is_broken) {
            Verdict::Broken
        } else if self.doubts.is_empty() {
            Verdict::Held
        } else {
            Verdict::Inconclusive
        };
        self
    }
}
