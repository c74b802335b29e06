//! Phases of load: their beginnings and ends, and the loads that run in them.

use crate::load::{LoadError, LoadOutcome, RunningLoad, stop_all};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_numbers::recording::{Frame, LoadDone, Mark, MarkKind, RecTime};
use punctual_numbers::scenario::{Amount, LoadPhase, Scenario};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A load's own time limit ends this long after its phase, in case this process cannot end the load.
const GRACE: Nanos = Nanos::from_secs(30);

pub(super) struct Lengths {
    pub warm_up: Nanos,
    pub counted: Nanos,
}

impl Lengths {
    pub(super) fn total(&self) -> Nanos {
        self.warm_up.plus(self.counted)
    }
}

/// The lengths of a phase: for each part, that of the thread that takes longest.
pub(super) fn lengths(scenario: &Scenario, phase: usize) -> Lengths {
    let longest = |count: &dyn Fn(Nanos) -> u64| {
        scenario.threads.iter().map(|t| t.period.times(count(t.period))).max().unwrap_or_default()
    };
    Lengths {
        warm_up: longest(&|period| warm_ups(scenario, period)),
        counted: longest(&|period| scenario.due(phase, period)),
    }
}

/// Time for starting and ending one load. The least is that of a quiet machine with many CPUs, the most that of a busy
/// one with two.
const PER_LOAD: WallTime = WallTime { least: Nanos::from_ms(30), most: Nanos::from_ms(300) };
/// Time before the first warm-up and after the last phase: checking whether the machine is quiet, opening and testing
/// the trace, and the report.
const AROUND: WallTime = WallTime { least: Nanos::from_ms(600), most: Nanos::from_ms(2_500) };
/// Time between two phases without loads: the last tick, the preparations, and the lead before the warm-up.
const BETWEEN: Nanos = Nanos::from_ms(120);

/// Estimated duration of a measurement in wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallTime {
    pub least: Nanos,
    pub most: Nanos,
}

/// Estimates how long a scenario takes in total, including warm-ups, starts and ends of loads, and the alignment of
/// phases to whole seconds.
pub fn wall_time(scenario: &Scenario) -> WallTime {
    let time = |per_load: Nanos, around: Nanos| {
        let (mut end, mut loads) = (Nanos::ZERO, 0);
        for (phase, about) in scenario.load_phases.iter().enumerate().filter(|(_, about)| about.parts > 0) {
            let Lengths { warm_up, counted } = lengths(scenario, phase);
            loads += about.loads.len() as u64;
            let earliest = end.plus(per_load.times(loads)).plus(BETWEEN).plus(warm_up);
            let is_first = end == Nanos::ZERO;
            let from = if is_first { earliest } else { Nanos::from_secs(earliest.whole(Nanos::from_secs(1)) + 1) };
            end = from.plus(counted);
            loads = about.loads.len() as u64;
        }
        end.plus(around)
    };
    WallTime { least: time(PER_LOAD.least, AROUND.least), most: time(PER_LOAD.most, AROUND.most) }
}

/// Total length of all phases without their warm-ups.
pub(super) fn total(scenario: &Scenario) -> Nanos {
    (0..scenario.load_phases.len()).fold(Nanos::ZERO, |sum, phase| sum.plus(lengths(scenario, phase).counted))
}

/// Number of activations in a warm-up; each phase has one.
pub(super) fn warm_ups(scenario: &Scenario, period: Nanos) -> u64 {
    match scenario.warm_up {
        Amount::Time(time) => time.whole(period),
        Amount::Activations(n) => n,
    }
}

/// Starts and ends the loads, one phase at a time.
pub(super) struct Loads {
    on: CpuSet,
    dir: PathBuf,
    running: Vec<RunningLoad>,
    phase: u16,
}

impl Loads {
    pub(super) fn new(on: CpuSet, dir: PathBuf) -> Self {
        Self { on, dir, running: Vec::new(), phase: 0 }
    }

    /// Starts the loads of a phase. A load that cannot be started at the second attempt either is skipped, and the
    /// returned marks report it. If the run is interrupted, the remaining loads are not started.
    pub(super) fn start(
        &mut self,
        number: u16,
        phase: &LoadPhase,
        length: Nanos,
        interrupted: &AtomicBool,
    ) -> Vec<MarkKind> {
        self.phase = number;
        let mut skipped = Vec::new();
        for name in &phase.loads {
            let start = || RunningLoad::start(name, &self.on, &self.dir, length.plus(GRACE), interrupted);
            // The load may have failed only because the machine was busy for a moment.
            match start().or_else(|error| if error.may_pass() { start() } else { Err(error) }) {
                Ok(load) => self.running.push(load),
                Err(LoadError::Interrupted { .. }) => break,
                Err(error) => skipped.push(MarkKind::LoadSkipped { load: name.clone(), why: error.to_string() }),
            }
        }
        skipped
    }

