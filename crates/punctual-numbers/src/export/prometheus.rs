//! Writes Prometheus text 0.0.4 for the textfile collector, with classic buckets in seconds. The text is valid
//! `OpenMetrics` as well.
//!
//! `OpenMetrics` 1.0 requires `_count` if and only if there is a `_sum`. If a file states no mean, the sum is computed
//! from the upper edges of its cells; if these are unknown, too, both are left out. A cell is counted in the first
//! bucket that contains the whole cell, so that no bucket counts values that may lie above it. There are no timestamps,
//! because the collector refuses them.

use super::{NotExported, has_histogram};
use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;
use std::fmt::Write as _;

/// Upper edges of the buckets; one more bucket, which is not listed, reaches to infinity.
pub const BUCKETS_NS: [u64; 12] =
    [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000];

/// Quantiles of a summary, in millionths.
pub const QUANTILES_PPM: [u32; 5] = [500_000, 990_000, 999_000, 999_900, 999_990];

type Point = fn(&Series) -> Option<Nanos>;

pub fn prometheus(run: &ForeignRun) -> Result<String, NotExported> {
    has_histogram(run)?;
    let mut text = String::new();
    head(&mut text, "punctual_latency_seconds", "histogram", "Latency of the activations that ran");
    for series in &run.series {
        buckets(&mut text, series);
    }
    summary(&mut text, &run.series);
    let gauges: [(&str, &str, Point); 4] = [
        ("punctual_latency_min_seconds", "Smallest latency", Series::smallest),
        ("punctual_latency_max_seconds", "Largest latency of the activations that were counted", Series::largest),
        ("punctual_latency_p999_seconds", "99.9 % of the activations were not later", |s| s.percentile_ppm(999_000)),
        ("punctual_latency_p9999_seconds", "99.99 % of the activations were not later", |s| s.percentile_ppm(999_900)),
    ];
    for (name, help, of) in gauges {
        let values = run.series.iter().filter_map(|series| Some((series, seconds(of(series)?))));
        metric(&mut text, (name, "gauge", help), values);
    }
    let skipped = run.series.iter().filter_map(|series| Some((series, series.skipped?.to_string())));
    metric(&mut text, ("punctual_skipped_releases", "gauge", "Releases that passed without running"), skipped);
    if let Some(duration) = run.duration {
        head(&mut text, "punctual_run_duration_seconds", "gauge", "Length of the measurement");
        let _ = writeln!(text, "punctual_run_duration_seconds {}", seconds(duration.length));
    }
    // This line is a comment in Prometheus text, and marks the end of the text in OpenMetrics.
    text.push_str("# EOF\n");
    Ok(text)
}

pub(super) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn metric<'a>(
    text: &mut String,
    (name, kind, help): (&str, &str, &str),
    values: impl Iterator<Item = (&'a Series, String)>,
) {
    let values: Vec<(&Series, String)> = values.collect();
    if !values.is_empty() {
        head(text, name, kind, help);
    }
    for (series, value) in values {
        let _ = writeln!(text, "{name}{{{}}} {value}", labels(series));
    }
}

fn buckets(text: &mut String, series: &Series) {
    let labels = labels(series);
    for edge in BUCKETS_NS {
        let within = series.cells.iter().filter(|cell| cell.high.as_ns() <= edge);
        let count = within.fold(0u64, |sum, cell| sum.saturating_add(cell.count));
        let le = seconds(Nanos::from_ns(edge));
        let _ = writeln!(text, "punctual_latency_seconds_bucket{{{labels},le=\"{le}\"}} {count}");
    }
    let count = series.counted();
    let _ = writeln!(text, "punctual_latency_seconds_bucket{{{labels},le=\"+Inf\"}} {count}");
    if let Some(sum) = sum(series) {
        let _ = writeln!(text, "punctual_latency_seconds_sum{{{labels}}} {}", seconds(sum));
        let _ = writeln!(text, "punctual_latency_seconds_count{{{labels}}} {count}");
    }
}

/// The quantiles that the series state or that lie within their cells.
fn summary(text: &mut String, all: &[Series]) {
    let name = "punctual_latency_quantiles_seconds";
    head(text, name, "summary", "Quantiles of the latency");
    for series in all {
        let labels = labels(series);
        for ppm in QUANTILES_PPM {
            let quantile = seconds(Nanos::from_us(u64::from(ppm)));
            if let Some(value) = series.percentile_ppm(ppm) {
                let _ = writeln!(text, "{name}{{{labels},quantile=\"{quantile}\"}} {}", seconds(value));
            }
        }
        if let Some(sum) = sum(series) {
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", seconds(sum));
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", series.counted());
        }
    }
}

/// The sum of all values, computed from the stated mean, or else from the upper edges of the cells; `None` if values
/// lie in no cell and no maximum is stated.
fn sum(series: &Series) -> Option<Nanos> {
    let product = |value: Nanos, count: u64| u128::from(value.as_ns()).saturating_mul(u128::from(count));
    let sum = match (series.mean, series.beyond) {
        (Some(mean), _) => product(mean, series.counted()),
        (None, beyond) => {
            let top = series.top();
            let beyond = beyond.map_or(Some(0), |beyond| Some(product(top?, beyond.count)))?;
            let cells = series.cells.iter().map(|cell| product(cell.end(top), cell.count));
            cells.fold(beyond, u128::saturating_add)
        }
    };
    Some(Nanos::from_ns(u64::try_from(sum).unwrap_or(u64::MAX)))
}

fn labels(series: &Series) -> String {
    let cpu = series.cpu.map_or_else(String::new, |cpu| format!(",cpu=\"{cpu}\""));
    let context =
        series.context.as_ref().map_or_else(String::new, |context| format!(",context=\"{}\"", escaped(context)));
    format!("series=\"{}\"{cpu}{context}", escaped(&series.label))
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Formats a length as the exact number of seconds, without an exponent.
pub(super) fn seconds(length: Nanos) -> String {
    let text = format!("{}.{:09}", length.as_ns() / 1_000_000_000, length.as_ns() % 1_000_000_000);
    let text = text.trim_end_matches('0');
    text.trim_end_matches('.').to_owned()
}
