//! Imports files of other measuring programs, each as one [`ForeignRun`].
//!
//! The format is taken from the first bytes of a file ([`sniff()`]). If they fit several formats, the file is refused
//! and the error names these formats. [`Import`] takes bytes in pieces and keeps only as many as its format needs. It
//! returns a [`ForeignRun`], whose cells have edges, and whose notes state what was repaired, what is doubtful
//! (`doubts`) and what the format has lost. Each format has one module, which alone knows the syntax.
//!
//! This module must not know how a run is reported, and opens no files: callers feed the bytes.

mod boards;
mod columns;
mod command;
mod cyclictest;
mod doubts;
mod grid;
mod hdr;
mod hgrm;
mod hwlatdetect;
mod import;
mod jitterdebugger;
mod jitterdebugger_raw;
mod latmus;
mod lines;
mod number;
mod oslat;
mod pairs;
mod points;
mod queuelat;
mod rt_app;
mod rt_tests;
mod rteval;
mod rtla;
mod run;
mod samples;
mod sequence;
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
pub use run::{Beyond, Cell, ForeignRun, Quantity, Series, Stated, StatedPercentile, Unfit};
pub use sequence::Order;
#[cfg(test)]
pub(crate) use sequence::Sequence;
pub use sniff::sniff;
pub use total::total;

use std::fmt;

/// The formats, each with the name that the user types. The first is our own and cannot be imported.
macro_rules! formats {
    ($(#[$own_about:meta])* $own:ident = $own_name:literal; $($(#[$about:meta])* $format:ident = $name:literal,)+) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum Format {
            $(#[$own_about])*
            #[default]
            $own,
            $($(#[$about])* $format,)+
        }

        impl Format {
            pub const IMPORTED: [Self; [$($name),+].len()] = [$(Self::$format),+];

            pub const fn name(self) -> &'static str {
                match self {
                    Self::$own => $own_name,
                    $(Self::$format => $name,)+
                }
            }
        }
    };
}

formats! {
    /// A recording of punctual itself.
    Punctual = "punctual";
    /// `cyclictest -h`, `-H`, `-v`, or its last lines with `-q`.
    Cyclictest = "cyclictest",
    /// `--json` of cyclictest, cyclicdeadline, oslat, pmqtest, ptsematest, svsematest and sigwaittest.
    RtTestsJson = "rt-tests-json",
    /// The text output of pmqtest, ptsematest, svsematest and sigwaittest.
    RtTestsPairs = "rt-tests-pairs",
    /// `latency -g` of Xenomai 2 and 3.
    Xenomai = "xenomai",
    /// `latmus -g` of Xenomai 4 (EVL).
    Latmus = "latmus",
    /// `rtla timerlat hist` and `rtla osnoise hist`.
    Rtla = "rtla",
    /// `results.json` of jitterdebugger.
    Jitterdebugger = "jitterdebugger",
    /// `samples.raw` of jitterdebugger.
    JitterdebuggerRaw = "jitterdebugger-raw",
    /// The table that oslat prints.
    Oslat = "oslat",
    /// The table that queuelat prints.
    Queuelat = "queuelat",
    /// The text output of hwlatdetect, or its `--report`.
    Hwlatdetect = "hwlatdetect",
    /// `summary.xml` of rteval.
    Rteval = "rteval",
    /// The text output of `stress-ng --cyclic`.
    StressNg = "stress-ng",
    /// A log of rt-app.
    RtApp = "rt-app",
    /// A log of `HdrHistogram`, version 2.
    Hdr = "hdr",
    /// A percentile table of `HdrHistogram`, mostly called `.hgrm`.
    Hgrm = "hgrm",
    /// Tables of boards as vendors print them, as JSON.
    Boards = "boards",
    /// Instants of activations, one in each line; the grid of releases is fitted to them.
    Timestamps = "timestamps",
    /// Times from one activation to the next, one in each line; the grid of releases is fitted to them.
    Periods = "periods",
    /// Latencies, one in each line.
    Latencies = "latencies",
}

impl Format {
    pub fn named(name: &str) -> Option<Self> {
        Self::IMPORTED.into_iter().find(|format| format.name() == name)
    }

    /// Whether each line is one measured value, so that the beginning of a file is still a valid measurement.
    const fn is_list(self) -> bool {
        self.is_bare() || matches!(self, Self::RtApp)
    }

    /// Whether a file of this format holds only numbers, and nothing that defines their meaning.
    pub const fn is_bare(self) -> bool {
        matches!(self, Self::Timestamps | Self::Periods | Self::Latencies)
    }
}

/// Why bytes cannot be imported, and in which line the problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub line: Option<u64>,
    pub what: String,
    pub remedy: Option<ImportRemedy>,
}

/// What the user can do so that a file can be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportRemedy {
    /// State which of these formats the file has; an empty list stands for all formats.
    SayFormat(Vec<Format>),
    /// State in which of these units the file's numbers are.
    SayUnit(&'static [Unit]),
    /// State no unit, or no period, because the file has its own.
    LeaveUnitOut,
    LeavePeriodOut,
}

impl Problem {
    /// A problem of the file as a whole.
    pub fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into(), remedy: None }
    }

    pub fn at(line: u64, what: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(what) }
    }

    fn with(self, remedy: ImportRemedy) -> Self {
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

/// Largest number of columns of a table: three contexts on each of 4096 CPUs.
const MOST_COLUMNS: usize = 3 * 4096;
/// Largest number of cells of a table that are kept: 96 MB.
const MOST_CELLS: usize = 4 << 20;

#[cfg(test)]
mod tests;
