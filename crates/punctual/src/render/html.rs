//! A report as one HTML page: a single file that loads nothing, readable in light and dark mode, on a phone and on
//! paper.
//!
//! Rust makes the pictures and the words; the template places and escapes them. Must not compute: this module selects,
//! orders and lays out the values of the report.

mod imported;
mod template;

pub use imported::imported_page;
#[cfg(test)]
pub use template::texts;

use super::lang::{is_english, said, text, tr};
use super::{chart, explain, plot, units, words};
use crate::render::clean::visible;
use crate::render::words::next::Wording;
use minijinja::value::merge_maps;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use punctual_numbers::claims::PhaseClaims;
use punctual_numbers::report::{Answer, CpuRow, LatencyRow, Percentiles, Report};
use std::path::Path;
use template::in_language;

const TEMPLATE: &str = include_str!("html/report.html.jinja");
const EXPLAIN: &str = include_str!("html/explain.html.jinja");
const CAUSES: &str = include_str!("html/causes.html.jinja");
/// Head, foot and style of every page.
const PAGE: &str = include_str!("html/page.html.jinja");
const STYLE: &str = include_str!("html/report.css");
const SCRIPT: &str = include_str!("html/report.js");

/// Placeholder in a template. The list of the page's sections replaces it.
const CONTENTS: &str = "<!-- contents -->";

/// Largest number of CPUs that get a time line: those with the largest latency. The table lists all CPUs.
const CHARTED_MAX: usize = 16;

/// The page of a report. `title` is the page's heading.
pub fn page(of: Wording<'_>, title: &str) -> Result<String, minijinja::Error> {
    let Wording { report, recording, .. } = of;
    let charted = charted(&report.cpus);
    let parts = [head(of), numbers(report), figures(report, &charted), findings(report), settings(report)];
    let context = merge_maps(parts.into_iter().chain([around(report, title, recording)]));
    rendered(TEMPLATE, context)
}

pub fn causes_page(report: &Report, title: &str, recording: Option<&Path>) -> Result<String, minijinja::Error> {
    rendered(EXPLAIN, around(report, title, recording))
}

/// Fills in a template that extends the common page.
pub(super) fn rendered(template: &str, context: Value) -> Result<String, minijinja::Error> {
    let (causes, page) = (in_language(CAUSES), in_language(PAGE));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_template("causes.html", &causes)?;
    environment.add_template("page.html", &page)?;
    let language = if is_english() { "en" } else { "zh-Hans" };
    let common = context! { css => STYLE, js => SCRIPT, tool_version => env!("CARGO_PKG_VERSION"), language };
    let page = environment.render_str(&in_language(template), merge_maps([context, common]))?;
    Ok(visible_only(&chart::typeset(&page.replacen(CONTENTS, &contents(&page), 1))))
}

/// Links to the sections of a page: each heading with an `id` is listed. Text from outside cannot become a heading,
/// because the template escapes it.
fn contents(page: &str) -> String {
    let heading = |part: &str| {
        let (id, rest) = part.split_once("\">")?;
        let title = rest.split('<').next()?.trim();
        Some(format!("<li><a href=\"#{id}\">{title}</a></li>"))
    };
    let links: String = page.split("<h2 id=\"").skip(1).filter_map(heading).collect();
    format!("<nav class=\"contents\" aria-label=\"Contents\"><ul>{links}</ul></nav>")
}

/// Replaces control characters, so that names from outside cannot reverse text or act on a terminal that shows the
/// source.
fn visible_only(page: &str) -> String {
    page.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { visible(c) }).collect()
}

/// Template values that the report's page and the page of causes share: title, run, machine and causes.
fn around(report: &Report, title: &str, recording: Option<&Path>) -> Value {
    let is_whole = report.cut_off.is_none() && report.write_error.is_none();
    let recording =
        recording.map(|path| format!("{}{}", path.display(), if is_whole { "" } else { tr!(" (incomplete)") }));
    let page = context! {
        title,
        recording,
        tool_version => &report.tool_version,
        measured => words::runs::measured(report),
        causes => explain::section(report),
    };
    merge_maps([machine(report), page])
}

