//! Causes over the whole run.
//!
//! Counts, sums and worst cases are plain facts of the windows kept. Shares, and the order of causes, speak for all late
//! activations of the run: of each CPU the worst are all kept and stand for themselves; those drawn at random stand for
//! all that are not among the worst, each for as many. Windows that do not tell all are taken to be like the others of
//! their kind. So keeping more of the worst does not make their cause look more frequent than it is.

use super::{Blame, Cause, Ranked, Spike, Why, advice, bursts, rhythm};
use crate::trace::{Incomplete, Kept, LateTotal};
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rhythms are looked for in so many causes, the largest first.
const RHYTHMS_MAX: usize = 16;
/// So many reasons are kept of a cause.
const WHYS_MAX: usize = 8;

/// What is known of the run beside the spikes.
pub(super) struct Run<'a> {
    /// Late activations by CPU.
    pub late: &'a BTreeMap<u32, LateTotal>,
    /// Time between releases.
    pub grid: Nanos,
    /// The kernel's tick.
    pub tick: Nanos,
}

/// What one spike stands for.
pub(super) struct Weights {
    by_cpu: BTreeMap<u32, (f64, f64)>,
}

impl Weights {
    pub(super) fn of(spikes: &[Spike], late: &BTreeMap<u32, LateTotal>) -> Self {
        let mut counts: BTreeMap<u32, [u64; 4]> = BTreeMap::new();
        for spike in spikes {
            let [worst, worst_told, _, drawn_told] = counts.entry(spike.cpu).or_default();
            let told = u64::from(ranks(spike));
            if spike.kept == Kept::Worst {
                *worst += 1;
                *worst_told += told;
            } else {
                *drawn_told += told;
            }
        }
        let ratio = |of: u64, told: u64| if told == 0 { 1.0 } else { (as_f64(of) / as_f64(told)).max(1.0) };
        let weights = |(cpu, [worst, worst_told, _, drawn_told]): (u32, [u64; 4])| {
            let rest = late.get(&cpu).map_or(0, |total| total.count.saturating_sub(worst));
            (cpu, (ratio(worst, worst_told), ratio(rest, drawn_told)))
        };
        Self { by_cpu: counts.into_iter().map(weights).collect() }
    }

    pub(super) fn weight(&self, spike: &Spike) -> f64 {
        let (worst, drawn) = self.by_cpu.get(&spike.cpu).copied().unwrap_or((1.0, 1.0));
        if spike.kept == Kept::Worst { worst } else { drawn }
    }
}

/// Whether a spike takes part in the ranking.
pub(super) fn ranks(spike: &Spike) -> bool {
    matches!(spike.incomplete, None | Some(Incomplete::NoTrace))
}

#[derive(Default)]
struct Tally<'a> {
    first_in: u64,
    count: u64,
    total: Nanos,
    worst: Nanos,
    weighted: f64,
    by_cpu: BTreeMap<u32, (u64, Nanos)>,
    by_phase: BTreeMap<u16, (u64, Nanos)>,
    times: Vec<MonoTime>,
    whys: HashMap<&'a Why, u64>,
    example: Option<(bool, Nanos, usize)>,
}

/// All causes that mattered in some spike, the worst of all first.
pub(super) fn rank(spikes: &[Spike], run: &Run<'_>) -> Vec<Ranked> {
    let weights = Weights::of(spikes, run.late);
    let mut tallies: HashMap<&Cause, Tally<'_>> = HashMap::new();
    let mut lateness = 0.0;
    for (index, spike) in spikes.iter().enumerate().filter(|(_, spike)| ranks(spike)) {
        let weight = weights.weight(spike);
        lateness += weight * spike.lateness().as_secs_f64();
        for (place, blame) in spike.causes.iter().enumerate() {
            tallies.entry(&blame.cause).or_default().add(spike, blame, place == 0, weight, index);
        }
    }
    let mut ranked: Vec<Ranked> = tallies
        .iter()
        .filter(|(_, tally)| tally.count > 0)
        .map(|(cause, tally)| tally.ranked(cause, lateness))
        .collect();
    ranked.sort_by(|a, b| {
        let by_share = b.share.total_cmp(&a.share);
        by_share.then_with(|| (b.first_in, b.count, &a.cause).cmp(&(a.first_in, a.count, &b.cause)))
    });
    for cause in ranked.iter_mut().take(RHYTHMS_MAX) {
        let times = tallies.get_mut(&cause.cause).map(|tally| std::mem::take(&mut tally.times)).unwrap_or_default();
        (cause.rhythm, cause.bursts) = when(times, run);
    }
    ranked
}

