//! The history of a watch: its days, the time that it did not see, and why it did not.

use super::segment::{Segment, WorstOfSegment};
use super::{DAY, Detail, day_of};
use crate::recording::{CpuTallies, EndReason, EventKind};
use punctual_hist::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A difference between clocks that is no step of a clock: the wall clock is slewed by up to 500 ppm.
const CLOCKS_DIFFER: Nanos = Nanos::from_secs(60);

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Wall clock at the beginning of the first segment, in nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// Wall clock at the end of the last interval that was written.
    pub to_unix_ns: u64,
    /// Time that was watched.
    pub watched_ns: Nanos,
    /// Time between the first and the last that was not watched: the gaps, and `spared_ns`.
    pub unwatched_ns: Nanos,
    /// Time within segments that was not watched, because the watch of a program would have cost too much.
    pub spared_ns: Nanos,
    /// Largest latency that is accepted, as last stated.
    pub budget_ns: Option<Nanos>,
    /// The period of the watching threads, as it is now; the longest of the program's threads if a program is watched.
    pub period_ns: Option<Nanos>,
    /// The name of the program whose threads are watched; null if threads of punctual measure.
    pub program: Option<String>,
    /// Whether the last segment has no end: the watch is under way, or was killed.
    pub is_open: bool,
    /// The days on which something was watched, in order.
    pub days: Vec<Day>,
    /// The times that were not watched, in order.
    pub gaps: Vec<Gap>,
    /// Numbers of segments of which only a part can be read.
    pub damaged: Vec<u64>,
    /// What the watch said about itself, each text once.
    pub notes: Vec<String>,
}

/// One day, from midnight to midnight UTC. A segment belongs to the day in which it began.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Day {
    /// Midnight at which the day begins, in nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// The number of the day in the watch, counted from 1.
    pub number: u64,
    /// Time of the day that was watched.
    pub watched_ns: Nanos,
    /// Numbers of the segments that began on this day.
    pub segments: Vec<u64>,
    /// The figures of each watched CPU.
    pub cpus: Vec<WatchedCpu>,
    /// The largest latencies of the day, the largest first.
    pub worst: Vec<WorstOfSegment>,
    /// What happened to the whole machine, by kind.
    pub events: Vec<EventsOfDay>,
    /// Whether causes were looked for all day.
    pub is_traced: bool,
}

/// What happened to the whole machine on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventsOfDay {
    pub kind: EventKind,
    pub length_ns: Nanos,
    /// Releases that fell due while the machine was not running.
    pub releases_lost: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedCpu {
    /// The CPU, or the place of the thread among those of the day if a program was watched.
    pub cpu: u32,
    /// The name of the thread; null unless a program was watched.
    pub thread: Option<String>,
    /// Number of activations that ran, without skipped releases.
    pub ran: u64,
    /// Releases that passed without running.
    pub skipped: u64,
    /// Activations whose latency exceeded the budget.
    pub over_budget: u64,
    /// Half of the activations were not later.
    pub p50_ns: Option<Nanos>,
    /// 99.9 % of the activations were not later.
    pub p999_ns: Option<Nanos>,
    /// The largest latency of the activations that ran.
    pub max_ns: Option<Nanos>,
}

impl Day {
    pub fn ran(&self) -> u64 {
        self.cpus.iter().fold(0, |sum, cpu| sum.saturating_add(cpu.ran))
    }

    pub fn skipped(&self) -> u64 {
        self.cpus.iter().fold(0, |sum, cpu| sum.saturating_add(cpu.skipped))
    }

    pub fn over_budget(&self) -> u64 {
        self.cpus.iter().fold(0, |sum, cpu| sum.saturating_add(cpu.over_budget))
    }

    pub fn max(&self) -> Option<Nanos> {
        self.cpus.iter().filter_map(|cpu| cpu.max_ns).max()
    }

    /// The largest 99.9th percentile of any CPU.
    pub fn p999(&self) -> Option<Nanos> {
        self.cpus.iter().filter_map(|cpu| cpu.p999_ns).max()
    }
}

