//! One segment of a watch: what its recording comes to in the history of months.

use super::Detail;
use crate::explain::{Blame, Explanation, Spike};
use crate::recording::{
    BOOT_ID, CpuTallies, CutOff, EndReason, EventKind, EventTotals, MarkKind, RecTime, Recording, WatchedProgram,
};
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
    /// The program whose threads were watched, if one was.
    pub program: Option<WatchedProgram>,
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
    /// The CPU; if a program was watched, the one on which its thread woke.
    pub cpu: u32,
    /// The name of the thread; null unless a program was watched.
    pub thread: Option<String>,
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
            program: recording.program.clone(),
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

    /// The part of the time in which the watch of a program looked away, to cost less.
    pub fn spared(&self) -> Nanos {
        self.program.as_ref().map_or(Nanos::ZERO, |_| self.until.since_epoch().minus(self.watched))
    }

    /// The name of the thread with this number, if a program was watched.
    pub fn thread(&self, number: u32) -> Option<&str> {
        self.program.as_ref()?.thread(number)
    }

    /// The instant of the monotonic clock at which it ends.
    pub fn ends(&self) -> MonoTime {
        self.epoch.plus(self.until.since_epoch())
    }
}

/// One of the largest latencies.
struct Late {
    cpu: u32,
    thread: Option<String>,
    release: MonoTime,
    latency: Nanos,
}

/// The largest latencies over all CPUs, with what is known of their causes.
fn worst(number: u64, recording: &Recording) -> Vec<WorstOfSegment> {
    let explained = Explanation::of(recording).spikes;
    let mut all = late(recording, &explained);
    all.sort_by_key(|late| (Reverse(late.latency), late.release, late.cpu));
    all.dedup_by_key(|late| (late.latency, late.release, late.cpu));
    let [Detail { worst: most, .. }, ..] = Detail::LEVELS;
    let told = |Late { cpu, thread, release, latency }: Late| {
        let spike = explained.iter().find(|spike| spike.cpu == cpu && spike.release == release);
        let at = RecTime::of(release, recording.header.epoch);
        WorstOfSegment {
            segment: number,
            cpu,
            thread,
            at_unix_ns: recording.header.started_unix_ns.saturating_add(at.as_ns()),
            latency_ns: latency,
            causes: spike.map(causes).unwrap_or_default(),
            incomplete: spike.and_then(|spike| spike.incomplete),
        }
    };
    all.into_iter().take(most).map(told).collect()
}

/// The activations that are listed as the worst, and those that are explained. Of a watched program, windows and lists are
/// about the same activations, and only the list knows the thread.
fn late(recording: &Recording, explained: &[Spike]) -> Vec<Late> {
    let listed = recording.worst.values().flatten().map(|one| {
        let (release, latency) = (one.activation.release, one.activation.latency());
        match &recording.program {
            None => Late { cpu: one.cpu, thread: None, release, latency },
            Some(program) => {
                let thread = program.thread(one.cpu).map(str::to_owned);
                Late { cpu: one.activation.cpu, thread, release, latency }
            }
        }
    });
    let is_ours = recording.program.is_none();
    let spikes = explained.iter().filter(|_| is_ours).map(|spike| Late {
        cpu: spike.cpu,
        thread: None,
        release: spike.release,
        latency: spike.latency(),
    });
    listed.chain(spikes).collect()
}

fn causes(spike: &Spike) -> Vec<Blame> {
    spike.causes.iter().take(CAUSES_MAX).cloned().collect()
}
