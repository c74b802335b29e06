//! Odds of many rows together, and what follows from them.

use super::{Against, GroupResult, Row, Verdict, What, Withheld};
use crate::stats::multiplicity::holm;

/// Odds below which chance is ruled out.
const RISK: f64 = 0.05;
/// Percentiles that must be told before "no difference" may be said.
const BODY_PPM: u32 = 990_000;

/// Corrects the odds of all rows for how many there are, and judges. Tells how many there are.
pub(super) fn all(others: &mut [Against]) -> usize {
    let mut rows: Vec<&mut Row> = others
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
            (true, _) => Verdict::NotEnoughData,
            (false, true) => Verdict::Worse,
            (false, false) => Verdict::Better,
        };
        row.withheld = row.withheld.or(row.stealable.then_some(Withheld::Stolen));
    }
    for other in others {
        other.groups.iter_mut().for_each(judge_group);
        other.verdict = together(other.groups.iter().map(|group| group.verdict));
        other.told_to_ppm = told_to(&other.groups);
        other.wants = body(&other.groups).filter_map(|row| row.wants).max();
    }
    odds.len()
}

fn body(groups: &[GroupResult]) -> impl Iterator<Item = &Row> {
    let is_body = |row: &&Row| matches!(row.what, What::Percentile { ppm } if ppm <= BODY_PPM);
    groups.iter().flat_map(|group| &group.rows).filter(is_body)
}

fn judge_group(group: &mut GroupResult) {
    let found = |verdict: Verdict| group.rows.iter().any(|row| row.verdict == verdict);
    group.verdict = match (found(Verdict::Better), found(Verdict::Worse)) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::Better,
        (false, true) => Verdict::Worse,
        (false, false) => {
            let untold = body(std::slice::from_ref(group)).any(|row| row.verdict == Verdict::NotEnoughData);
            if untold { Verdict::NotEnoughData } else { Verdict::NoDifferenceShown }
        }
    };
}

/// One verdict of many.
pub(super) fn together(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let verdicts: Vec<Verdict> = verdicts.collect();
    let found = |wanted: Verdict| verdicts.contains(&wanted);
    let (better, worse) = (found(Verdict::Better), found(Verdict::Worse));
    match (better, worse) {
        _ if found(Verdict::Mixed) || (better && worse) => Verdict::Mixed,
        (true, _) => Verdict::Better,
        (_, true) => Verdict::Worse,
        _ if found(Verdict::NoDifferenceShown) && !found(Verdict::NotEnoughData) => Verdict::NoDifferenceShown,
        _ => Verdict::NotEnoughData,
    }
}

/// The furthest percentile that is told in every group, with all before it.
fn told_to(groups: &[GroupResult]) -> Option<u32> {
    let of_group = |group: &GroupResult| {
        let percentiles = group.rows.iter().filter_map(|row| match row.what {
            What::Percentile { ppm } => Some((ppm, row.verdict)),
            _ => None,
        });
        percentiles.take_while(|(_, verdict)| *verdict != Verdict::NotEnoughData).map(|(ppm, _)| ppm).last()
    };
    groups.iter().map(of_group).min().flatten()
}
