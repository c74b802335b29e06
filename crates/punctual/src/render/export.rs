//! Writes a run in the format of another program. `punctual_numbers` holds most formats; `JUnit` XML is made here, as
//! for audits and comparisons.

#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "parquet")]
pub mod table;

use super::clean::ascii;
use super::junit::{Case, Document, Status, Suite};
use super::{units, words};
use crate::cli::ExportFormat;
use anyhow::{Result, bail};
use punctual_hist::Nanos;
use punctual_numbers::export::{
    Gate, csv, cyclictest, doubts, gate, gnuplot, hdr, influx, ktap, lava, prometheus, rt_tests,
};
use punctual_numbers::foreign::{ForeignRun, Series};
use punctual_numbers::report::{DUE_WANTED, PhaseRow, Report};

pub fn text(format: ExportFormat, run: &ForeignRun, budget: Option<Nanos>) -> Result<String> {
    Ok(match format {
        ExportFormat::Cyclictest => cyclictest(run)?,
        ExportFormat::RtTestsJson => rt_tests(run)?,
        ExportFormat::Gnuplot => gnuplot(run)?,
        ExportFormat::Csv => csv(run)?,
        ExportFormat::Hdr => hdr(run)?,
        ExportFormat::Prometheus => prometheus(run)?,
        ExportFormat::Influx => influx(run, None),
        ExportFormat::Ktap => ktap(run, budget),
        ExportFormat::Lava => lava(run, budget),
        ExportFormat::Junit => junit(run, budget)?,
        ExportFormat::Parquet => bail!("Parquet is no text"),
    })
}

/// Class name of every `JUnit` case. CI systems group cases by it.
const CLASS: &str = "punctual.latency";

/// A report as `JUnit` XML: one case for each CPU and load phase, without the phases that were traced for causes alone.
/// A case without misses is an error instead of a pass if a doubt may have hidden latency.
pub fn report(report: &Report) -> Result<String> {
    let mut doubts: Vec<String> =
        report.trust.reasons.iter().filter(|doubt| doubt.direction().hides()).map(words::distrust).collect();
    if report.verdict.due < DUE_WANTED {
        let due = units::counted(report.verdict.due, "release");
        doubts.push(format!("Only {due} came due, too few for a verdict."));
    }
    let doubts = ascii(&doubts.join(" "));
    let counts = |row: &PhaseRow| !(report.traced_apart() && report.traced(row.phase));
    let mut cases: Vec<Case> =
        report.phases.iter().filter(|row| counts(row)).map(|row| of_phase(report, row, &doubts)).collect();
    let idle = report.cpus.iter().filter(|cpu| !report.phases.iter().any(|row| row.cpu == cpu.cpu));
    cases.extend(idle.map(|cpu| Case {
        name: format!("CPU {}", cpu.cpu),
        class: CLASS.to_owned(),
        status: Status::broken("it has no samples at all".to_owned()),
        output: None,
    }));
    let suite = Suite { name: "latency".to_owned(), properties: report.machine.clone(), cases };
    Ok(Document { name: "punctual", suites: vec![suite] }.text()?)
}

fn of_phase(report: &Report, of: &PhaseRow, doubts: &str) -> Case {
    let PhaseRow { cpu, name, row, .. } = of;
    let missed = row.skipped.saturating_add(row.over_budget);
    let status = match report.need.budget {
        None => Status::Skipped(Some("no budget was stated".to_owned())),
        Some(budget) if missed > 0 => {
            let budget = ascii(&units::latency(budget));
            let doubts = if doubts.is_empty() { String::new() } else { format!("; doubted: {doubts}") };
            Status::failed(format!("{missed} missed a budget of {budget}{doubts}"))
        }
        Some(_) if row.ran == 0 => Status::broken("it has no samples at all".to_owned()),
        Some(_) if !doubts.is_empty() => Status::broken(format!("the numbers are doubted: {doubts}")),
        Some(_) => Status::Passed,
    };
    let (ran, due) = (&row.latency, &row.latency_due);
    let lengths = [ran.min, ran.mean, ran.p50, ran.p99, ran.p99_9, ran.p99_99, due.p99_9, due.p99_99, ran.max];
    let output = Some(numbers(Some(row.ran), Some(row.skipped), lengths));
    Case { name: format!("CPU {cpu}, {}", words::phase_name(name)), class: CLASS.to_owned(), status, output }
}