/// Indices of the CPUs that get a time line, in the order of the report.
fn charted(cpus: &[CpuRow]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..cpus.len()).collect();
    places.sort_by_key(|i| std::cmp::Reverse(cpus.get(*i).and_then(|c| c.row.latency_due.max)));
    places.truncate(CHARTED_MAX);
    places.sort_unstable();
    places
}

/// Template values of the page's head: the verdict, whether the run can be trusted, and the next step.
fn head(of: Wording<'_>) -> Value {
    let report = of.report;
    let verdict = words::verdict(report);
    let class = match report.verdict.answer {
        Answer::Held => "held",
        Answer::NotHeld => "missed",
        Answer::Inconclusive => "unsure",
    };
    let reasons: Vec<String> = report.trust.reasons.iter().map(words::distrust).collect();
    let remarks: Vec<String> = report.trust.remarks.iter().map(words::distrust).collect();
    let next = of.steps().into_iter().map(|step| context! { why => step.why, command => step.command.to_string() });
    let all = report.total.as_ref().or(report.cpus.first().map(|cpu| &cpu.row));
    let (view, of) = match all {
        Some(row) if row.skipped > 0 => {
            (row.latency_due, tr!("{releases} due", releases = units::counted(row.due, "release")))
        }
        Some(row) => (row.latency, tr!("{activations} that ran", activations = units::counted(row.ran, "activation"))),
        None => (Percentiles::default(), String::new()),
    };
    let ruler_says =
        tr!("Latency of {of} on {cpus}, on a logarithmic scale.", of, cpus = words::cpus(&report.need.cpus));
    context! {
        verdict => context! { word => verdict.word, class, seen => verdict.seen, bound => verdict.bound, but => verdict.but },
        trust => context! { ok => report.trust.ok(), answer => words::trust_answer(&report.trust), reasons, remarks },
        ruler => chart::ruler(&view, report.need.budget, &ruler_says, false),
        ruler_small => chart::ruler(&view, report.need.budget, &ruler_says, true),
        ruler_says,
        next => next.collect::<Vec<_>>(),
    }
}

/// Template values for the tables of latencies: per CPU, per load phase, and of the worst wake-ups.
fn numbers(report: &Report) -> Value {
    let budget = report.need.budget;
    let many = report.cpus.len() > 1;
    let mut cpus: Vec<Value> = Vec::new();
    for (number, cpu) in report.cpus.iter().enumerate() {
        let (worst, row) = (words::worst_at(cpu), row(cpu.cpu.to_string(), &cpu.row, cpu.earliest, budget));
        cpus.push(if many {
            context! { key => chart::series(number), worst, ..row }
        } else {
            context! { worst, ..row }
        });
    }
    if let Some(total) = &report.total {
        cpus.push(
            context! { worst => "", all => true, ..row(tr!("all").to_owned(), total, report.earliest(), budget) },
        );
    }
    context! {
        cpus,
        asked => words::asked(report),
        scenario => words::scenario(report),
        any_skips => report.cpus.iter().any(|row| !row.skipped.is_empty()),
        differences => report.cpus.iter().filter_map(words::skip_difference).collect::<Vec<_>>(),
        phases => phases(report),
        worst => worst(report),
        claims => claims(report),
        claims_condition => words::claims::condition(),
    }
}

/// `earliest` is by how much an activation preceded its release, which makes the smallest latency negative.
fn row(name: String, row: &LatencyRow, earliest: Option<Nanos>, budget: Option<Nanos>) -> Value {
    context! {
        name,
        all => false,
        due => units::count(row.due),
        ran => units::count(row.ran),
        skipped => units::count(row.skipped),
        skips => row.skipped > 0,
        points => points(&row.latency, earliest, budget),
        points_due => points(&row.latency_due, None, budget),
    }
}

fn points(p: &Percentiles, earliest: Option<Nanos>, budget: Option<Nanos>) -> Vec<Value> {
    let point = |point: Option<Nanos>| {
        let over = budget.is_some_and(|b| point.is_some_and(|p| p > b));
        context! { text => units::column_us(point), over }
    };
    let least = earliest.map_or_else(|| point(p.min), |by| context! { text => units::early_us(by), over => false });
    let others = [p.p50, p.p99, p.p99_9, p.p99_99, p.max].map(point);
    std::iter::once(least).chain(others).collect()
}