/// A time that was not watched, between two segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// Wall clock at the end of the segment before.
    pub from_unix_ns: u64,
    pub length_ns: Nanos,
    pub reason: GapReason,
    /// Whether the machine was started anew meanwhile. `null` if that is not known.
    pub is_new_boot: Option<bool>,
    /// Whether the clocks disagree about the length: the wall clock was set, or the machine slept.
    pub clocks_differ: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GapReason {
    /// A new segment was begun, as at midnight.
    NextSegment,
    /// The watch was ended in order.
    Stopped,
    /// An action of the watch ended it after a late activation.
    StoppedWhenLate,
    /// A watching thread stopped making progress.
    Failed,
    /// The watched program ended; what began after it was started anew, or is its successor.
    ProgramEnded,
    /// The program was killed while the machine ran on.
    Killed,
    /// The machine went down without ending the watch.
    MachineDown,
    /// The segment before is damaged, so how it ended is not known.
    Unknown,
    /// Segments are missing that the store once had.
    SegmentsMissing,
}

impl History {
    /// The history of these segments; `None` without any.
    pub fn of(mut segments: Vec<Segment>) -> Option<Self> {
        segments.sort_by_key(|segment| segment.number);
        let (first, last) = (segments.first()?, segments.last()?);
        let pairs = segments.iter().zip(segments.iter().skip(1));
        let gaps: Vec<Gap> = pairs.map(|(before, after)| gap(before, after)).collect();
        let sum = |lengths: &mut dyn Iterator<Item = Nanos>| lengths.fold(Nanos::ZERO, Nanos::plus);
        let spared_ns = sum(&mut segments.iter().map(Segment::spared));
        let is_damaged = |segment: &&Segment| segment.cut_off.is_some_and(|cut| !cut.is_clean());
        let mut said = BTreeSet::new();
        let notes = segments.iter().flat_map(|segment| &segment.notes);
        Some(Self {
            from_unix_ns: first.started_unix_ns,
            to_unix_ns: last.until_unix_ns(),
            watched_ns: sum(&mut segments.iter().map(|segment| segment.watched)),
            unwatched_ns: sum(&mut gaps.iter().map(|gap| gap.length_ns)).plus(spared_ns),
            spared_ns,
            budget_ns: last.budget,
            period_ns: last.threads.iter().map(|thread| thread.period).max(),
            program: last.program.as_ref().map(|program| program.name.clone()),
            is_open: last.end.is_none(),
            damaged: segments.iter().filter(is_damaged).map(|segment| segment.number).collect(),
            notes: notes.filter(|note| said.insert((*note).clone())).cloned().collect(),
            days: days(&segments),
            gaps,
        })
    }

    /// The day with this number, counted from 1.
    pub fn day(&self, number: u64) -> Option<&Day> {
        self.days.iter().find(|day| day.number == number)
    }

    /// The largest latency of all days.
    pub fn worst(&self) -> Option<(&Day, &WorstOfSegment)> {
        let worst = self.days.iter().flat_map(|day| day.worst.iter().map(move |worst| (day, worst)));
        // The first of several that are alike.
        worst.max_by_key(|(day, worst)| (worst.latency_ns, Reverse(day.number)))
    }
}

fn days(segments: &[Segment]) -> Vec<Day> {
    let mut by_day: BTreeMap<u64, Vec<&Segment>> = BTreeMap::new();
    for segment in segments {
        by_day.entry(day_of(segment.started_unix_ns)).or_default().push(segment);
    }
    let first = by_day.keys().next().copied().unwrap_or_default();
    by_day.into_iter().map(|(day, segments)| of_day(day, day - first + 1, &segments)).collect()
}

