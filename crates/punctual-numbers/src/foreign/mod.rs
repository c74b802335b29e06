//! Everybody's files: what other programs measured, as one value.
//!
//! A file is taken for what its first bytes say ([`sniff()`]), never for what they merely allow: where several formats
//! fit, the reader is told which. [`Import`] takes bytes in pieces and keeps no more of them than its format needs; it
//! hands out a [`ForeignRun`], whose cells have edges, and whose notes say what was repaired, what is doubted (`doubts`) and
//! what the format has lost. One module for each format, which alone knows how that one is written.
//!
//! Must not know what a reader of the report wants to see, nor anything of files: whoever has bytes feeds them.

mod bare;
mod boards;
mod columns;
mod command;
mod commas;
mod cyclictest;
mod doubts;
mod grid;
mod hdr;
mod hwlatdetect;
mod import;
mod jitterdebugger;
mod jitterdebugger_raw;
mod latmus;
mod lines;
mod number;
mod oslat;
mod points;
mod rt_app;
mod rt_tests;
mod rteval;
mod rtla;
mod run;
mod samples;
mod sniff;
mod stream;
mod stress_ng;
mod table;
mod total;
mod wrapped;
mod xenomai;

pub(crate) use cyclictest::IN_MICROSECONDS;
#[cfg(test)]
pub(crate) use doubts::weigh;
pub(crate) use hdr::IN_NANOSECONDS;
pub use import::{Import, ImportOptions, import};
pub use lines::SNIFFED;
pub use number::Unit;
pub use run::{Beyond, Cell, ForeignRun, Quantity, Series, Stated, Unfit};
pub use sniff::sniff;
pub use total::total;

use std::fmt;

/// What a file can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A recording of our own, as a run.
    #[default]
    Punctual,
    /// `cyclictest -h`, `-H`, `-v`, or its last lines with `-q`.
    Cyclictest,
    /// `--json` of cyclictest, cyclicdeadline or oslat.
    RtTestsJson,
    /// `latency -g` of Xenomai 2 and 3.
    Xenomai,
    /// `latmus -g` of EVL.
    Latmus,
    /// `rtla timerlat hist` and `rtla osnoise hist`.
    Rtla,
    /// `results.json` of jitterdebugger.
    Jitterdebugger,
    /// `samples.raw` of jitterdebugger.
    JitterdebuggerRaw,
    /// `oslat`.
    Oslat,
    /// `hwlatdetect`.
    Hwlatdetect,
    /// `summary.xml` of rteval.
    Rteval,
    /// `stress-ng --cyclic`.
    StressNg,
    /// A log of rt-app.
    RtApp,
    /// A log of `HdrHistogram`, version 2.
    Hdr,
    /// Tables of boards as vendors print them, as JSON.
    Boards,
    /// Instants, one in each line; the grid is fitted.
    Timestamps,
    /// Times from one activation to the next, one in each line; the grid is fitted.
    Periods,
    /// Latencies, one in each line.
    Latencies,
}

impl Format {
    /// All that can be imported.
    pub const IMPORTED: [Self; 17] = [
        Self::Cyclictest,
        Self::RtTestsJson,
        Self::Xenomai,
        Self::Latmus,
        Self::Rtla,
        Self::Jitterdebugger,
        Self::JitterdebuggerRaw,
        Self::Oslat,
        Self::Hwlatdetect,
        Self::Rteval,
        Self::StressNg,
        Self::RtApp,
        Self::Hdr,
        Self::Boards,
        Self::Timestamps,
        Self::Periods,
        Self::Latencies,
    ];

    /// Its name, as it is typed and told.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Punctual => "punctual",
            Self::Cyclictest => "cyclictest",
            Self::RtTestsJson => "rt-tests-json",
            Self::Xenomai => "xenomai",
            Self::Latmus => "latmus",
            Self::Rtla => "rtla",
            Self::Jitterdebugger => "jitterdebugger",
            Self::JitterdebuggerRaw => "jitterdebugger-raw",
            Self::Oslat => "oslat",
            Self::Hwlatdetect => "hwlatdetect",
            Self::Rteval => "rteval",
            Self::StressNg => "stress-ng",
            Self::RtApp => "rt-app",
            Self::Hdr => "hdr",
            Self::Boards => "boards",
            Self::Timestamps => "timestamps",
            Self::Periods => "periods",
            Self::Latencies => "latencies",
        }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::IMPORTED.into_iter().find(|format| format.name() == name)
    }

    /// Whether a file of this format is numbers and nothing that says of what.
    pub const fn is_bare(self) -> bool {
        matches!(self, Self::Timestamps | Self::Periods | Self::Latencies)
    }
}

/// Why bytes cannot be imported, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: Option<u64>,
    pub what: String,
    /// What to say beside the file so that it can be imported, where that helps.
    pub remedy: Option<Remedy>,
}

/// What whoever imports a file can do so that it is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Say which of these formats it is; any, where there is none.
    SayFormat(Vec<Format>),
    /// Say in which of these units its numbers are.
    SayUnit(&'static [Unit]),
    /// Say no unit: the file has its own.
    LeaveUnitOut,
    /// Say no period: the file has its own.
    LeavePeriodOut,
}

impl Problem {
    /// Something about the file as a whole.
    pub fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into(), remedy: None }
    }

    /// Something in one line.
    pub fn at(line: u64, what: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(what) }
    }

    fn with(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Problem {}

/// Most columns a table may have: three contexts on each of 4096 CPUs.
const MOST_COLUMNS: usize = 3 * 4096;
/// Most cells that are kept: 96 MB.
const MOST_CELLS: usize = 4 << 20;

#[cfg(test)]
mod tests;