fn phases(report: &Report) -> Vec<Value> {
    let mut numbers: Vec<u16> = report.phases.iter().map(|phase| phase.phase).collect();
    numbers.dedup();
    if numbers.len() < 2 && report.spans.len() < 2 {
        return Vec::new();
    }
    let group = |number: &u16| {
        let own: Vec<_> = report.phases.iter().filter(|phase| phase.phase == *number).collect();
        let name = own.first().map_or("", |phase| words::phase_name(&phase.name));
        let title = own.first().map(|phase| words::phase_title(report, phase));
        let span = report.spans.get(usize::from(*number)).filter(|span| words::phase_name(&span.name) == name);
        let rows: Vec<Value> = own.iter().map(|p| row(p.cpu.to_string(), &p.row, None, report.need.budget)).collect();
        context! { name => title, from => span.map(|s| units::moment(s.from)), to => span.map(|s| units::moment(s.to)), rows }
    };
    numbers.iter().map(group).collect()
}

fn claims(report: &Report) -> Vec<Value> {
    let phase = |phase: &PhaseClaims| {
        let name = words::phase_name(&report.phase_name(phase.phase)).to_owned();
        context! { name, cpus => words::cpus(&phase.cpus), lines => words::claims::claims(phase) }
    };
    report.claims.phases.iter().filter(|phase| phase.due > 0).map(phase).collect()
}

fn worst(report: &Report) -> Vec<Value> {
    let rows = report.worst.iter().map(|row| {
        let activation = &row.activation;
        let [switches, faults, moves] = [activation.involuntary_switches, activation.faults, activation.migrations]
            .map(|n| units::count(u64::from(n)));
        context! {
            late => units::latency(activation.latency()),
            over => report.need.budget.is_some_and(|b| activation.latency() > b),
            cpu => row.cpu,
            at => units::moment(row.at),
            load => words::phase_name(&row.phase),
            woke_on => activation.cpu,
            switches,
            faults,
            moves,
            over_time => units::duration(activation.counted_over),
        }
    });
    rows.collect()
}

fn figures(report: &Report, charted: &[usize]) -> Value {
    let budget = report.need.budget;
    let shapes = chart::Shape::of_cpus(&report.cpus);
    let rows = || charted.iter().filter_map(|i| report.cpus.get(*i).map(|cpu| (*i, cpu)));
    let separate: Vec<Value> = rows()
        .filter_map(|(number, cpu)| {
            let svg = chart::histogram(&shapes, &[number], budget, true)?;
            let largest = cpu.row.latency.max.map_or_else(|| units::ABSENT.to_owned(), units::latency);
            Some(context! { cpu => cpu.cpu, key => chart::series(number), largest, svg })
        })
        .collect();
    let with_points: Vec<(usize, &CpuRow)> =
        rows().filter(|(_, cpu)| report.timeline.iter().any(|p| p.cpu == cpu.cpu)).collect();
    let last = with_points.len().saturating_sub(1);
    let timelines: Vec<Value> = with_points
        .iter()
        .enumerate()
        .filter_map(|(i, (number, cpu))| {
            let svg = chart::timeline(report, *number, chart::reach(report)?, i == 0, i == last)?;
            Some(context! { cpu => cpu.cpu, svg })
        })
        .collect();
    let left_out = report.cpus.len().saturating_sub(charted.len());
    let note =
        tr!("Drawn are the {charted} CPUs with the largest latency; the table has all.", charted = charted.len());
    context! {
        overlaid => chart::histogram(&shapes, charted, budget, false),
        overlaid_small => chart::histogram(&shapes, charted, budget, true),
        exceedance => exceedance(report),
        band => plot::band(),
        separate,
        timelines,
        charted => if left_out > 0 { note } else { String::new() },
    }
}

fn exceedance(report: &Report) -> Option<String> {
    let all = chart::Shape::of_counts(0, words::cpus(&report.need.cpus), &plot::together(report).0);
    chart::exceedance(&[all], report.need.budget)
}

