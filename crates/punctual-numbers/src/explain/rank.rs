//! Ranks causes over the whole run.
//!
//! Counts, sums and maxima are facts of the windows that were kept. Shares, and the order of causes, are estimates for
//! all late activations of the run. Of each CPU the K worst are all kept, and each stands for itself. The windows drawn
//! at random from the others stand for all activations that are not among the K worst, each for the same number. A
//! window that was among the K worst only for a time and was not drawn has weight 0. Incomplete windows are taken to be
//! like the complete ones of their kind. So keeping more of the worst does not make their cause look more frequent.

use super::{Blame, Bursts, Cause, CpuExcess, PhaseExcess, Ranked, Rhythm, Spike, Why, WhyCount, advice, bursts};
use crate::stats::{float::float, rhythm};
use crate::trace::{Incomplete, Kept, LateTotal};
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rhythms are searched only for this number of causes, the largest ones.
const RHYTHMS_MAX: usize = 16;
/// Largest number of reasons that are kept for a cause.
const WHYS_MAX: usize = 8;

/// Facts about the whole run that the ranking needs beside the spikes.
pub(super) struct Totals<'a> {
    pub late: &'a BTreeMap<u32, LateTotal>,
    /// The number K of the worst activations of each CPU that are all kept, if it is known.
    pub worst_max: Option<usize>,
    pub grid: Nanos,
    pub tick: Nanos,
}

/// The number of late activations that each spike stands for.
pub(super) struct Weights {
    by_cpu: BTreeMap<u32, OneCpu>,
}

struct OneCpu {
    /// Latency and release of the smallest of the K worst.
    least_of_worst: (Nanos, MonoTime),
    worst: f64,
    drawn: f64,
}

impl Weights {
    pub(super) fn of(spikes: &[Spike], run: &Totals<'_>) -> Self {
        let mut all: BTreeMap<u32, Vec<&Spike>> = BTreeMap::new();
        for spike in spikes {
            all.entry(spike.cpu).or_default().push(spike);
        }
        let one = |(cpu, mut spikes): (u32, Vec<&Spike>)| {
            spikes.sort_by_key(|spike| std::cmp::Reverse(order(spike)));
            let late = run.late.get(&cpu).map_or(0, |total| total.count);
            (cpu, OneCpu::of(&spikes, late, run.worst_max))
        };
        Self { by_cpu: all.into_iter().map(one).collect() }
    }

    pub(super) fn weight(&self, spike: &Spike) -> f64 {
        let Some(cpu) = self.by_cpu.get(&spike.cpu) else { return 1.0 };
        match spike.kept {
            _ if order(spike) >= cpu.least_of_worst => cpu.worst,
            Kept::Sampled => cpu.drawn,
            Kept::Worst | Kept::Ordinary => 0.0,
        }
    }
}

impl OneCpu {
    /// The weights for one CPU, from its spikes in descending order of latency.
    fn of(spikes: &[&Spike], late: u64, worst_max: Option<usize>) -> Self {
        let kept_as_worst = || spikes.iter().filter(|spike| spike.kept == Kept::Worst).count();
        let (worst, rest) = spikes.split_at(worst_max.unwrap_or_else(kept_as_worst).min(spikes.len()));
        let told = |spikes: &[&Spike], kept: &dyn Fn(Kept) -> bool| {
            spikes.iter().filter(|spike| kept(spike.kept) && ranks(spike)).count() as u64
        };
        let ratio = |of: u64, told: u64| if told == 0 { 1.0 } else { (float(of) / float(told)).max(1.0) };
        Self {
            least_of_worst: worst.last().map_or((Nanos::MAX, MonoTime::from_ns(u64::MAX)), |spike| order(spike)),
            worst: ratio(worst.len() as u64, told(worst, &|_| true)),
            drawn: ratio(late.saturating_sub(worst.len() as u64), told(rest, &|kept| kept == Kept::Sampled)),
        }
    }
}

/// The key by which spikes are ordered. Of two spikes with equal latency, the release decides.
fn order(spike: &Spike) -> (Nanos, MonoTime) {
    (spike.latency(), spike.release)
}

pub(super) fn ranks(spike: &Spike) -> bool {
    matches!(spike.incomplete, None | Some(Incomplete::NoTrace))
}

#[derive(Default)]
struct Tally {
    first_in: u64,
    count: u64,
    total: Nanos,
    worst: Nanos,
    weighted: f64,
    by_cpu: BTreeMap<u32, CpuExcess>,
    by_phase: BTreeMap<u16, PhaseExcess>,
    times: Vec<MonoTime>,
    /// The reasons, of which those that differ only in their amount are one.
    whys: HashMap<Why, (Why, u64)>,
    example: Option<(bool, Nanos, usize)>,
}

