//! Keeps long gaps until they are judged. Each gap becomes a latency; or, if the whole machine stood still, the gaps of
//! all threads become one event.

use super::watch::{Incident, Judgement, StandstillWatch};
use crate::probe::{Collector, Gap};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::EventKind;

/// Age at which a gap is judged. By then every other thread has reported its own gaps.
pub(super) const JUDGE_AFTER: Nanos = Nanos::from_ms(200);
/// How long judged gaps are kept, to find out which CPUs stood still together.
const REMEMBERED: Nanos = Nanos::from_secs(60);

pub(super) struct Gaps {
    periods: Vec<Nanos>,
    waiting: Vec<(usize, Gap)>,
    /// Thread, start and end of all gaps within the last [`REMEMBERED`].
    recent: Vec<(usize, MonoTime, MonoTime)>,
}

impl Gaps {
    pub(super) fn new(periods: Vec<Nanos>) -> Self {
        Self { periods, waiting: Vec::new(), recent: Vec::new() }
    }

    /// Takes over the gaps that threads set aside before `at`, and judges those that ended at or before `until`.
    pub(super) fn settle(
        &mut self,
        at: MonoTime,
        until: MonoTime,
        collectors: &mut [Collector],
        watch: &StandstillWatch,
    ) -> Option<Incident> {
        self.take(at, collectors);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(_, gap)| gap.activation.woke <= until);
        self.waiting = waiting;
        if ready.is_empty() {
            return None;
        }
        let mut standstill = None;
        for (i, gap) in ready {
            match watch.judge(&gap, self.others_ran(i, &gap)) {
                Judgement::Latency => collectors[i].count_late(gap),
                Judgement::MachinePaused => standstill = Some(joined(standstill, &gap)),
            }
        }
        standstill
    }

    fn take(&mut self, at: MonoTime, collectors: &mut [Collector]) {
        for (i, collector) in collectors.iter_mut().enumerate() {
            while let Some(gap) = collector.take_gap() {
                self.recent.push((i, gap.activation.release, gap.activation.woke));
                self.waiting.push((i, gap));
            }
        }
        self.recent.retain(|(_, _, to)| at.since(*to) < REMEMBERED);
    }

    fn others_ran(&self, thread: usize, gap: &Gap) -> bool {
        let (from, to) = (gap.activation.release, gap.activation.woke);
        let half = Nanos::from_ns(to.since(from).as_ns() / 2);
        let stood_still = |other: usize| {
            self.recent.iter().any(|(i, start, end)| *i == other && (*end).min(to).since((*start).max(from)) >= half)
        };
        let others = self.periods.iter().enumerate().filter(|(other, _)| *other != thread);
        others.into_iter().any(|(other, period)| *period < half && !stood_still(other))
    }
}

fn joined(standstill: Option<Incident>, gap: &Gap) -> Incident {
    let woke = gap.activation.woke;
    let before = standstill.unwrap_or(Incident::new(woke, Nanos::ZERO, EventKind::Paused));
    Incident {
        at: before.at.max(woke),
        length: before.length.max(gap.activation.latency()),
        releases_lost: before.releases_lost.saturating_add(gap.due()),
        ..before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::watch::tests::{at_ms, gap};

    #[test]
    fn a_standstill_of_two_cpus_is_one_event() {
        let event = joined(Some(joined(None, &gap(100, 3_100))), &gap(101, 3_102));
        assert_eq!((event.kind, event.length), (EventKind::Paused, Nanos::from_ms(3_001)));
        assert_eq!((event.releases_lost, event.at), (3_001 + 3_002, at_ms(3_102)));
    }

    #[test]
    fn a_thread_without_a_gap_of_its_own_ran() {
        let mut gaps = Gaps::new(vec![Nanos::from_ms(1); 2]);
        gaps.recent = vec![(0, at_ms(0), at_ms(1_000))];
        assert!(gaps.others_ran(0, &gap(0, 1_000)));
        gaps.recent.push((1, at_ms(10), at_ms(990)));
        assert!(!gaps.others_ran(0, &gap(0, 1_000)));
    }

    #[test]
    fn a_thread_that_sleeps_longer_than_the_gap_proves_nothing() {
        let gaps = Gaps::new(vec![Nanos::from_ms(1), Nanos::from_secs(10)]);
        assert!(!gaps.others_ran(0, &gap(0, 1_000)));
    }
}
