//! What a file of bare numbers is, by its first bytes.

use super::columns::Layout;
use super::number::{Unit, no_number, number};
use super::{Format, Problem};

/// What the first bytes of a file of numbers tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bare {
    /// The heading says what they are.
    Named(Format),
    /// The heading names several things.
    Several(Vec<Format>),
    /// They only ascend.
    Rising,
    /// Numbers.
    Numbers,
    /// Numbers, but for one line.
    Broken(Problem),
    /// Something else.
    No,
}

pub(super) fn bare(first: &[u8]) -> Bare {
    let layout = Layout::of(first);
    let mut named: Vec<Format> = layout.known.iter().map(|(_, format, _)| *format).collect();
    named.dedup();
    match named.as_slice() {
        [] => {}
        [format] => return Bare::Named(*format),
        _ => return Bare::Several(named),
    }
    if layout.columns != 1 || layout.heading.is_some() || layout.rows.is_empty() {
        return Bare::No;
    }
    let mut values = Vec::with_capacity(layout.rows.len());
    for (line, row) in &layout.rows {
        match number(row, Unit::Us) {
            Some(number) => values.push(number.ns),
            None if values.is_empty() => return Bare::No,
            None => return Bare::Broken(no_number(*line, row)),
        }
    }
    let rises = values.len() > 2 && values.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    if rises { Bare::Rising } else { Bare::Numbers }
}
