//! Looks for shifts: after each run, the latest two to eight are held against those before.
//!
//! Neighbouring runs resemble each other, because machines have moods that outlast a run. The logarithms of a percentile
//! are therefore taken for an autoregressive series of first order, and the test looks at what each run adds to the part
//! of its neighbour that it shares: a mood comes and goes in small steps, a shift comes at once and stays. This is
//! Student's test by generalised least squares. The coefficient is estimated from the runs before, corrected for its bias
//! (Marriott and Pope 1954) and taken larger by [`FEW_RUNS`], because one that is too small makes false alarms.

use super::{Moved, Options, Run, Shift, WATCHED_PPM, logs};
use crate::stats::dependence::autocorrelations;
use crate::stats::float::{float, whole};
use crate::stats::normal;
use punctual_hist::Nanos;

/// Least number of runs before, to tell how much runs differ.
pub(super) const BASE_MIN: usize = 8;
/// Most runs before that are looked at: older ones tell little of the machine as it is.
const BASE_MAX: usize = 60;
/// Numbers of latest runs that are held against those before. A single one would make an alarm of every odd run.
const WINDOWS: [usize; 4] = [2, 3, 5, 8];
/// Least standard deviation of a logarithm: about a third of a bucket of the histogram.
const GRAIN: f64 = 0.005;
/// Largest coefficient of resemblance. A series beyond it has no level that could shift.
const RESEMBLANCE_MAX: f64 = 0.95;
/// Over the number of runs before: by how much the coefficient may have come out too small. `truth` measures the alarms of
/// series that resemble their neighbours by 0.9.
const FEW_RUNS: f64 = 6.0;
/// By how much the odds of one test may exceed an equal part of the accepted false alarms. The tests of one run, and of
/// runs beside it, share most of their data, so that their number overstates the error. `truth` measures the alarms.
const SHARED: f64 = 1.0;
/// Risk on both sides of a limit that is told.
const RISK: f64 = 0.05;

/// The difference of two means of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Against {
    pub by: f64,
    error: f64,
    freedom: f64,
}

impl Against {
    /// Probability of a difference as large if there is none.
    pub fn odds(&self) -> f64 {
        2.0 * normal::student_above(self.by.abs() / self.error, self.freedom)
    }

    /// Ratio of the values behind the logarithms, with limits.
    pub fn ratio(&self) -> (f64, f64, f64) {
        let away = normal::student_quantile_above(RISK / 2.0, self.freedom) * self.error;
        (self.by.exp(), (self.by - away).exp(), (self.by + away).exp())
    }
}

