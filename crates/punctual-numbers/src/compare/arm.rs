//! One CPU under one load in one recording, in slices of time.

pub(super) use crate::stats::float::float;

use super::{Group, LeftOut};
use crate::recording::{CpuTallies, EventKind, MarkKind, Recording};
use crate::stats::histogram::Histogram;
use punctual_hist::{Counts, Nanos, bucket_high, bucket_low};
use std::collections::{BTreeMap, BTreeSet};

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

/// The groups of a recording.
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

    /// The whole run as a histogram of latency over the releases due. The outermost edges are its exact minimum and
    /// maximum.
    pub(super) fn histogram(&self) -> Histogram {
        let low = self.due.min().map_or(0, Nanos::as_ns);
        let high = self.due.max().unwrap_or_default().as_ns();
        Histogram::new(self.due.nonzero().map(|(bucket, n)| {
            let (from, to) = (bucket_low(bucket), bucket_high(bucket));
            let from = if (from..=to).contains(&low) { low } else { from };
            let to = if (from..=to).contains(&high) { high } else { to.saturating_add(1) };
            (float(from), float(to.max(from)), float(n))
        }))
    }
}
