//! What users share of their measurements: one entry is one result on one machine, with where it comes from, what speaks
//! against it and, if its owner agreed, what the machine looked like.
//!
//! ```text
//! Recording -> Packed ─┐
//! file of another      ├-> Entry -> complaints
//! program -> ForeignRun┘
//! ```
//! [`Entry`] is a wire type: files of entries outlive this program, so its lengths are whole numbers of nanoseconds. This
//! module must not know how entries are masked, nor where they are kept.

mod complaint;
#[cfg(test)]
mod tests;

pub use complaint::Complaint;

use crate::fleet::{LatencyRow, Packed};
use crate::foreign::{Cell, ForeignRun, Series};
use crate::stats::float::{float, whole};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the format of an entry.
pub const SCHEMA: &str = "punctual/atlas/1";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What was measured on what, in one line.
    pub title: String,
    /// Where the result comes from.
    pub source: Source,
    /// What is known of the machine, by name: model, kernel, architecture.
    pub machine: BTreeMap<String, String>,
    /// The latency that the owner can live with, in nanoseconds; null if none was stated.
    pub budget_ns: Option<u64>,
    /// Length of the measurement in nanoseconds; null if it is not stated.
    pub measured_ns: Option<u64>,
    /// One result for each CPU, thread or context, under each load.
    pub results: Vec<Measured>,
    /// States of findings of the audit, by id. Empty if the machine was not audited.
    pub findings: BTreeMap<String, String>,
    /// What held up late activations, the costliest first. Empty if nobody looked.
    pub causes: Vec<Cause>,
    /// What speaks against the numbers, one sentence each.
    pub doubts: Vec<String>,
    /// A snapshot of the machine, masked, which `punctual audit --machine` reads; null if it is not shared.
    pub snapshot: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Who measured: the owner of the machine, or somebody who published the numbers.
    pub kind: SourceKind,
    /// The program that measured; null if the source does not name it.
    pub program: Option<String>,
    /// Where numbers were published; null for a recording.
    pub published: Option<String>,
    /// Day of the measurement or of the publication, as 2026-11-27; null if it is not known.
    pub day: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A recording of this program, shared by its owner.
    #[default]
    Recording,
    /// A result of another program, shared by its owner.
    OtherProgram,
    /// Numbers that somebody published.
    Published,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The CPU, thread or context.
    pub name: String,
    /// Number of the CPU; null if it is not known.
    pub cpu: Option<u32>,
    /// What the machine did meanwhile: names of loads, or the words of the source.
    pub load: String,
    /// Time between releases in nanoseconds; null if it is not known.
    pub period_ns: Option<u64>,
    /// Number of activations that ran.
    pub ran: u64,
    /// Number of releases at which the thread did not run; null if nobody counted them.
    pub skipped: Option<u64>,
    /// Smallest latency in nanoseconds; null if it is not known.
    pub min_ns: Option<u64>,
    /// Mean latency in nanoseconds; null if it is not known.
    pub mean_ns: Option<u64>,
    /// Largest latency in nanoseconds; null if it is not known.
    pub max_ns: Option<u64>,
    /// The histogram: smallest latency of a cell, largest latency of the cell, both in nanoseconds, and count. Empty if
    /// only the numbers above are known.
    pub cells: Vec<[u64; 3]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Kind of the cause.
    pub class: String,
    /// Name of the interrupt, thread or function.
    pub name: String,
    /// Number of late activations in which it had at least a tenth of the latency.
    pub times: u64,
    /// The largest part it had in one activation, in nanoseconds.
    pub worst_ns: u64,
}

/// What the owner of a result says about it, because the result cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub title: Option<String>,
    /// What the machine did meanwhile, for a result of another program.
    pub load: Option<String>,
    /// Where the numbers were published, if they are not the owner's.
    pub published: Option<String>,
    pub day: Option<String>,
    /// Facts about the machine that the result does not state.
    pub machine: Vec<MachineLine>,
    pub doubts: Vec<String>,
}

/// Number of causes that are kept.
const CAUSES_MAX: usize = 10;

