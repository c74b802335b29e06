//! Words about recordings of several runs, about stretches of a recording, and about recordings that cannot be merged.

use super::{amount, cpus, kernel, mechanism, policy, timer_phase, units};
use crate::render::lang::tr;
use punctual_hist::Nanos;
use punctual_numbers::recording::{Mismatch, RecTime, RecordedRun, Stretch, Unmergeable};
use punctual_numbers::report::Report;
use punctual_numbers::scenario::Core;
use punctual_numbers::trace::Rung;
use std::path::PathBuf;

const RUNS_TOLD: usize = 12;

/// The length and the start of a measurement. For a selected stretch, the length of the stretch and the start of its
/// run.
pub fn measured(report: &Report) -> String {
    let (length, begun) = (units::duration(report.measured), units::date(report.started_unix_ns));
    match report.stretch {
        None => tr!("Measured {length} from {begun}", length, begun),
        Some(_) => tr!("{length} of the run that began {begun}", length, begun),
    }
}

/// Sentences about the stretch, the runs and the core that the numbers come from, then the notes made during the measurement.
pub fn notes(report: &Report) -> Vec<String> {
    let told = report.stretch.iter().flat_map(between);
    told.chain(made_of(report)).chain(out_of_band(report)).chain(report.notes.iter().cloned()).collect()
}

/// A sentence about the real-time core that paced the threads: `EVL woke the threads out-of-band, and took none of them
/// in-band`. `None` if Linux paced them.
fn out_of_band(report: &Report) -> Option<String> {
    let mechanism = report.scenario.mechanism;
    let core = mechanism.core().map(|_| kernel(mechanism))?;
    if let Some((core, _)) = mechanism.driver_of() {
        return Some(by_driver(core));
    }
    let switches = report.cpus.iter().filter_map(|cpu| cpu.in_band_switches).fold(0, u64::saturating_add);
    let taken = match switches {
        0 => tr!("none of them was switched in-band").to_owned(),
        n => tr!("they were switched in-band {times}", times = units::counted(n, "time")),
    };
    Some(tr!("{core} woke the threads out-of-band, and {taken}", core, taken))
}

/// What can be known of latencies that a driver of a core counted.
fn by_driver(core: Core) -> String {
    let (driver, cell) = match core {
        Core::Evl => (tr!("latmus of EVL"), "1 us"),
        Core::Cobalt => (tr!("timerbench of Cobalt"), "100 ns"),
    };
    tr!(
        "the driver {driver} measured in the kernel: the smallest, mean and largest latency are exact, all other \
        latencies are counted in cells of {cell} (each at the upper edge of its cell), and single activations are not \
        known",
        driver,
        cell
    )
}

/// Sentences about the runs that a recording is made of, and the gaps between them. Empty for a single run.
fn made_of(report: &Report) -> Vec<String> {
    let runs = &report.runs;
    if runs.len() < 2 {
        return Vec::new();
    }
    let mut told = vec![tr!(
        "this recording consists of {runs} of one scenario; each was measured separately, with warm-ups of its own",
        runs = units::counted(runs.len() as u64, "run")
    )];
    for (number, run) in runs.iter().enumerate().take(RUNS_TOLD) {
        let before = number.checked_sub(1).and_then(|number| runs.get(number));
        told.push(tr!(
            "run {number}: {told}",
            number = number + 1,
            told = one_run(run, before, report.stretch.is_some())
        ));
    }
    if runs.len() > RUNS_TOLD {
        told.push(tr!("and {runs} more", runs = units::counted((runs.len() - RUNS_TOLD) as u64, "run")));
    }
    if !report.findings.is_empty() {
        told.push(tr!("the findings are those of the last run that was audited").to_owned());
    }
    told
}

fn one_run(run: &RecordedRun, before: Option<&RecordedRun>, is_part: bool) -> String {
    let (date, length) = (units::date(run.header.started_unix_ns), units::duration(run.covered));
    let mut text = if is_part {
        tr!("begun {date}; {length} of it are shown", date, length)
    } else {
        tr!("from {date}, {length} measured", date, length)
    };
    match &run.end {
        None => text.push_str(tr!(", then cut off")),
        Some(end) => text = format!("{text}, {}", super::end(end.reason)),
    }
    if let Some(before) = before {
        let gap = run.at.since(before.until);
        text = tr!(
            "{text}; begins at {at} of the whole recording, {gap} after the end of the run before",
            text,
            at = units::moment(run.at),
            gap = units::duration(gap)
        );
    }
    tr!("{text} (punctual {tool_version})", text, tool_version = run.header.tool_version)
}

/// Sentences about the selected stretch of a recording, and about data that is missing for it.
fn between(stretch: &Stretch) -> Vec<String> {
    let asked = tr!("{from} to {to}", from = units::moment(stretch.from), to = units::moment(stretch.to));
    let mut told = Vec::new();
    match stretch.edges {
        Some(edges) if stretch.is_widened() => told.push(tr!(
            "this is only {from} to {to} of the run: {asked} was requested, and is extended to the edges of recorded \
            intervals",
            from = units::moment(edges.from),
            to = units::moment(edges.to),
            asked
        )),
        _ => told.push(tr!("this is only {asked} of the run", asked)),
    }
    told.push(tr!(
        "for a part of a run, the largest latency is accurate to 1.6{thin}%, and the worst wake-ups are those that \
        were among the worst of their CPU up to that time; warm-ups, the achieved loads and the completeness of the \
        trace are only known for whole runs and are left out",
        thin = units::THIN
    ));
    told
}

