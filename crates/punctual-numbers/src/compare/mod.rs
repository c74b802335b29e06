//! Is it better now? Recordings held against a first one: may they be compared, what changed by how much, how sure.
//!
//! ```text
//! Recording -> differences (may they be compared?) -> Arm (blocks of time, by CPU and load)
//!              comparable                             arm
//! Arm, Arm -> Row (limits, odds) -> odds corrected for how many there are -> Verdict
//!             rows, tail (recorded) judge                                          result
//! Run of another program -> Heap (no time in it) -> Row
//!                           heap, imported          untimed
//! ```
//! Never holds two maxima against each other, and calls nothing better or worse that is smaller than the margin: two
//! runs of one system differ, too. Must not know how any of it is shown.

mod arm;
mod causes;
mod comparable;
mod heap;
mod imported;
mod judge;
mod recorded;
mod result;
mod rows;
mod tail;
#[cfg(test)]
mod tests;
mod untimed;

pub use causes::{CauseChange, Weight};
pub use comparable::{Difference, Matters, Subject, Value};
pub use heap::TOGETHER;
pub use imported::{Lack, Lacking};
pub use result::{
    Against, Change, Comparison, Group, GroupResult, LeftOut, Limits, Origin, Refused, Row, Side, Verdict, What,
    Withheld,
};

use crate::foreign::ForeignRun;
use crate::recording::Recording;
use crate::report::Report;
use punctual_hist::Nanos;

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// A change of less than this part of the first is called neither better nor worse: 0.1 is a tenth.
    pub margin: f64,
    /// How often the blocks of a run are drawn anew.
    pub resamples: usize,
    /// Latency beyond which an activation is a miss, where it is not to be what the recordings say.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
    /// Compare what should not be compared, and say so.
    pub anyway: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 0.1, resamples: 10_000, budget: None, anyway: false }
    }
}

/// What can be compared.
#[derive(Clone, Copy, Debug)]
pub enum Measured<'a> {
    /// A recording.
    Recording(&'a Recording),
    /// What another program measured.
    Imported(&'a ForeignRun),
}

impl<'a> From<&'a Recording> for Measured<'a> {
    fn from(recording: &'a Recording) -> Self {
        Self::Recording(recording)
    }
}

impl<'a> From<&'a ForeignRun> for Measured<'a> {
    fn from(run: &'a ForeignRun) -> Self {
        Self::Imported(run)
    }
}

impl Comparison {
    /// Holds each of the others against the first; the names are what the reader calls them.
    ///
    /// # Errors
    /// When one of them should not be compared, unless asked for all the same; and when nothing is common to them.
    pub fn of<'a, M: Into<Measured<'a>> + Copy>(recordings: &[(String, M)], options: Options) -> Result<Self, Refused> {
        let named: Vec<(String, Measured<'a>)> =
            recordings.iter().map(|(name, of)| (name.clone(), (*of).into())).collect();
        let [first, others @ ..] = named.as_slice() else { return Err(Refused::Alone) };
        if others.is_empty() {
            return Err(Refused::Alone);
        }
        if !options.margin.is_finite() || !(0.0..10.0).contains(&options.margin) {
            return Err(Refused::Margin(options.margin));
        }
        let first_report = match first.1 {
            Measured::Recording(recording) => Some(Report::of(recording)),
            Measured::Imported(_) => None,
        };
        let compared = others.iter().map(|other| match (first.1, other.1, &first_report) {
            (Measured::Recording(a), Measured::Recording(b), Some(report)) => {
                Against::of((a, report), (&other.0, b), &options)
            }
            _ => imported::against(first.1, (&other.0, other.1), &options),
        });
        let mut others = compared.collect::<Result<Vec<_>, _>>()?;
        let looked_at = judge::all(&mut others);
        let first = match (first.1, &first_report) {
            (Measured::Recording(recording), Some(report)) => Side::of(&first.0, recording, report),
            _ => imported::side(&first.0, first.1),
        };
        Ok(Self { options, first, others, looked_at })
    }

    /// The gravest verdict of all.
    pub fn verdict(&self) -> Verdict {
        judge::together(self.others.iter().map(|other| other.verdict))
    }
}
