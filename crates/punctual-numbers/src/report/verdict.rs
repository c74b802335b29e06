//! The verdict: whether the need was held, how certain that is, and which doubt decided.

use super::{Answer, CpuRow, Distrust, Inconclusive, Need, Verdict, trust};
use crate::claims::{CONFIDENCE, miss_upper};
use crate::stats::float::{float, whole};
use punctual_hist::Nanos;

/// With 3000 releases and no miss, a miss is less probable than one in 1000 at 95 % (2995 would do).
pub const DUE_WANTED: u64 = 3_000;

/// In which direction a doubt can have changed the measured latency. Only the direction decides its effect on a
/// verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The doubt can only have added latency: a need that was held would also be held without it, and the cause of a
    /// miss is open.
    OnlyAdds,
    /// The doubt can have hidden latency or misses: the need is not shown to be held, but an observed miss remains a
    /// miss.
    MayHide,
    /// The doubt can have added or hidden latency, so that only an observed miss is conclusive.
    Both,
    /// There are too few samples, which a longer run cures.
    TooFew,
    /// The machine changes more slowly than the run is long: the answer is about this run only.
    MoodsLong,
    /// The doubt touches no number on which a verdict rests.
    Neither,
}

impl Direction {
    /// Whether a doubt of this direction may have added latency.
    pub fn adds(self) -> bool {
        matches!(self, Self::OnlyAdds | Self::Both)
    }

    /// Whether a doubt of this direction may hide misses.
    pub fn hides(self) -> bool {
        matches!(self, Self::MayHide | Self::Both | Self::TooFew)
    }
}

impl Distrust {
    /// In which direction this doubt can have changed the numbers. `book/src/claims.md` shows the same as a table.
    pub fn direction(&self) -> Direction {
        match self {
            Self::Steal { .. }
            // Releases that came due while the whole machine stood still are counted separately, as lost releases.
            | Self::Paused { .. }
            | Self::Suspended { .. }
            | Self::HelperShared { .. }
            | Self::HelperSibling { .. }
            | Self::Throttled
            // The releases that a throttled thread missed are counted as skipped.
            | Self::RtThrottled
            | Self::SlowClock { .. }
            | Self::Faults { .. }
            | Self::InBand { .. }
            // An ordinary thread waits longer than a real-time one. If real-time was requested, there is a doubt about
            // the grant as well.
            | Self::NotRealTime
            | Self::Tracing { .. } => Direction::OnlyAdds,
            // A guest that was stopped together with its monotonic clock shows only as a step of the wall clock.
            Self::WallClockStep { .. }
            | Self::TscDrift
            | Self::Migrations { .. }
            | Self::GrantedOtherwise { .. }
            | Self::EndedEarly { .. }
            | Self::CutOff
            | Self::Damaged { .. }
            | Self::WriteFailed
            | Self::LoadMissing { .. }
            | Self::Early { .. } => Direction::MayHide,
            Self::ChangedDuring { .. } => Direction::Both,
            Self::TooFew { .. } => Direction::TooFew,
            Self::Drifts { .. } => Direction::MoodsLong,
            // Page faults are counted where they happen, and histograms include the maxima that the list of blocks
            // lacks.
            Self::MemoryNotLocked | Self::MaximaLost { .. } => Direction::Neither,
        }
    }
}

/// Counts of a run that determine its verdict, before doubts are considered.
#[derive(Clone, Copy, Debug)]
pub struct RunCounts {
    /// Whether there is a budget, which defines a miss.
    pub has_budget: bool,
    /// Whether every CPU that was to be measured has samples.
    pub all_ran: bool,
    pub due: u64,
    pub missed: u64,
    /// Design effect: factor by which the number of misses varies more than that of independent misses, at least 1.
    /// `None` if no limit on misses is stated.
    pub spread: Option<f64>,
    pub measured: Nanos,
}