    pub(super) fn stop(&mut self) -> Vec<Frame> {
        let done = |outcome: LoadOutcome| {
            Frame::LoadDone(LoadDone {
                phase: self.phase,
                name: outcome.name,
                cpus: self.on.clone(),
                unit: outcome.unit.to_owned(),
                operations: outcome.operations,
                time: outcome.time,
                failure: outcome.failure,
            })
        };
        stop_all(std::mem::take(&mut self.running)).into_iter().map(done).collect()
    }
}

pub(super) fn mark(at: RecTime, kind: MarkKind) -> Frame {
    Frame::Mark(Mark { at, kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::scenario::{Mechanism, Policy, ProbeThread, TimerPhase};

    fn scenario(parts: &[u32], length: Amount) -> Scenario {
        Scenario {
            threads: vec![ProbeThread { cpu: 0, period: Nanos::from_ms(1) }],
            policy: Policy::Other,
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(2),
            length,
            budget: None,
            limit: None,
            dma_latency_us: None,
            load_phases: parts.iter().map(|parts| LoadPhase { loads: vec![], parts: *parts }).collect(),
            load_cpus: None,
            suite: None,
        }
    }

    #[test]
    fn phases_share_what_is_due_and_lose_none() {
        let s = scenario(&[1, 2, 4], Amount::Time(Nanos::from_secs(10)));
        let shares: Vec<u64> = (0..3).map(|i| s.due(i, Nanos::from_ms(1))).collect();
        assert_eq!(shares, [1428, 2857, 5715]);
        assert_eq!(total(&s), Nanos::from_secs(10));
    }

    #[test]
    fn a_suite_counts_activations() {
        let s = scenario(&[1, 1], Amount::Activations(1996));
        assert_eq!(s.due(1, Nanos::from_ms(50)), 998);
        assert_eq!(lengths(&s, 0).warm_up, Nanos::from_ms(2));
    }

    /// A scenario of `seconds` seconds with these phases, each given as its number of loads and its parts.
    fn loaded(seconds: u64, phases: &[(usize, u32)]) -> Scenario {
        let loads = |loads: usize| vec!["cpu".to_owned(); loads];
        let load_phases =
            phases.iter().map(|(number, parts)| LoadPhase { loads: loads(*number), parts: *parts }).collect();
        let warm_up = Amount::Time(Nanos::from_ms(500));
        Scenario { load_phases, warm_up, ..scenario(&[], Amount::Time(Nanos::from_secs(seconds))) }
    }

    #[test]
    fn the_time_that_is_announced_holds_what_runs_took() {
        // Measured times in milliseconds from the announcement to the end, on two CPUs while other programs were
        // compiling.
        for (seconds, phases, took_ms) in [
            (5, &[(0, 4), (5, 8), (0, 1), (5, 2)][..], 13_900),
            (8, &[(0, 1), (5, 2)], 11_600),
            (25, &[(0, 4), (5, 8), (0, 1), (5, 2)], 34_600),
            (15, &[(0, 4), (1, 4), (1, 4), (1, 4), (0, 1), (1, 1), (1, 1), (1, 1)], 24_600),
        ] {
            let WallTime { least, most } = wall_time(&loaded(seconds, phases));
            let took = Nanos::from_ms(took_ms);
            assert!(least <= took && took <= most, "{seconds} s: {least:?} to {most:?}, not {took:?}");
        }
        // The range must be narrow to be useful: for the default run, it is within a tenth of its middle.
        let WallTime { least, most } = wall_time(&loaded(37, &[(0, 4), (5, 8), (0, 1), (5, 2)]));
        assert!(most.as_ns() - least.as_ns() <= (most.as_ns() + least.as_ns()) / 10, "{least:?} to {most:?}");
    }

    #[test]
    fn one_phase_takes_its_length_and_what_is_around_it() {
        let WallTime { least, most } = wall_time(&loaded(30, &[(0, 1)]));
        assert_eq!((least, most), (Nanos::from_ms(31_220), Nanos::from_ms(33_120)));
        let one_left = wall_time(&loaded(30, &[(5, 0), (0, 1)]));
        assert_eq!(one_left.least, least, "a phase without parts was measured before");
    }
}
