//! Compares several recordings of each side, or rounds in which both sides were measured one after the other.
//!
//! The error is the variation from run to run, whatever its reason: moods, boots, the placement of pages. Each run
//! gives one value of each number. Sides are compared by Student's t test on logarithms. Rounds are compared by their
//! differences: by the exact test of all signs (Fisher 1935) from eight rounds on, by Student's test for fewer.

use super::arm::{self, Arm, Place, float};
use super::odds::Odds;
use super::rows::PERCENTILES_PPM;
use super::{
    Against, Basis, CONFIDENCE, Change, Compared, ComparedNumber, Comparison, Design, Group, GroupResult, Limits,
    Options, Refused, RowResult, SecondKernel, Side, Undecided, comparable, judge, rows, series,
};
use crate::foreign::Series;
use crate::recording::Recording;
use crate::report::Report;
use crate::stats::float::whole;
use crate::stats::normal;
use punctual_hist::{Counts, Nanos, bucket_index, bucket_low};
use std::collections::BTreeMap;

/// Range of the number of rounds for which the exact test of signs is used. More rounds would take too long to
/// enumerate.
const SIGNS: (usize, usize) = (8, 20);
/// Least relative standard error of a percentile of a run: about a third of a bucket of a histogram.
const GRAIN: f64 = 0.005;
/// Percentiles up to this one, in parts per million, have odds.
const ODDS_PPM: u32 = 999_000;

/// A recording with its name, mostly the path of its file.
pub type Named<'a> = (String, &'a Recording);

/// One number of every run: (values of the first side, values of the second side).
type Values = (Vec<f64>, Vec<f64>);

impl Comparison {
    /// Compares two sides of several recordings each. With `in_turn` the recordings are those of rounds: the n-th of
    /// each side belong to the n-th round.
    ///
    /// # Errors
    /// If a side has no recording, a round lacks one side, a recording should not be compared with the first and
    /// `anyway` is off, or if the sides have no CPU and load in common.
    pub fn of_sides(
        first: &[Named<'_>],
        second: &[Named<'_>],
        in_turn: bool,
        options: Options,
    ) -> Result<Self, Refused> {
        let (Some(a), Some(b)) = (first.first(), second.first()) else { return Err(Refused::Alone) };
        if !options.margin.is_finite() || !(0.0..10.0).contains(&options.margin) {
            return Err(Refused::Margin(options.margin));
        }
        if in_turn && first.len() != second.len() {
            return Err(Refused::Unpaired(first.len(), second.len()));
        }
        let mut refused = false;
        for (name, other) in first.iter().skip(1).chain(second) {
            let differences = comparable::differences(a.1, other);
            refused |= super::refusing(&differences, name, &options)?;
        }
        let groups = groups(first, second, in_turn, &options);
        if groups.is_empty() {
            return Err(Refused::NothingInCommon(b.0.clone(), Vec::new()));
        }
        let design = if in_turn {
            Design::Rounds { rounds: first.len() }
        } else {
            Design::Runs { first: first.len(), second: second.len() }
        };
        let mut others = vec![Against {
            differences: comparable::differences(a.1, b.1),
            refused,
            left_out: arm::common(a.1, b.1, options.anyway).1,
            lacks: Vec::new(),
            groups,
            causes: None,
            kernels: None,
            side: side(b, second),
            verdict: Compared::NotEnoughData,
            told_to_ppm: None,
            wants: None,
            design,
            undecided: None,
            basis: Basis::Times,
            if_independent: None,
        }];
        let looked_at = judge::all(&mut others, &options);
        others.iter_mut().for_each(few_runs);
        let [a_side, b_side] = [first, second].map(|side| side.iter().map(|(_, run)| *run).collect::<Vec<_>>());
        for other in &mut others {
            other.kernels = SecondKernel::of(&a_side, &b_side, other);
        }
        Ok(Self { options, first: side(a, first), others, looked_at, error_rate: judge::RISK })
    }
}

/// Adds the smallest change that these runs could have shown, if they decide nothing.
fn few_runs(other: &mut Against) {
    if other.verdict != Compared::NotEnoughData {
        return;
    }
    let width = |row: &RowResult| match (row.what, row.change) {
        (ComparedNumber::Percentile { ppm }, Some(Change::Ratio(limits))) if ppm <= ODDS_PPM => {
            Some((limits.high / limits.low.max(f64::MIN_POSITIVE)).sqrt())
        }
        _ => None,
    };
    let least = other.groups.iter().flat_map(|group| &group.rows).filter_map(width).fold(1.0, f64::max);
    other.undecided = Some(Undecided::FewRuns { least: if least > 1.0 { least } else { f64::INFINITY } });
}

/// All recordings of a side as one, under the name of the first.
fn side((name, run): &Named<'_>, runs: &[Named<'_>]) -> Side {
    let mut side = Side::of(name, run, &Report::of(run));
    let others = runs.iter().skip(1).map(|(name, run)| Side::of(name, run, &Report::of(run)));
    side.runs = runs.iter().map(|(name, _)| name.clone()).collect();
    for other in others {
        side.measured = side.measured.zip(other.measured).map(|(a, b)| a.plus(b));
        for doubt in other.doubts {
            if !side.doubts.contains(&doubt) {
                side.doubts.push(doubt);
            }
        }
    }
    let mut all: BTreeMap<Group, Counts> = BTreeMap::new();
    for (_, run) in runs {
        for place in arm::places(run) {
            let [ran, _] = arm::latencies(run, &place);
            all.entry(place.group).or_default().merge(&ran);
        }
    }
    let series = |(group, ran): (Group, Counts)| (group, Series::of_counts(side.name.clone(), None, &ran));
    side.latencies = all.into_iter().map(series).collect();
    side
}

/// The results of the groups that every recording has.
fn groups(first: &[Named<'_>], second: &[Named<'_>], in_turn: bool, options: &Options) -> Vec<GroupResult> {
    let (Some(a), Some(b)) = (first.first(), second.first()) else { return Vec::new() };
    let (pairs, _) = arm::common(a.1, b.1, options.anyway);
    let arms = |runs: &[Named<'_>], wanted: &Place| {
        let of = |(_, run): &Named<'_>| {
            let place = arm::places(run).into_iter().find(|place| place.group == wanted.group)?;
            Some(Arm::of(run, &place)).filter(|arm| arm.due.count() > 0)
        };
        runs.iter().map(of).collect::<Option<Vec<Arm>>>()
    };
    let group = |(a, b): &(Place, Place)| {
        let sides = Sides { first: arms(first, a)?, second: arms(second, b)?, in_turn };
        Some(GroupResult {
            group: a.group.clone(),
            against: (a.group != b.group).then(|| b.group.clone()),
            unfit: (None, None),
            due: (sides.due(true), sides.due(false)),
            delta: rows::delta(&sides.all(true, |arm| &arm.ran), &sides.all(false, |arm| &arm.ran)),
            rows: sides.rows(options),
            mood: None,
            basis: Basis::Times,
            if_independent: None,
            verdict: Compared::NotEnoughData,
        })
    };
    pairs.iter().filter_map(group).collect()
}

