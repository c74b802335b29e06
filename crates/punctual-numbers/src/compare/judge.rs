//! Corrects the odds of all rows for their number, and derives the verdicts.

use super::{
    Against, Change, Compared, ComparedNumber, Design, GroupResult, Limits, Mood, Options, RowResult, Undecided,
    Withheld,
};
use crate::stats::multiplicity::holm_weighted;

/// The probability that any row of a comparison of equal systems is called better or worse.
pub(super) const RISK: f64 = 0.05;
/// Percentiles up to this one, in parts per million, must have had enough data for the verdict "no difference shown".
const BODY_PPM: u32 = 990_000;

/// Corrects the odds of all rows for the number of rows, judges the rows, and returns their number. A row decides if
/// chance does not explain its change, the observed change is beyond the margin, and its interval excludes no change.
pub(super) fn all(others: &mut [Against], options: &Options) -> usize {
    others.iter_mut().flat_map(|other| &mut other.groups).for_each(withhold);
    let mut rows: Vec<&mut RowResult> = others
        .iter_mut()
        .flat_map(|other| &mut other.groups)
        .flat_map(|group| &mut group.rows)
        .filter(|row| row.odds.is_some())
        .collect();
    let odds: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((row.odds?, weight(&row.what)))).collect();
    for (row, of_all) in rows.iter_mut().zip(holm_weighted(&odds)) {
        row.odds_of_all = Some(of_all);
        if of_all >= RISK || !is_beyond(row, options) || may_be_equal(row) {
            continue;
        }
        row.wants = None;
        row.withheld = row.withheld.or(row.stealable.then_some(Withheld::Stolen));
        row.verdict = match (row.withheld, row.upwards) {
            (Some(_), _) => Compared::NotEnoughData,
            (None, true) => Compared::Worse,
            (None, false) => Compared::Better,
        };
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
        if other.verdict == Compared::NotEnoughData && other.design == Design::Pair {
            other.undecided = moods(&other.groups).map(Undecided::Moods);
        }
    }
    odds.len()
}

/// Withholds the verdicts of a group whose runs saw too few moods, because each run may have met different moods.
fn withhold(group: &mut GroupResult) {
    if !group.mood.is_some_and(|mood| mood.is_all()) {
        return;
    }
    for row in group.rows.iter_mut().filter(|row| row.odds.is_some()) {
        (row.withheld, row.verdict) = (row.withheld.or(Some(Withheld::Moods)), Compared::NotEnoughData);
    }
}

/// The longest mood, relative to its run, that keeps a group from being decided.
fn moods(groups: &[GroupResult]) -> Option<Mood> {
    let unclear = groups.iter().filter(|group| group.verdict == Compared::NotEnoughData);
    let long = unclear.filter_map(|group| group.mood).filter(Mood::is_long);
    long.min_by(|a, b| a.seen().total_cmp(&b.seen()))
}

/// The weight of a row in the error rate. Rows of rare events get a larger weight, because few events must suffice for
/// a decision.
fn weight(what: &ComparedNumber) -> f64 {
    match what {
        ComparedNumber::Rare { .. } => 2.0,
        ComparedNumber::RareSizes { .. } => 0.5,
        ComparedNumber::Percentile { .. } | ComparedNumber::Misses { .. } => 1.0,
    }
}

/// Whether the observed change of the row is larger than the margin.
fn is_beyond(row: &RowResult, options: &Options) -> bool {
    match row.change {
        Some(Change::Difference(limits)) => {
            limits.seen.zip(row.first).is_some_and(|(by, first)| by.abs() > options.margin * first)
        }
        Some(Change::Ratio(limits)) => {
            let times = 1.0 + options.margin;
            limits.seen.is_none_or(|seen| seen > times || seen < 1.0 / times)
        }
        None => false,
    }
}

/// Whether the interval of the change contains "no change". The sizes of rare events have odds and no interval.
fn may_be_equal(row: &RowResult) -> bool {
    let holds = |limits: Limits, same: f64| (limits.low..=limits.high).contains(&same);
    match row.change {
        Some(Change::Difference(limits)) => !matches!(row.what, ComparedNumber::RareSizes { .. }) && holds(limits, 0.0),
        Some(Change::Ratio(limits)) => holds(limits, 1.0),
        None => false,
    }
}

fn is_body(row: &RowResult) -> bool {
    matches!(row.what, ComparedNumber::Percentile { ppm } if ppm <= BODY_PPM)
}

fn judge_group(group: &mut GroupResult) {
    group.verdict = verdict_of(&group.rows);
}

/// The verdict of a group of rows. Every row that decides counts. For "no difference shown", only the rows of the body
/// need enough data.
pub(crate) fn verdict_of(rows: &[RowResult]) -> Compared {
    let decides = |row: &&RowResult| matches!(row.verdict, Compared::Better | Compared::Worse);
    let speaks = rows.iter().filter(|row| decides(row) || is_body(row));
    Compared::of_all(speaks.map(|row| row.verdict))
}

/// The furthest percentile, in parts per million, up to which every percentile had enough data in every group.
fn told_to(groups: &[GroupResult]) -> Option<u32> {
    let of_group = |group: &GroupResult| {
        let percentiles = group.rows.iter().filter_map(|row| match row.what {
            ComparedNumber::Percentile { ppm } => Some((ppm, row.verdict)),
            _ => None,
        });
        percentiles.take_while(|(_, verdict)| *verdict != Compared::NotEnoughData).map(|(ppm, _)| ppm).last()
    };
    groups.iter().map(of_group).min().flatten()
}
