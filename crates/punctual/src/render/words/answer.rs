//! The answer of a run in a few lines: held or not and by how much, how sure, whether to believe it, why, what next.

use super::command::{self, Command};
use super::{although, causes, distrust};
use crate::render::units;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::profile::Need;
use punctual_hist::Nanos;
use punctual_numbers::explain::{Class, Ranked};
use punctual_numbers::report::{Answer, Distrust, Inconclusive, NextStep, Percentiles, Report};
use punctual_tuning::knobs::{self, Fix};
use std::cmp::Reverse;
use std::path::Path;

/// How many reasons for doubt stand beside the answer; the others are counted.
const DOUBTS_SHOWN: usize = 2;
/// How many knobs one proposed change turns.
const KNOBS_PROPOSED: usize = 3;

/// Who reads the answer, where, and what was typed to get it.
#[derive(Clone, Debug)]
pub struct Reader {
    pub is_root: bool,
    /// The container this program runs in, where it runs in one.
    pub container: Option<String>,
    /// What was typed; `None` where a recording is rendered again.
    pub typed: Option<Command>,
}

/// What to do next: what for, and the line to type.
#[derive(Debug, PartialEq, Eq)]
pub struct Next {
    pub why: String,
    pub command: Option<String>,
    /// What comes after that.
    pub then: Option<&'static str>,
}

/// `HELD`, `NOT HELD`, `INCONCLUSIVE`.
pub fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Held => "HELD",
        Answer::NotHeld => "NOT HELD",
        Answer::Inconclusive => "INCONCLUSIVE",
    }
}

/// The percentiles of all releases due, a skipped one with the time until its thread ran next.
fn due(report: &Report) -> Percentiles {
    let row = report.total.as_ref().or(report.cpus.first().map(|cpu| &cpu.row));
    row.map(|row| row.latency_due).unwrap_or_default()
}

/// The largest of the usual percentiles that there are enough values for, by name.
fn tail(points: &Percentiles) -> Option<(&'static str, Nanos)> {
    let named = [("p99.9", points.p99_9), ("p99", points.p99), ("p50", points.p50)];
    named.into_iter().find_map(|(name, value)| Some((name, value?)))
}

/// The numbers that belong to the answer: `p99.9 5.97 ms, max 17.9 ms (358x), budget 50 us; 3 of 40 000 releases missed`.
pub fn by_how_much(report: &Report) -> String {
    let points = due(report);
    let mut parts: Vec<String> =
        tail(&points).map(|(name, value)| format!("{name} {}", units::latency(value))).into_iter().collect();
    let times = points.max.zip(report.need.budget).and_then(|(max, budget)| units::times(max, budget));
    if let Some(max) = points.max {
        let times = times.map_or_else(String::new, |times| format!(" ({times} the budget)"));
        parts.push(format!("max {}{times}", units::latency(max)));
    }
    parts.push(
        report
            .need
            .budget
            .map_or_else(|| "no budget".to_owned(), |budget| format!("budget {}", units::latency(budget))),
    );
    let verdict = &report.verdict;
    let missed = if verdict.missed == 0 { "none".to_owned() } else { units::count(verdict.missed) };
    let missed = report
        .need
        .budget
        .map_or_else(String::new, |_| format!("; {missed} of {} missed", units::counted(verdict.due, "release")));
    format!("{}{missed}.", parts.join(", "))
}

/// How sure the answer is.
pub fn how_sure(report: &Report) -> String {
    let verdict = &report.verdict;
    if let Some(why) = &verdict.inconclusive_because {
        return inconclusive(why);
    }
    let Some(bound) = super::verdict::bound(report) else { return "No bound follows from this run.".to_owned() };
    // To the nearest: 1 606 of 8 000 are 1 in 5.
    match verdict.due.saturating_add(verdict.missed / 2).checked_div(verdict.missed) {
        None => bound,
        Some(one_in) => format!("1 in {} releases missed here. {bound}", units::count(one_in)),
    }
}

fn inconclusive(why: &Inconclusive) -> String {
    match why {
        Inconclusive::NoBudget => "No budget was given, so there is nothing to hold.".to_owned(),
        Inconclusive::NothingRan => "A measuring thread has no samples at all.".to_owned(),
        Inconclusive::TooFew { due, wanted, time } => format!(
            "{} are too few to say that none misses; {} would do{}.",
            units::counted(*due, "release"),
            units::count(*wanted),
            time.map_or_else(String::new, |time| format!(", in {}", units::duration(time)))
        ),
        Inconclusive::Doubt { doubt } => {
            format!("No miss was seen, but {}.", although(std::slice::from_ref(doubt)))
        }
    }
}

