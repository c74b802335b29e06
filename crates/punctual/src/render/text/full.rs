//! The text that `--full` prints: every value of the report that fits a table, and the answer in the last lines.

use super::{section, short};
use crate::render::clean::shortened;
use crate::render::lang::{said, tr};
use crate::render::sheet::{Sheet, Style, table::Table};
use crate::render::words::next::{Reader, Wording};
use crate::render::words::{Alike, Changed};
use crate::render::{explain, units, words};
use punctual_facts::finding::State;
use punctual_hist::Nanos;
use punctual_numbers::report::{Percentiles, Report, SkippedLoad};
use std::path::Path;

/// Selects one value from a set of percentiles, for example the median.
type Point = fn(&Percentiles) -> Option<Nanos>;

pub fn full(report: &Report, reader: &Reader, paths: [Option<&Path>; 2], style: Style) -> String {
    let mut sheet = Sheet::new(style);
    run(&mut sheet, report);
    section::machine(&mut sheet, report, usize::MAX);
    section::verdict(&mut sheet, report);
    section::trust(&mut sheet, report);
    section::latencies(&mut sheet, report);
    by_core(&mut sheet, report);
    phases(&mut sheet, report);
    claims(&mut sheet, report);
    worst(&mut sheet, report);
    explain::short(&mut sheet, report, paths[0], style.width.max(40));
    events(&mut sheet, report);
    loads(&mut sheet, report);
    threads(&mut sheet, report);
    in_force(&mut sheet, report);
    findings(&mut sheet, report);
    section::all_next(&mut sheet, Wording { report, reader, recording: paths[0] });
    short::answer(&mut sheet, report, reader, paths);
    sheet.finish()
}

fn run(sheet: &mut Sheet, report: &Report) {
    sheet.heading(&tr!(
        "{report} by punctual {tool_version}",
        report = words::runs::measured(report),
        tool_version = report.tool_version
    ));
    sheet.paragraph(2, &words::ending(report));
    section::notes(sheet, report);
}

/// Prints the latencies with one column for each CPU, as vendors of boards print them.
fn by_core(sheet: &mut Sheet, report: &Report) {
    if report.cpus.is_empty() {
        return;
    }
    sheet.heading(tr!("Latencies by core (in us, of the activations that ran)"));
    let cpus = report.cpus.iter().map(|c| tr!(">CPU{cpu}", cpu = c.cpu));
    let columns: Vec<String> = std::iter::once(tr!("<Latencies \\ Core").to_owned()).chain(cpus).collect();
    let mut table = Table::new(&columns);
    let mut line = |name: &str, cells: Vec<String>| table.row(std::iter::once(name.to_owned()).chain(cells));
    line(tr!("Total"), report.cpus.iter().map(|c| units::count(c.row.ran)).collect());
    let points: [(&str, Point); 3] = [(tr!("Min"), |p| p.min), (tr!("Avg"), |p| p.mean), (tr!("Max"), |p| p.max)];
    for (name, point) in points {
        line(name, report.cpus.iter().map(|c| units::exact_us(point(&c.row.latency))).collect());
    }
    sheet.table(&table);
}

fn phases(sheet: &mut Sheet, report: &Report) {
    if report.phases.is_empty() {
        return;
    }
    sheet.heading(tr!("By load phase (latency in us)"));
    sheet.table(&section::phase_table(report, report.phases.iter()));
    for span in &report.spans {
        let (from, to) = (units::moment(span.from), units::moment(span.to));
        sheet.point(2, &tr!("{span}: from {from} to {to}", span = words::phase_name(&span.name), from, to));
    }
}

fn worst(sheet: &mut Sheet, report: &Report) {
    if report.worst.is_empty() {
        return;
    }
    sheet.heading(tr!("Worst wake-ups"));
    let mut table = Table::new(&[
        tr!(">latency"),
        tr!(">CPU"),
        tr!(">woke on"),
        tr!(">released at"),
        tr!(">switches"),
        tr!(">faults"),
        tr!(">moves"),
        tr!(">counted over"),
        tr!("<load"),
    ]);
    for row in &report.worst {
        let a = &row.activation;
        let numbers = [a.involuntary_switches, a.faults, a.migrations].map(|n| units::count(u64::from(n)));
        let place = [units::latency(a.latency()), row.cpu.to_string(), a.cpu.to_string(), units::moment(row.at)];
        let rest = [units::duration(a.counted_over), words::phase_name(&row.phase).to_owned()];
        table.row(place.into_iter().chain(numbers).chain(rest));
    }
    sheet.table(&table);
    sheet.paragraph(
        2,
        tr!(
            "Switches, faults and moves are those of the thread in the time under \"counted over\", which ends at the \
            wake-up."
        ),
    );
}

