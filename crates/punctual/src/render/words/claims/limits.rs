//! Sentences on confidence limits: of misses, of the probability of a new maximum, of percentiles; and on how clusters
//! widen all limits.

use super::times::{longer, span};
use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::claims::{Misses, NewMaximum, Percentile, PhaseClaims};

/// Clusters are mentioned only if they widen limits by at least this factor.
const CLUSTERED: f64 = 1.5;
/// The mean size of clusters is stated only if the extremal index (the number of clusters divided by the number of
/// large latencies) is below this value.
const TOGETHER: f64 = 0.67;

pub(super) fn seen(phase: &PhaseClaims) -> Option<String> {
    let largest = units::latency(phase.largest?);
    let seen = tr!(
        "The largest of {releases} in {time} is {largest}.",
        releases = units::counted(phase.due, "release"),
        time = units::duration(phase.time),
        largest
    );
    let odds = chances(&phase.next);
    let is_long = phase.moods.is_some_and(|moods| moods.too_long);
    let next = match (phase.drift, odds.is_empty()) {
        (Some(drift), _) => tr!(
            " It says little about the next run, because latencies drift over this run: of its seconds (or longer \
            parts) with large latencies, {early} lie in the first half, {later} in the second.",
            early = units::count(drift.halves.0),
            later = units::count(drift.halves.1)
        ),
        (None, true) if is_long => {
            tr!(" It says little about the next run, because the latency of this machine changes more slowly than a \
                run of this length shows.")
            .to_owned()
        }
        (None, true) => String::new(),
        (None, false) => tr!(" Probability of a new maximum: {odds}.", odds = odds.join(", ")),
    };
    Some(seen + &next)
}

pub(super) fn chances(next: &[NewMaximum]) -> Vec<String> {
    next.iter()
        .map(|next| tr!("{odds} within the next {time}", odds = chance(next.odds), time = span(next.time)))
        .collect()
}

/// A probability in percent. It is never shown as 0 or 100.
pub(super) fn chance(odds: f64) -> String {
    match odds * 100.0 {
        p if p > 99.9 => tr!("over 99.9{thin}%", thin = units::THIN),
        p if p > 99.0 => format!("{p:.1}{}%", units::THIN),
        p if p >= 1.0 => format!("{p:.0}{}%", units::THIN),
        _ => tr!("below 1{thin}%", thin = units::THIN),
    }
}

/// The number of releases that missed, and the upper limit of their share.
pub(super) fn missed(misses: &Misses) -> String {
    let seen = match misses.missed {
        0 => tr!("no release missed").to_owned(),
        n => tr!("{releases} missed", releases = units::counted(n, "release")),
    };
    let budget = units::latency(misses.budget);
    match misses.upper {
        Some(upper) => tr!(
            "Budget {budget}: {seen}; in the long run, {upper} miss.",
            seen,
            budget,
            upper = units::at_most(upper, "releases")
        ),
        None => tr!("Budget {budget}: {seen} in this run; there is no estimate for the next run.", seen, budget),
    }
}

pub(super) fn misses(misses: &Misses) -> String {
    let told = missed(misses);
    let one_in = units::count(misses.wanted_one_in);
    match misses.more.filter(|_| misses.upper.is_some()) {
        None if misses.upper.is_none() => told,
        Some(more) => {
            tr!(
                "{told} To claim fewer than 1 in {one_in} takes {more} more without another miss.",
                told,
                one_in,
                more = longer(more)
            )
        }
        None => tr!("{told} Measuring longer will not bring this limit below 1 in {one_in}.", told, one_in),
    }
}

/// `p99`, `p99.9` and so on: the percentile that one value in `one_in` exceeds.
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
            Some(low) => tr!("{low} to {high}", low = units::latency(low), high = units::latency(high)),
            None => tr!("up to {high}", high = units::latency(high)),
        };
        Some(format!("{} {} ({limits})", percentile_name(percentile.one_in), units::latency(value)))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty())
        .then(|| tr!("{told} (limits of each, whatever the distribution).", told = told.join(", ")))
        .or_else(|| of_this_run(list))
}

/// The percentiles that have no confidence limits, because this run does not represent the next one.
fn of_this_run(list: &[Percentile]) -> Option<String> {
    let withheld = list.iter().filter(|percentile| percentile.independent.is_none());
    let told: Vec<String> = withheld
        .filter_map(|percentile| {
            Some(format!("{} {}", percentile_name(percentile.one_in), units::latency(percentile.value?)))
        })
        .collect();
    (!told.is_empty()).then(|| tr!("{told} in this run, without limits for the next run.", told = told.join(", ")))
}

