//! One CPU under one load in one recording, cut into blocks of time.
//!
//! Successive activations are not independent, but blocks of a run are if they are long enough. So limits are computed
//! from the variance between blocks.

pub(super) use crate::stats::float::float;

use super::{Group, LeftOut};
use crate::recording::{CpuTallies, EventKind, MarkKind, Recording};
use crate::stats::blocks::Blocks;
use punctual_hist::{Counts, Nanos, bucket_high, bucket_low};
use std::collections::{BTreeMap, BTreeSet};

/// The usual number of blocks of a run: few enough that long blocks hardly depend on each other, and enough to estimate
/// their variance.
const BLOCKS: u64 = 48;

/// A group, and where a recording has its measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub group: Group,
    cpu: u32,
    phases: BTreeSet<u16>,
}

/// The measurements of one CPU under one load.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub period: Nanos,
    pub budget: Option<Nanos>,
    pub slices: Vec<CpuSlice>,
    /// Latency of the activations that ran.
    pub ran: Counts,
    /// Latency over all releases due. A skipped release counts with the time until its thread ran.
    pub due: Counts,
    pub length: Nanos,
    /// Time that a hypervisor took from the machine in the whole run. Which activations it delayed is not known.
    pub stolen: Nanos,
}

#[derive(Clone, Debug)]
pub(super) struct CpuSlice {
    pub length: Nanos,
    pub cpu: CpuTallies,
}

/// A block as a range of indices of slices.
pub(super) type Block = std::ops::Range<usize>;

pub(super) fn places(recording: &Recording) -> Vec<Place> {
    let scenario = &recording.header.scenario;
    let tracing = recording.causes.tracing.as_ref();
    let traced = |phase: u16| tracing.is_some_and(|tracing| tracing.phases.contains(&phase));
    // The name of a phase leaves out loads that could not be run.
    let is_skipped = |load: &&String| {
        recording
            .marks
            .iter()
            .any(|mark| matches!(&mark.kind, MarkKind::LoadSkipped { load: skipped, .. } if skipped == *load))
    };
    let load = |phase: u16| match scenario.load_phases.get(usize::from(phase)) {
        None => format!("phase {phase}"),
        Some(phase) => {
            let ran = phase.loads.iter().filter(|load| !is_skipped(load)).cloned().collect();
            crate::scenario::LoadPhase { loads: ran, parts: phase.parts }.name()
        }
    };
    let mut groups: BTreeMap<(Group, u32), BTreeSet<u16>> = BTreeMap::new();
    for (phase, cpu) in recording.phases.keys() {
        let group = Group { load: Some(load(*phase)), cpu: Some(*cpu), series: None, traced: traced(*phase) };
        groups.entry((group, *cpu)).or_default().insert(*phase);
    }
    groups.into_iter().map(|((group, cpu), phases)| Place { group, cpu, phases }).collect()
}

/// Drops traced places if any untraced one remains, because tracing adds a little latency.
pub(super) fn untraced<T>(mut all: Vec<T>, place: fn(&T) -> &Place) -> Vec<T> {
    if all.iter().any(|one| !place(one).group.traced) {
        all.retain(|one| !place(one).group.traced);
    }
    all
}

/// Groups that both recordings have, and groups that only one has. If no group is the same in both, `anyway` pairs
/// groups that are merely similar.
pub(super) fn common(first: &Recording, second: &Recording, anyway: bool) -> (Vec<(Place, Place)>, Vec<LeftOut>) {
    let (a, b) = (places(first), places(second));
    let mut pairs = untraced(paired(&a, &b, |a, b| a == b), |(place, _)| place);
    if pairs.is_empty() && anyway {
        pairs = paired(&a, &b, |a, b| (a.cpu, &a.load) == (b.cpu, &b.load));
    }
    if pairs.is_empty() && anyway {
        pairs = paired(&a, &b, |a, b| a.cpu == b.cpu);
    }
    let lone = |place: &&Place, others: &[Place]| !others.iter().any(|other| other.group == place.group);
    let taken = |place: &&Place| pairs.iter().any(|(x, y)| x.group == place.group || y.group == place.group);
    let only_a = a.iter().filter(|p| lone(p, &b) && !taken(p)).map(|place| &place.group);
    let only_b = b.iter().filter(|p| lone(p, &a) && !taken(p)).map(|place| &place.group);
    let left_out = LeftOut::of(only_a, only_b);
    (pairs, left_out)
}

/// Pairs each place of the first recording with the first place of the second that is alike.
fn paired(a: &[Place], b: &[Place], alike: impl Fn(&Group, &Group) -> bool) -> Vec<(Place, Place)> {
    let partner = |place: &Place| b.iter().find(|other| alike(&place.group, &other.group)).cloned();
    a.iter().filter_map(|place| Some((place.clone(), partner(place)?))).collect()
}

/// Latency in a place: of the activations that ran, and of all releases due.
pub(super) fn latencies(recording: &Recording, place: &Place) -> [Counts; 2] {
    let [mut ran, mut skipped] = [Counts::new(), Counts::new()];
    for totals in place.phases.iter().filter_map(|phase| recording.phases.get(&(*phase, place.cpu))) {
        ran.merge(&totals.ran.counts());
        skipped.merge(&totals.skipped.counts());
    }
    skipped.merge(&ran);
    [ran, skipped]
}

