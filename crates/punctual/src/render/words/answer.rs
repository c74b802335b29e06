//! The answer of a run in a few lines: verdict and numbers, confidence, trust, cause, next step.

use super::command::{self, Command};
use super::trust::{CHECKED, although, distrust};
use super::{causes, trust};
use crate::render::lang::{is_english, text, tr};
use crate::render::units;
use punctual_facts::profile::Need;
use punctual_hist::Nanos;
use punctual_numbers::explain::{Class, Explanation, Ranked};
use punctual_numbers::report::{Answer, Distrust, Inconclusive, Percentiles, Report, Verdict};
use std::path::Path;

/// Number of doubts that the answer names. The others are counted.
const DOUBTS_SHOWN: usize = 2;

/// The verdict in capitals. Without a budget nothing was to be judged, so there is no doubt about it either.
pub fn word(verdict: &Verdict) -> &'static str {
    match (verdict.answer, &verdict.inconclusive_because) {
        (Answer::Held, _) => tr!("HELD"),
        (Answer::NotHeld, _) => tr!("NOT HELD"),
        (Answer::Inconclusive, Some(Inconclusive::NoBudget)) => tr!("MEASURED"),
        (Answer::Inconclusive, _) => tr!("INCONCLUSIVE"),
    }
}

/// The percentiles over all releases due. A skipped release counts with the time until its thread ran next.
fn due(report: &Report) -> Percentiles {
    let row = report.total.as_ref().or(report.cpus.first().map(|cpu| &cpu.row));
    row.map(|row| row.latency_due).unwrap_or_default()
}

/// The highest of p99.9, p99 and p50 for which there are enough values, with its name.
fn tail(points: &Percentiles) -> Option<(&'static str, Nanos)> {
    let named = [("p99.9", points.p99_9), ("p99", points.p99), ("p50", points.p50)];
    named.into_iter().find_map(|(name, value)| Some((name, value?)))
}

/// The line with the numbers of the answer: `p99.9 5.97 ms, max 17.9 ms (358x the budget), budget 50 us; 3 of 40 000
/// releases missed`.
pub fn by_how_much(report: &Report) -> String {
    let points = due(report);
    let mut parts: Vec<String> =
        tail(&points).map(|(name, value)| format!("{name} {}", units::latency(value))).into_iter().collect();
    let times = points.max.zip(report.need.budget).and_then(|(max, budget)| units::times(max, budget));
    if let Some(max) = points.max {
        let times = times.map_or_else(String::new, |times| tr!(" ({times} the budget)", times));
        parts.push(tr!("max {max}{times}", max = units::latency(max), times));
    }
    parts.push(
        report.need.budget.map_or_else(
            || tr!("no budget").to_owned(),
            |budget| tr!("budget {budget}", budget = units::latency(budget)),
        ),
    );
    let verdict = &report.verdict;
    // Chinese counts none as 0.
    let missed = match verdict.missed {
        0 if is_english() => "none".to_owned(),
        missed => units::count(missed),
    };
    let missed = report.need.budget.map_or_else(String::new, |_| {
        tr!("; {missed} of {releases} missed", missed, releases = units::counted(verdict.due, "release"))
    });
    tr!("{numbers}{missed}.", numbers = parts.join(tr!(", ")), missed)
}

pub fn how_sure(report: &Report) -> String {
    let verdict = &report.verdict;
    if let Some(why) = &verdict.inconclusive_because {
        return tr!("{why}.", why = units::capitalised(&super::verdict::inconclusive(why)));
    }
    let Some(bound) = super::verdict::bound(report) else {
        return tr!("This run does not show how many releases miss in the long run.").to_owned();
    };
    match verdict.miss_probability_upper.and_then(|upper| units::seen(verdict.missed, verdict.due, upper, "releases")) {
        None => bound,
        Some(seen) => tr!("{seen} missed here. {bound}", seen, bound),
    }
}

/// Whether the run can be trusted, with the first doubts; without doubts, with what was checked.
pub fn trust(report: &Report, recording: Option<&Path>) -> Vec<String> {
    let (shown, more) = doubts(report);
    let mut said = match (report.trust.ok(), shown.is_empty()) {
        (true, true) => vec![tr!("Yes: {checked}.", checked = text(CHECKED))],
        (true, false) => vec![tr!("Yes, although {doubts}.", doubts = although(&shown))],
        (false, _) => {
            // A doubt about hidden latency leaves the misses that were seen certain.
            let stands = report.verdict.answer == Answer::NotHeld;
            let first =
                if stands { tr!("In part: these misses are certain, but there may be more.") } else { tr!("No.") };
            std::iter::once(first.to_owned()).chain(shown.iter().map(distrust)).collect()
        }
    };
    if report.verdict.cause_open {
        let is_named = shown.iter().any(|doubt| doubt.direction().adds());
        let from = if is_named { tr!("the added latency") } else { tr!("a disturbance that is not listed here") };
        let certain = if report.trust.ok() { tr!("The misses are certain. ") } else { "" };
        said.push(tr!("{certain}How many of the misses come from {from} is not known.", certain, from));
    }
    if more > 0 {
        let all = Command::on_file(["report", "--full"], recording);
        said.push(tr!("And {doubts}: {all}", doubts = units::counted(more as u64, "more doubt"), all));
    }
    said
}

