//! The claims of one load phase: sums over its CPUs, how its exceedances cluster, and each rung.

#![allow(clippy::cast_precision_loss, reason = "numbers of samples beyond 2^53 lose nothing that matters")]

use super::course::{Course, LARGEST};
use super::percentiles::{Worth, misses, percentiles};
use super::{Maxima, Methods, NewMaximum, PhaseClaims, Refusal, Sign, beyond, by_cause, signs};
use crate::explain::Explanation;
use crate::recording::{CpuTallies, Recording, TimeSlice};
use crate::stats::float::{float, whole};
use crate::stats::moods::Cell;
use crate::stats::{binomial, clusters};
use punctual_hist::{Counts, Nanos};

const HOUR: Nanos = Nanos::from_secs(3_600);
const DAY: Nanos = Nanos::from_secs(86_400);
const MONTH: Nanos = Nanos::from_secs(30 * 86_400);
const YEAR: Nanos = Nanos::from_secs(365 * 86_400);
/// Lengths of time for which the level exceeded once is reported.
pub(super) const TIMES: [Nanos; 4] = [HOUR, DAY, MONTH, YEAR];
/// The extremal index is reported if at least this number of blocks holds an exceedance.
const CLUSTERS_MIN: u64 = 10;
/// More cells than this cost time and add nothing about moods.
const CELLS_MAX: usize = 256;

/// The claims of a phase, for all its CPUs together and for each of them.
pub(super) fn claims(recording: &Recording, explanation: Option<&Explanation>, phase: u16) -> PhaseClaims {
    let cpus: Vec<u32> = recording.phases.range((phase, 0)..=(phase, u32::MAX)).map(|((_, cpu), _)| *cpu).collect();
    let signs = signs::signs(recording, phase);
    let one = |cpu: &u32| {
        let own = signs.iter().filter(|sign| sign.cpu() == *cpu).cloned().collect();
        claims_of(recording, explanation, phase, vec![*cpu], own)
    };
    let by_cpu = if cpus.len() > 1 { cpus.iter().map(one).collect() } else { Vec::new() };
    let by_cause = explanation.map(|explanation| by_cause::by_cause(recording, explanation, phase, &cpus, &TIMES));
    let all = claims_of(recording, explanation, phase, cpus, signs.clone());
    PhaseClaims { by_cpu, by_cause: by_cause.unwrap_or_default(), ..all }
}

fn claims_of(
    recording: &Recording,
    explanation: Option<&Explanation>,
    phase: u16,
    cpus: Vec<u32>,
    signs: Vec<Sign>,
) -> PhaseClaims {
    let sums = Sums::of(recording, phase, cpus);
    let (due, course) = (sums.due.count(), sums.course());
    let maxima = sums.maxima(recording);
    let reached = beyond(&maxima, &TIMES);
    let drift = match &reached {
        Err(Refusal::Drifts(drift)) => Some(*drift),
        _ => None,
    };
    let is_of_next_run = drift.is_none() && !course.is_too_long();
    let wanted = course.moods.and_then(|moods| moods.run_wanted);
    let worth = |above: u64| Worth {
        n: due,
        spread: is_of_next_run.then(|| course.effect(above)),
        time: sums.time,
        longer: wanted.filter(|_| drift.is_none()).map(|wanted| wanted.minus(sums.time)),
    };
    // Signs and causes can only refuse the levels if the run itself has not been refused already.
    let decided = matches!(reached, Err(Refusal::NoTimes | Refusal::TooFew { .. } | Refusal::Drifts(_)));
    let known = signs::refusal(&signs, explanation, phase, &sums.cpus).filter(|_| !decided);
    let reached = known.map_or(reached, Err);
    PhaseClaims {
        phase,
        cpus: sums.cpus.iter().copied().collect(),
        due,
        time: sums.time,
        largest: sums.due.max(),
        clustering: course.largest(),
        moods: course.moods,
        methods: Methods::USED,
        extremal_index: sums.extremal_index(&maxima),
        drift,
        misses: recording.header.scenario.budget.and_then(|budget| {
            let effect = is_of_next_run.then(|| course.effect_of_misses(sums.missed, &sums.missed_cells()));
            misses(budget, sums.missed, &Worth { spread: effect, ..worth(sums.missed) })
        }),
        next: if is_of_next_run && !sums.due.is_empty() { odds(sums.time, maxima.ties()) } else { Vec::new() },
        percentiles: percentiles(due, &sums.due, worth),
        beyond: reached,
        by_cause: Vec::new(),
        signs,
        by_cpu: Vec::new(),
    }
}

