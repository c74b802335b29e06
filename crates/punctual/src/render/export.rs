//! A run in a format of somebody else. Most are made by `punctual_numbers`; `JUnit` XML is made here, where that of audits and
//! comparisons is made as well.

#[cfg(feature = "parquet")]
pub mod parquet;

use super::junit::{Case, Document, Status, Suite};
use super::units;
use crate::cli::ExportFormat;
use anyhow::{Result, bail};
use punctual_hist::Nanos;
use punctual_numbers::export::{Gate, csv, cyclictest, doubts, gate, gnuplot, hdr, ktap, lava, prometheus, rt_tests};
use punctual_numbers::foreign::{ForeignRun, Series};

/// The text of the format.
pub fn text(format: ExportFormat, run: &ForeignRun, budget: Option<Nanos>) -> Result<String> {
    Ok(match format {
        ExportFormat::Cyclictest => cyclictest(run)?,
        ExportFormat::RtTestsJson => rt_tests(run)?,
        ExportFormat::Gnuplot => gnuplot(run)?,
        ExportFormat::Csv => csv(run)?,
        ExportFormat::Hdr => hdr(run)?,
        ExportFormat::Prometheus => prometheus(run)?,
        ExportFormat::Ktap => ktap(run, budget),
        ExportFormat::Lava => lava(run, budget),
        ExportFormat::Junit => junit(run, budget)?,
        ExportFormat::Parquet => bail!("Parquet is no text"),
    })
}

/// `JUnit` XML: one case for each series, with its numbers as its output: properties of a case are in no schema.
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
        // Not even wrong: an error is no pass with any reader.
        Gate::Doubted(why) => Status::broken(format!("the numbers are doubted: {why}")),
        Gate::NoBudget => skipped("no budget was stated"),
        Gate::Nothing => skipped("nothing was measured"),
        Gate::NoMaximum => skipped("no maximum is known"),
    };
    let at = |ppm: u32| series.percentile_ppm(ppm);
    let lengths = [
        ("min_ns", series.smallest()),
        ("mean_ns", series.mean),
        ("p50_ns", at(500_000)),
        ("p99_ns", at(990_000)),
        ("p99_9_ns", at(999_000)),
        ("p99_99_ns", at(999_900)),
        ("due_p99_9_ns", series.due_percentile_ppm(999_000)),
        ("due_p99_99_ns", series.due_percentile_ppm(999_900)),
        ("max_ns", series.largest()),
    ];
    let lengths = lengths.into_iter().filter_map(|(name, length)| Some((name, length?.as_ns())));
    let counts = [("ran", series.count()), ("skipped", series.skipped)];
    let counts = counts.into_iter().filter_map(|(name, count)| Some((name, count?)));
    let lines: Vec<String> = counts.chain(lengths).map(|(name, value)| format!("{name} {value}")).collect();
    let class = "punctual.latency".to_owned();
    Case { name: series.label.clone(), class, status, output: Some(lines.join("\n")) }
}