/// Whether the run can be trusted, and the first doubts: why not, or what the answer stands against.
pub fn trust(report: &Report) -> Vec<String> {
    // What may have hidden latency matters most.
    let mut reasons = report.trust.reasons.clone();
    reasons.sort_by_key(|doubt| !doubt.direction().hides());
    let shown = reasons.get(..DOUBTS_SHOWN).unwrap_or(&reasons);
    let mut said = match (report.trust.ok(), shown.is_empty()) {
        (true, true) => vec!["Yes.".to_owned()],
        (true, false) => vec![format!("Yes, although {}.", although(shown))],
        (false, _) => std::iter::once("No:".to_owned()).chain(shown.iter().map(distrust)).collect(),
    };
    let more = reasons.len().saturating_sub(DOUBTS_SHOWN);
    if more > 0 {
        said.push(format!("And {more} more: --full."));
    }
    if report.verdict.cause_open {
        said.push("The misses are a fact; their cause is open.".to_owned());
    }
    said
}

/// The cause that took the largest part of the time, and how much has none; `None` where nobody looked or nothing was
/// late.
pub fn top_cause(report: &Report) -> Option<String> {
    let found = report.causes.as_ref()?;
    let told = |ranked: &Ranked| format!("{}, {}", causes::cause(&ranked.cause), causes::short_weight(ranked));
    let Some(first) = found.causes.first() else {
        return (report.late().late > 0).then(|| "No cause was found.".to_owned());
    };
    Some(units::capitalised(&match named(report).filter(|ranked| ranked.cause != first.cause) {
        Some(next) => format!("{}; then {}.", told(first), told(next)),
        None => format!("{}.", told(first)),
    }))
}

/// The first cause that has a name.
pub fn named(report: &Report) -> Option<&Ranked> {
    report.causes.iter().flat_map(|found| &found.causes).find(|ranked| ranked.cause.class != Class::Unexplained)
}

/// The findings that matter most for this need: those that bear on the causes found come first, then by severity.
pub fn most_important(findings: &[Finding], causes: &[Ranked]) -> Vec<Finding> {
    let bears = |id: &str| causes.iter().position(|ranked| ranked.knobs.contains(&id)).unwrap_or(usize::MAX);
    let mut bad: Vec<Finding> = findings.iter().filter(|finding| finding.state == State::Bad).cloned().collect();
    bad.sort_by_key(|finding| (Reverse(finding.severity), bears(&finding.id)));
    bad
}

/// What to do next, the most useful thing alone.
pub fn next(report: &Report, reader: &Reader, recording: Option<&Path>) -> Next {
    let of_file = |words: &[&str]| {
        let file = recording.map(|path| path.display().to_string());
        Command::new(words.iter().map(|word| (*word).to_owned()).chain(file))
    };
    let again = reader.typed.clone().unwrap_or_else(|| command::check(report)).without("--out");
    let again = again.with_sudo(!reader.is_root);
    let line =
        |why: &str, command: Command| Next { why: why.to_owned(), command: Some(command.to_string()), then: None };
    if let Some(container) = reader.container.as_ref().filter(|_| report.verdict.answer == Answer::NotHeld) {
        let why =
            format!("This is a container ({container}); the kernel's settings are the host's. On the host, type:");
        return line(&why, again.with_sudo(true));
    }
    let was_refused = report.trust.reasons.iter().chain(&report.trust.remarks).any(|one| *one == Distrust::NotRealTime);
    if !reader.is_root && was_refused {
        return line("As an ordinary user this run had no real-time priority. As root it has:", again);
    }
    match (report.verdict.answer, &report.verdict.inconclusive_because) {
        (Answer::NotHeld, _) => mend(report, reader, &again, &of_file(&["explain"])),
        (_, Some(Inconclusive::NoBudget)) => line("Say how late is too late:", again.with("--budget", "50us")),
        (_, Some(Inconclusive::NothingRan)) => {
            line("See what each thread was granted:", of_file(&["report", "--full"]))
        }
        _ => longer(report, again),
    }
}