/// The doubts that the answer names, and the number of the others. A file that is not whole comes first, then what may
/// have hidden latency.
fn doubts(report: &Report) -> (Vec<Distrust>, usize) {
    let mut reasons = report.trust.reasons.clone();
    let is_of_file =
        |doubt: &Distrust| matches!(doubt, Distrust::WriteFailed | Distrust::Damaged { .. } | Distrust::CutOff);
    reasons.sort_by_key(|doubt| (!is_of_file(doubt), !doubt.direction().hides()));
    let more = reasons.len().saturating_sub(DOUBTS_SHOWN);
    reasons.truncate(DOUBTS_SHOWN);
    (reasons, more)
}

/// What to do against the doubts that the answer names. A doubt without a remedy is left out.
pub fn remedies(report: &Report) -> Vec<String> {
    doubts(report).0.iter().filter_map(trust::remedy).collect()
}

/// The cause with the largest share of the time; then, if that one has no name, the first cause with a name; and the
/// cause of the largest latency, if it is another one. `None` if causes were not looked for or nothing was late.
pub fn top_cause(report: &Report) -> Option<String> {
    let found = report.causes.as_ref()?;
    let told = |ranked: &Ranked| {
        tr!("{cause}, {weight}", cause = causes::cause(&ranked.cause), weight = causes::short_weight(ranked))
    };
    let Some(first) = found.causes.first() else {
        return (report.late().late > 0).then(|| tr!("No cause was found.").to_owned());
    };
    let next = named(report).filter(|ranked| ranked.cause != first.cause);
    let next = next.map_or_else(String::new, |next| tr!("; the largest known cause is {cause}", cause = told(next)));
    let latest = latest(found, first).map_or_else(String::new, |latest| tr!(" {latest}", latest));
    Some(tr!("{first}{next}.{latest}", first = units::capitalised(&told(first)), next, latest))
}

/// Why a run with misses names no cause.
pub fn no_cause(report: &Report) -> String {
    match (&report.causes, report.causes_doubt()) {
        (None, _) => tr!("This run did not look for causes.").to_owned(),
        (Some(_), Some(doubt)) => units::capitalised(causes::doubt(doubt)),
        (Some(_), None) => tr!("In the pass that looks for causes, no activation was late.").to_owned(),
    }
}

/// A sentence about the largest traced latency; `None` if its main cause is `first`.
fn latest(found: &Explanation, first: &Ranked) -> Option<String> {
    let spike = found.spikes.first()?;
    let blame = spike.primary().filter(|blame| blame.cause != first.cause && blame.time > Nanos::ZERO)?;
    let (latency, time) = (units::latency(spike.latency()), units::latency(blame.time));
    Some(tr!(
        "The largest traced latency, {latency}, has another main cause, which took {time} of it: {cause}.",
        latency,
        time,
        cause = causes::cause(&blame.cause)
    ))
}

/// The cause with the largest share of the time.
pub fn first_cause(report: &Report) -> Option<&Ranked> {
    report.causes.as_ref()?.causes.first()
}

/// A cause as one word, for scripts.
pub fn cause_word(ranked: &Ranked) -> String {
    match ranked.cause.class {
        Class::Unexplained => "unexplained".to_owned(),
        _ => causes::cause(&ranked.cause).replace(' ', "-"),
    }
}

/// The first cause that has a name.
fn named(report: &Report) -> Option<&Ranked> {
    report.causes.iter().flat_map(|found| &found.causes).find(|ranked| ranked.cause.class != Class::Unexplained)
}

/// The line of a measurement for scripts and logs of CI: the verdict, then `name=value` pairs.
pub fn brief(report: &Report, recording: Option<&Path>) -> String {
    let points = due(report);
    let or_none = |length: Option<Nanos>| length.map_or_else(|| "none".to_owned(), command::tight);
    let cause = first_cause(report).map_or_else(|| "unknown".to_owned(), cause_word);
    let verdict = &report.verdict;
    format!(
        "{} p99.9={} max={} budget={} missed={}/{} trust={} cause={cause} file={}",
        word(verdict),
        or_none(points.p99_9),
        or_none(points.max),
        or_none(report.need.budget),
        verdict.missed,
        verdict.due,
        if report.trust.ok() { "yes" } else { "no" },
        recording.map_or_else(|| "none".to_owned(), |path| path.display().to_string()),
    )
}

/// The need of a report, in the form that an audit takes.
pub fn need(report: &Report) -> Need {
    Need {
        period: Some(report.need.period),
        budget: report.need.budget,
        cpus: report.need.cpus.clone(),
        ..Need::default()
    }
}