/// One group in all runs of both sides.
struct Sides {
    first: Vec<Arm>,
    second: Vec<Arm>,
    in_turn: bool,
}

/// A difference between two sides, with its standard error.
struct Contrast {
    by: f64,
    error: f64,
    freedom: f64,
    odds: Odds,
}

impl Sides {
    fn of(&self, first: bool) -> &[Arm] {
        if first { &self.first } else { &self.second }
    }

    fn due(&self, first: bool) -> u64 {
        self.of(first).iter().fold(0, |sum, arm| sum.saturating_add(arm.due.count()))
    }

    fn all(&self, first: bool, of: fn(&Arm) -> &Counts) -> Counts {
        let mut all = Counts::new();
        self.of(first).iter().for_each(|arm| all.merge(of(arm)));
        all
    }

    fn rows(&self, options: &Options) -> Vec<RowResult> {
        let mut rows: Vec<RowResult> = PERCENTILES_PPM.iter().map(|ppm| self.percentile(*ppm, options)).collect();
        let budget = options.budget.or_else(|| self.first.first().and_then(|arm| arm.budget));
        let limit = budget.map_or(usize::MAX, |budget| bucket_index(budget.as_ns()).saturating_add(1));
        let late = |arm: &Arm| {
            let ran = arm.ran.nonzero().filter(|(bucket, _)| *bucket >= limit).fold(0u64, |sum, (_, n)| sum + n);
            float(ran + arm.due.count().saturating_sub(arm.ran.count()))
        };
        rows.extend(self.events(late, |_, _| ComparedNumber::Misses { budget }));
        let mut all = self.all(true, |arm| &arm.due);
        all.merge(&self.all(false, |arm| &arm.due));
        for edge in series::rare_edges(&all) {
            let beyond =
                |arm: &Arm| float(arm.due.nonzero().filter(|(bucket, _)| *bucket >= edge).map(|(_, n)| n).sum::<u64>());
            let what =
                |first, second| ComparedNumber::Rare { threshold: Nanos::from_ns(bucket_low(edge)), first, second };
            rows.extend(self.events(beyond, what));
        }
        rows
    }

    fn percentile(&self, ppm: u32, options: &Options) -> RowResult {
        let what = ComparedNumber::Percentile { ppm };
        let share = f64::from(ppm) / 1e6;
        let value = |arm: &Arm| {
            let enough = float(arm.due.count()) * (1.0 - share) >= 1.0;
            let value = arm.histogram().quantile(share).filter(|_| enough)?;
            Some(value.max(1.0).ln())
        };
        let of = |first| self.of(first).iter().map(value).collect::<Option<Vec<f64>>>();
        let Some(values) = of(true).zip(of(false)) else { return RowResult::new(what, None, false) };
        let (first, second) = (mean(&values.0), mean(&values.1));
        let shown = |row: RowResult| RowResult { first: Some(first.exp()), second: Some(second.exp()), ..row };
        let least = GRAIN * GRAIN * (1.0 / count(&values.0) + 1.0 / count(&values.1));
        let Some(contrast) = self.contrast(&values, least) else { return shown(RowResult::new(what, None, false)) };
        let (low, high) = contrast.limits();
        let room = options.margin.max(0.01).ln_1p();
        let odds = Some(contrast.odds).filter(|_| ppm <= ODDS_PPM);
        let limits = Limits { seen: Some(contrast.by.exp()), low: low.exp(), high: high.exp() };
        let row = RowResult::new(what, odds, low >= -room && high <= room);
        shown(RowResult { change: Some(Change::Ratio(limits)), ..row })
    }