/// What would make a machine hold that did not.
fn mend(report: &Report, reader: &Reader, again: &Command, explain: &Command) -> Next {
    let bad = most_important(&report.findings, report.causes.as_ref().map_or(&[], |found| &found.causes));
    let is_bad = |id: &str| bad.iter().any(|finding| finding.id == id);
    let stolen = report.trust.reasons.iter().any(|one| matches!(one, Distrust::Steal { .. } | Distrust::Paused { .. }));
    if stolen && is_bad("virt.detect") {
        let why = "The host takes time from this guest, and nothing in the guest prevents that. On the host, pin each \
                   virtual CPU to a CPU of its own with SCHED_FIFO; then type here:";
        return Next { why: why.to_owned(), command: Some(again.to_string()), then: None };
    }
    let ids: Vec<&str> =
        bad.iter().filter(|one| is_settable(one)).take(KNOBS_PROPOSED).map(|one| one.id.as_str()).collect();
    let by_hand =
        bad.first().filter(|first| ids.is_empty() || first.severity == Severity::Fatal && !is_settable(first));
    if let Some(first) = by_hand {
        let why = format!("First, by hand: {} Why, and how:", first.fix);
        let command = Command::new(["audit", "--explain", &first.id]).to_string();
        return Next { why, command: Some(command), then: Some("Then run this check again.") };
    }
    if ids.is_empty() {
        let why = "No setting is known to be in the way. See when and why it was late:".to_owned();
        return Next { why, command: Some(explain.to_string()), then: None };
    }
    let change = command::tune(&report.need.cpus, &ids).with_sudo(!reader.is_root);
    let settings = units::counted(ids.len() as u64, "setting");
    let why = format!("Change {settings} (the plan is shown first, and can be taken back):");
    Next { why, command: Some(change.to_string()), then: Some("Then run this check again.") }
}

/// Whether the plan of `tune` can change it.
fn is_settable(finding: &Finding) -> bool {
    knobs::find(&finding.id).is_some_and(|knob| !matches!(knob.fix, Fix::Prose(_)))
}

/// The knobs in a bad state that bear on a cause that was found, and that `tune` can change.
pub fn to_change(report: &Report) -> Vec<&str> {
    let causes = report.causes.as_ref().map_or(&[][..], |found| &found.causes);
    let bears = |finding: &&Finding| causes.iter().any(|ranked| ranked.knobs.contains(&finding.id.as_str()));
    let bad = report.findings.iter().filter(|finding| finding.state == State::Bad && is_settable(finding));
    bad.filter(bears).take(KNOBS_PROPOSED).map(|finding| finding.id.as_str()).collect()
}

/// A longer run, where that would tell more.
fn longer(report: &Report, again: Command) -> Next {
    let few = match &report.verdict.inconclusive_because {
        Some(Inconclusive::TooFew { time, wanted, .. }) => time.map(|time| (time, *wanted)),
        _ => None,
    };
    if let Some((time, wanted)) = few {
        return Next {
            why: format!("{} take {}:", units::counted(wanted, "release"), units::duration(time)),
            command: Some(again.with("--duration", &command::length(time)).to_string()),
            then: None,
        };
    }
    if !report.trust.ok() {
        return Next {
            why: "Remove what is named under Trust, then run again:".to_owned(),
            command: Some(again.to_string()),
            then: None,
        };
    }
    let step = report.next.iter().find_map(|step| match step {
        NextStep::MeasureLonger { length, one_in } => Some((*length, *one_in)),
        _ => None,
    });
    let Some((length, one_in)) = step else {
        return Next { why: "Nothing: this need is met.".to_owned(), command: None, then: None };
    };
    Next {
        why: format!(
            "To claim that fewer than 1 in {} releases misses, measure for {}:",
            units::count(one_in),
            units::duration(length)
        ),
        command: Some(again.with("--duration", &command::length(length)).to_string()),
        then: None,
    }
}

/// One line of words and `name=value` pairs, for scripts and logs of CI.
pub fn brief(report: &Report, recording: Option<&Path>) -> String {
    let points = due(report);
    let or_none = |length: Option<Nanos>| length.map_or_else(|| "none".to_owned(), command::tight);
    let cause =
        named(report).map_or_else(|| "unknown".to_owned(), |ranked| causes::cause(&ranked.cause).replace(' ', "-"));
    let verdict = &report.verdict;
    format!(
        "{} p99.9={} max={} budget={} missed={}/{} trust={} cause={cause} file={}",
        word(verdict.answer),
        or_none(points.p99_9),
        or_none(points.max),
        or_none(report.need.budget),
        verdict.missed,
        verdict.due,
        if report.trust.ok() { "yes" } else { "no" },
        recording.map_or_else(|| "none".to_owned(), |path| path.display().to_string()),
    )
}

/// What the audit was asked, for the command that shows all of it.
pub fn need(report: &Report) -> Need {
    Need {
        period: Some(report.need.period),
        budget: report.need.budget,
        cpus: report.need.cpus.clone(),
        ..Need::default()
    }
}
