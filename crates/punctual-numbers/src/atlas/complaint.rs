//! What is wrong with an entry that somebody contributes.

use super::{Entry, Measured, SourceKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complaint {
    NoTitle,
    /// Nothing says which machine it was.
    NoMachine,
    NoResult,
    /// Published numbers without the place where they were published.
    NoSource,
    /// The day is not written as 2026-11-27.
    Day(String),
    /// Nothing says what the machine did meanwhile.
    NoLoad {
        result: String,
    },
    /// The cells hold another number of activations than the result states.
    Counts {
        result: String,
        ran: u64,
        counted: u64,
    },
    /// Cells overlap or are not in ascending order.
    Order {
        result: String,
    },
    /// Minimum, mean and maximum are not in this order.
    Extremes {
        result: String,
    },
}

impl Entry {
    /// Everything that is wrong with this entry, as far as the entry itself shows it.
    pub fn complaints(&self) -> Vec<Complaint> {
        let mut found = Vec::new();
        let mut when = |wrong: bool, complaint: Complaint| {
            if wrong {
                found.push(complaint);
            }
        };
        when(self.title.trim().is_empty(), Complaint::NoTitle);
        when(self.machine.is_empty(), Complaint::NoMachine);
        when(self.results.is_empty(), Complaint::NoResult);
        let is_told = self.source.published.as_ref().is_some_and(|place| !place.trim().is_empty());
        when(self.source.kind == SourceKind::Published && !is_told, Complaint::NoSource);
        if let Some(day) = &self.source.day {
            when(!is_day(day), Complaint::Day(day.clone()));
        }
        for result in &self.results {
            found.extend(of_result(result, self.doubts.is_empty()));
        }
        found
    }
}

/// A count that contradicts the cells is accepted if a doubt of the entry says so, because published numbers are kept as
/// they were published.
fn of_result(result: &Measured, without_doubts: bool) -> Vec<Complaint> {
    let name = || result.name.clone();
    let counted = result.cells.iter().fold(0u64, |sum, [.., count]| sum.saturating_add(*count));
    let is_ordered = result.cells.iter().all(|[low, high, _]| low <= high)
        && result.cells.windows(2).all(|pair| matches!(pair, [[.., high, _], [low, ..]] if high <= low));
    let known: Vec<u64> = [result.min_ns, result.mean_ns, result.max_ns].into_iter().flatten().collect();
    [
        result.load.trim().is_empty().then(|| Complaint::NoLoad { result: name() }),
        (without_doubts && !result.cells.is_empty() && counted != result.ran).then(|| Complaint::Counts {
            result: name(),
            ran: result.ran,
            counted,
        }),
        (!is_ordered).then(|| Complaint::Order { result: name() }),
        (!known.is_sorted()).then(|| Complaint::Extremes { result: name() }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse::<u32>().ok())
    };
    let within = |part: Option<Option<u32>>, most: u32| part.flatten().is_some_and(|n| (1..=most).contains(&n));
    number(year, 4).is_some() && within(number(month, 2), 12) && within(number(day, 2), 31)
}
