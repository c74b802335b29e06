//! Sentences about a watch.

use crate::cli::WatchArgs;
use crate::render::sheet::Tone;
use crate::render::units::{self, counted};
use crate::render::words::causes;
use crate::render::words::command::Command;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::watch::{Lateness, Said};
use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::Scenario;
use punctual_numbers::watch::{Day, Gap, GapReason, History, WorstOfSegment};
use std::collections::BTreeMap;
use std::path::Path;

/// What is about to be watched.
pub fn begun(scenario: &Scenario, store: &Path, args: &WatchArgs) -> String {
    let period = scenario.threads.first().map(|thread| thread.period).unwrap_or_default();
    let causes = if args.no_trace { "" } else { " and what made them late" };
    format!(
        "Watching CPUs {} every {}, keeping the largest latencies{causes} in {} (at most {}). The watch may take {} of a \
         CPU for each of them; it takes a longer period if it costs more. End it with Ctrl-C. Look at it with: {}",
        scenario.cpus(),
        units::period(period),
        store.display(),
        units::size(args.keep),
        units::portion(args.cost),
        Command::new(["report".to_owned(), store.display().to_string()]),
    )
}

/// What the watch said, as a line of a log.
pub fn said(said: &Said) -> String {
    match said {
        Said::Late(Lateness { cpu, latency, times, .. }) => {
            let by = latency.map_or_else(String::new, |latency| format!(", by {}", units::latency(latency)));
            format!("late: {} on CPU {cpu} beyond the budget{by}", counted(*times, "activation"))
        }
        Said::ActionFailed(why) => format!("warning: {why}"),
        Said::NotWritten(why) => format!("warning: nothing is kept at present, the watch goes on: {why}"),
        Said::NotMeasured(why) => format!("warning: nothing is watched at present, to be tried again: {why}"),
        Said::Costly { share, limit, before, now } => format!(
            "note: the watch takes {} of a CPU and may take {}, so its period is {} from here on and was {}",
            units::portion(*share),
            units::portion(*limit),
            units::period(*now),
            units::period(*before),
        ),
    }
}

pub fn ended(reason: EndReason, store: &Path, again: &Command) -> String {
    let how = match reason {
        EndReason::LimitExceeded => "stopped by a late activation",
        EndReason::Interrupted => "was interrupted",
        EndReason::Completed => "is over",
        EndReason::Stalled | EndReason::CoreLost => "failed",
    };
    let look = Command::new(["report".to_owned(), store.display().to_string()]);
    format!("The watch {how}. Look at it with: {look}. Go on with: {again}")
}

pub fn no_day(history: &History, wanted: &str) -> String {
    let days: Vec<String> =
        history.days.iter().map(|day| format!("{} ({})", day.number, units::day(day.from_unix_ns))).collect();
    let few = if days.len() > 8 { format!("{} to {}", days[0], days[days.len() - 1]) } else { days.join(", ") };
    format!("the watch has no day {wanted}; its days are {few}")
}

pub fn verdict(history: &History) -> (Tone, &'static str) {
    let over: u64 = history.days.iter().map(Day::over_budget).fold(0, u64::saturating_add);
    match history.budget_ns {
        None => (Tone::Heading, "WORST:"),
        Some(_) if over > 0 => (Tone::Bad, "BEYOND THE BUDGET:"),
        Some(_) => (Tone::Good, "WITHIN THE BUDGET:"),
    }
}

/// The largest latency, and how many were beyond the budget.
pub fn worst(history: &History) -> String {
    let Some((day, worst)) = history.worst() else { return "Nothing has been seen yet.".to_owned() };
    let over: u64 = history.days.iter().map(Day::over_budget).fold(0, u64::saturating_add);
    let ran: u64 = history.days.iter().map(Day::ran).fold(0, u64::saturating_add);
    let of_budget = history.budget_ns.map_or_else(String::new, |budget| {
        let beyond = counted(over, "activation");
        format!(
            " {beyond} of {} {} beyond {}.",
            units::count(ran),
            if over == 1 { "was" } else { "were" },
            units::latency(budget)
        )
    });
    format!(
        "The largest latency was {} on CPU {}, on day {} at {}{}.{of_budget}",
        units::latency(worst.latency_ns),
        worst.cpu,
        day.number,
        units::date(worst.at_unix_ns),
        because(worst),
    )
}

