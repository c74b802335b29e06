//! The result of another program as JSON: the document `punctual/import/2`, which `report` prints for such a file.
//!
//! The document has no verdict and says nothing about trust, because a foreign file lacks the data for both.

use crate::render::document::{self, Published};
use punctual_hist::Nanos;
use punctual_numbers::claims::SeriesClaims;
use punctual_numbers::foreign::{ForeignRun, Series, total};
use punctual_numbers::report::Percentiles;
use serde::Serialize;
use std::path::Path;

/// The result of another program, read from its file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    file: String,
    #[serde(flatten)]
    run: &'a ForeignRun,
    /// Numbers of each CPU, thread or context of the file.
    cpus: Vec<Numbers<'a>>,
    /// Numbers of all series together; null if they cannot be added.
    total: Option<Numbers<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Numbers<'a> {
    #[serde(flatten)]
    series: &'a Series,
    /// Number of values in the series; null if unknown.
    ran: Option<u64>,
    latency_ns: Percentiles,
    /// Percentiles above the last cell of the file's histogram, where values were only counted: each with its lower
    /// bound.
    latency_at_least: Vec<AtLeast>,
    /// What can be claimed beyond the measured values; null if the file has no cells.
    claims: Option<SeriesClaims>,
}

/// A percentile of which only a lower bound is known.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AtLeast {
    /// The percentile in parts per million: 990000 is the 99th.
    ppm: u32,
    /// Lower bound of the percentile, in nanoseconds.
    at_least_ns: Nanos,
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/import/2";
}

impl<'a> Document<'a> {
    fn of(run: &'a ForeignRun, total: Option<&'a Series>, file: &Path) -> Self {
        Self {
            file: file.display().to_string(),
            run,
            cpus: run.series.iter().map(|series| Numbers::of(run, series)).collect(),
            total: total.map(|series| Numbers::of(run, series)),
        }
    }
}

impl<'a> Numbers<'a> {
    fn of(run: &ForeignRun, series: &'a Series) -> Self {
        let at_least = |ppm: u32| Some(AtLeast { ppm, at_least_ns: series.percentile_at_least(ppm)? });
        Self {
            series,
            ran: series.count(),
            latency_ns: percentiles(series),
            latency_at_least: [500_000, 990_000, 999_000, 999_900].into_iter().filter_map(at_least).collect(),
            claims: SeriesClaims::of(run, series),
        }
    }
}

fn percentiles(series: &Series) -> Percentiles {
    // Of values that were only counted, `latency_at_least` holds the lower bound.
    let at = |ppm: u32| series.percentile_ppm(ppm).filter(|_| series.percentile_at_least(ppm).is_none());
    Percentiles {
        min: series.smallest(),
        mean: series.mean,
        p50: at(500_000),
        p99: at(990_000),
        p99_9: at(999_000),
        p99_99: at(999_900),
        max: series.largest(),
    }
}

pub fn imported(run: &ForeignRun, file: &Path) -> serde_json::Result<String> {
    let total = total(&run.series);
    document::document(&Document::of(run, total.as_ref(), file))
}