/// All causes that had a notable part of some spike, the one with the largest share first.
pub(super) fn rank(spikes: &[Spike], run: &Totals<'_>) -> Vec<Ranked> {
    let weights = Weights::of(spikes, run);
    let mut tallies: HashMap<&Cause, Tally> = HashMap::new();
    let mut latency = 0.0;
    for (index, spike) in spikes.iter().enumerate().filter(|(_, spike)| ranks(spike)) {
        let weight = weights.weight(spike);
        latency += weight * spike.latency().as_secs_f64();
        for (place, blame) in spike.causes.iter().enumerate() {
            tallies.entry(&blame.cause).or_default().add(spike, blame, place == 0, weight, index);
        }
    }
    let mut ranked: Vec<Ranked> = tallies
        .iter()
        .filter(|(_, tally)| tally.count > 0)
        .map(|(cause, tally)| tally.ranked(cause, latency))
        .collect();
    ranked.sort_by(|a, b| {
        let by_share = b.share.total_cmp(&a.share);
        by_share.then_with(|| (b.count, b.first_in, &a.cause).cmp(&(a.count, a.first_in, &b.cause)))
    });
    let late = run.late.values().fold(0u64, |sum, total| sum.saturating_add(total.count));
    let all_kept = late <= spikes.len() as u64;
    for cause in ranked.iter_mut().take(RHYTHMS_MAX) {
        let times = tallies.get_mut(&cause.cause).map(|tally| std::mem::take(&mut tally.times)).unwrap_or_default();
        (cause.rhythm, cause.bursts) = when(times, run, all_kept);
    }
    ranked
}

/// The rhythm and the bursts of events at these times. A random sample has the rhythm of the whole but not its bursts,
/// so bursts are searched only if `all` events are there.
fn when(mut times: Vec<MonoTime>, run: &Totals<'_>, all: bool) -> (Option<Rhythm>, Option<Bursts>) {
    times.sort_unstable();
    (rhythm::rhythm(&times, run.grid, run.tick), if all { bursts::bursts(&times) } else { None })
}

impl Tally {
    fn add(&mut self, spike: &Spike, blame: &Blame, first: bool, weight: f64, index: usize) {
        self.total = self.total.plus(blame.excess);
        self.worst = self.worst.max(blame.excess);
        self.weighted += weight * blame.excess.as_secs_f64();
        self.first_in += u64::from(first);
        let counted = spike.incomplete == Some(Incomplete::NoTrace);
        if !counted && blame.excess.times(10) < spike.latency() {
            return;
        }
        self.count += 1;
        let (cpu, phase, spikes, excess) = (spike.cpu, spike.phase, 0, Nanos::ZERO);
        let of_cpu = self.by_cpu.entry(cpu).or_insert(CpuExcess { cpu, spikes, excess });
        (of_cpu.spikes, of_cpu.excess) = (of_cpu.spikes + 1, of_cpu.excess.plus(blame.excess));
        let of_phase = self.by_phase.entry(phase).or_insert(PhaseExcess { phase, spikes, excess });
        (of_phase.spikes, of_phase.excess) = (of_phase.spikes + 1, of_phase.excess.plus(blame.excess));
        let began = spike.parts.iter().find(|part| part.cause == blame.cause).map(|part| part.from);
        self.times.push(began.unwrap_or(spike.release));
        for why in &blame.why {
            let (largest, spikes) = self.whys.entry(why.without_amount()).or_insert_with(|| (why.clone(), 0));
            *spikes += 1;
            if why.amount() > largest.amount() {
                largest.clone_from(why);
            }
        }
        self.example = self.example.max(Some((first, blame.excess, usize::MAX - index)));
    }

    fn ranked(&self, cause: &Cause, latency: f64) -> Ranked {
        let mut why: Vec<WhyCount> =
            self.whys.values().map(|(why, spikes)| WhyCount { why: why.clone(), spikes: *spikes }).collect();
        why.sort_by(|a, b| b.spikes.cmp(&a.spikes).then_with(|| format!("{:?}", a.why).cmp(&format!("{:?}", b.why))));
        why.truncate(WHYS_MAX);
        let first = self.times.iter().min().copied().unwrap_or_default();
        let last = self.times.iter().max().copied().unwrap_or_default();
        Ranked {
            cause: cause.clone(),
            first_in: self.first_in,
            count: self.count,
            total: self.total,
            worst: self.worst,
            share: if latency > 0.0 { (self.weighted / latency).min(1.0) } else { 0.0 },
            by_cpu: self.by_cpu.values().copied().collect(),
            by_phase: self.by_phase.values().copied().collect(),
            seen: (first, last),
            rhythm: None,
            bursts: None,
            knobs: advice::knobs(cause, &why),
            why,
            example: self.example.map_or(0, |(_, _, index)| usize::MAX - index),
        }
    }
}

/// Merges windows that show one activation because it was kept for two reasons.
pub(super) fn distinct(spikes: &mut Vec<Spike>) {
    let mut seen: BTreeSet<(u32, MonoTime)> = BTreeSet::new();
    spikes.sort_by_key(|spike| (spike.kept, spike.incomplete.is_some()));
    spikes.retain(|spike| seen.insert((spike.cpu, spike.release)));
    spikes.sort_by_key(|spike| (std::cmp::Reverse(spike.latency()), spike.cpu, spike.release));
}