fn because(worst: &WorstOfSegment) -> String {
    match worst.causes.as_slice() {
        [] => String::new(),
        [first, ..] => format!(", because of {}", causes::cause(&first.cause)),
    }
}

/// The cause of the largest latency of a day, for the table.
pub fn cause_of(day: &Day) -> String {
    match day.worst.first() {
        Some(worst) if !worst.causes.is_empty() => {
            worst.causes.first().map(|blame| causes::cause_label(&blame.cause)).unwrap_or_default()
        }
        _ if !day.is_traced => "not recorded".to_owned(),
        Some(_) => "not known".to_owned(),
        None => units::ABSENT.to_owned(),
    }
}

pub fn span(history: &History) -> String {
    let length = Nanos::from_ns(history.to_unix_ns.saturating_sub(history.from_unix_ns));
    let so_far = if history.is_open { " so far" } else { "" };
    format!(
        "From {} to {}, {}{so_far}.",
        units::date(history.from_unix_ns),
        units::date(history.to_unix_ns),
        units::duration(length)
    )
}

pub fn what(history: &History) -> String {
    let cpus: CpuSet = history.days.iter().flat_map(|day| &day.cpus).map(|cpu| cpu.cpu).collect();
    let period = history.period_ns.map_or_else(String::new, |period| format!(", every {}", units::period(period)));
    let budget = history.budget_ns.map_or_else(String::new, |budget| format!(", budget {}", units::latency(budget)));
    format!("CPUs {cpus}{period}{budget}. Days are those of UTC.")
}

/// How much of the time was watched.
pub fn watched(history: &History) -> String {
    let whole = history.watched_ns.plus(history.unwatched_ns);
    let share = units::share(history.watched_ns.as_ns(), whole.as_ns());
    let share = share.map_or_else(String::new, |share| format!(" ({share} of the time)"));
    format!("{} on {}{share}.", units::duration(history.watched_ns), counted(history.days.len() as u64, "day"))
}

/// Whether the history can be relied upon.
pub fn trust(history: &History) -> String {
    if !history.damaged.is_empty() {
        let which: Vec<String> = history.damaged.iter().map(u64::to_string).collect();
        return format!("Partly: of segment {} only the part before the damage can be read.", which.join(", "));
    }
    match history.gaps.iter().filter(|gap| is_worth_telling(gap)).max_by_key(|gap| gap.length_ns) {
        None => "Yes: nothing is missing between the first and the last moment.".to_owned(),
        Some(longest) => format!(
            "Yes, for the time that was watched; the longest time without was {} ({}).",
            units::duration(longest.length_ns),
            reason(longest)
        ),
    }
}

/// The change of segments at midnight takes part of a second, and is no news.
pub fn is_worth_telling(gap: &Gap) -> bool {
    gap.reason != GapReason::NextSegment || gap.length_ns > Nanos::from_secs(10) || gap.clocks_differ
}

fn reason(gap: &Gap) -> &'static str {
    match gap.reason {
        GapReason::NextSegment => "the next segment was begun",
        GapReason::Stopped if gap.is_new_boot == Some(true) => "the watch was ended, and the machine restarted",
        GapReason::Stopped => "the watch was ended",
        GapReason::StoppedWhenLate => "a late activation ended the watch",
        GapReason::Failed => "a watching thread made no progress",
        GapReason::Killed => "the watch was killed, or could not write",
        GapReason::MachineDown => "the machine went down",
        GapReason::Unknown => "the segment before is damaged",
        GapReason::SegmentsMissing => "segments are missing",
    }
}

/// Number and sum of the gaps, by reason.
pub fn gaps_by_reason(history: &History) -> Vec<String> {
    let mut sums: BTreeMap<&str, (u64, Nanos)> = BTreeMap::new();
    for gap in &history.gaps {
        let (count, length) = sums.entry(reason(gap)).or_default();
        (*count, *length) = (*count + 1, length.plus(gap.length_ns));
    }
    let line = |(why, (count, length)): (&str, (u64, Nanos))| {
        format!("{}, {} in all: {why}", counted(count, "time"), units::duration(length))
    };
    sums.into_iter().map(line).collect()
}

pub fn gap(gap: &Gap) -> String {
    let clocks =
        if gap.clocks_differ { "; the clock was set or the machine slept, so the length is not certain" } else { "" };
    format!("{}: {}, {}{clocks}", units::date(gap.from_unix_ns), units::duration(gap.length_ns), reason(gap))
}