impl Entry {
    /// The entry of a recording; phases that were traced while others were not are left out. `doubts` are those of the
    /// report, as sentences.
    pub fn of_recording(packed: &Packed, machine: &[MachineLine], doubts: Vec<String>, told: Told) -> Self {
        let causes = packed.causes.iter().take(CAUSES_MAX).map(|cause| Cause {
            class: cause.class.clone(),
            name: cause.name.clone(),
            times: cause.times,
            worst_ns: cause.worst.as_ns(),
        });
        let findings = packed.findings.iter().map(|row| (row.finding.clone(), row.state.clone()));
        Self {
            source: Source { program: packed.run.program.clone(), ..Source::default() },
            budget_ns: packed.run.budget.map(Nanos::as_ns),
            measured_ns: Some(packed.run.length.as_ns()),
            results: packed.latencies.iter().filter(|row| !row.traced).map(of_row).collect(),
            findings: findings.collect(),
            causes: causes.collect(),
            doubts,
            ..Self::default()
        }
        .with(machine, told)
    }

    /// The entry of a result of another program.
    pub fn of_foreign(run: &ForeignRun, told: Told) -> Self {
        let load = told.load.clone().unwrap_or_default();
        let results = run.series.iter().map(|series| of_series(series, &load));
        let kind = SourceKind::OtherProgram;
        Self {
            source: Source { kind, program: run.program.clone(), ..Source::default() },
            measured_ns: run.duration.map(|stated| stated.length.as_ns()),
            results: results.collect(),
            doubts: run.notes.clone(),
            ..Self::default()
        }
        .with(&run.machine, told)
    }

    fn with(mut self, machine: &[MachineLine], told: Told) -> Self {
        let lines = machine.iter().chain(&told.machine);
        self.machine = lines.map(|line| (line.name.clone(), line.value.clone())).collect();
        if told.published.is_some() {
            self.source.kind = SourceKind::Published;
        }
        self.source.published = told.published;
        self.source.day = told.day;
        self.title = told.title.unwrap_or_else(|| self.own_title());
        self.doubts.extend(told.doubts);
        self
    }

    /// Model and kernel, which is what people look for.
    fn own_title(&self) -> String {
        let known = ["model", "kernel"].into_iter().filter_map(|name| self.machine.get(name));
        known.cloned().collect::<Vec<_>>().join(", ")
    }
}

fn of_row(row: &LatencyRow) -> Measured {
    Measured {
        name: format!("CPU {}", row.cpu),
        cpu: Some(row.cpu),
        load: row.phase.clone(),
        period_ns: row.period.map(Nanos::as_ns),
        ran: row.ran,
        skipped: Some(row.skipped),
        min_ns: row.min.map(Nanos::as_ns),
        mean_ns: mean(row).map(Nanos::as_ns),
        max_ns: row.max.map(Nanos::as_ns),
        cells: row.cells.iter().map(|cell| of_cell(cell, row.max)).collect(),
    }
}

fn of_series(series: &Series, load: &str) -> Measured {
    let top = series.largest();
    let mut cells: Vec<[u64; 3]> = series.cells.iter().map(|cell| of_cell(cell, top)).collect();
    cells.extend(series.beyond.map(|beyond| {
        let from = beyond.from.as_ns();
        [from, top.map_or(from, |top| top.as_ns().max(from)), beyond.count]
    }));
    Measured {
        name: series.label.clone(),
        cpu: series.cpu,
        load: load.to_owned(),
        period_ns: series.period.map(Nanos::as_ns),
        ran: series.count().unwrap_or_else(|| series.counted()),
        skipped: series.skipped,
        min_ns: series.smallest().map(Nanos::as_ns),
        mean_ns: series.mean.map(Nanos::as_ns),
        max_ns: top.map(Nanos::as_ns),
        cells,
    }
}

fn of_cell(cell: &Cell, top: Option<Nanos>) -> [u64; 3] {
    [cell.low.as_ns(), cell.end(top).as_ns().max(cell.low.as_ns()), cell.count]
}

/// The mean of a recording's row from the middles of its cells, which are 1.6 % wide; `None` if nothing ran.
fn mean(row: &LatencyRow) -> Option<Nanos> {
    let (least, most) = row.min.zip(row.max)?;
    let cells = &row.cells;
    let count: f64 = cells.iter().map(|cell| float(cell.count)).sum();
    let middle = |cell: &Cell| f64::midpoint(float(cell.low.as_ns()), float(cell.high.as_ns()));
    let sum: f64 = cells.iter().map(|cell| middle(cell) * float(cell.count)).sum();
    // The middle of a cell may lie beyond the only value in it.
    (count > 0.0).then(|| Nanos::from_ns(whole(sum / count)).clamp(least, most))
}