fn of_day(day: u64, number: u64, segments: &[&Segment]) -> Day {
    // A thread may have another number in each segment, so threads are told apart by their names.
    let mut cpus: BTreeMap<Watched, CpuTallies> = BTreeMap::new();
    let mut events: BTreeMap<EventKind, EventsOfDay> = BTreeMap::new();
    for segment in segments {
        for (cpu, tallies) in &segment.cpus {
            let thread = segment.thread(*cpu).map(str::to_owned);
            let which = thread.map_or(Watched::Cpu(*cpu), Watched::Thread);
            cpus.entry(which).or_default().absorb(tallies);
        }
        for (kind, totals) in &segment.events {
            let none = EventsOfDay { kind: *kind, length_ns: Nanos::ZERO, releases_lost: 0 };
            let sum = events.entry(*kind).or_insert(none);
            sum.length_ns = sum.length_ns.plus(totals.length);
            sum.releases_lost = sum.releases_lost.saturating_add(totals.releases_lost);
        }
    }
    let mut worst: Vec<WorstOfSegment> = segments.iter().flat_map(|segment| segment.worst.clone()).collect();
    worst.sort_by_key(|one| Reverse(one.latency_ns));
    worst.truncate(Detail::LEVELS[0].worst);
    Day {
        from_unix_ns: day.saturating_mul(DAY.as_ns()),
        number,
        watched_ns: segments.iter().fold(Nanos::ZERO, |sum, segment| sum.plus(segment.watched)),
        segments: segments.iter().map(|segment| segment.number).collect(),
        cpus: (0..).zip(cpus).map(|(place, (which, tallies))| watched(place, which, &tallies)).collect(),
        worst,
        events: events.into_values().collect(),
        is_traced: segments.iter().all(|segment| segment.is_traced),
    }
}

/// What figures of a day are about.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Watched {
    Cpu(u32),
    /// A thread of this name.
    Thread(String),
}

/// The figures of a CPU, or of the thread in this place.
fn watched(place: u32, which: Watched, tallies: &CpuTallies) -> WatchedCpu {
    let (cpu, thread) = match which {
        Watched::Cpu(cpu) => (cpu, None),
        Watched::Thread(name) => (place, Some(name)),
    };
    let counts = tallies.ran.counts();
    WatchedCpu {
        cpu,
        thread,
        ran: counts.count(),
        skipped: tallies.skipped.count(),
        over_budget: tallies.over_budget,
        p50_ns: counts.percentile_ppm(500_000),
        p999_ns: counts.percentile_ppm(999_000),
        max_ns: counts.max(),
    }
}

fn gap(before: &Segment, after: &Segment) -> Gap {
    let is_new_boot = before.boot.as_ref().zip(after.boot.as_ref()).map(|(then, now)| then != now);
    let wall = after.started_unix_ns.checked_sub(before.until_unix_ns()).map(Nanos::from_ns);
    // Within one boot the monotonic clock knows the length, except that it stands still while the machine sleeps.
    let mono = (is_new_boot == Some(false)).then(|| after.epoch.since(before.ends()));
    let length_ns = wall.unwrap_or_default().max(mono.unwrap_or_default());
    let apart = mono.map_or(Nanos::ZERO, |mono| {
        let wall = wall.unwrap_or_default();
        wall.minus(mono).plus(mono.minus(wall))
    });
    let is_damaged = before.cut_off.is_some_and(|cut| !cut.is_clean());
    let reason = match before.end {
        _ if after.number > before.number.saturating_add(1) => GapReason::SegmentsMissing,
        None if is_damaged => GapReason::Unknown,
        None if is_new_boot == Some(true) => GapReason::MachineDown,
        None => GapReason::Killed,
        Some(EndReason::Completed) => GapReason::NextSegment,
        Some(EndReason::Interrupted) => GapReason::Stopped,
        Some(EndReason::LimitExceeded) => GapReason::StoppedWhenLate,
        Some(EndReason::Stalled | EndReason::CoreLost | EndReason::SourceLost) => GapReason::Failed,
        Some(EndReason::ProgramEnded) => GapReason::ProgramEnded,
    };
    Gap {
        from_unix_ns: before.until_unix_ns(),
        length_ns,
        reason,
        is_new_boot,
        clocks_differ: wall.is_none() || apart > CLOCKS_DIFFER,
    }
}
