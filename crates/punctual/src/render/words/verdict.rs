//! The verdict and its meaning for the long run, in sentences that claim no more than the numbers show.

use super::cpus;
use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::report::{Answer, CpuRow, Inconclusive, Percentiles, Report, Verdict};

/// Selects one value from a set of percentiles, for example the median.
type Point = fn(&Percentiles) -> Option<Nanos>;

pub struct VerdictWords {
    /// The verdict in one or two words: `Held`, `Not held`, `Inconclusive`.
    pub word: &'static str,
    pub seen: String,
    /// The bound for the long run, with its confidence and conditions; `None` if there is none.
    pub bound: Option<String>,
    /// A sentence about doubts that do not change the verdict; `None` without doubts.
    pub but: Option<String>,
}

pub fn verdict(report: &Report) -> VerdictWords {
    let verdict = &report.verdict;
    let (word, seen) = match verdict.answer {
        Answer::Held => (tr!("Held"), held(report)),
        Answer::NotHeld => (tr!("Not held"), not_held(report)),
        Answer::Inconclusive => {
            let why = verdict.inconclusive_because.as_ref();
            let why = why.map_or_else(
                || tr!("the recording does not contain the values that a verdict needs").to_owned(),
                inconclusive,
            );
            (tr!("Inconclusive"), tr!("{why}.{largest}", why, largest = largest(report)))
        }
    };
    VerdictWords { word, seen, bound: bound(report), but: but(verdict) }
}

/// The sentence about doubts that do not change the verdict; `None` without doubts.
fn but(verdict: &Verdict) -> Option<String> {
    let open =
        if verdict.cause_open { tr!(" How many of the misses come from the added latency is not known.") } else { "" };
    (!verdict.although.is_empty())
        .then(|| tr!("The verdict stands, although {doubts}.{open}", doubts = super::although(&verdict.although), open))
}

fn held(report: &Report) -> String {
    let all = match report.verdict.due {
        1 => tr!("the one release").to_owned(),
        due => tr!("all {releases}", releases = units::counted(due, "release")),
    };
    tr!(
        "{all} on {cpus} {in_time}.{largest}",
        all,
        cpus = cpus(&report.need.cpus),
        in_time = in_time(report.need.budget),
        largest = largest(report)
    )
}

fn not_held(report: &Report) -> String {
    let verdict = &report.verdict;
    let met = units::share(verdict.due.saturating_sub(verdict.missed), verdict.due);
    let met =
        met.map_or_else(String::new, |share| tr!("; {share} {in_time}", share, in_time = in_time(report.need.budget)));
    let parts = |part: fn(&CpuRow) -> u64| report.cpus.iter().map(part).fold(0, u64::saturating_add);
    tr!(
        "{missed} of {releases} on {cpus} missed: {late} ran too late, {skipped} did not run at all{met}.{largest}",
        missed = units::count(verdict.missed),
        releases = units::counted(verdict.due, "release"),
        cpus = cpus(&report.need.cpus),
        late = units::count(parts(|c| c.row.over_budget)),
        skipped = units::count(parts(|c| c.row.skipped)),
        met,
        largest = largest(report)
    )
}

fn in_time(budget: Option<Nanos>) -> String {
    budget.map_or_else(
        || tr!("ran").to_owned(),
        |budget| tr!("ran at most {budget} late", budget = units::latency(budget)),
    )
}

pub fn inconclusive(why: &Inconclusive) -> String {
    match why {
        Inconclusive::NoBudget => tr!("no budget was stated, so there is no verdict").to_owned(),
        Inconclusive::NothingRan => tr!("a measured thread has no samples at all").to_owned(),
        Inconclusive::TooFew { due, wanted, time } => {
            let time = time.map_or_else(String::new, |time| tr!(", which take {time}", time = units::duration(time)));
            let due = units::counted(*due, "release");
            tr!("only {due} came due; a verdict needs {wanted}{time}", due, wanted = units::count(*wanted), time)
        }
        Inconclusive::Doubt { doubt } => {
            tr!("no miss was seen, but {doubt}", doubt = super::although(std::slice::from_ref(doubt)))
        }
    }
}

/// A sentence after a space: ` Largest of 60 000 that ran: 43.2 us.` Empty if nothing ran.
fn largest(report: &Report) -> String {
    let ran = report.cpus.iter().map(|c| c.row.ran).fold(0, u64::saturating_add);
    let max = report.cpus.iter().filter_map(|c| c.row.latency.max).max();
    max.map_or_else(String::new, |max| {
        tr!(" Largest latency of the {ran} that ran: {max}.", ran = units::count(ran), max = units::latency(max))
    })
}

/// The bound for the long run, and its reason. All texts and the page use this sentence.
pub fn bound(report: &Report) -> Option<String> {
    report.need.budget?;
    let verdict = &report.verdict;
    let long_run = tr!(
        "In the long run {share} miss ({confidence} confidence), as long as machine, settings and load stay the same.",
        share = units::at_most(verdict.miss_probability_upper?, "releases"),
        confidence = format!("{}{}%", (verdict.confidence * 1000.0).round() / 10.0, units::THIN)
    );
    let due = units::counted(verdict.due, "release");
    // A correction for clusters of less than 5 % hardly changes a bound of two digits, so it is not mentioned.
    let counted = verdict.independent.filter(|independent| *independent < verdict.due / 20 * 19);
    let worth = counted.map(|independent| units::count(units::two_leading_digits(independent)));
    let why = match (verdict.missed, worth) {
        (0, None) => tr!(" {due} without a miss cannot show more.", due),
        (0, Some(worth)) => tr!(
            " Large latencies come in clusters, so these {due} count only as {worth} independent ones. None of them \
            missed, so the limit is 3 in {worth}.",
            due,
            worth
        ),
        (_, None) => String::new(),
        (_, Some(worth)) => {
            tr!(" Misses come in clusters, so these {due} count as {worth} independent ones.", due, worth)
        }
    };
    Some(format!("{long_run}{why}"))
}