/// The numbers that are known, one per line.
fn numbers(ran: Option<u64>, skipped: Option<u64>, lengths: [Option<Nanos>; 9]) -> String {
    let names = ["min", "mean", "p50", "p99", "p99_9", "p99_99", "due_p99_9", "due_p99_99", "max"];
    let lengths = names.iter().zip(lengths).filter_map(|(name, length)| Some(format!("{name}_ns {}", length?.as_ns())));
    let counts = [("ran", ran), ("skipped", skipped)];
    let counts = counts.into_iter().filter_map(|(name, count)| Some(format!("{name} {}", count?)));
    counts.chain(lengths).collect::<Vec<_>>().join("\n")
}

/// A foreign run as `JUnit` XML: one case for each series. Its numbers are the case's output, because the schemas have
/// no properties of a case.
fn junit(run: &ForeignRun, budget: Option<Nanos>) -> Result<String> {
    let properties = run.machine.clone();
    let cases = run.series.iter().map(|series| case(run, series, budget)).collect();
    let suite = Suite { name: "latency".to_owned(), properties, cases };
    Ok(Document { name: "punctual", suites: vec![suite] }.text()?)
}

fn case(run: &ForeignRun, series: &Series, budget: Option<Nanos>) -> Case {
    let skipped = |why: &str| Status::Skipped(Some(why.to_owned()));
    let doubted: Vec<String> = doubts(run, series).map(|doubt| format!("; doubted: {doubt}")).collect();
    let doubted = doubted.concat();
    let status = match gate(run, series, budget) {
        Gate::Held => Status::Passed,
        Gate::Missed { count, at_least } => {
            let budget = units::latency(budget.unwrap_or_default());
            let at_least = if at_least { "at least " } else { "" };
            Status::failed(format!("{at_least}{count} missed a budget of {budget}{doubted}"))
        }
        // No verdict is possible. The case is an error, because no reader of JUnit takes an error for a pass.
        Gate::Doubted(why) => Status::broken(format!("the numbers are doubted: {why}")),
        Gate::NoBudget => skipped("no budget was stated"),
        Gate::Nothing => skipped("nothing was measured"),
        Gate::NoMaximum => skipped("no maximum is known"),
    };
    let at = |ppm: u32| series.percentile_ppm(ppm);
    let due = |ppm: u32| series.due_percentile_ppm(ppm);
    let [p50, p99, p99_9, p99_99] = [500_000, 990_000, 999_000, 999_900].map(at);
    let (min, max) = (series.smallest(), series.largest());
    let lengths = [min, series.mean, p50, p99, p99_9, p99_99, due(999_000), due(999_900), max];
    let output = Some(numbers(series.count(), series.skipped, lengths));
    Case { name: series.label.clone(), class: CLASS.to_owned(), status, output }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;

    #[test]
    fn junit_has_a_case_for_each_cpu_and_load_phase() {
        let text = |of: &Report| report(of).unwrap();
        let held = text(&sample::two_cpus());
        assert!(held.contains("tests=\"4\" failures=\"0\" errors=\"0\""), "{held}");
        for name in ["CPU 0, idle", "CPU 1, idle", "CPU 0, cpu+memory+io-write+switch+net"] {
            assert!(held.contains(&format!("<testcase name=\"{name}\"")), "{name}: {held}");
        }
        assert!(held.contains("ran 10000\nskipped 0\nmin_ns "), "{held}");
        // One load did not run, so the run is doubted: cases with misses fail, and the case without misses is an error.
        let missed = text(&sample::skipped());
        assert!(missed.contains("tests=\"4\" failures=\"3\" errors=\"1\""), "{missed}");
        assert!(
            missed.contains("60 missed a budget of 50 us; doubted: Load graphics did not run as asked"),
            "{missed}"
        );
        assert!(text(&sample::no_budget()).contains("<skipped message=\"no budget was stated\"/>"));
        let empty = text(&sample::empty());
        assert!(empty.contains("<testcase name=\"CPU 0\"") && empty.contains("no samples at all"), "{empty}");
    }
}
