//! Lists the causes of latency that appeared, disappeared, grew or shrank. No verdict uses this list, because how often
//! a cause is caught depends on what was traced.

use crate::explain::{Cause, Explanation, Ranked};
use crate::recording::Recording;
use crate::report::Report;
use punctual_hist::Nanos;

/// A cause that took less than this part of all latency in both recordings is not listed.
const SHARE_TOLD: f64 = 0.01;
/// A cause is listed as grown or shrunk if its latency per second changed at least by this factor.
const TIMES: f64 = 2.0;

/// How the weight of a cause changed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseChange {
    #[serde(flatten)]
    pub cause: Cause,
    /// The weight of the cause in the first recording; `None` if the cause did not appear in it.
    pub first: Option<CauseWeight>,
    /// The weight of the cause in the second recording; `None` if the cause did not appear in it.
    pub second: Option<CauseWeight>,
}

/// The weight of a cause in one recording.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseWeight {
    /// The part that the cause has of all traced latency, 0 to 1.
    pub share: f64,
    /// Nanoseconds of latency that it caused in each traced second, estimated from the activations that were kept.
    pub ns_per_second: f64,
}

/// All changes, the largest first; `None` unless both recordings were traced.
pub(super) fn changes(first: (&Recording, &Report), second: (&Recording, &Report)) -> Option<Vec<CauseChange>> {
    let (a, b) = (first.1.causes.as_ref()?, second.1.causes.as_ref()?);
    let (looked_a, looked_b) = (looked(first.0), looked(second.0));
    let weight = |causes: &Explanation, time: Nanos, cause: &Cause| {
        causes.causes.iter().find(|ranked| ranked.cause == *cause).map(|ranked| weight(causes, time, ranked))
    };
    let only_second = b.causes.iter().filter(|ranked| !a.causes.iter().any(|other| other.cause == ranked.cause));
    let all = a.causes.iter().chain(only_second).map(|ranked| CauseChange {
        cause: ranked.cause.clone(),
        first: weight(a, looked_a, &ranked.cause),
        second: weight(b, looked_b, &ranked.cause),
    });
    let mut changed: Vec<CauseChange> = all.filter(CauseChange::is_told).collect();
    changed.sort_by(|a, b| b.size().total_cmp(&a.size()));
    Some(changed)
}

fn weight(causes: &Explanation, time: Nanos, ranked: &Ranked) -> CauseWeight {
    let latency: f64 = causes.late.iter().map(|late| late.count.latency.as_secs_f64() * 1e9).sum();
    let seconds = time.as_secs_f64().max(1e-9);
    let share = if ranked.share.is_finite() { ranked.share } else { 0.0 };
    CauseWeight { share, ns_per_second: share * latency / seconds }
}

/// The time for which a recording was traced.
fn looked(recording: &Recording) -> Nanos {
    let traced = |phase: u16| recording.causes.tracing.as_ref().is_some_and(|t| t.phases.contains(&phase));
    let any = recording.causes.tracing.as_ref().is_some_and(|tracing| !tracing.phases.is_empty());
    let slices = recording.slices.iter().filter(|slice| !any || traced(slice.phase));
    slices.fold(Nanos::ZERO, |sum, slice| sum.plus(slice.length))
}

impl CauseChange {
    fn is_told(&self) -> bool {
        let [first, second] = [self.first, self.second].map(|weight| weight.map_or(0.0, |weight| weight.share));
        let [a, b] = [self.first, self.second].map(|weight| weight.map_or(0.0, |weight| weight.ns_per_second));
        first.max(second) >= SHARE_TOLD && (a >= TIMES * b || b >= TIMES * a) && a.max(b) > 0.0
    }

    fn size(&self) -> f64 {
        let [a, b] = [self.first, self.second].map(|weight| weight.map_or(0.0, |weight| weight.ns_per_second));
        (a - b).abs()
    }
}
