//! Compares recordings with a first one: whether they may be compared, what changed by how much, and with which odds.
//!
//! ```text
//! Recording -> differences (may they be compared?) -> Arm (slices of time, by CPU and load)
//!              comparable                             arm
//! Arm, Arm -> RowResult (limits, odds) -> odds corrected for the number of rows -> Compared
//!             rows, rare (recorded)       judge                                    result
//! Run of another program -> Distribution (no times) -> RowResult
//!                           distribution, imported     untimed
//! ```
//! Decisions rest on the number of moods of the machine, or of runs, and never on the number of activations. Two maxima
//! are never compared. A change smaller than the margin is called neither better nor worse.

mod arm;
mod causes;
mod comparable;
mod distribution;
mod excursions;
mod imported;
mod judge;
mod odds;
mod rare;
mod recorded;
mod result;
mod rows;
mod runs;
mod second_kernel;
mod series;
#[cfg(test)]
mod tests;
mod untimed;

pub use causes::{CauseChange, CauseWeight};
pub use comparable::{Difference, Matters, Subject, Value};
pub use distribution::TOGETHER;
pub(crate) use judge::verdict_of;
pub use result::{
    Against, Basis, Change, Compared, ComparedNumber, Comparison, Design, Gain, Group, GroupResult, Lack, Lacking,
    LeftOut, Limits, Mood, Origin, Refused, RowResult, SecondKernel, Side, Undecided, Withheld,
};
pub use rows::{TOLD_LEAST, TOLD_MARGINS};

use crate::foreign::ForeignRun;
use crate::recording::Recording;
use crate::report::Report;
use punctual_hist::Nanos;

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// An observed change smaller than this part of the first value is called neither better nor worse: 0.1 is a tenth.
    pub margin: f64,
    /// Latency in nanoseconds beyond which an activation is a miss, instead of the budget of the recordings.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
    /// Compare even recordings that should not be compared, and mark the result.
    pub anyway: bool,
    /// Decide also about files that do not keep the order of their values, as if the values were independent.
    pub as_if_independent: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 0.1, budget: None, anyway: false, as_if_independent: false }
    }
}

/// A measurement that can be compared: a recording, or a file of another program.
#[derive(Clone, Copy, Debug)]
pub enum Measured<'a> {
    Recording(&'a Recording),
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
    /// Compares each of the other recordings with the first. The names are shown to the reader and are mostly file
    /// paths.
    ///
    /// # Errors
    /// [`Refused::Alone`] if there are fewer than two recordings, [`Refused::Margin`], and
    /// [`Refused::NothingInCommon`] if a recording has no CPU and load in common with the first. Without `anyway` also
    /// [`Refused::Incomparable`] and [`Refused::Unfit`].
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
        let looked_at = judge::all(&mut others, &options);
        if !options.as_if_independent {
            imported::withhold(&mut others);
        }
        if let Measured::Recording(first) = first.1 {
            for (against, (_, other)) in others.iter_mut().zip(named.iter().skip(1)) {
                if let Measured::Recording(other) = other {
                    against.kernels = SecondKernel::of(&[first], &[other], against);
                }
            }
        }
        let first = match (first.1, &first_report) {
            (Measured::Recording(recording), Some(report)) => Side::of(&first.0, recording, report),
            _ => imported::side(&first.0, first.1),
        };
        Ok(Self { options, first, others, looked_at, error_rate: judge::RISK })
    }

    pub fn verdict(&self) -> Compared {
        Compared::of_all(self.others.iter().map(|other| other.verdict))
    }
}

/// Whether a difference forbids the comparison. Without `anyway` the comparison is then refused.
fn refusing(differences: &[Difference], name: &str, options: &Options) -> Result<bool, Refused> {
    let refusing: Vec<Difference> = differences.iter().filter(|d| d.refuses()).cloned().collect();
    if !refusing.is_empty() && !options.anyway {
        return Err(Refused::Incomparable(name.to_owned(), refusing));
    }
    Ok(!refusing.is_empty())
}