/// Template values about the machine, and about events and loads of the run.
fn machine(report: &Report) -> Value {
    let events = report.events.iter().map(|e| format!("{}: {}", units::moment(e.at), words::event(e)));
    let loads = report.loads.iter().map(|load| {
        context! {
            name => &load.name, phase => load.phase, cpus => words::cpus(&load.cpus), achieved => words::achieved(load),
        }
    });
    let facts = report.machine.iter().map(|line| context! { name => text(&line.name), value => said(&line.value) });
    context! {
        machine => facts.collect::<Vec<_>>(),
        ending => words::ending(report),
        events => events.collect::<Vec<_>>(),
        notes => words::runs::notes(report),
        loads => loads.collect::<Vec<_>>(),
        loads_skipped => report.loads_skipped.iter().map(|load| context! { name => &load.name, because => said(&load.because) }).collect::<Vec<_>>(),
    }
}

fn findings(report: &Report) -> Value {
    let bad = words::standing_in_the_way(report).into_iter().filter(|finding| finding.state == State::Bad);
    let unknown = words::by_reason(&report.findings);
    let unknown = unknown.into_iter().map(|alike| {
        let ids: Vec<String> = alike.ids().into_iter().map(str::to_owned).collect();
        context! { ids, reason => alike.what }
    });
    let otherwise = words::otherwise(&report.findings).into_iter().map(|alike| {
        context! { heading => alike.what, count => alike.findings.len(), families => words::by_family(&alike.findings) }
    });
    context! {
        findings_counted => words::findings_counted(&report.findings),
        standing => bad.map(finding).collect::<Vec<_>>(),
        unknown => unknown.collect::<Vec<_>>(),
        otherwise => otherwise.collect::<Vec<_>>(),
    }
}

fn finding(finding: &Finding) -> Value {
    let (class, word) = match (&finding.state, finding.severity) {
        (State::Bad, Severity::Fatal | Severity::High) => ("bad", words::severity(finding.severity)),
        (State::Bad, _) => ("doubt", words::severity(finding.severity)),
        (State::Good, _) => ("good", words::state(&finding.state)),
        (State::Unknown(_) | State::Advice(_) | State::NotApplicable(_), _) => ("doubt", words::state(&finding.state)),
    };
    let evidence = finding.evidence.iter().map(|e| context! { source => said(&e.source), value => said(&e.value) });
    context! {
        class,
        word,
        folded => finding.severity < Severity::High,
        meaning => words::severity_meaning(finding.severity),
        title => words::title(finding),
        id => &finding.id,
        because => finding.state.because().map(said),
        evidence => evidence.collect::<Vec<_>>(),
        why => said(&finding.why),
        fix => said(&finding.fix),
        cost => said(&finding.cost),
        sure => words::confidence(finding.confidence),
    }
}

/// Template values: what the kernel granted each thread, and settings before, during and after the run.
fn settings(report: &Report) -> Value {
    let threads = report.threads.iter().map(|thread| {
        let warm_up = report.warm_up.iter().find(|w| w.cpu == thread.cpu).map_or_else(
            || units::ABSENT.to_owned(),
            |w| {
                tr!(
                    "{activations}, the largest {max}",
                    activations = units::counted(w.activations, "activation"),
                    max = units::latency(w.max)
                )
            },
        );
        context! {
            cpu => thread.cpu,
            tid => thread.tid,
            policy => words::policy(thread.policy),
            affinity => words::cpus(&thread.affinity),
            locked => if thread.memory_locked { tr!("yes") } else { tr!("no") },
            warm_up,
        }
    });
    context! {
        threads => threads.collect::<Vec<_>>(),
        housekeeping => words::cpus(&report.housekeeping),
        in_force => in_force(report),
    }
}

fn in_force(report: &Report) -> Option<Value> {
    if report.in_force.is_empty() {
        return None;
    }
    let mut paths: Vec<&str> = Vec::new();
    for line in report.in_force.iter().flat_map(|state| &state.values) {
        if !paths.contains(&line.name.as_str()) {
            paths.push(&line.name);
        }
    }
    let row = |path: &&str| {
        let read: Vec<Option<&str>> =
            report.in_force.iter().map(|state| MachineLine::of(&state.values, path)).collect();
        let mut known = read.iter().flatten();
        let first = known.next();
        let changed = known.any(|value| Some(value) != first);
        let values: Vec<String> = read.iter().map(|value| value.unwrap_or(tr!("not read")).to_owned()).collect();
        context! { path => *path, values, changed }
    };
    let moments: Vec<&str> = report.in_force.iter().map(|state| words::moment(state.moment)).collect();
    Some(context! { moments, rows => paths.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests;