/// The odds of a value larger than all measured ones, of which `ties` share the maximum. If no part of the run differs
/// from the others, and a single value is the maximum, the odds depend on the two lengths of time alone.
pub(super) fn odds(measured: Nanos, ties: u64) -> Vec<NewMaximum> {
    let odds =
        |time: Nanos| Some(NewMaximum { time, odds: binomial::new_maximum(measured.as_ns(), time.as_ns(), ties)? });
    if measured == Nanos::ZERO { Vec::new() } else { [HOUR, DAY, YEAR].into_iter().filter_map(odds).collect() }
}

struct Sums<'a> {
    phase: u16,
    cpus: Vec<u32>,
    due: Counts,
    missed: u64,
    time: Nanos,
    slices: Vec<&'a TimeSlice>,
}

impl<'a> Sums<'a> {
    fn of(recording: &'a Recording, phase: u16, cpus: Vec<u32>) -> Self {
        let mut sums = Self {
            phase,
            cpus: Vec::new(),
            due: Counts::new(),
            missed: 0,
            time: Nanos::ZERO,
            slices: recording.slices.iter().filter(|slice| slice.phase == phase).collect(),
        };
        for totals in cpus.iter().filter_map(|cpu| recording.phases.get(&(phase, *cpu))) {
            sums.due.merge(&totals.ran.counts());
            let skipped = totals.skipped.counts();
            sums.missed = sums.missed.saturating_add(totals.over_budget).saturating_add(skipped.count());
            sums.due.merge(&skipped);
        }
        sums.cpus = cpus;
        sums.time = sums.slices.iter().fold(Nanos::ZERO, |time, slice| time.plus(slice.length));
        sums
    }

    fn course(&self) -> Course {
        let n = self.due.count();
        Course::of(n, self.time, |above| Some(self.cells(self.due.value_at_rank(n.checked_sub(above)?)?)))
    }

    /// Counts above the level, in cells.
    fn cells(&self, level: Nanos) -> Vec<Cell> {
        self.cells_of(|cpu| cpu.ran.above(level).saturating_add(cpu.skipped.above(level)))
    }

    /// Counts of misses, in cells.
    fn missed_cells(&self) -> Vec<Cell> {
        self.cells_of(|cpu| cpu.over_budget.saturating_add(cpu.skipped.count()))
    }

    /// Counts of events in cells of about equal length, each at least as long as the longest slice, so that no cell
    /// stays empty.
    fn cells_of(&self, events: impl Fn(&CpuTallies) -> u64) -> Vec<Cell> {
        let length = |slice: &&TimeSlice| slice.length.as_ns() as f64;
        let all = self.slices.iter().map(length).sum::<f64>();
        let longest = self.slices.iter().map(length).fold(1.0, f64::max);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of cells")]
        let size = ((all / longest) as usize).clamp(1, CELLS_MAX.min(self.slices.len().max(1)));
        let (mut cells, mut passed) = (vec![(0.0, 0.0); size], 0.0);
        for slice in &self.slices {
            let middle = passed + length(slice) / 2.0;
            passed += length(slice);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
            let place = (middle / all * size as f64) as usize;
            let Some(cell) = cells.get_mut(place) else { continue };
            for cpu in self.cpus.iter().filter_map(|cpu| slice.cpus.get(cpu)) {
                cell.0 += float(events(cpu));
                cell.1 += float(cpu.ran.count().saturating_add(cpu.skipped.count()));
            }
        }
        cells
    }

    /// The extremal index of the largest values. Their number is a third of the number of blocks, but at most
    /// `LARGEST`.
    fn extremal_index(&self, maxima: &Maxima) -> Option<f64> {
        let blocks = maxima.list.len() as u64;
        let n = self.due.count();
        let level = self.due.value_at_rank(n.checked_sub(LARGEST.min(blocks / 3))?)?;
        let above = whole(self.cells(level).iter().map(|cell| cell.0).sum());
        let exceeded = maxima.list.values().filter(|max| **max > level).count() as u64;
        clusters::by_blocks(exceeded, blocks, above, n).filter(|_| exceeded >= CLUSTERS_MIN)
    }

    fn maxima(&self, recording: &Recording) -> Maxima {
        let list = recording.blocks.of(self.phase, |cpu| self.cpus.contains(&cpu));
        Maxima { block: recording.blocks.length(), list }
    }
}