impl RunCounts {
    pub fn of(need: &Need, cpus: &[CpuRow], spread: Option<f64>, measured: Nanos) -> Self {
        let sum = |of: fn(&CpuRow) -> u64| cpus.iter().map(of).fold(0u64, u64::saturating_add);
        Self {
            has_budget: need.budget.is_some(),
            all_ran: !cpus.is_empty() && cpus.iter().all(|cpu| cpu.row.ran > 0),
            due: sum(|cpu| cpu.row.due),
            missed: sum(|cpu| cpu.row.skipped.saturating_add(cpu.row.over_budget)),
            spread,
            measured,
        }
    }

    /// The shortage of releases, on one CPU or on all together, that takes longest to make up.
    fn too_few(&self, doubts: &[Distrust]) -> Option<Inconclusive> {
        let of_a_cpu = doubts.iter().filter_map(|doubt| match doubt {
            Distrust::TooFew { due } => Some((*due, trust::DUE_MIN)),
            _ => None,
        });
        let of_a_cpu = of_a_cpu.filter(|(due, wanted)| due < wanted);
        // The next run should have enough releases for the claim of a verdict: `DUE_WANTED` independent ones.
        let wanted = whole((float(DUE_WANTED) * self.spread.unwrap_or(1.0)).ceil());
        let few = of_a_cpu.chain((self.due < DUE_WANTED).then_some((self.due, wanted)));
        let told = few.map(|(due, wanted)| (time_for(self.measured, due, wanted), due, wanted));
        let (time, due, wanted) = told.max()?;
        Some(Inconclusive::TooFew { due, wanted, time })
    }
}

/// How long it takes until `wanted` releases come due, at the rate of `due` in `measured`, in whole seconds.
pub(super) fn time_for(measured: Nanos, due: u64, wanted: u64) -> Option<Nanos> {
    let length = u128::from(measured.as_ns()).saturating_mul(u128::from(wanted)).checked_div(u128::from(due))?;
    u64::try_from(length.div_ceil(1_000_000_000)).ok().map(Nanos::from_secs)
}

impl Verdict {
    /// The verdict from the counts of a run and the doubts about it. Every statement whether a need was held, and every
    /// exit code, rests on this function.
    pub fn of(seen: &RunCounts, doubts: &[Distrust]) -> Self {
        let hidden = || doubts.iter().find(|doubt| matches!(doubt.direction(), Direction::MayHide | Direction::Both));
        let because = if !seen.has_budget {
            Some(Inconclusive::NoBudget)
        } else if seen.missed > 0 {
            // A single miss decides, even if there is little data or some misses were not seen.
            None
        } else if !seen.all_ran {
            Some(Inconclusive::NothingRan)
        } else {
            // A doubt that may hide latency takes precedence over a shortage of samples, because measuring longer does
            // not remove it.
            hidden().map(|doubt| Inconclusive::Doubt { doubt: doubt.clone() }).or_else(|| seen.too_few(doubts))
        };
        let answer = match because {
            Some(_) => Answer::Inconclusive,
            None if seen.missed > 0 => Answer::NotHeld,
            None => Answer::Held,
        };
        let stands = answer != Answer::Inconclusive;
        let spread = seen.spread.filter(|_| seen.has_budget);
        Self {
            answer,
            due: seen.due,
            missed: seen.missed,
            miss_probability_upper: miss_upper(seen.missed, seen.due, spread),
            independent: spread.map(|spread| whole(float(seen.due) / spread)),
            confidence: CONFIDENCE,
            inconclusive_because: because,
            although: if stands { doubts.to_vec() } else { Vec::new() },
            cause_open: answer == Answer::NotHeld
                && doubts.iter().any(|doubt| doubt.direction() == Direction::OnlyAdds),
        }
    }
}

/// Whether doubts alone can explain that two runs differ: the run with lower latency may hide some, or the other run
/// may have added latency.
pub fn may_differ_by_doubt(lower: &[Distrust], higher: &[Distrust]) -> bool {
    let any = |doubts: &[Distrust], way: fn(Direction) -> bool| doubts.iter().any(|doubt| way(doubt.direction()));
    any(lower, Direction::hides) || any(higher, Direction::adds)
}

#[cfg(test)]
mod tests;