pub fn nothing_between(stretch: &Stretch, runs: &[RecordedRun]) -> String {
    let from = runs.first().map_or(RecTime::EPOCH, |run| run.at);
    let until = runs.last().map_or(RecTime::EPOCH, |run| run.until);
    tr!(
        "nothing was measured from {from} to {to}: the recording goes from {begin} to {until}",
        from = units::moment(stretch.from),
        to = units::moment(stretch.to),
        begin = units::moment(from),
        until = units::moment(until)
    )
}

/// The error message for recordings that cannot be merged: one line for each reason, and what to do.
pub fn unmergeable(against: &[Unmergeable], paths: &[PathBuf]) -> String {
    let name = |number: &usize| paths.get(*number).map_or_else(String::new, |path| path.display().to_string());
    let first = name(&0);
    let mut lines = vec![tr!("these recordings cannot be merged:").to_owned()];
    let mut kind = false;
    for reason in against {
        lines.push(match reason {
            Unmergeable::Mismatch(number, all) => {
                kind = true;
                tr!("{number} is of another kind than {first}\n{all}", number = name(number), first, all = differences(all, tr!("there"), tr!("here")))
            }
            Unmergeable::Same { earlier, later } => tr!("{earlier} and {later} contain the same run", earlier = name(earlier), later = name(later)),
            Unmergeable::Overlap { earlier, later, until_unix_ns, from_unix_ns } => tr!("{earlier} went on until {until_unix_ns}, {later} began at {from_unix_ns}: runs on the same CPUs at the same time disturb each other and do not \
                 follow each other (unless the wall clock was set back between them)", earlier = name(earlier), until_unix_ns = units::date(*until_unix_ns), later = name(later), from_unix_ns = units::date(*from_unix_ns)),
            Unmergeable::Nothing(number) => tr!("{number} ended before it measured anything", number = name(number)),
        });
    }
    lines.push(if kind {
        tr!("look at each recording separately, or compare two of them: punctual compare").to_owned()
    } else {
        tr!("leave out the recordings that do not belong together, and merge the rest").to_owned()
    });
    lines.join("\n")
}

pub fn differences(all: &[Mismatch], first: &str, other: &str) -> String {
    let line = |differs: &Mismatch| {
        let (what, a, b) = difference(differs);
        format!("  {what}: {a} {first}, {b} {other}")
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn difference(differs: &Mismatch) -> (String, String, String) {
    let none = || tr!("none").to_owned();
    let latency = |length: &Option<Nanos>| length.map_or_else(none, units::latency);
    let text = |text: &Option<String>| text.clone().unwrap_or_else(none);
    let said = |what: &str, a: String, b: String| (what.to_owned(), a, b);
    match differs {
        Mismatch::Machine(name, a, b) => said(name, text(a), text(b)),
        Mismatch::Cpus(a, b) => said(tr!("measured"), cpus(a), cpus(b)),
        Mismatch::Period(cpu, a, b) => (tr!("period of CPU {cpu}", cpu), units::period(*a), units::period(*b)),
        Mismatch::Policy(a, b) => said(tr!("policy"), policy(*a), policy(*b)),
        Mismatch::Mechanism(a, b) => said(tr!("mechanism"), mechanism(*a).to_owned(), mechanism(*b).to_owned()),
        Mismatch::Phase(a, b) => said(tr!("releases"), timer_phase(*a).to_owned(), timer_phase(*b).to_owned()),
        Mismatch::WarmUp(a, b) => said(tr!("warm-up"), amount(*a), amount(*b)),
        Mismatch::Budget(a, b) => said(tr!("budget"), latency(a), latency(b)),
        Mismatch::Limit(a, b) => said(tr!("limit that ends the run"), latency(a), latency(b)),
        Mismatch::DmaLatency(a, b) => {
            let held = |us: &Option<u32>| us.map_or_else(none, |us| tr!("{us}{thin}us", us, thin = units::THIN));
            said(tr!("request for shallow idle states"), held(a), held(b))
        }
        Mismatch::Loads(a, b) => said(tr!("load phases"), a.join(", "), b.join(", ")),
        Mismatch::LoadCpus(a, b) => said(tr!("CPUs for loads"), cpus(a), cpus(b)),
        Mismatch::Isolated(a, b) => said(tr!("isolated"), cpus(a), cpus(b)),
        Mismatch::Shared(a, b) => said(tr!("shared with helpers"), cpus(a), cpus(b)),
        Mismatch::Suite(a, b) => said(tr!("suite"), text(a), text(b)),
        Mismatch::ClockSource(a, b) => said(tr!("clock"), text(a), text(b)),
        Mismatch::Tick(a, b) => said(tr!("tick"), units::period(*a), units::period(*b)),
        Mismatch::Engine(a, b) => said(tr!("causes looked for"), engine(*a), engine(*b)),
        Mismatch::Traced(a, b) => said(tr!("traced load phases"), numbers(a), numbers(b)),
    }
}

fn engine(rung: Option<Rung>) -> String {
    match rung {
        None => tr!("not"),
        Some(Rung::Timerlat) => tr!("by the kernel's trace and its noise tracer"),
        Some(Rung::Tracefs) => tr!("by the kernel's trace"),
        Some(Rung::Bpf) => tr!("by a BPF program in the kernel"),
        Some(Rung::Deltas) => tr!("by counters"),
        Some(Rung::InProcess) => tr!("only by the kernel's counts for the measuring thread"),
    }
    .to_owned()
}

fn numbers(list: &[u16]) -> String {
    if list.is_empty() {
        return tr!("none").to_owned();
    }
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
