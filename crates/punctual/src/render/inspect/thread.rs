//! One thread of an inspected program.

use super::words;
use crate::render::clean::shortened;
use crate::render::lang::tr;
use crate::render::sheet::table::Table;
use crate::render::sheet::{Sheet, Tone};
use crate::render::units::{self, ABSENT, THIN, column_us, count, counted, latency, portion};
use punctual_hist::Nanos;
use punctual_numbers::explain::Explanation;
use punctual_numbers::inspect::{
    Counters, CycleTimes, Engine, InTheWay, Inspection, Quantiles, ThreadCycles, ThreadReport,
};

/// Number of things in the cycles that are told.
const ROWS: usize = 5;
/// Number of findings that are told.
const FINDINGS: usize = 3;
/// Number of causes of late cycles that are told.
const CAUSES: usize = 2;
/// Largest width of what is in the loop.
const INTRUDER: usize = 32;
/// Width of the numbers beside it, with the gaps between columns.
const NUMBERS: usize = 31;
/// Width of the labels before the lines of a thread.
const LABEL: usize = 8;

pub fn in_full(sheet: &mut Sheet, thread: &ThreadReport, inspection: &Inspection) {
    let engine = inspection.engine;
    sheet.heading(&format!("{} ({}{})", thread.name, thread.tid, other_process(thread, inspection)));
    sheet.paragraph(2, &format!("{}{}", words::pace(thread), words::setup(thread.setup.as_ref())));
    if let Some(cycles) = &thread.cycles {
        of_cycles(sheet, cycles);
    }
    if let Some(causes) = &thread.causes {
        late(sheet, causes);
    }
    if let (Engine::Counters, Some(counters)) = (engine, &thread.counters) {
        sheet.entry(2, LABEL, tr!("Counted"), &counted_words(counters));
    }
    for finding in thread.findings.iter().take(FINDINGS) {
        let (found, source, unit) = words::finding(finding);
        let unit = unit.map(|unit| tr!("; or in the unit file: {unit}", unit)).unwrap_or_default();
        sheet.toned_entry(
            2,
            LABEL,
            Tone::Doubt,
            tr!("Set up"),
            &tr!("{found}. In the source: {source}{unit}", found, source, unit),
        );
    }
    if let Some(more) = thread.findings.len().checked_sub(FINDINGS).filter(|more| *more > 0) {
        sheet.entry(2, LABEL, "", &tr!("and {more} in --json", more = counted(more as u64, "more finding")));
    }
}

/// The process of a thread, if it is not the one that was named.
pub fn other_process(thread: &ThreadReport, inspection: &Inspection) -> String {
    let other = inspection.children.iter().find(|child| child.pid == thread.pid);
    other.map(|child| tr!(", of {name}, process {pid}", name = child.name, pid = child.pid)).unwrap_or_default()
}

/// A thread that has no cycles, or that there is no room for.
pub fn in_a_line(thread: &ThreadReport, inspection: &Inspection) -> String {
    let setup = words::setup(thread.setup.as_ref());
    let cycles = thread.cycles.as_ref().map(|cycles| {
        let kinds = counted(cycles.in_the_way.len() as u64, "kind");
        let most = cycles.latency.max.map(latency).unwrap_or_default();
        tr!(
            "; {cycles}, latency at most {most}, {kinds} of operations inside",
            cycles = counted(cycles.count, "cycle"),
            most,
            kinds
        )
    });
    let process = other_process(thread, inspection);
    format!("{} ({}{process}): {}{setup}{}", thread.name, thread.tid, words::pace(thread), cycles.unwrap_or_default())
}

fn of_cycles(sheet: &mut Sheet, cycles: &ThreadCycles) {
    sheet.entry(
        2,
        LABEL,
        tr!("Latency"),
        &format!("{}, {}", quantiles(&cycles.latency), counted(cycles.count, "cycle")),
    );
    if cycles.skipped > 0 {
        let told = tr!(
            "{latency_due}, with {releases} skipped",
            latency_due = quantiles(&cycles.latency_due),
            releases = counted(cycles.skipped, "release")
        );
        sheet.entry(2, LABEL, tr!("Due"), &told);
    }
    if let Some(over) = cycles.over_limit {
        sheet.entry(
            2,
            LABEL,
            tr!("Budget"),
            &tr!("{releases} later than the budget", releases = counted(over, "release")),
        );
    }
    let times = &cycles.times;
    sheet.entry(2, LABEL, tr!("Cycle"), &tr!("runs {execution}", execution = quantiles(&times.execution)));
    sheet.entry(
        2,
        LABEL,
        "",
        &tr!(
            "response {response}; {overruns} overran",
            response = quantiles(&times.response),
            overruns = count(cycles.overruns)
        ),
    );
    sheet.entry(2, LABEL, tr!("Time"), &shares_of_time(times));
    if let Some(drift) = cycles.drift {
        sheet.entry(
            2,
            LABEL,
            tr!("Drift"),
            &tr!(
                "the time between two releases is on average {drift} longer than the shortest such time",
                drift = latency(drift)
            ),
        );
    }
    if let Some(errors) = &cycles.period_errors {
        sheet.entry(2, LABEL, tr!("Errors"), &words::period_errors(errors));
    }
    in_the_way(sheet, cycles);
    if let Some(worst) = cycles.worst.first() {
        sheet.entry(2, LABEL, tr!("Slowest"), &words::worst(worst));
    }
}

