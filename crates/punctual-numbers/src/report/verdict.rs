//! Was the need held, and how sure is that?

use super::{Answer, CpuRow, Inconclusive, Need, Verdict};
use crate::claims::{CONFIDENCE, miss_upper};

/// With so many releases and no miss, a miss is less probable than one in 1000 at that confidence (2995, rounded up).
pub const DUE_WANTED: u64 = 3_000;

/// `spread` is by how much more misses vary than independent ones.
pub(super) fn judge(need: &Need, cpus: &[CpuRow], spread: f64) -> Verdict {
    let sum = |of: fn(&CpuRow) -> u64| cpus.iter().map(of).fold(0u64, u64::saturating_add);
    let due = sum(|cpu| cpu.row.due);
    let missed = sum(|cpu| cpu.row.skipped.saturating_add(cpu.row.over_budget));
    let because = match need.budget {
        None => Some(Inconclusive::NoBudget),
        // One miss is enough to know, however little else there is.
        Some(_) if missed > 0 => None,
        Some(_) if cpus.is_empty() || cpus.iter().any(|cpu| cpu.row.ran == 0) => Some(Inconclusive::NothingRan),
        Some(_) if due < DUE_WANTED => Some(Inconclusive::TooFew { due, wanted: DUE_WANTED }),
        Some(_) => None,
    };
    let answer = match because {
        Some(_) => Answer::Inconclusive,
        None if missed > 0 => Answer::NotHeld,
        None => Answer::Held,
    };
    Verdict {
        answer,
        due,
        missed,
        miss_probability_upper: need.budget.and_then(|_| miss_upper(missed, due, spread)),
        confidence: CONFIDENCE,
        inconclusive_because: because,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;
    use punctual_hist::{Counts, Nanos};

    fn cpu(ran: u64, skipped: u64, over_budget: u64) -> CpuRow {
        let (mut ran_counts, mut skipped_counts) = (Counts::new(), Counts::new());
        ran_counts.record_n(Nanos::from_us(5), ran);
        skipped_counts.record_n(Nanos::from_ms(5), skipped);
        CpuRow {
            cpu: 0,
            period: Nanos::from_ms(1),
            row: Row::of(&ran_counts, &skipped_counts, over_budget),
            worst_at: None,
            longest_gap: Nanos::ZERO,
            early: 0,
            ran: ran_counts,
            skipped: skipped_counts,
        }
    }

    fn verdict(budget_us: Option<u64>, cpus: &[CpuRow]) -> Verdict {
        let need = Need {
            period: Nanos::from_ms(1),
            budget: budget_us.map(Nanos::from_us),
            cpus: std::iter::once(0).collect(),
        };
        judge(&need, cpus, 1.0)
    }

    #[test]
    fn held_needs_a_budget_enough_releases_and_no_miss() {
        let held = verdict(Some(50), &[cpu(3_000, 0, 0)]);
        assert_eq!((held.answer, held.due, held.missed), (Answer::Held, 3_000, 0));
        assert!(held.miss_probability_upper.unwrap() <= 1e-3, "{held:?}");
        let few = verdict(Some(50), &[cpu(2_999, 0, 0)]);
        assert_eq!(few.answer, Answer::Inconclusive);
        assert_eq!(few.inconclusive_because, Some(Inconclusive::TooFew { due: 2_999, wanted: 3_000 }));
        let no_budget = verdict(None, &[cpu(9_000, 1, 0)]);
        assert_eq!(
            (no_budget.answer, no_budget.missed, no_budget.miss_probability_upper),
            (Answer::Inconclusive, 1, None)
        );
        assert_eq!(no_budget.inconclusive_because, Some(Inconclusive::NoBudget));
    }

    #[test]
    fn late_and_skipped_releases_are_both_missed() {
        let verdict = verdict(Some(50), &[cpu(100, 20, 0), cpu(100, 0, 3)]);
        assert_eq!((verdict.answer, verdict.due, verdict.missed), (Answer::NotHeld, 220, 23));
        assert_eq!(verdict.inconclusive_because, None);
        assert!(verdict.miss_probability_upper.unwrap() > 23.0 / 220.0);
    }

    #[test]
    fn a_cpu_that_never_ran_proves_nothing() {
        for cpus in [&[cpu(9_000, 0, 0), cpu(0, 0, 0)][..], &[]] {
            assert_eq!(verdict(Some(50), cpus).inconclusive_because, Some(Inconclusive::NothingRan));
        }
        assert_eq!(verdict(Some(50), &[]).miss_probability_upper, None);
    }
}