/// A sentence that says how much the percentiles over activations that ran differ from those over releases due; `None`
/// if the CPU skipped none.
pub fn skip_difference(row: &CpuRow) -> Option<String> {
    if row.row.skipped == 0 {
        return None;
    }
    let skipped = units::count(row.row.skipped);
    let head = tr!(
        "CPU {cpu} skipped {skipped} of {releases}",
        cpu = row.cpu,
        skipped,
        releases = units::counted(row.row.due, "release")
    );
    let gap = tr!("longest time between two wake-ups: {longest_gap}", longest_gap = units::latency(row.longest_gap));
    let (ran, due) = (&row.row.latency, &row.row.latency_due);
    let points: [(&str, Point); 4] =
        [("p99", |p| p.p99), ("p99.9", |p| p.p99_9), ("p99.99", |p| p.p99_99), (tr!("the largest"), |p| p.max)];
    let apart = points.iter().find_map(|(name, of)| {
        let (ran, due) = (of(ran)?, of(due)?);
        (due.as_ns() / 2 >= ran.as_ns()).then(|| {
            tr!(
                "{name} is {ran} for the activations that ran, but {due} for the releases due; the first leaves out \
                releases that never ran, so judge by the second",
                name,
                ran = units::latency(ran),
                due = units::latency(due)
            )
        })
    });
    let same = tr!("counting them changes no percentile by as much as a factor of two").to_owned();
    Some(format!("{head} ({gap}): {}.", apart.unwrap_or(same)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::clean::ascii as plain;
    use crate::render::sample;

    #[test]
    fn held_names_the_count_the_budget_and_the_bound() {
        let words = verdict(&sample::two_cpus());
        assert_eq!(words.word, "Held");
        let seen = plain(&words.seen);
        assert!(
            seen.starts_with("all 60 000 releases on CPUs 0-1 ran at most 100 us late. Largest latency of the 60 000"),
            "{seen}"
        );
        let bound = plain(&words.bound.unwrap());
        assert!(bound.starts_with("In the long run fewer than 1 in 13 000 releases miss (95 % confidence)"), "{bound}");
        let clusters = "Large latencies come in clusters, so these 60 000 releases count only as ";
        assert!(bound.contains(clusters) && bound.contains("None of them missed, so the limit is 3 in "), "{bound}");
        let but = plain(&words.but.unwrap());
        assert!(but.starts_with("The verdict stands, although the hypervisor took 40 ms"), "{but}");
        let mut report = sample::two_cpus();
        report.verdict.independent = Some(report.verdict.due);
        let bound = plain(&verdict(&report).bound.unwrap());
        assert!(bound.ends_with("60 000 releases without a miss cannot show more."), "{bound}");
    }

    #[test]
    fn the_confidence_is_not_rounded_up() {
        let mut report = sample::two_cpus();
        report.verdict.confidence = 0.999;
        assert!(plain(&verdict(&report).bound.unwrap()).contains("(99.9 % confidence)"));
    }

    #[test]
    fn a_miss_in_a_million_is_not_100_percent() {
        let seen = plain(&verdict(&sample::eight_cpus()).seen);
        assert!(seen.contains("of 960 000 releases") && seen.contains("99.999") && !seen.contains("100 %"), "{seen}");
    }

    #[test]
    fn a_run_that_cannot_be_trusted_says_so_beside_its_verdict() {
        let words = verdict(&sample::cut_off());
        assert!(words.word == "Inconclusive" && words.but.is_none());
        assert!(words.seen.starts_with("no miss was seen, but the recording is cut off: "), "{}", words.seen);
        let but = plain(&verdict(&sample::eight_cpus()).but.unwrap());
        assert!(but.starts_with("The verdict stands, although the whole machine stood"), "{but}");
        assert!(but.ends_with(" How many of the misses come from the added latency is not known."), "{but}");
    }

    #[test]
    fn without_a_budget_or_samples_there_is_no_bound_to_state() {
        assert!(verdict(&sample::no_budget()).bound.is_none());
        let empty = verdict(&sample::empty());
        assert_eq!((empty.word, empty.seen.as_str()), ("Inconclusive", "a measured thread has no samples at all."));
        assert!(empty.bound.is_none());
    }

    #[test]
    fn too_few_names_both_numbers() {
        let mut report = sample::empty();
        let time = Some(Nanos::from_secs(450));
        report.verdict.inconclusive_because = Some(Inconclusive::TooFew { due: 200, wanted: 3_000, time });
        let seen = plain(&verdict(&report).seen);
        assert!(
            seen.starts_with("only 200 releases came due; a verdict needs 3 000, which take 7 min 30 s."),
            "{seen}"
        );
    }

    #[test]
    fn skips_that_change_a_percentile_are_named_and_others_are_said_not_to() {
        let mut report = sample::skipped();
        assert!(skip_difference(&report.cpus[1]).is_none());
        let apart = plain(&skip_difference(&report.cpus[0]).unwrap());
        assert!(
            apart.contains("p99 is 15.5 us for the activations that ran, but 10.10 ms for the releases due"),
            "{apart}"
        );
        let row = &mut report.cpus[0].row;
        row.latency_due = row.latency;
        assert!(skip_difference(&report.cpus[0]).unwrap().contains("changes no percentile"));
    }
}