/// What the time of the cycles consists of.
pub fn shares_of_time(times: &CycleTimes) -> String {
    let whole =
        [times.running, times.preempted, times.blocked, times.waiting].into_iter().fold(Nanos::default(), Nanos::plus);
    let part = |of: Nanos| units::share(of.as_ns(), whole.as_ns()).unwrap_or_else(|| ABSENT.to_owned());
    tr!(
        "{running} running, {preempted} pre-empted, {blocked} blocked, {waiting} runnable and waiting for the CPU",
        running = part(times.running),
        preempted = part(times.preempted),
        blocked = part(times.blocked),
        waiting = part(times.waiting)
    )
}

/// What made cycles late, the causes with the largest shares first.
fn late(sheet: &mut Sheet, causes: &Explanation) {
    let Some(told) = words::late(causes) else { return };
    sheet.entry(2, LABEL, tr!("Late"), &told);
    for ranked in causes.causes.iter().take(CAUSES) {
        sheet.entry(2, LABEL, "", &words::late_cause(ranked));
    }
    if let Some(more) = causes.causes.len().checked_sub(CAUSES).filter(|more| *more > 0) {
        sheet.entry(2, LABEL, "", &tr!("and {more} in --json", more = counted(more as u64, "more cause")));
    }
}

fn quantiles(of: &Quantiles) -> String {
    tr!(
        "p50 {p50}  p99 {p99}  p99.9 {p999}  max {max}{THIN}us",
        p50 = column_us(of.p50),
        p99 = column_us(of.p99),
        p999 = column_us(of.p999),
        max = column_us(of.max),
        THIN
    )
}

fn in_the_way(sheet: &mut Sheet, cycles: &ThreadCycles) {
    if cycles.in_the_way.is_empty() {
        return sheet.entry(2, LABEL, tr!("Inside"), tr!("nothing but the wait was seen in the cycles"));
    }
    let mut table =
        Table::new(&[tr!("<in the loop"), tr!("<where"), tr!(">per 1000"), tr!(">of slow"), tr!(">max us")]);
    let told = &cycles.in_the_way[..cycles.in_the_way.len().min(ROWS)];
    let intruder = |row| shortened(&words::intruder(row), INTRUDER);
    let longest = told.iter().map(|row| intruder(row).chars().count()).max().unwrap_or(0);
    let room = sheet.width().saturating_sub(longest + NUMBERS).max(INTRUDER / 2);
    for row in told {
        table.row([
            intruder(row),
            row.code.as_ref().map(|code| words::code_within(code, room)).unwrap_or_default(),
            per_thousand(row),
            portion(row.slow_share),
            if row.longest.as_ns() == 0 { ABSENT.to_owned() } else { column_us(Some(row.longest)) },
        ]);
    }
    sheet.table(&table);
    if let Some(more) = cycles.in_the_way.len().checked_sub(ROWS).filter(|more| *more > 0) {
        sheet.paragraph(2, &tr!("and {more} in --json", more = counted(more as u64, "more kind")));
    }
}

/// How often in a thousand cycles, with one decimal.
pub fn per_thousand(row: &InTheWay) -> String {
    let tenths = u128::from(row.count) * 10_000 / u128::from(row.among.max(1));
    if tenths == 0 {
        return format!("<{THIN}0.1");
    }
    let whole = u64::try_from(tenths / 10).unwrap_or(u64::MAX);
    format!("{}.{}", count(whole), tenths % 10)
}

pub fn counted_words(of: &Counters) -> String {
    let time = |length: Option<Nanos>| length.map_or_else(|| ABSENT.to_owned(), latency);
    tr!(
        "{waits}, {pre_emptions}, {page_faults}; ran {ran}, was ready without a CPU for {waited_for_cpu}",
        waits = counted(of.waits, "wait"),
        pre_emptions = counted(of.preemptions, "pre-emption"),
        page_faults = counted(of.minor_faults + of.major_faults, "page fault"),
        ran = time(of.ran),
        waited_for_cpu = time(of.waited_for_cpu)
    )
}
