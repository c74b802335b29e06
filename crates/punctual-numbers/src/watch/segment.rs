//! One segment of a watch: what its recording comes to in the history of months.

use super::Detail;
use crate::explain::{Blame, Explanation, Spike};
use crate::recording::{BOOT_ID, CpuTallies, CutOff, EndReason, EventKind, EventTotals, MarkKind, RecTime, Recording};
use crate::scenario::ProbeThread;
use crate::trace::Incomplete;
use punctual_hist::{MonoTime, Nanos};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Causes that are kept of one late activation, the largest first.
const CAUSES_MAX: usize = 3;

#[derive(Clone, Debug)]
pub struct Segment {
    /// The number of the segment in its store; later segments have larger numbers.
    pub number: u64,
    pub started_unix_ns: u64,
    /// The id of the boot in which it was written; `None` if that could not be read.
    pub boot: Option<String>,
    /// The instant of the monotonic clock at which it begins.
    pub epoch: MonoTime,
    /// The end of its last interval.
    pub until: RecTime,
    pub watched: Nanos,
    pub threads: Vec<ProbeThread>,
    pub budget: Option<Nanos>,
    pub cpus: BTreeMap<u32, CpuTallies>,
    pub events: BTreeMap<EventKind, EventTotals>,
    pub worst: Vec<WorstOfSegment>,
    /// What the watch said about itself, such as why its period was lengthened.
    pub notes: Vec<String>,
    /// How the run ended; `None` if it was cut off or is under way.
    pub end: Option<EndReason>,
    pub cut_off: Option<CutOff>,
    /// Whether causes were looked for.
    pub is_traced: bool,
}

/// One of the largest latencies of a segment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorstOfSegment {
    /// The number of the segment, in whose recording the activation can be looked at.
    pub segment: u64,
    pub cpu: u32,
    /// When the release was, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    pub latency_ns: Nanos,
    /// What made it late, the largest part first; empty if that is not known.
    pub causes: Vec<Blame>,
    /// Why the records around it do not tell everything; `None` if they do, or if there are none.
    pub incomplete: Option<Incomplete>,
}

impl Segment {
    pub fn of(number: u64, recording: &Recording) -> Self {
        let header = &recording.header;
        let mut cpus: BTreeMap<u32, CpuTallies> = BTreeMap::new();
        for ((_, cpu), tallies) in &recording.phases {
            cpus.entry(*cpu).or_default().absorb(tallies);
        }
        let notes = recording.marks.iter().filter_map(|mark| match &mark.kind {
            MarkKind::Note(text) => Some(text.clone()),
            _ => None,
        });
        let boot = recording.in_force.iter().flat_map(|state| &state.values).find(|line| line.name == BOOT_ID);
        Self {
            number,
            started_unix_ns: header.started_unix_ns,
            boot: boot.map(|line| line.value.clone()).filter(|id| !id.contains(' ')),
            epoch: header.epoch,
            until: recording.runs.last().map_or(RecTime::EPOCH, |run| run.until),
            watched: recording.covered,
            threads: header.scenario.threads.clone(),
            budget: header.scenario.budget,
            cpus,
            events: recording.event_totals.clone(),
            worst: worst(number, recording),
            notes: notes.collect(),
            end: recording.end.as_ref().map(|end| end.reason),
            cut_off: recording.cut_off,
            is_traced: recording.causes.tracing.is_some(),
        }
    }

    pub fn until_unix_ns(&self) -> u64 {
        self.started_unix_ns.saturating_add(self.until.as_ns())
    }

    /// The instant of the monotonic clock at which it ends.
    pub fn ends(&self) -> MonoTime {
        self.epoch.plus(self.until.since_epoch())
    }
}

/// The largest latencies over all CPUs, with what is known of their causes.
fn worst(number: u64, recording: &Recording) -> Vec<WorstOfSegment> {
    let explained = Explanation::of(recording).spikes;
    let mut all: Vec<(u32, MonoTime, Nanos)> = recording
        .worst
        .values()
        .flatten()
        .map(|one| (one.cpu, one.activation.release, one.activation.latency()))
        .chain(explained.iter().map(|spike| (spike.cpu, spike.release, spike.latency())))
        .collect();
    all.sort_by_key(|(cpu, release, latency)| (Reverse(*latency), *release, *cpu));
    all.dedup();
    let [Detail { worst: most, .. }, ..] = Detail::LEVELS;
    let told = |(cpu, release, latency): (u32, MonoTime, Nanos)| {
        let spike = explained.iter().find(|spike| spike.cpu == cpu && spike.release == release);
        let at = RecTime::of(release, recording.header.epoch);
        WorstOfSegment {
            segment: number,
            cpu,
            at_unix_ns: recording.header.started_unix_ns.saturating_add(at.as_ns()),
            latency_ns: latency,
            causes: spike.map(causes).unwrap_or_default(),
            incomplete: spike.and_then(|spike| spike.incomplete),
        }
    };
    all.into_iter().take(most).map(told).collect()
}

fn causes(spike: &Spike) -> Vec<Blame> {
    spike.causes.iter().take(CAUSES_MAX).cloned().collect()
}