/// Rhythm and bursts of what comes at these times.
fn when(mut times: Vec<MonoTime>, run: &Run<'_>) -> (Option<super::Rhythm>, Option<(u64, u64)>) {
    times.sort_unstable();
    (rhythm::rhythm(&times, run.grid, run.tick), bursts::bursts(&times))
}

impl<'a> Tally<'a> {
    fn add(&mut self, spike: &Spike, blame: &'a Blame, first: bool, weight: f64, index: usize) {
        self.total = self.total.plus(blame.excess);
        self.worst = self.worst.max(blame.excess);
        self.weighted += weight * blame.excess.as_secs_f64();
        self.first_in += u64::from(first);
        let counted = spike.incomplete == Some(Incomplete::NoTrace);
        if !counted && blame.excess.times(10) < spike.lateness() {
            return;
        }
        self.count += 1;
        let cpu = self.by_cpu.entry(spike.cpu).or_default();
        *cpu = (cpu.0 + 1, cpu.1.plus(blame.excess));
        let phase = self.by_phase.entry(spike.phase).or_default();
        *phase = (phase.0 + 1, phase.1.plus(blame.excess));
        let began = spike.parts.iter().find(|part| part.cause == blame.cause).map(|part| part.from);
        self.times.push(began.unwrap_or(spike.release));
        blame.why.iter().for_each(|why| *self.whys.entry(why).or_default() += 1);
        self.example = self.example.max(Some((first, blame.excess, usize::MAX - index)));
    }

    fn ranked(&self, cause: &Cause, lateness: f64) -> Ranked {
        let mut why: Vec<(Why, u64)> = self.whys.iter().map(|(why, count)| ((*why).clone(), *count)).collect();
        why.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| format!("{:?}", a.0).cmp(&format!("{:?}", b.0))));
        why.truncate(WHYS_MAX);
        let first = self.times.iter().min().copied().unwrap_or_default();
        let last = self.times.iter().max().copied().unwrap_or_default();
        Ranked {
            cause: cause.clone(),
            first_in: self.first_in,
            count: self.count,
            total: self.total,
            worst: self.worst,
            share: if lateness > 0.0 { (self.weighted / lateness).min(1.0) } else { 0.0 },
            by_cpu: self.by_cpu.iter().map(|(cpu, (spikes, excess))| (*cpu, *spikes, *excess)).collect(),
            by_phase: self.by_phase.iter().map(|(phase, (spikes, excess))| (*phase, *spikes, *excess)).collect(),
            seen: (first, last),
            rhythm: None,
            bursts: None,
            knobs: advice::knobs(cause, &why),
            why,
            example: self.example.map_or(0, |(_, _, index)| usize::MAX - index),
        }
    }
}

/// Windows of the same activation that were kept for two reasons are one.
pub(super) fn distinct(spikes: &mut Vec<Spike>) {
    let mut seen: BTreeSet<(u32, MonoTime)> = BTreeSet::new();
    spikes.sort_by_key(|spike| (spike.kept, spike.incomplete.is_some()));
    spikes.retain(|spike| seen.insert((spike.cpu, spike.release)));
    spikes.sort_by_key(|spike| (std::cmp::Reverse(spike.lateness()), spike.cpu, spike.release));
}

#[allow(clippy::cast_precision_loss, reason = "counts of windows, far below 2^52")]
fn as_f64(n: u64) -> f64 {
    n as f64
}
