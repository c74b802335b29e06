//! What a report states about causes beyond the explanation itself: the load phases they belong to, and whether they
//! explain the latency.

use super::{PhaseRow, Report};
use crate::explain::{CpuLate, LateCount};
use crate::trace::Rung;

/// If more than this share of the latency has no cause, the ranking of causes does not explain the latency.
const UNEXPLAINED_MAX: f64 = 0.2;

/// Why the causes that were found do not explain the latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CausesDoubt {
    /// The run ended before the load phases in which late activations were to be captured.
    NotReached,
    /// Activations were late, but no window of any late activation was kept.
    NothingKept,
    /// The evidence names causes, but not how much of the latency each of them made.
    NoTimes,
    /// More than a fifth of the latency has no known cause.
    Unexplained,
    /// The self-test missed timer expiries or wakings that the kernel did not report as lost, or the trace's clock was
    /// off.
    SelfTest,
    /// More than a fifth of the latency lies in windows that are incomplete.
    Incomplete,
    /// Something that only adds latency was also active: stolen time, a pause, another tracer.
    Added,
}

impl Report {
    /// Whether the kernel recorded its own activity in this load phase, which disturbs the measurement a little.
    pub fn traced(&self, phase: u16) -> bool {
        let tracing = self.causes.as_ref().and_then(|causes| causes.tracing.as_ref());
        tracing.is_some_and(|tracing| records(tracing.rung) && tracing.phases.contains(&phase))
    }

    /// Whether the headline numbers leave out the traced load phases.
    pub fn traced_apart(&self) -> bool {
        let phases = || (0u16..).zip(&self.scenario.load_phases).map(|(phase, _)| self.traced(phase));
        phases().any(|traced| traced) && phases().any(|traced| !traced)
    }

    /// The load phase with this number, as the user wrote it.
    pub fn phase_name(&self, phase: u16) -> String {
        let row = self.phases.iter().find(|row| row.phase == phase);
        let asked = || self.scenario.load_phases.get(usize::from(phase)).map(crate::scenario::LoadPhase::name);
        row.map(|row| row.name.clone()).or_else(asked).unwrap_or_else(|| format!("phase {phase}"))
    }

    /// The numbers of late activations to be explained, summed over all CPUs.
    pub fn late(&self) -> LateCount {
        let late = self.causes.iter().flat_map(|causes| &causes.late);
        late.fold(LateCount::default(), |sum, CpuLate { count: one, .. }| LateCount {
            late: sum.late.saturating_add(one.late),
            latency: sum.latency.plus(one.latency),
            kept: sum.kept.saturating_add(one.kept),
            complete: sum.complete.saturating_add(one.complete),
            sampled: sum.sampled.saturating_add(one.sampled),
            passed_over: sum.passed_over.saturating_add(one.passed_over),
        })
    }

    /// Whether no release came due in the load phases in which late activations were captured.
    fn watched_nothing(&self) -> bool {
        let tracing = self.causes.as_ref().and_then(|causes| causes.tracing.as_ref());
        let is_watched = |row: &PhaseRow| tracing.is_none_or(|of| of.phases.contains(&row.phase));
        !self.phases.iter().any(|row| is_watched(row) && row.row.due > 0)
    }

    fn self_test_failed(&self) -> bool {
        let tracing = self.causes.iter().filter_map(|causes| causes.tracing.as_ref());
        tracing.flat_map(|tracing| &tracing.self_test).any(|test| test.misses_timers() || test.is_warped())
    }

    /// Why the causes do not explain the latency. `None` if they do, if nothing was late, or if causes were not looked
    /// for.
    pub fn causes_doubt(&self) -> Option<CausesDoubt> {
        let (causes, late) = (self.causes.as_ref()?, self.late());
        if late.late == 0 {
            return self.watched_nothing().then_some(CausesDoubt::NotReached);
        }
        let seldom = |share: Option<f64>| share.is_some_and(|share| share < 1.0 - UNEXPLAINED_MAX);
        match causes.explained {
            _ if self.self_test_failed() => Some(CausesDoubt::SelfTest),
            None if late.kept == 0 => Some(CausesDoubt::NothingKept),
            None => Some(CausesDoubt::NoTimes),
            explained if seldom(explained) => Some(CausesDoubt::Unexplained),
            _ if seldom(causes.complete) => Some(CausesDoubt::Incomplete),
            _ if self.verdict.cause_open => Some(CausesDoubt::Added),
            _ => None,
        }
    }
}

/// Whether an engine of this kind makes the kernel record its activity.
pub(super) fn records(rung: Rung) -> bool {
    matches!(rung, Rung::Timerlat | Rung::Tracefs | Rung::Bpf)
}
