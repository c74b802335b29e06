//! Signs of the origin of latencies: rhythms in time or in activations, several hills, and known causes. They show that
//! a tail is a schedule or a mixture, to which a tail law does not apply.

use super::{CauseShare, Hill, Refusal, Sign};
use crate::explain::{Cause, Explanation, Ranked, Spike};
use crate::recording::{Recording, Worst};
use crate::stats::float::{float, whole};
use crate::stats::{modes, residues, rhythm};
use punctual_hist::{Counts, MonoTime, Nanos, bucket_high, bucket_index};
use std::collections::BTreeMap;

/// Number of neighbouring buckets that are joined, so that each power of two has eight.
const COARSE: usize = 8;
/// Hills with a smaller part of all values than this are ignored.
const HILL_MIN: f64 = 1e-3;
/// A cause dominates if it makes at least this part of the spikes. Otherwise there are several causes.
const DOMINANT: f64 = 0.8;
/// Fewest spikes with a known cause from which causes are judged.
pub(super) const SPIKES_MIN: usize = 20;
/// A cause has one fixed size if the standard deviation of its times is below this part of their mean.
const FIXED: f64 = 0.1;

pub(super) fn signs(recording: &Recording, phase: u16) -> Vec<Sign> {
    let cpus = recording.phases.range((phase, 0)..=(phase, u32::MAX));
    cpus.flat_map(|((_, cpu), totals)| {
        let times = time_signs(recording, phase, *cpu);
        times.into_iter().chain(hills(*cpu, &totals.ran.counts()))
    })
    .collect()
}

/// The sign that the largest latencies recur, at regular times or else on every n-th activation.
fn time_signs(recording: &Recording, phase: u16, cpu: u32) -> Vec<Sign> {
    let largest: Vec<&Worst> =
        recording.worst.get(&cpu).into_iter().flatten().filter(|w| in_phase(recording, phase, w)).collect();
    let times: Vec<MonoTime> = largest.iter().map(|worst| worst.activation.release).collect();
    let thread = recording.header.scenario.threads.iter().find(|thread| thread.cpu == cpu);
    let (grid, tick) = (thread.map(|thread| thread.period).unwrap_or_default(), recording.header.clock.tick);
    let whole = |period: Nanos, of: Nanos| {
        let times = period.as_ns().saturating_add(of.as_ns() / 2).checked_div(of.as_ns())?;
        (times > 0 && of.times(times).as_ns().abs_diff(period.as_ns()) <= period.as_ns() / 500).then_some(times)
    };
    if let Some(rhythm) = rhythm::rhythm(&times, grid, tick) {
        let (activations, ticks) = (whole(rhythm.period, grid), whole(rhythm.period, tick));
        return vec![Sign::Rhythm { cpu, rhythm, activations, ticks }];
    }
    let indices: Vec<u64> = largest.iter().map(|worst| worst.activation.index).collect();
    residues::cycle(&indices).map(|activations| Sign::EveryNth { cpu, activations }).into_iter().collect()
}

fn in_phase(recording: &Recording, phase: u16, worst: &Worst) -> bool {
    let at = recording.header.at(worst.activation.release);
    let mut slices = recording.slices.iter();
    slices.any(|slice| slice.phase == phase && slice.start <= at && at < slice.start.plus(slice.length))
}

/// The hills of a histogram; `None` if there is only one.
fn hills(cpu: u32, counts: &Counts) -> Option<Sign> {
    let lowest = bucket_index(counts.min()?.as_ns()) / COARSE;
    let mut bins: BTreeMap<usize, u64> = BTreeMap::new();
    for (bucket, n) in counts.nonzero() {
        let bin = bins.entry(bucket / COARSE).or_default();
        *bin = bin.saturating_add(n);
    }
    let highest = bins.keys().next_back().copied()?;
    let list: Vec<u64> = (lowest..=highest).map(|bin| bins.get(&bin).copied().unwrap_or_default()).collect();
    let found = modes::modes(&list);
    let share = |mode: &modes::Mode| float(mode.size) / float(counts.count());
    let hills: Vec<Hill> = found
        .iter()
        .filter(|mode| share(mode) >= HILL_MIN)
        .map(|mode| Hill {
            at: Nanos::from_ns(bucket_high((lowest + mode.peak) * COARSE + COARSE / 2)),
            share: share(mode),
        })
        .collect();
    (hills.len() > 1).then_some(Sign::Modes { cpu, hills })
}

/// The refusal that signs and causes lead to. Hills refuse nothing, because they are in the body and not in the tail.
pub(super) fn refusal(signs: &[Sign], explanation: Option<&Explanation>, phase: u16, cpus: &[u32]) -> Option<Refusal> {
    let by_time = signs.iter().find_map(|sign| match sign {
        Sign::Rhythm { rhythm, .. } => Some(Refusal::Regular(*rhythm)),
        Sign::EveryNth { activations, .. } => Some(Refusal::EveryNth { activations: *activations }),
        Sign::Modes { .. } => None,
    });
    by_time.or_else(|| of_causes(explanation?, phase, cpus))
}

/// The complete spikes of a phase on these CPUs, by the cause that is blamed first.
pub(super) fn spikes_by_cause<'a>(
    explanation: &'a Explanation,
    phase: u16,
    cpus: &[u32],
) -> BTreeMap<&'a Cause, Vec<&'a Spike>> {
    let mut by_cause: BTreeMap<&Cause, Vec<&Spike>> = BTreeMap::new();
    let counts = |spike: &&Spike| spike.phase == phase && cpus.contains(&spike.cpu) && spike.incomplete.is_none();
    for spike in explanation.spikes.iter().filter(counts) {
        if let Some(blame) = spike.primary() {
            by_cause.entry(&blame.cause).or_default().push(spike);
        }
    }
    by_cause
}

fn of_causes(explanation: &Explanation, phase: u16, cpus: &[u32]) -> Option<Refusal> {
    let by_cause = spikes_by_cause(explanation, phase, cpus);
    let all: usize = by_cause.values().map(Vec::len).sum();
    if all < SPIKES_MIN {
        return None;
    }
    let share = |spikes: &Vec<&Spike>| float(spikes.len()) / float(all);
    let mut shares: Vec<CauseShare> =
        by_cause.iter().map(|(cause, spikes)| CauseShare { cause: (*cause).clone(), share: share(spikes) }).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    let CauseShare { cause: first, share: part } = shares.first()?;
    if *part < DOMINANT {
        return Some(Refusal::SeveralCauses { causes: shares });
    }
    of_one_cause(explanation, first, by_cause.get(first)?)
}

/// The refusal of a cause whose latencies come at regular times or have one fixed size.
pub(super) fn of_one_cause(explanation: &Explanation, cause: &Cause, spikes: &[&Spike]) -> Option<Refusal> {
    let ranked = explanation.causes.iter().find(|ranked: &&Ranked| ranked.cause == *cause);
    if let Some(rhythm) = ranked.and_then(|ranked| ranked.rhythm) {
        return Some(Refusal::Regular(rhythm));
    }
    let times: Vec<Nanos> = spikes.iter().filter_map(|spike| spike.primary()).map(|blame| blame.time).collect();
    Some(Refusal::FixedCause { cause: cause.clone(), size: one_size(&times)? })
}

/// The mean of these times if they hardly vary, else `None`.
fn one_size(times: &[Nanos]) -> Option<Nanos> {
    let values: Vec<f64> = times.iter().map(|time| float(time.as_ns())).collect();
    let n = float(values.len());
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let size = Nanos::from_ns(whole(mean));
    (variance.sqrt() < FIXED * mean).then_some(size)
}