/// Holds the latest values against those before. `None` if there are too few before.
pub fn against(before: &[f64], latest: &[f64]) -> Option<Against> {
    let (earliest, last) = (*before.first()?, *before.last()?);
    let n = float(before.len());
    if before.len() < BASE_MIN {
        return None;
    }
    let shared = (resemblance(before) + FEW_RUNS / n).min(RESEMBLANCE_MAX);
    let own = 1.0 - shared;
    let alone = (1.0 - shared * shared).sqrt();
    let added = |was: &f64, is: &f64| is - shared * was;
    // The level before, from what each run adds to the part that it shares with its neighbour. The first has none.
    let steps: Vec<f64> = before.iter().zip(before.iter().skip(1)).map(|(was, is)| added(was, is)).collect();
    let weight = alone * alone + (n - 1.0) * own * own;
    let sum = alone * alone * earliest + own * steps.iter().sum::<f64>();
    let level = sum / weight;
    let rest = steps.iter().map(|step| (step - own * level).powi(2)).sum::<f64>();
    let squares = (alone * (earliest - level)).powi(2) + rest;
    let variance = (squares / (n - 2.0)).max(GRAIN * GRAIN * alone * alone);
    // A shift is whole in the first of the latest runs, and in later ones as far as they do not share it.
    let first = added(&last, latest.first()?);
    let later: f64 = latest.iter().zip(latest.iter().skip(1)).map(|(was, is)| added(was, is)).sum();
    let more = (float(latest.len()) - 1.0) * own * own;
    let (weight, both, shifted) = (weight + own * own + more, own + more, 1.0 + more);
    let determinant = weight * shifted - both * both;
    Some(Against {
        by: (weight * (first + own * later) - both * (sum + own * (first + later))) / determinant,
        error: (variance * weight / determinant).sqrt(),
        freedom: n - 3.0,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len())
}

/// The coefficient of first order, corrected for its bias, and never below 0.
fn resemblance(values: &[f64]) -> f64 {
    let n = float(values.len());
    let seen = autocorrelations(values, 1).first().copied().unwrap_or(0.0);
    if !seen.is_finite() {
        return 0.0;
    }
    ((n * seen + 1.0) / (n - 3.0)).clamp(0.0, RESEMBLANCE_MAX)
}

/// All shifts in order, and the index of the first run after the last of them.
pub(super) fn shifts(runs: &[Run], options: &Options) -> (Vec<Shift>, usize) {
    let (mut shifts, mut start) = (Vec::new(), 0);
    for end in 1..=runs.len() {
        if let Some(shift) = shift_at(runs, start, end, options) {
            start = shift.at;
            shifts.push(shift);
        }
    }
    (shifts, start)
}

/// The percentiles that all of these runs have.
fn watched(runs: &[Run]) -> Vec<(u32, Vec<f64>)> {
    WATCHED_PPM.into_iter().filter_map(|ppm| Some((ppm, logs(runs, ppm)?))).collect()
}

/// The shift that the latest of the runs `start..end` show, if they show one.
fn shift_at(runs: &[Run], start: usize, end: usize, options: &Options) -> Option<Shift> {
    if end.saturating_sub(start) < BASE_MIN + 2 {
        return None;
    }
    let start = start.max(end.saturating_sub(BASE_MAX));
    let rows = watched(runs.get(start..end)?);
    let tests = float(rows.len().max(1) * WINDOWS.len());
    let accepted = options.false_alarms_per_1000 / 1_000.0 * SHARED / tests;
    let margin = options.margin.ln_1p();
    let mut best: Option<(f64, usize)> = None;
    for (_, values) in &rows {
        for window in WINDOWS {
            let Some((before, latest)) = values.split_at_checked(values.len().saturating_sub(window)) else { continue };
            let Some(found) = against(before, latest) else { continue };
            let odds = found.odds();
            // A single odd run moves the mean of two; every one of the latest must have moved at least half as far.
            let is_level = latest.iter().all(|value| (value - mean(before)) / found.by >= 0.5);
            if odds <= accepted && found.by.abs() >= margin && is_level && best.is_none_or(|(least, _)| odds < least) {
                best = Some((odds, window));
            }
        }
    }
    let (_, window) = best?;
    let at = end - window;
    let moved = moved(&rows, window, margin);
    let first = moved.first()?;
    Some(Shift {
        at,
        run: runs.get(at)?.name.clone(),
        found_after: window,
        worse: first.ratio > 1.0,
        moved,
        changed: runs.get(at.checked_sub(1)?)?.changed(runs.get(at)?),
    })
}

/// The percentiles that moved by at least the margin, the largest change first.
fn moved(rows: &[(u32, Vec<f64>)], window: usize, margin: f64) -> Vec<Moved> {
    let one = |(ppm, values): &(u32, Vec<f64>)| {
        let (before, latest) = values.split_at_checked(values.len().checked_sub(window)?)?;
        let found = against(before, latest)?;
        let (ratio, low, high) = found.ratio();
        let level = |values: &[f64]| Nanos::from_ns(whole(mean(values).exp()));
        let is_told = found.by.abs() >= margin && found.odds() <= RISK;
        is_told.then(|| Moved { percentile_ppm: *ppm, before: level(before), after: level(latest), ratio, low, high })
    };
    let mut moved: Vec<Moved> = rows.iter().filter_map(one).collect();
    moved.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    moved
}

/// How strongly neighbouring runs resemble each other since `start`, and the smallest shift of the highest percentile up
/// to p99.9 that three runs would show in five of six cases.
pub(super) fn sight(runs: &[Run], start: usize, options: &Options) -> (Option<f64>, Option<f64>) {
    let Some(runs) = runs.get(start.max(runs.len().saturating_sub(BASE_MAX))..) else { return (None, None) };
    if runs.len() < BASE_MIN {
        return (None, None);
    }
    let rows = watched(runs);
    let Some((_, values)) = rows.iter().rfind(|(ppm, _)| *ppm <= 999_000) else { return (None, None) };
    let Some(of) = against(values, &[0.0, 0.0, 0.0]) else { return (None, None) };
    let tests = float(rows.len().max(1) * WINDOWS.len());
    let accepted = options.false_alarms_per_1000 / 1_000.0 * SHARED / tests;
    let needed = normal::student_quantile_above(accepted / 2.0, of.freedom) + 1.0;
    (Some(resemblance(values)), Some((needed * of.error).exp_m1()))
}
