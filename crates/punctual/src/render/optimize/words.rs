//! Results of a campaign, in plain English.

use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_optimize::{CandidateVerdict, Effect, Metric};

pub fn verdict(verdict: &CandidateVerdict) -> &'static str {
    match verdict {
        CandidateVerdict::Better => tr!("better"),
        CandidateVerdict::Mixed => tr!("better in some, worse in others"),
        CandidateVerdict::NoDifferenceShown => tr!("no difference shown"),
        CandidateVerdict::NotEnoughData => tr!("not enough data"),
        CandidateVerdict::LeftBehind => tr!("dropped early"),
        CandidateVerdict::Worse => tr!("worse"),
        CandidateVerdict::Refused(_) => tr!("could not be measured"),
    }
}

pub fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::P50 => "p50",
        Metric::P99_9 => "p99.9",
        Metric::Misses => tr!("misses/million"),
    }
}

/// The change of a metric with its confidence limits: `-38 % (-45 to -30)`. For misses, the difference in misses per
/// million.
pub fn change(effect: &Effect) -> String {
    let of = |value: f64| match effect.metric {
        Metric::Misses => signed(value),
        _ => signed(100.0 * (value - 1.0)),
    };
    let unit = if effect.metric == Metric::Misses { "" } else { " %" };
    let limits = match (effect.low, effect.high) {
        (Some(low), Some(high)) => tr!("({low} to {high})", low = of(low), high = of(high)),
        _ => tr!("(limits unknown)").to_owned(),
    };
    format!("{}{unit} {limits}", of(effect.seen))
}

/// The value of the metric on the unchanged machine.
pub fn baseline(effect: &Effect) -> String {
    match effect.metric {
        Metric::Misses => units::grouped(&format!("{:.0}", effect.baseline)),
        _ => units::latency(nanos(effect.baseline)),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates; a latency is not negative")]
fn nanos(value: f64) -> Nanos {
    Nanos::from_ns(value.round() as u64)
}

fn signed(value: f64) -> String {
    let rounded = value.round();
    // Zero is shown without a sign.
    if rounded == 0.0 { "0".to_owned() } else { units::grouped(&format!("{rounded:+.0}")) }
}