/// A sentence about moods, which are the stretches of time between slow changes of the machine: how long they last, and
/// how many of them the run has seen.
pub(super) fn moods(phase: &PhaseClaims) -> Option<String> {
    let moods = phase.moods?;
    let length = about(moods.length?);
    let seen = units::count(whole(moods.stretches));
    let changes = tr!("The latency of this machine stays different for about {length} at a time", length);
    Some(match moods.run_wanted.filter(|_| moods.too_long) {
        Some(wanted) => tr!(
            "{changes}, and this run of {time} contains only {seen} such stretches of time, too few for limits for the \
            next run: measure for {wanted}.",
            changes,
            time = units::duration(phase.time),
            seen,
            wanted = longer(wanted)
        ),
        None => tr!(
            "{changes}, and this run contains {seen} such stretches of time. The more they differ at a percentile, the \
            wider are its limits.",
            changes,
            seen
        ),
    })
}

/// A sentence about the method: the data of the limits, and the publications of the methods.
pub(super) fn method(phase: &PhaseClaims) -> Option<String> {
    let told = phase.percentiles.iter().filter_map(|percentile| {
        let independent = percentile.independent.filter(|_| percentile.high.is_some())?;
        Some(tr!(
            "{independent} at {one_in}",
            independent = units::count(independent),
            one_in = percentile_name(percentile.one_in)
        ))
    });
    let told: Vec<String> = told.collect();
    let works = &phase.methods;
    let moods = match phase.moods {
        Some(moods) => {
            tr!(
                "as the spectrum of the run shows, which contains {stretches} independent stretches of time (method of \
                {moods})",
                stretches = units::count(whole(moods.stretches)),
                moods = works.moods
            )
        }
        None => tr!("because the run is too short to show whether they depend on each other").to_owned(),
    };
    (!told.is_empty()).then(|| {
        tr!(
            "Method: of {releases}, {told} count as independent, {moods}; percentiles by the method of {percentiles}, \
            misses by that of {misses}, latencies reached once in an hour, a day or a year by that of {levels}.",
            releases = units::counted(phase.due, "release"),
            told = told.join(", "),
            moods,
            percentiles = works.percentiles,
            misses = works.misses,
            levels = works.levels
        )
    })
}

/// A number of stretches, rounded to the nearest whole number and at least 1.
fn whole(stretches: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, and NaN is 0")]
    let whole = stretches.round() as u64;
    whole.max(1)
}

/// A length of time that is known only roughly: `40 s`, `3 min`. Less than a second becomes `1 s`.
fn about(length: Nanos) -> String {
    let seconds = length.as_ns().saturating_add(500_000_000) / 1_000_000_000;
    let step = match seconds {
        0..10 => 1,
        10..120 => 10,
        120..7_200 => 60,
        _ => 3_600,
    };
    units::duration(Nanos::from_secs((seconds.saturating_add(step / 2) / step * step).max(1)))
}

/// A sentence that says how much longer to measure for the first percentile that the run is too short for.
pub(super) fn wanted(phase: &PhaseClaims) -> Option<String> {
    let told = || phase.percentiles.iter().filter(|percentile| percentile.independent.is_some());
    let next = told().find(|percentile| percentile.more.is_some())?;
    let (more, largest) = (longer(next.more?), units::latency(phase.largest?));
    Some(tr!(
        "To claim that {one_in} is below {largest} takes {more} more without a larger latency.",
        one_in = percentile_name(next.one_in),
        largest,
        more
    ))
}

pub(super) fn clustered(phase: &PhaseClaims) -> Option<String> {
    let together = phase.extremal_index.filter(|index| *index < TOGETHER).map(|index| 1.0 / index);
    let together =
        together.map_or_else(String::new, |size| tr!(", about {size} at a time", size = format!("{:.0}", size)));
    let is_told = phase.percentiles.iter().any(|percentile| percentile.high.is_some());
    (is_told && phase.clustering >= CLUSTERED).then(|| {
        tr!(
            "Large latencies come in clusters{together}, so these limits are as wide as those of a run up to {factor} \
            times shorter.",
            together,
            factor = format!("{:.1}", phase.clustering)
        )
    })
}
