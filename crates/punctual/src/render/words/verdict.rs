//! The verdict and what follows from it, in sentences that claim no more than the numbers do.

use super::cpus;
use crate::render::units;
use punctual_core::report::{Answer, CpuRow, Inconclusive, NextStep, Percentiles, Report, Verdict};
use punctual_hist::Nanos;

/// The verdict in words.
pub struct VerdictWords {
    /// `Held`, `Not held`, `Inconclusive`.
    pub word: &'static str,
    /// What was seen.
    pub seen: String,
    /// What follows from it with which confidence, under which conditions; `None` when nothing does.
    pub bound: Option<String>,
    /// What takes from it.
    pub but: Option<String>,
}

/// The verdict in words.
pub fn verdict(report: &Report) -> VerdictWords {
    let verdict = &report.verdict;
    let (word, seen) = match verdict.answer {
        Answer::Held => ("Held", held(report)),
        Answer::NotHeld => ("Not held", not_held(report)),
        Answer::Inconclusive => ("Inconclusive", inconclusive(report)),
    };
    let but = "But this run cannot be trusted, and so neither can its verdict; the reasons are below.";
    let but = (!report.trust.ok()).then(|| but.to_owned());
    VerdictWords { word, seen, bound: bound(verdict, report.need.budget), but }
}

fn held(report: &Report) -> String {
    let all = match report.verdict.due {
        1 => "the one release".to_owned(),
        due => format!("all {}", units::counted(due, "release")),
    };
    format!("{all} on {} {}.{}", cpus(&report.need.cpus), in_time(report.need.budget), largest(report))
}

fn not_held(report: &Report) -> String {
    let verdict = &report.verdict;
    let met = units::share(verdict.due.saturating_sub(verdict.missed), verdict.due);
    let met = met.map_or_else(String::new, |share| format!("; {share} {}", in_time(report.need.budget)));
    let parts = |part: fn(&CpuRow) -> u64| report.cpus.iter().map(part).fold(0, u64::saturating_add);
    format!(
        "{} of {} on {} missed: {} ran too late, {} did not run at all{met}.{}",
        units::count(verdict.missed),
        units::counted(verdict.due, "release"),
        cpus(&report.need.cpus),
        units::count(parts(|c| c.row.over_budget)),
        units::count(parts(|c| c.row.skipped)),
        largest(report)
    )
}

fn in_time(budget: Option<Nanos>) -> String {
    budget.map_or_else(|| "ran".to_owned(), |b| format!("ran no later than {}", units::latency(b)))
}

fn inconclusive(report: &Report) -> String {
    let why = match &report.verdict.inconclusive_because {
        None => "the recording does not hold what it takes".to_owned(),
        Some(Inconclusive::NoBudget) => "no budget was stated, so there is nothing to hold".to_owned(),
        Some(Inconclusive::NothingRan) => "a measured thread has no samples at all".to_owned(),
        Some(Inconclusive::TooFew { due, wanted }) => format!(
            "only {} came due; {} would be enough for a bound worth having",
            units::counted(*due, "release"),
            units::count(*wanted)
        ),
    };
    format!("{why}.{}", largest(report))
}

/// ` Largest of 60 000 that ran: 43.2 us.`, or nothing.
fn largest(report: &Report) -> String {
    let ran = report.cpus.iter().map(|c| c.row.ran).fold(0, u64::saturating_add);
    let max = report.cpus.iter().filter_map(|c| c.row.latency.max).max();
    max.map_or_else(String::new, |max| format!(" Largest of {} that ran: {}.", units::count(ran), units::latency(max)))
}

fn bound(verdict: &Verdict, budget: Option<Nanos>) -> Option<String> {
    budget?;
    let upper = verdict.miss_probability_upper?;
    Some(format!(
        "With {}{}% confidence {} would miss, as long as machine, configuration and load stay as they were.",
        (verdict.confidence * 1000.0).round() / 10.0,
        units::THIN,
        units::at_most(upper, "releases")
    ))
}

/// What the two views of percentiles disagree on for a CPU that skipped releases; `None` when it skipped none.
pub fn skip_difference(row: &CpuRow) -> Option<String> {
    if row.row.skipped == 0 {
        return None;
    }
    let skipped = units::count(row.row.skipped);
    let head = format!("CPU {} skipped {skipped} of {}", row.cpu, units::counted(row.row.due, "release"));
    let gap = format!("longest time between two wake-ups: {}", units::latency(row.longest_gap));
    let (ran, due) = (&row.row.latency, &row.row.latency_due);
    let points: [(&str, fn(&Percentiles) -> Option<Nanos>); 4] =
        [("p99", |p| p.p99), ("p99.9", |p| p.p99_9), ("p99.99", |p| p.p99_99), ("the largest", |p| p.max)];
    let apart = points.iter().find_map(|(name, of)| {
        let (ran, due) = (of(ran)?, of(due)?);
        (due.as_ns() / 2 >= ran.as_ns()).then(|| {
            format!(
                "{name} is {} of the activations that ran but {} of the releases due; the first leaves out what never \
                 ran, so judge by the second",
                units::latency(ran),
                units::latency(due)
            )
        })
    });
    let same = "counting them changes no percentile by as much as a factor of two".to_owned();
    Some(format!("{head} ({gap}): {}.", apart.unwrap_or(same)))
}

/// What to do next, as a sentence.
pub fn next_step(step: &NextStep, report: &Report) -> String {
    match step {
        NextStep::Fix(id) => report.findings.iter().find(|f| f.id == *id).map_or_else(
            || format!("Fix {id} first: punctual audit --explain {id}"),
            |f| format!("Fix {id} first ({}): {}", f.title, f.fix),
        ),
        NextStep::MeasureLonger { length, one_in } => format!(
            "Measure for {} (--duration {}s): without a miss that shows fewer than 1 in {}.",
            units::duration(*length),
            length.as_ns().div_ceil(1_000_000_000),
            units::count(*one_in)
        ),
        NextStep::RunAsRoot(adds) => format!("Run it again as root: {adds}"),
        NextStep::Repeat => "Measure again without what spoilt this run.".to_owned(),
        NextStep::StateBudget => "State how late is too late, for example --budget 50us.".to_owned(),
        NextStep::LookAtSkips(cpu) => {
            let gap = report.cpus.iter().find(|c| c.cpu == *cpu).map(|c| units::latency(c.longest_gap));
            let gap = gap.map_or_else(String::new, |g| format!(" ({g} between two wake-ups)"));
            format!(
                "Find out what held CPU {cpu}{gap}: its skipped releases are what makes the two rows of percentiles differ."
            )
        }
    }
}