impl Arm {
    pub(super) fn of(recording: &Recording, place: &Place) -> Self {
        let scenario = &recording.header.scenario;
        let cpu = place.cpu;
        let of_it = recording.slices.iter().filter(|slice| place.phases.contains(&slice.phase));
        let slices: Vec<CpuSlice> = of_it
            .filter_map(|slice| slice.cpus.get(&cpu).map(|cpu| CpuSlice { length: slice.length, cpu: cpu.clone() }))
            .collect();
        let thread = scenario.threads.iter().find(|thread| thread.cpu == cpu);
        let [ran, due] = latencies(recording, place);
        Self {
            period: thread.map(|thread| thread.period).unwrap_or_default(),
            budget: scenario.budget,
            ran,
            due,
            length: slices.iter().fold(Nanos::ZERO, |sum, slice| sum.plus(slice.length)),
            stolen: recording.event_totals.get(&EventKind::Steal).map(|total| total.length).unwrap_or_default(),
            slices,
        }
    }

    /// Length of the longest slice. Blocks are cut to at least this length.
    pub(super) fn longest(&self) -> Nanos {
        self.slices.iter().map(|slice| slice.length).max().unwrap_or_default()
    }

    /// Blocks of about this length or more. Slices left over at the end join the last block.
    pub(super) fn cut(&self, length: Nanos) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let (mut from, mut taken) = (0, Nanos::ZERO);
        for (i, slice) in self.slices.iter().enumerate() {
            taken = taken.plus(slice.length);
            // Slices end a little early or late, so a block may be a twentieth too short.
            if taken.as_ns() >= length.as_ns() / 20 * 19 {
                blocks.push(from..i + 1);
                (from, taken) = (i + 1, Nanos::ZERO);
            }
        }
        match blocks.last_mut() {
            Some(last) if from < self.slices.len() => last.end = self.slices.len(),
            None if !self.slices.is_empty() => blocks.push(0..self.slices.len()),
            _ => {}
        }
        blocks
    }

    /// The blocks that percentiles are computed from.
    pub(super) fn blocks(&self) -> Vec<Block> {
        self.cut(self.longest().max(Nanos::from_ns(self.length.as_ns() / BLOCKS)))
    }

    pub(super) fn of_block(&self, block: &Block) -> &[CpuSlice] {
        self.slices.get(block.clone()).unwrap_or_default()
    }

    /// The whole run as one histogram of latency over the releases due.
    pub(super) fn whole(&self, cells: &Cells) -> Blocks {
        let mut counts = vec![0.0; cells.buckets.len()];
        for (bucket, n) in self.due.nonzero() {
            if let Some(slot) = cells.place(bucket).and_then(|place| counts.get_mut(place)) {
                *slot += float(n);
            }
        }
        Blocks::new(cells.edges(self), &[counts])
    }

    /// The blocks as histograms of latency over the releases due, on the cells of both recordings.
    pub(super) fn histograms(&self, cells: &Cells) -> Blocks {
        let count = |block: &Block| {
            let mut counts = vec![0.0; cells.buckets.len()];
            for slice in self.of_block(block) {
                for (bucket, n) in slice.cpu.ran.nonzero().chain(slice.cpu.skipped.nonzero()) {
                    if let Some(slot) = cells.place(bucket).and_then(|place| counts.get_mut(place)) {
                        *slot += float(n);
                    }
                }
            }
            counts
        };
        let counts: Vec<Vec<f64>> = self.blocks().iter().map(count).collect();
        Blocks::new(cells.edges(self), &counts)
    }
}

/// The buckets of histograms on which blocks of both recordings are compared: those in which either recording has a
/// release.
pub(super) struct Cells {
    buckets: Vec<usize>,
}

impl Cells {
    pub(super) fn of(arms: [&Arm; 2]) -> Self {
        let buckets: BTreeSet<usize> =
            arms.iter().flat_map(|arm| arm.due.nonzero().map(|(bucket, _)| bucket)).collect();
        Self { buckets: buckets.into_iter().collect() }
    }

    fn place(&self, bucket: usize) -> Option<usize> {
        self.buckets.binary_search(&bucket).ok()
    }

    /// Edges of the cells in nanoseconds. The outermost edges are the exact minimum and maximum of the run.
    fn edges(&self, arm: &Arm) -> Vec<(f64, f64)> {
        let low = arm.due.min().map_or(0, Nanos::as_ns);
        let high = arm.due.max().unwrap_or_default().as_ns();
        let edge = |bucket: &usize| {
            let (from, to) = (bucket_low(*bucket), bucket_high(*bucket));
            let from = if (from..=to).contains(&low) { low } else { from };
            let to = if (from..=to).contains(&high) { high } else { to.saturating_add(1) };
            (float(from), float(to.max(from)))
        };
        self.buckets.iter().map(edge).collect()
    }
}
