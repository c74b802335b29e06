//! Limits of what was seen: misses, the odds of a new largest, percentiles, and what clusters do to all of them.

use super::times::{longer, span};
use crate::render::units;
use punctual_numbers::claims::{Misses, NewMaximum, Percentile, PhaseClaims};

/// Sentences are about clusters from such a factor on.
const CLUSTERED: f64 = 1.5;
/// Clusters have a size from this part of late ones on that are clusters of their own.
const TOGETHER: f64 = 0.67;

pub(super) fn seen(phase: &PhaseClaims) -> Option<String> {
    let largest = units::latency(phase.largest?);
    let seen = format!(
        "The largest of {} in {} is {largest}.",
        units::counted(phase.due, "release"),
        units::duration(phase.time)
    );
    let odds = chances(&phase.next);
    let next = match (phase.drift, odds.is_empty()) {
        (Some(drift), _) => format!(
            " It says little of the next run, because this one changes over time: {} of its seconds or longer stretches \
             were high in the first half, {} in the second.",
            units::count(drift.halves.0),
            units::count(drift.halves.1)
        ),
        (None, true) => String::new(),
        (None, false) => format!(" Probability of a new maximum: {}.", odds.join(", ")),
    };
    Some(seen + &next)
}

pub(super) fn chances(next: &[NewMaximum]) -> Vec<String> {
    next.iter().map(|next| format!("{} within the next {}", chance(next.odds), span(next.time))).collect()
}

/// Odds in percent, and neither 0 nor 100.
pub(super) fn chance(odds: f64) -> String {
    match odds * 100.0 {
        p if p > 99.9 => format!("over 99.9{}%", units::THIN),
        p if p > 99.0 => format!("{p:.1}{}%", units::THIN),
        p if p >= 1.0 => format!("{p:.0}{}%", units::THIN),
        _ => format!("below 1{}%", units::THIN),
    }
}

/// How many missed, and how many do at most.
pub(super) fn missed(misses: &Misses) -> String {
    let seen = match misses.missed {
        0 => "No release missed".to_owned(),
        n => format!("{} missed", units::counted(n, "release")),
    };
    format!("{seen} {}: {} do.", units::latency(misses.budget), units::at_most(misses.upper, "releases"))
}

pub(super) fn misses(misses: &Misses) -> String {
    let told = missed(misses);
    let one_in = units::count(misses.wanted_one_in);
    match misses.more {
        Some(more) => {
            format!("{told} To claim fewer than 1 in {one_in} takes {} more without another miss.", longer(more))
        }
        None => format!("{told} Measuring longer will not bring it below 1 in {one_in}."),
    }
}

/// `p99`, `p99.9` and so on, from how many activations there is one beyond it.
pub(super) fn percentile_name(one_in: u64) -> String {
    match one_in.max(1).ilog10() {
        0..=2 => "p99".to_owned(),
        digits => format!("p99.{}", "9".repeat(usize::try_from(digits).unwrap_or(3).saturating_sub(2))),
    }
}

pub(super) fn percentiles(list: &[Percentile]) -> Option<String> {
    let told = list.iter().filter_map(|percentile| {
        let (value, high) = (percentile.value?, percentile.high?);
        let limits = match percentile.low {
            Some(low) => format!("{} to {}", units::latency(low), units::latency(high)),
            None => format!("up to {}", units::latency(high)),
        };
        Some(format!("{} {} ({limits})", percentile_name(percentile.one_in), units::latency(value)))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("{} (limits of each, whatever the distribution).", told.join(", ")))
}

/// What the first percentile takes that cannot be told.
pub(super) fn wanted(phase: &PhaseClaims) -> Option<String> {
    let next = phase.percentiles.iter().find(|percentile| percentile.more.is_some())?;
    let (more, largest) = (longer(next.more?), units::latency(phase.largest?));
    Some(format!(
        "That {} is below {largest} takes {more} more without a larger latency.",
        percentile_name(next.one_in)
    ))
}

pub(super) fn clustered(phase: &PhaseClaims) -> Option<String> {
    let together = phase.extremal_index.filter(|index| *index < TOGETHER).map(|index| 1.0 / index);
    let together = together.map_or_else(String::new, |size| format!(", about {size:.0} at a time"));
    (phase.clustering >= CLUSTERED).then(|| {
        format!(
            "Large latencies come in clusters{together}, so these limits are as wide as those of a run up to {:.1} times shorter.",
            phase.clustering
        )
    })
}
