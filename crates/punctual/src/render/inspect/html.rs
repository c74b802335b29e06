//! An inspection as one HTML page: the answer, and for each thread its times, what is in its cycles, what made them
//! late with pictures, and how it is set up.

use super::thread::other_process;
use super::{is_told_in_full, marks, rest, thread, threads_of, verdict, words};
use crate::render::chart;
use crate::render::html::rendered;
use crate::render::lang::tr;
use crate::render::sheet::Tone;
use crate::render::units::{self, ABSENT, column_us, counted, latency, portion};
use crate::render::words::causes;
use crate::render::words::command::Command;
use minijinja::{Value, context};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::explain::{Explanation, Ranked, Spike};
use punctual_numbers::inspect::{
    Answer, Engine, InTheWay, Inspection, Quantiles, ThreadCycles, ThreadReport, WorstCycle,
};

const TEMPLATE: &str = include_str!("../html/inspect.html.jinja");
/// Number of threads that get a section, and of those that get a line.
const SECTIONS_MAX: usize = 16;
const LINES_MAX: usize = 200;
/// Number of causes in the table of a thread, and of late cycles that are drawn.
const CAUSES_MAX: usize = 12;
const DRAWN_MAX: usize = 8;
const BLAMES_SHOWN: usize = 4;

/// The page of an inspection. `again` is the command line that was typed.
pub fn html(inspection: &Inspection, again: &Command) -> Result<String, minijinja::Error> {
    let answer = Answer::of(inspection);
    let (tone, word) = verdict(answer);
    let (why, command) = words::next(inspection, again);
    let full: Vec<&ThreadReport> =
        inspection.threads.iter().filter(|thread| is_told_in_full(inspection, thread)).collect();
    let rest = rest(inspection, SECTIONS_MAX);
    let left = rest.len().saturating_sub(LINES_MAX);
    let context = context! {
        title => &inspection.program.name,
        program => &inspection.program.name,
        pid => inspection.program.pid,
        threads_all => threads_of(inspection),
        observed => units::duration(inspection.observed),
        word => units::capitalised(&word.trim_end_matches(':').to_lowercase()),
        class => class(tone),
        seen => units::capitalised(&words::seen(inspection)),
        trusted => inspection.engine != Engine::Counters && inspection.lost == 0,
        trust => units::capitalised(&words::trust(inspection)),
        unseen => words::unseen(inspection),
        cost => words::cost(inspection),
        next => context! { why, command },
        start_up => inspection.start_up.as_ref().map(|start_up| words::start_up(start_up, inspection.engine)),
        threads => full.into_iter().take(SECTIONS_MAX).map(|thread| section(thread, inspection)).collect::<Vec<_>>(),
        marks => inspection.marks.as_ref().map(|found| marks::page(found, &inspection.threads)),
        others => rest.into_iter().take(LINES_MAX).map(|report| thread::in_a_line(report, inspection)).collect::<Vec<_>>(),
        left_out => (left > 0).then(|| tr!("And {threads} in the JSON document.", threads = counted(left as u64, "more thread"))),
    };
    rendered(TEMPLATE, context)
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "held",
        Tone::Bad => "missed",
        _ => "unsure",
    }
}

fn section(thread: &ThreadReport, inspection: &Inspection) -> Value {
    let cycles = thread.cycles.as_ref();
    let first = cycles.and_then(|cycles| cycles.first).unwrap_or_default();
    let finding = |finding| {
        let (found, source, unit) = words::finding(finding);
        context! { found => units::capitalised(&found), source, unit }
    };
    context! {
        tid => thread.tid,
        name => &thread.name,
        process => other_process(thread, inspection),
        pace => format!("{}{}.", words::pace(thread), words::setup(thread.setup.as_ref())),
        count => cycles.map(|cycles| counted(cycles.count, "cycle")).unwrap_or_default(),
        rows => cycles.map(rows).unwrap_or_default(),
        facts => facts(thread),
        inside => cycles.map(|cycles| cycles.in_the_way.iter().map(inside).collect::<Vec<_>>()),
        late => thread.causes.as_ref().and_then(words::late),
        causes => thread.causes.iter().flat_map(|of| of.causes.iter().take(CAUSES_MAX)).map(cause).collect::<Vec<_>>(),
        spikes => thread.causes.as_ref().map(|of| spikes(of, first)),
        worst => cycles.map(|cycles| cycles.worst.iter().map(worst).collect::<Vec<_>>()),
        findings => thread.findings.iter().map(finding).collect::<Vec<_>>(),
    }
}