    /// The row of a number of events. The rates of runs are compared as square roots, whose variance does not depend on
    /// the count (Anscombe 1948).
    fn events(&self, of: impl Fn(&Arm) -> f64, what: impl Fn(u64, u64) -> ComparedNumber) -> Option<RowResult> {
        let due = |arm: &Arm| float(arm.due.count());
        let root = |arm: &Arm| ((of(arm) + 0.375) / due(arm)).sqrt();
        let total = |first: bool| self.of(first).iter().map(&of).sum::<f64>();
        let rate = |first: bool| total(first) / self.of(first).iter().map(due).sum::<f64>();
        let what = what(whole(total(true)), whole(total(false)));
        if total(true) + total(false) <= 0.0 {
            let row = RowResult::new(what, None, true);
            return Some(RowResult { first: Some(0.0), second: Some(0.0), ..row });
        }
        let values = (self.first.iter().map(root).collect::<Vec<f64>>(), self.second.iter().map(root).collect());
        // The variance between runs cannot be less than that of independent events.
        let chance =
            |arms: &[Arm]| arms.iter().map(|arm| 0.25 / due(arm)).sum::<f64>() / float(arms.len() as u64).powi(2);
        let contrast = self.contrast(&values, chance(&self.first) + chance(&self.second))?;
        let (from, middle) = (rate(true), mean(&values.0));
        let times = |by: f64| (middle + by).max(0.0).powi(2) / middle.powi(2);
        let (low, high) = contrast.limits();
        let limits = Limits { seen: (from > 0.0).then(|| rate(false) / from), low: times(low), high: times(high) };
        let told = limits.low >= 0.5 && limits.high <= 2.0;
        Some(RowResult {
            first: Some(from * 1e6),
            second: Some(rate(false) * 1e6),
            change: Some(Change::Ratio(limits)),
            ..RowResult::new(what, Some(contrast.odds), told)
        })
    }

    /// The difference of the two sides, with a variance of at least `least`; `None` with too few runs.
    fn contrast(&self, (first, second): &Values, least: f64) -> Option<Contrast> {
        if self.in_turn {
            let differences: Vec<f64> = second.iter().zip(first).map(|(b, a)| b - a).collect();
            return of_rounds(&differences, least);
        }
        let freedom = count(first) + count(second) - 2.0;
        if freedom < 1.0 {
            return None;
        }
        let variance = (squares(first) + squares(second)) / freedom;
        let error = (variance * (1.0 / count(first) + 1.0 / count(second))).max(least).sqrt();
        Some(Contrast::of(mean(second) - mean(first), error, freedom))
    }
}

/// The mean difference of the rounds; `None` with fewer than two rounds.
fn of_rounds(differences: &[f64], least: f64) -> Option<Contrast> {
    let n = count(differences);
    if n < 2.0 {
        return None;
    }
    let error = (squares(differences) / (n - 1.0) / n).max(least).sqrt();
    let contrast = Contrast::of(mean(differences), error, n - 1.0);
    if !(SIGNS.0..=SIGNS.1).contains(&differences.len()) {
        return Some(contrast);
    }
    let more = signs(differences);
    let turned: Vec<f64> = differences.iter().map(|by| -by).collect();
    Some(Contrast { odds: Odds { more, less: signs(&turned) }, ..contrast })
}

/// The share of all assignments of signs to these differences that have a sum at least as large as the observed one.
fn signs(differences: &[f64]) -> f64 {
    let seen: f64 = differences.iter().sum();
    let slack = 1e-9 * differences.iter().map(|by| by.abs()).sum::<f64>();
    let ways = 1u32 << differences.len().min(SIGNS.1);
    let reaches = |way: &u32| {
        let turned = differences.iter().enumerate().map(|(i, by)| if way >> i & 1 == 1 { -by } else { *by });
        turned.sum::<f64>() >= seen - slack
    };
    f64::from(u32::try_from((0..ways).filter(reaches).count()).unwrap_or(u32::MAX)) / f64::from(ways)
}

impl Contrast {
    fn of(by: f64, error: f64, freedom: f64) -> Self {
        let more = normal::student_above(by / error, freedom);
        Self { by, error, freedom, odds: Odds { more, less: 1.0 - more } }
    }

    fn limits(&self) -> (f64, f64) {
        let t = normal::student_quantile_above((1.0 - CONFIDENCE) / 2.0, self.freedom);
        (self.by - t * self.error, self.by + t * self.error)
    }
}

fn count(values: &[f64]) -> f64 {
    float(values.len() as u64)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values).max(1.0)
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests;
