//! Decides whether a series held a budget, for formats that know only passed and failed.
//!
//! A series with doubtful numbers has not passed: a budget is held only if the largest value can be trusted. A missed
//! budget stays missed, whatever else is doubtful.

use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;

/// Prefix of the notes that give a reason to doubt a series or the run.
const DOUBTED: &str = "doubted: ";

/// The verdict about a series and a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    Held,
    /// `count` releases had a larger latency than the budget or were skipped. With `at_least` there may be more, in the
    /// cell of the histogram in which the budget lies.
    Missed {
        count: u64,
        at_least: bool,
    },
    /// No value exceeds the budget, but the largest value cannot be trusted, for this reason.
    Doubted(String),
    NoBudget,
    /// The series has no values.
    Nothing,
    NoMaximum,
}

impl Gate {
    /// Whether there is a budget but it is unknown whether it was held.
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
    // If a program lists only values above a threshold, an empty list shows that nothing exceeded the threshold.
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

/// The notes with doubts about this series or about the run as a whole.
pub fn doubts<'a>(run: &'a ForeignRun, series: &'a Series) -> impl Iterator<Item = &'a str> {
    let others: Vec<&str> =
        run.series.iter().map(|one| one.label.as_str()).filter(|label| *label != series.label).collect();
    let of_another = move |doubt: &str| {
        others.iter().any(|label| doubt.strip_prefix(label).is_some_and(|rest| rest.starts_with(": ")))
    };
    run.notes.iter().filter_map(|note| note.strip_prefix(DOUBTED)).filter(move |doubt| !of_another(doubt))
}

/// [`Gate::Missed`] or [`Gate::Held`] by the numbers, without regard to doubts.
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