fn rows(cycles: &ThreadCycles) -> Vec<Value> {
    let row = |name: &str, of: &Quantiles| context! { name, points => [of.p50, of.p99, of.p999, of.max].map(column_us).to_vec() };
    let mut rows = vec![row(tr!("latency"), &cycles.latency)];
    if cycles.skipped > 0 {
        rows.push(row(tr!("due"), &cycles.latency_due));
    }
    rows.extend([row(tr!("runs"), &cycles.times.execution), row(tr!("response"), &cycles.times.response)]);
    rows
}

/// What else is told of the cycles, or counted where cycles were not seen.
fn facts(thread: &ThreadReport) -> Vec<Value> {
    let fact = |(name, value): (&str, String)| context! { name, value };
    let Some(cycles) = &thread.cycles else {
        let counted = thread.counters.as_ref().map(|counters| (tr!("counted"), thread::counted_words(counters)));
        return counted.into_iter().map(fact).collect();
    };
    let mut told = vec![(tr!("time"), thread::shares_of_time(&cycles.times))];
    let skipped = tr!(
        "{skipped} without a cycle, {overruns} still running at the next release",
        skipped = units::count(cycles.skipped),
        overruns = units::count(cycles.overruns)
    );
    told.push((tr!("releases"), skipped));
    told.extend(
        cycles
            .over_limit
            .map(|over| (tr!("budget"), tr!("{releases} later than the budget", releases = counted(over, "release")))),
    );
    told.extend(cycles.drift.map(|drift| {
        (
            tr!("drift"),
            tr!(
                "the time between two releases is on average {drift} longer than the shortest such time",
                drift = latency(drift)
            ),
        )
    }));
    told.extend(cycles.period_errors.as_ref().map(|errors| (tr!("errors"), words::period_errors(errors))));
    told.extend(thread.cost.as_ref().map(|cost| (tr!("looking"), words::of_each_cycle(cost))));
    told.into_iter().map(fact).collect()
}

fn inside(row: &InTheWay) -> Value {
    context! {
        what => words::intruder(row),
        places => row.code.iter().chain(&row.callers).map(words::code).collect::<Vec<_>>(),
        often => thread::per_thousand(row),
        slow => portion(row.slow_share),
        longest => if row.longest == Nanos::ZERO { ABSENT.to_owned() } else { latency(row.longest) },
        remedy => words::remedy_of(row),
    }
}

fn cause(ranked: &Ranked) -> Value {
    let share = if ranked.share.is_finite() { ranked.share.clamp(0.0, 1.0) } else { 0.0 };
    context! {
        class => causes::class(ranked.cause.class),
        key => chart::colour_of(ranked.cause.class),
        name => causes::name(&ranked.cause.name.to_string()),
        width => (share > 0.0).then(|| format!("{:.1}", share * 100.0)),
        share => portion(share),
        count => units::count(ranked.count),
        worst => latency(ranked.worst),
        why => causes::reasons(ranked, 2).join("; "),
    }
}

fn spikes(causes: &Explanation, first: MonoTime) -> Vec<Value> {
    let complete = causes.spikes.iter().filter(|spike| spike.incomplete.is_none());
    complete.take(DRAWN_MAX).map(|spike| drawn(spike, first)).collect()
}

fn drawn(spike: &Spike, first: MonoTime) -> Value {
    context! {
        late => latency(spike.latency()),
        cpu => spike.cpu,
        at => units::duration(spike.release.since(first)),
        first => spike.primary().map(|blame| causes::cause(&blame.cause)),
        svg => chart::lanes(spike),
        blames => spike.causes.iter().take(BLAMES_SHOWN).map(causes::blame).collect::<Vec<_>>(),
    }
}

fn worst(cycle: &WorstCycle) -> Value {
    let late = cycle.latency.map_or_else(|| ABSENT.to_owned(), latency);
    let inside: Vec<&str> = cycle.intruders.iter().map(|intruder| words::intruder_kind(*intruder)).collect();
    context! {
        number => units::count(cycle.number),
        times => vec![latency(cycle.response), late, latency(cycle.preempted), latency(cycle.blocked), latency(cycle.waiting)],
        inside => inside.join(", "),
    }
}
