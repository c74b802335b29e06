//! The scenario with which a recording is continued: the rest of its own scenario, or a length that the user gives.

use super::{EndReason, Recording};
use crate::scenario::{Amount, LoadPhase, ProbeThread, Scenario};
use punctual_hist::Nanos;

/// Length of one of a load phase's `parts`, if the length of the scenario is a time.
const PART: Nanos = Nanos::from_ms(1);

/// The scenario of a recording with each phase shortened to what is left of it, or with the length `more` if that is
/// given. A phase that is complete gets 0 parts. `None` if nothing is left.
pub fn remaining(recording: &Recording, more: Option<Amount>) -> Option<Scenario> {
    let scenario = &recording.header.scenario;
    if let Some(length) = more {
        return Some(Scenario { length, ..scenario.clone() });
    }
    let ended = recording.runs.last().and_then(|run| run.end.as_ref()).map(|end| end.reason);
    if ended == Some(EndReason::Completed) {
        return None;
    }
    let lacking = |thread: &ProbeThread, phase: usize| {
        let number = u16::try_from(phase).unwrap_or(u16::MAX);
        let done = recording.phases.get(&(number, thread.cpu));
        let done = done.map_or(0, |totals| totals.ran.count().saturating_add(totals.skipped.count()));
        scenario.due(phase, thread.period).saturating_sub(done)
    };
    let by_phase = |of: &dyn Fn(&ProbeThread, usize) -> u64| -> Vec<u64> {
        let phases = 0..scenario.load_phases.len();
        phases.map(|phase| scenario.threads.iter().map(|thread| of(thread, phase)).max().unwrap_or(0)).collect()
    };
    let (left, length): (Vec<u64>, fn(u64) -> Amount) = match scenario.length {
        Amount::Activations(_) => (by_phase(&lacking), Amount::Activations),
        Amount::Time(_) => (by_phase(&|thread, phase| thread.period.times(lacking(thread, phase)).as_ns()), |ns| {
            Amount::Time(Nanos::from_ns(ns))
        }),
    };
    let sum = left.iter().fold(0u64, |sum, part| sum.saturating_add(*part));
    let unit = match scenario.length {
        Amount::Activations(_) => 1,
        Amount::Time(_) => PART.as_ns(),
    };
    let unit = unit.max(left.iter().max()?.div_ceil(u64::from(u32::MAX)));
    let phase = |(phase, left): (&LoadPhase, &u64)| LoadPhase {
        loads: phase.loads.clone(),
        parts: u32::try_from(left.div_ceil(unit)).unwrap_or(u32::MAX),
    };
    let load_phases = scenario.load_phases.iter().zip(&left).map(phase).collect();
    (sum > 0).then(|| Scenario { length: length(sum), load_phases, ..scenario.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::Frame;
    use super::super::sample::{fold, run};
    use super::*;

    fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn what_ended_early_has_the_rest_left() {
        let left = |end| remaining(&fold(&run(0, 4, 5, end)), None);
        assert_eq!(left(Some(EndReason::Interrupted)).unwrap().length, Amount::Time(s(6)));
        assert_eq!(left(None).unwrap().length, Amount::Time(s(6)));
        assert_eq!(left(Some(EndReason::Completed)), None);
    }

    #[test]
    fn more_is_as_much_as_is_asked_for() {
        let done = fold(&run(0, 10, 5, Some(EndReason::Completed)));
        let more = remaining(&done, Some(Amount::Time(s(3)))).unwrap();
        assert_eq!((more.length, &more.load_phases), (Amount::Time(s(3)), &done.header.scenario.load_phases));
    }

    /// The run is to last 10 s, in two phases of 2.5 s and 7.5 s. The first phase is complete, and one second of the
    /// second was measured.
    #[test]
    fn a_phase_that_is_over_has_no_part_in_the_rest() {
        let mut frames = run(0, 4, 5, None);
        let Frame::Header(header) = &mut frames[0] else { panic!("no header") };
        let phase = |parts| LoadPhase { loads: Vec::new(), parts };
        header.scenario.load_phases = vec![phase(1), phase(3)];
        let mut intervals = frames.iter_mut().filter_map(|frame| match frame {
            Frame::Interval(interval) => Some(interval),
            _ => None,
        });
        intervals.by_ref().take(2).for_each(drop);
        let third = intervals.next().unwrap();
        third.cpus[0].ran[0].1 = 500;
        intervals.for_each(|interval| interval.phase = 1);
        let mut recording = fold(&frames);
        let left = remaining(&recording, None).unwrap();
        let parts: Vec<u32> = left.load_phases.iter().map(|phase| phase.parts).collect();
        assert_eq!((left.length, parts), (Amount::Time(Nanos::from_ms(6_500)), vec![0, 6_500]));
        assert_eq!(left.due(1, Nanos::from_ms(1)), 6_500);
        recording.header.scenario.length = Amount::Activations(10_000);
        let left = remaining(&recording, None).unwrap();
        assert_eq!(left.length, Amount::Activations(6_500));
    }
}
