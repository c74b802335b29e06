//! Sentences about a watch.

use crate::cli::WatchArgs;
use crate::render::lang::{self, tr};
use crate::render::sheet::Tone;
use crate::render::units::{self, counted};
use crate::render::words::causes;
use crate::render::words::command::Command;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::watch::{Burden, Lateness, Said, Saving, What};
use punctual_numbers::recording::EndReason;
use punctual_numbers::watch::{Day, Gap, GapReason, History, WorstOfSegment};
use punctual_tuning::plan::{Change, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Threads that are named in the heading of a history.
const THREADS_NAMED: usize = 8;

/// What is about to be watched.
pub fn begun(what: &What, store: &Path, args: &WatchArgs) -> String {
    let kept =
        if args.no_trace { tr!("the largest latencies") } else { tr!("the largest latencies and what made them late") };
    let (size, cost) = (units::size(args.keep), units::portion(args.cost));
    let look = Command::new(["report".to_owned(), store.display().to_string()]);
    let scenario = match what {
        What::Own(scenario) => scenario,
        What::Program(_) => {
            let program = args.program.as_deref().unwrap_or_default();
            return tr!(
                "Watching the threads of {program}, after looking at them for 3 s, and keeping {kept} in {store} (at most \
                 {size}). The watch may take {cost} of a CPU for each of them; it records less if it costs more. End it \
                 with Ctrl-C. Look at it with: {look}",
                program,
                kept,
                store = store.display(),
                size,
                cost,
                look
            );
        }
    };
    let period = scenario.threads.first().map(|thread| thread.period).unwrap_or_default();
    tr!(
        "Watching CPUs {cpus} every {period}, keeping {kept} in {store} (at most {size}). The watch may take {cost} of a \
         CPU for each of them; it takes a longer period if it costs more. End it with Ctrl-C. Look at it with: {look}",
        cpus = scenario.cpus(),
        period = units::period(period),
        kept,
        store = store.display(),
        size,
        cost,
        look
    )
}

/// What the watch said, as a line of a log.
pub fn said(said: &Said) -> String {
    match said {
        Said::Late(Lateness { thread: Some(thread), latency, times, .. }) => {
            let times = counted(*times, "activation");
            match latency.map(units::latency) {
                Some(latency) => tr!(
                    "late: {times} of thread {thread} beyond the budget, the last with a latency of {latency}",
                    times,
                    thread,
                    latency
                ),
                None => tr!("late: {times} of thread {thread} beyond the budget", times, thread),
            }
        }
        Said::Late(Lateness { cpu, latency, times, thread: None, .. }) => {
            let times = counted(*times, "activation");
            match latency.map(units::latency) {
                Some(latency) => {
                    tr!(
                        "late: {times} on CPU {cpu} beyond the budget, the last with a latency of {latency}",
                        times,
                        cpu,
                        latency
                    )
                }
                None => tr!("late: {times} on CPU {cpu} beyond the budget", times, cpu),
            }
        }
        Said::ActionFailed(why) => tr!("warning: {why}", why = lang::said(why)),
        Said::NotWritten(why) => {
            tr!("warning: results cannot be stored at present, but the watch continues: {why}", why = lang::said(why))
        }
        Said::NotMeasured(why) => {
            tr!("warning: nothing can be watched at present; the watch will try again: {why}", why = lang::said(why))
        }
        Said::Waits(program) => tr!("note: {program} does not run; waiting for it", program),
        Said::ProgramEnded(program) => tr!("note: {program} ended", program),
        Said::Cost { burden, each, limit, saving } => cost(burden, *each, *limit, *saving),
        Said::Costly { share, limit, before, now } => tr!(
            "note: the watch takes {share} of a CPU and may take {limit}, so its period is {now} from now on; it was \
            {before}",
            share = units::portion(*share),
            limit = units::portion(*limit),
            now = units::period(*now),
            before = units::period(*before)
        ),
    }
}

/// What the watch of a program costs, and what it does without from now on.
fn cost(burden: &Burden, each: Nanos, limit: f64, saving: Saving) -> String {
    let costs = tr!(
        "note: the watch takes {all} of a CPU: {own} for its own process, {records} for recording the threads of the \
        program, {causes} for recording what else runs on their CPUs (one record takes {each}). It may take {limit}",
        all = units::small_portion(burden.all()),
        own = units::small_portion(burden.own),
        records = units::small_portion(burden.records),
        each = units::latency(each),
        causes = units::small_portion(burden.causes),
        limit = units::small_portion(limit)
    );
    match saving {
        Saving::None => tr!("{costs}.", costs),
        Saving::NoCauses => {
            tr!("{costs}, so causes are not looked for until midnight UTC; allow more with --cost.", costs)
        }
        Saving::OneOf(n) => {
            tr!("{costs}, so only one second in {n} is watched until midnight UTC; allow more with --cost.", costs, n)
        }
    }
}

pub fn ended(reason: EndReason, store: &Path, again: &Command) -> String {
    let how = match reason {
        EndReason::LimitExceeded => tr!("The watch was stopped by a late activation."),
        EndReason::Interrupted => tr!("The watch was interrupted."),
        EndReason::Completed => tr!("The watch is over."),
        EndReason::Stalled | EndReason::CoreLost | EndReason::SourceLost => tr!("The watch failed."),
        EndReason::ProgramEnded => tr!("The program ended."),
    };
    let look = Command::new(["report".to_owned(), store.display().to_string()]);
    tr!("{how} Look at it with: {look}. Continue with: {again}", how, look, again)
}

/// The files of a unit, which were written or would be.
pub fn unit(change: &Change, dry_run: bool) -> String {
    let mut text = String::new();
    for step in &change.steps {
        if let Step::Own { path, content, .. } = step {
            let told = if dry_run { tr!("Would write {path}:", path) } else { tr!("Wrote {path}:", path) };
            text.extend([&told, "\n\n", content, "\n"]);
        }
    }
    text
}

pub fn installed(store: &str) -> String {
    let look = Command::new(["report", store]);
    let end = Command::new(["watch", "--uninstall"]).with_sudo(true);
    tr!("The watch runs, also after each boot. Look at it with: {look}. End it with: {end}", look, end)
}

pub fn uninstalled(stores: &str, dry_run: bool) -> String {
    if dry_run {
        return tr!("Would end the watch and remove its unit. Its results would stay in {stores}.", stores);
    }
    tr!("The watch is ended and its unit removed. Its results stay in {stores}.", stores)
}

pub fn no_day(history: &History, wanted: &str) -> String {
    let days: Vec<String> =
        history.days.iter().map(|day| format!("{} ({})", day.number, units::day(day.from_unix_ns))).collect();
    let few = match days.as_slice() {
        [first, .., last] if days.len() > 8 => tr!("{first} to {last}", first, last),
        _ => days.join(", "),
    };
    tr!("the watch has no day {wanted}; its days are {few}", wanted, few)
}

pub fn verdict(history: &History) -> (Tone, &'static str) {
    let over: u64 = history.days.iter().map(Day::over_budget).fold(0, u64::saturating_add);
    match history.budget_ns {
        None => (Tone::Heading, tr!("WORST:")),
        Some(_) if over > 0 => (Tone::Bad, tr!("BEYOND THE BUDGET:")),
        Some(_) => (Tone::Good, tr!("WITHIN THE BUDGET:")),
    }
}

/// The largest latency, and how many were beyond the budget.
pub fn worst(history: &History) -> String {
    let Some((day, worst)) = history.worst() else { return tr!("Nothing has been seen yet.").to_owned() };
    let whose = match &worst.thread {
        Some(thread) => tr!("of thread {thread} on CPU {cpu}", thread, cpu = worst.cpu),
        None => tr!("on CPU {cpu}", cpu = worst.cpu),
    };
    let over: u64 = history.days.iter().map(Day::over_budget).fold(0, u64::saturating_add);
    let ran: u64 = history.days.iter().map(Day::ran).fold(0, u64::saturating_add);
    let of_budget = history.budget_ns.map_or_else(String::new, |budget| {
        let (beyond, ran, budget) = (counted(over, "activation"), units::count(ran), units::latency(budget));
        if over == 1 {
            tr!(" {beyond} of {ran} was beyond {budget}.", beyond, ran, budget)
        } else {
            tr!(" {beyond} of {ran} were beyond {budget}.", beyond, ran, budget)
        }
    });
    tr!(
        "The largest latency was {latency} {whose}, on day {day} at {at}{because}.{of_budget}",
        latency = units::latency(worst.latency_ns),
        whose,
        day = day.number,
        at = units::date(worst.at_unix_ns),
        because = because(worst),
        of_budget
    )
}

fn because(worst: &WorstOfSegment) -> String {
    match worst.causes.as_slice() {
        [] => String::new(),
        [first, ..] => tr!(", because of {cause}", cause = causes::cause(&first.cause)),
    }
}

/// The cause of the largest latency of a day, for the table.
pub fn cause_of(day: &Day) -> String {
    match day.worst.first() {
        Some(worst) if !worst.causes.is_empty() => {
            worst.causes.first().map(|blame| causes::cause_label(&blame.cause)).unwrap_or_default()
        }
        _ if !day.is_traced => tr!("not recorded").to_owned(),
        Some(_) => tr!("not known").to_owned(),
        None => units::ABSENT.to_owned(),
    }
}

pub fn span(history: &History) -> String {
    let length = Nanos::from_ns(history.to_unix_ns.saturating_sub(history.from_unix_ns));
    let (from, to) = (units::date(history.from_unix_ns), units::date(history.to_unix_ns));
    let length = units::duration(length);
    if history.is_open {
        tr!("From {from} to {to}, {length} so far.", from, to, length)
    } else {
        tr!("From {from} to {to}, {length}.", from, to, length)
    }
}

pub fn what(history: &History) -> String {
    let threads: BTreeSet<&str> =
        history.days.iter().flat_map(|day| &day.cpus).filter_map(|cpu| cpu.thread.as_deref()).collect();
    let cpus: CpuSet = history.days.iter().flat_map(|day| &day.cpus).map(|cpu| cpu.cpu).collect();
    let period =
        history.period_ns.map_or_else(String::new, |period| tr!(", every {period}", period = units::period(period)));
    let budget =
        history.budget_ns.map_or_else(String::new, |budget| tr!(", budget {budget}", budget = units::latency(budget)));
    if let Some(program) = &history.program {
        let few: Vec<&str> = threads.iter().copied().take(THREADS_NAMED).collect();
        let more = if threads.len() > few.len() { tr!(" and others") } else { "" };
        let threads = few.join(", ");
        return tr!(
            "Threads of {program}: {threads}{more}{budget}. Days are those of UTC.",
            program,
            threads,
            more,
            budget
        );
    }
    tr!("CPUs {cpus}{period}{budget}. Days are those of UTC.", cpus, period, budget)
}

/// How much of the time was watched.
pub fn watched(history: &History) -> String {
    let whole = history.watched_ns.plus(history.unwatched_ns);
    let share = units::share(history.watched_ns.as_ns(), whole.as_ns());
    let share = share.map_or_else(String::new, |share| tr!(" ({share} of the time)", share));
    let (time, days) = (units::duration(history.watched_ns), counted(history.days.len() as u64, "day"));
    tr!("{time} on {days}{share}.", time, days, share)
}

/// Whether the history can be relied upon.
pub fn trust(history: &History) -> String {
    if !history.damaged.is_empty() {
        let which: Vec<String> = history.damaged.iter().map(u64::to_string).collect();
        let which = which.join(", ");
        return tr!("Partly: only the part of segment {which} before the damage can be read.", which);
    }
    match history.gaps.iter().filter(|gap| is_worth_telling(gap)).max_by_key(|gap| gap.length_ns) {
        None if history.spared_ns > Nanos::ZERO => tr!(
            "Yes, for the time that was watched; {time} were left out, because the watch would have cost more than it may.",
            time = units::duration(history.spared_ns)
        ),
        None => tr!("Yes: nothing is missing between the first and the last moment.").to_owned(),
        Some(longest) => tr!(
            "Yes, for the time that was watched; the longest time that was not watched was {time} ({reason}).",
            time = units::duration(longest.length_ns),
            reason = reason(longest)
        ),
    }
}

/// The change of segments at midnight takes part of a second, and is no news.
pub fn is_worth_telling(gap: &Gap) -> bool {
    gap.reason != GapReason::NextSegment || gap.length_ns > Nanos::from_secs(10) || gap.clocks_differ
}

fn reason(gap: &Gap) -> &'static str {
    match gap.reason {
        GapReason::NextSegment => tr!("the next segment was started"),
        GapReason::Stopped if gap.is_new_boot == Some(true) => tr!("the watch was ended, and the machine restarted"),
        GapReason::Stopped => tr!("the watch was ended"),
        GapReason::StoppedWhenLate => tr!("a late activation ended the watch"),
        GapReason::Failed => tr!("a watching thread made no progress"),
        GapReason::ProgramEnded => tr!("the program ended"),
        GapReason::Killed => tr!("the watch was killed, or could not write"),
        GapReason::MachineDown => tr!("the machine went down"),
        GapReason::Unknown => tr!("the segment before is damaged"),
        GapReason::SegmentsMissing => tr!("segments are missing"),
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
        tr!("{times}, {sum} in all: {why}", times = counted(count, "time"), sum = units::duration(length), why)
    };
    sums.into_iter().map(line).collect()
}

pub fn gap(gap: &Gap) -> String {
    let clocks = if gap.clocks_differ {
        tr!("; the clock was set or the machine slept, so the length is not certain")
    } else {
        ""
    };
    let (from, length, reason) = (units::date(gap.from_unix_ns), units::duration(gap.length_ns), reason(gap));
    format!("{from}: {length}{comma}{reason}{clocks}", comma = tr!(", "))
}
