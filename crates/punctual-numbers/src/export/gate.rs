//! Whether a series held a budget, for formats that know only passed and failed.
//!
//! If the file itself gives reason to doubt a series, the series has not passed: a budget is held only if the largest
//! value can be trusted. A missed budget stays missed, whatever else is doubted.

use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;

/// Prefix of the notes that give a reason to doubt a series or the run.
const DOUBTED: &str = "doubted: ";

/// Whether a series held a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    Held,
    /// This many releases were later than the budget, or skipped. With `at_least` there may be more: a cell of the histogram
    /// reaches beyond the budget.
    Missed {
        count: u64,
        at_least: bool,
    },
    /// No value exceeds the budget, but this is a reason not to trust the largest value.
    Doubted(String),
    NoBudget,
    /// The series has no values.
    Nothing,
    /// The file does not tell the largest latency.
    NoMaximum,
}

impl Gate {
    /// Whether there is a budget, and it is not known whether it was held.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Doubted(_) | Self::Nothing | Self::NoMaximum)
    }
}

pub fn gate(run: &ForeignRun, series: &Series, budget: Option<Nanos>) -> Gate {
    let Some(budget) = budget else { return Gate::NoBudget };
    let missed = missed(series, budget);
    if let Gate::Missed { .. } = missed {
        return missed;
    }
    // A program that lists only values above a threshold, and listed none, has shown that nothing exceeded the
    // threshold.
    let none_above = series.threshold.filter(|_| series.stated_count == Some(0));
    if none_above.is_none() && series.count().unwrap_or(0) == 0 && series.max.is_none() {
        return Gate::Nothing;
    }
    if series.largest().or(none_above.filter(|threshold| *threshold <= budget)).is_none() {
        return Gate::NoMaximum;
    }
    let doubts: Vec<&str> = doubts(run, series).collect();
    if doubts.is_empty() { missed } else { Gate::Doubted(doubts.join("; ")) }
}

/// The doubts about a series: those that name it, and those about the run as a whole.
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