/// Prints what the run allows to claim beyond the measured values.
fn claims(sheet: &mut Sheet, report: &Report) {
    if report.claims.phases.iter().all(|phase| phase.due == 0) {
        return;
    }
    sheet.heading(tr!("What this run can claim"));
    for phase in report.claims.phases.iter().filter(|phase| phase.due > 0) {
        let name = report.phase_name(phase.phase);
        sheet.paragraph(2, &format!("{}, {}:", words::phase_name(&name), words::cpus(&phase.cpus)));
        for line in words::claims::claims(phase) {
            sheet.point(2, &line);
        }
    }
    sheet.paragraph(2, &words::claims::condition());
}

fn events(sheet: &mut Sheet, report: &Report) {
    sheet.heading(tr!("What happened to the machine"));
    for event in &report.events {
        sheet.point(2, &format!("{}: {}", units::moment(event.at), words::event(event)));
    }
    if report.events.is_empty() {
        sheet.paragraph(2, tr!("No event was seen."));
    }
}

fn loads(sheet: &mut Sheet, report: &Report) {
    if report.loads.is_empty() && report.loads_skipped.is_empty() {
        return;
    }
    sheet.heading(tr!("Loads"));
    let mut table = Table::new(&[tr!("<load"), tr!(">phase"), tr!("<ran on"), tr!("<achieved")]);
    for load in &report.loads {
        table.row([load.name.clone(), load.phase.to_string(), words::cpus(&load.cpus), words::achieved(load)]);
    }
    if !report.loads.is_empty() {
        sheet.table(&table);
    }
    for SkippedLoad { name, because: why } in &report.loads_skipped {
        sheet.point(2, &tr!("{name} was left out: {why}", name, why = said(why)));
    }
}

fn threads(sheet: &mut Sheet, report: &Report) {
    sheet.heading(tr!("Measuring threads, as the kernel granted them"));
    let mut table =
        Table::new(&[tr!(">CPU"), tr!(">thread"), tr!("<policy"), tr!("<may run on"), tr!("<memory locked")]);
    for thread in &report.threads {
        let locked = if thread.memory_locked { tr!("yes") } else { tr!("no") }.to_owned();
        let (cpu, tid) = (thread.cpu.to_string(), thread.tid.to_string());
        table.row([cpu, tid, words::policy(thread.policy), words::cpus(&thread.affinity), locked]);
    }
    if !report.threads.is_empty() {
        sheet.table(&table);
    }
    sheet.paragraph(
        2,
        &tr!("Threads of punctual itself ran on {housekeeping}.", housekeeping = words::cpus(&report.housekeeping)),
    );
    for warm_up in &report.warm_up {
        let activations = units::counted(warm_up.activations, "activation");
        let max = units::latency(warm_up.max);
        sheet.point(
            2,
            &tr!(
                "Warm-up of CPU {cpu}, not in the statistics: {activations}, the largest latency {max}",
                cpu = warm_up.cpu,
                activations,
                max
            ),
        );
    }
}

fn in_force(sheet: &mut Sheet, report: &Report) {
    let Some(first) = report.in_force.first() else { return };
    sheet.heading(tr!("Settings in force"));
    sheet.paragraph(2, &tr!("Read {moment} the run:", moment = words::moment(first.moment)));
    for line in &first.values {
        sheet.point(2, &format!("{} = {}", line.name, shortened(&line.value, 400)));
    }
    for (before, after) in report.in_force.iter().zip(report.in_force.iter().skip(1)) {
        let changed = words::changed_between(before, after);
        let moment = words::moment(after.moment);
        if changed.is_empty() {
            sheet.paragraph(2, &tr!("Read again {moment} the run: nothing had changed.", moment));
            continue;
        }
        sheet.paragraph(2, &tr!("Read again {moment} the run, changed:", moment));
        for Changed { path, was, is } in changed {
            sheet.point(2, &format!("{path}: {was} -> {is}"));
        }
    }
}

/// Prints bad findings in full, and counts of all others.
fn findings(sheet: &mut Sheet, report: &Report) {
    sheet.heading(&tr!("Findings ({findings})", findings = words::findings_counted(&report.findings)));
    for finding in words::standing_in_the_way(report).into_iter().filter(|finding| finding.state == State::Bad) {
        section::finding(sheet, finding);
    }
    let reasons = words::by_reason(&report.findings);
    if !reasons.is_empty() {
        sheet.paragraph(2, tr!("Unknown:"));
    }
    for alike in reasons {
        sheet.point(2, &format!("{}: {}", alike.ids().join(", "), said(alike.what)));
    }
    for Alike { what, findings } in words::otherwise(&report.findings) {
        sheet.paragraph(2, &format!("{what}: {}.", words::by_family(&findings)));
    }
}
