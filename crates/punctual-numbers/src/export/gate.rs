//! Passed or failed, for formats that know nothing else.
//!
//! What the file itself gives reason to doubt has not passed: a budget is held only by a largest value that is one. What
//! was missed stays missed, whatever else is doubted.

use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;

/// How a note begins that tells of a doubt.
const DOUBTED: &str = "doubted: ";

/// Whether a series held a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Every release did.
    Held,
    /// So many releases did not: later than the budget, or skipped.
    Missed {
        count: u64,
        /// More may have: a cell of the histogram reaches beyond the budget.
        at_least: bool,
    },
    /// Nothing is later than the budget, and this speaks against taking that for all there was.
    Doubted(String),
    /// No budget says what a miss is.
    NoBudget,
    /// Nothing was measured.
    Nothing,
    /// The file does not say how late the latest was.
    NoMaximum,
}

impl Gate {
    /// A budget was stated, and nothing says whether it was held.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Doubted(_) | Self::Nothing | Self::NoMaximum)
    }
}

/// Holds a series of a run against a budget. A largest value that was rounded down counts as what it can have been.
pub fn gate(run: &ForeignRun, series: &Series, budget: Option<Nanos>) -> Gate {
    let Some(budget) = budget else { return Gate::NoBudget };
    let missed = missed(series, budget);
    if let Gate::Missed { .. } = missed {
        return missed;
    }
    if series.count().unwrap_or(0) == 0 && series.max.is_none() {
        return Gate::Nothing;
    }
    if series.largest().is_none() {
        return Gate::NoMaximum;
    }
    let doubts: Vec<&str> = doubts(run, series).collect();
    if doubts.is_empty() { missed } else { Gate::Doubted(doubts.join("; ")) }
}

/// What is doubted of a series: of it by its name, or of the run as a whole.
pub fn doubts<'a>(run: &'a ForeignRun, series: &'a Series) -> impl Iterator<Item = &'a str> {
    let others: Vec<&str> =
        run.series.iter().map(|one| one.label.as_str()).filter(|label| *label != series.label).collect();
    let of_another = move |doubt: &str| {
        others.iter().any(|label| doubt.strip_prefix(label).is_some_and(|rest| rest.starts_with(": ")))
    };
    run.notes.iter().filter_map(|note| note.strip_prefix(DOUBTED)).filter(move |doubt| !of_another(doubt))
}

/// [`Gate::Missed`] or [`Gate::Held`], by the numbers alone.
fn missed(series: &Series, budget: Nanos) -> Gate {
    let above =
        series.cells.iter().filter(|cell| cell.low > budget).fold(0u64, |sum, cell| sum.saturating_add(cell.count));
    let beyond = series.beyond.filter(|beyond| beyond.from > budget).map_or(0, |beyond| beyond.count);
    let largest = u64::from(series.largest().is_some_and(|largest| largest > budget));
    let counted = series.over_budget.filter(|(counted, _)| *counted == budget).map(|(_, later)| later);
    let later = counted.unwrap_or(above.saturating_add(beyond).max(largest));
    match later.saturating_add(series.skipped.unwrap_or(0)) {
        0 => Gate::Held,
        count => Gate::Missed { count, at_least: counted.is_none() },
    }
}
