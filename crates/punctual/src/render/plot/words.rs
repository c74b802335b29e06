//! The texts around charts: what a chart shows, how to read it, and what it cannot show.

use super::Named;
use crate::cli::ChartName;
use crate::render::chart::Shape;
use crate::render::lang::tr;
use crate::render::units;
use punctual_numbers::foreign::{ForeignRun, Quantity, Unfit};

/// Number of series for which the text says how many of their values were only counted.
const TOLD_MAX: usize = 4;

/// Explains the band around a curve of shares.
pub fn band() -> &'static str {
    tr!("Band: 95 % limits of each share, for activations that do not depend on each other.")
}

pub fn title(chart: ChartName) -> &'static str {
    match chart {
        ChartName::Histogram => "How often, how late",
        ChartName::Exceedance => "How often later than",
        ChartName::OverTime => "Latency over the run",
    }
}

pub fn caption(chart: ChartName, all: &[Named], shapes: &[Shape]) -> String {
    let runs: Vec<&ForeignRun> = all.iter().filter_map(Named::import).collect();
    if runs.is_empty() {
        return of_recordings(chart, all.len() > 1).to_owned();
    }
    let noise = runs.iter().flat_map(|run| &run.series).any(|series| series.quantity == Quantity::Noise);
    let what = if noise { "noise" } else { "latency" };
    let shown = match chart {
        ChartName::Exceedance => {
            "Share of values that were larger, both logarithmic; a value counts at the upper edge of its cell."
                .to_owned()
        }
        _ => format!("Values in each cell over {what}, both logarithmic; narrow cells are drawn as one."),
    };
    let skipped: u64 =
        all.iter().filter_map(Named::report).flat_map(|report| &report.cpus).map(|cpu| cpu.row.skipped).sum();
    let skips = if skipped > 0 { "Releases that were skipped are not drawn." } else { "" };
    let cautions = runs.iter().map(|run| cautions(run));
    let said = [shown, only_counted(shapes), skips.to_owned()].into_iter().chain(cautions);
    said.filter(|sentence| !sentence.is_empty()).collect::<Vec<_>>().join(" ")
}

fn of_recordings(chart: ChartName, several: bool) -> &'static str {
    match (chart, several) {
        (ChartName::Histogram, true) => "Activations of all CPUs together over latency, both logarithmic.",
        (ChartName::Histogram, false) => "Activations over latency, both logarithmic.",
        (ChartName::Exceedance, _) => "Share of activations that were later, all CPUs together; both logarithmic.",
        (ChartName::OverTime, _) => {
            "Smallest, median, 99.9 % and largest latency of each stretch of time; logarithmic. Strokes at the \
             bottom: releases were skipped; flags: events of the run."
        }
    }
}

/// The sentence about values that lie in no cell; empty if there are none.
pub fn only_counted(shapes: &[Shape]) -> String {
    let told = |shape: &Shape| {
        let apart = shape.apart?;
        let to =
            apart.to.map_or_else(|| "on, how large is not known".to_owned(), |to| format!("to {}", units::latency(to)));
        let (values, from) = (units::counted(apart.count, "value"), units::latency(apart.from));
        Some(format!("{}: {values} from {from} {to}", shape.name))
    };
    let all: Vec<String> = shapes.iter().filter_map(told).collect();
    let more = all.len().saturating_sub(TOLD_MAX);
    let more = if more > 0 { format!("; and of {more} more") } else { String::new() };
    let first: Vec<String> = all.into_iter().take(TOLD_MAX).collect();
    if first.is_empty() { String::new() } else { format!("Dashed: only counted. {}{more}.", first.join("; ")) }
}

/// Why the shares in a chart of this file are not shares of all measured values; empty if they are.
pub fn cautions(run: &ForeignRun) -> String {
    let any = |unfit: Unfit| run.series.iter().any(|series| series.unfit == Some(unfit));
    let format = run.format.name();
    if any(Unfit::Doubted) {
        format!("What {format} says contradicts itself, so that no share of it can be relied upon: see its report.")
    } else if any(Unfit::Censored) {
        format!("Of {format} only what was above a threshold is known: shares are of that alone.")
    } else {
        String::new()
    }
}

pub fn nothing(chart: ChartName) -> String {
    format!("nothing was counted, so there is nothing to draw as {}", title(chart).to_lowercase())
}
