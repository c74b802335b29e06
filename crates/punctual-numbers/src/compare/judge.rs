//! Odds of many rows together, and what follows from them.

use super::{Against, Compared, GroupResult, RowResult, What, Withheld};
use crate::stats::multiplicity::holm;

/// Odds below which chance is ruled out.
const RISK: f64 = 0.05;
/// Percentiles up to this one must have had enough data before "no difference shown" may be said.
const BODY_PPM: u32 = 990_000;

/// Corrects the odds of all rows for the number of rows, and judges. Returns that number.
pub(super) fn all(others: &mut [Against]) -> usize {
    let mut rows: Vec<&mut RowResult> = others
        .iter_mut()
        .flat_map(|other| &mut other.groups)
        .flat_map(|group| &mut group.rows)
        .filter(|row| row.odds.is_some())
        .collect();
    let odds: Vec<f64> = rows.iter().filter_map(|row| row.odds).collect();
    for (row, of_all) in rows.iter_mut().zip(holm(&odds)) {
        row.odds_of_all = Some(of_all);
        if of_all >= RISK {
            continue;
        }
        row.wants = None;
        row.verdict = match (row.stealable, row.upwards) {
            (true, _) => Compared::NotEnoughData,
            (false, true) => Compared::Worse,
            (false, false) => Compared::Better,
        };
        row.withheld = row.withheld.or(row.stealable.then_some(Withheld::Stolen));
    }
    for other in others {
        other.groups.iter_mut().for_each(judge_group);
        other.verdict = Compared::of_all(other.groups.iter().map(|group| group.verdict));
        other.told_to_ppm = told_to(&other.groups);
        other.wants = other
            .groups
            .iter()
            .flat_map(|group| &group.rows)
            .filter(|row| is_body(row))
            .filter_map(|row| row.wants)
            .max();
    }
    odds.len()
}

fn is_body(row: &RowResult) -> bool {
    matches!(row.what, What::Percentile { ppm } if ppm <= BODY_PPM)
}

/// A row that decides speaks for its group wherever it lies; that nothing was shown is said of the body alone.
fn judge_group(group: &mut GroupResult) {
    let decides = |row: &&RowResult| matches!(row.verdict, Compared::Better | Compared::Worse);
    let speaks = group.rows.iter().filter(|row| decides(row) || is_body(row));
    group.verdict = Compared::of_all(speaks.map(|row| row.verdict));
}

/// The furthest percentile that had enough data in every group, with all before it.
fn told_to(groups: &[GroupResult]) -> Option<u32> {
    let of_group = |group: &GroupResult| {
        let percentiles = group.rows.iter().filter_map(|row| match row.what {
            What::Percentile { ppm } => Some((ppm, row.verdict)),
            _ => None,
        });
        percentiles.take_while(|(_, verdict)| *verdict != Compared::NotEnoughData).map(|(ppm, _)| ppm).last()
    };
    groups.iter().map(of_group).min().flatten()
}
