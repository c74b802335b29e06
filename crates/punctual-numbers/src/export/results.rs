//! Writes results as lines: KTAP as tests of the kernel print it, and the signals that LAVA collects from a console.

use super::gate::{Gate, doubts, gate};
use super::{names, one_line};
use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;
use std::fmt::Write as _;

/// KTAP, version 1: one test for each series, which passes if the series held the budget for certain.
pub fn ktap(run: &ForeignRun, budget: Option<Nanos>) -> String {
    let mut text = format!("KTAP version 1\n1..{}\n", run.series.len());
    for (index, (series, name)) in run.series.iter().zip(names(run, id)).enumerate() {
        let case = format!("{} latency.{name}", index.saturating_add(1));
        let numbers = numbers(series);
        for doubt in doubts(run, series) {
            let _ = writeln!(text, "# doubted: {}", one_line(doubt));
        }
        let _ = match gate(run, series, budget) {
            Gate::Held => writeln!(text, "# {numbers}\nok {case}"),
            Gate::Missed { count, at_least } => {
                let at_least = if at_least { " at least" } else { "" };
                writeln!(text, "# {numbers}, {count} missed{at_least}\nnot ok {case}")
            }
            Gate::Doubted(_) => writeln!(text, "# {numbers}\nnot ok {case} # ERROR the numbers are doubted"),
            Gate::NoBudget => writeln!(text, "# {numbers}\nok {case} # SKIP no budget"),
            Gate::Nothing => writeln!(text, "ok {case} # SKIP nothing was measured"),
            Gate::NoMaximum => writeln!(text, "# {numbers}\nok {case} # SKIP no maximum is known"),
        };
    }
    text
}

/// Signals of LAVA: the percentiles and extremes of each series as measurements, and whether the series held the
/// budget. The result of a doubtful series is `unknown`, and an extra line states the reason.
pub fn lava(run: &ForeignRun, budget: Option<Nanos>) -> String {
    let mut text = String::new();
    for (series, name) in run.series.iter().zip(names(run, id)) {
        let mut known = "pass";
        for doubt in doubts(run, series) {
            known = "unknown";
            let _ = writeln!(text, "{name} is doubted: {}", one_line(doubt));
        }
        let points = [
            ("min", series.smallest()),
            ("avg", series.mean),
            ("p99", series.percentile_ppm(990_000)),
            ("p99.9", series.percentile_ppm(999_000)),
            ("p99.99", series.percentile_ppm(999_900)),
            ("p99.9-due", series.due_percentile_ppm(999_000)),
            ("p99.99-due", series.due_percentile_ppm(999_900)),
            ("max", series.largest()),
        ];
        for (point, value) in points {
            let Some(value) = value else { continue };
            let (whole, ns) = (value.as_ns() / 1_000, value.as_ns() % 1_000);
            let _ = writeln!(
                text,
                "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name}-{point}-latency RESULT={known} UNITS=us MEASUREMENT={whole}.{ns:03}>"
            );
        }
        let result = match gate(run, series, budget) {
            Gate::Held => "pass",
            Gate::Missed { .. } => "fail",
            Gate::Doubted(_) => "unknown",
            Gate::NoBudget => continue,
            Gate::Nothing | Gate::NoMaximum => "skip",
        };
        let _ = writeln!(text, "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name}-within-budget RESULT={result}>");
    }
    text
}

fn numbers(series: &Series) -> String {
    let count = series.count().map_or("unknown".to_owned(), |count| count.to_string());
    let max = series
        .largest()
        .map_or("unknown".to_owned(), |max| format!("{}.{:03} us", max.as_ns() / 1_000, max.as_ns() % 1_000));
    format!("largest of {count}: {max}")
}

/// Turns a label into a name of letters, digits, dots and underscores, because blanks and `#` end a name in both
/// formats.
fn id(label: &str) -> String {
    let id = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '_' };
    label.chars().map(id).collect()
}
