//! One run of the watch of a program: from the first record to the end of the segment.

use super::burden::{Frugality, Saving};
use super::causes::Causes;
use super::{Lane, STUDY_APART, Studied, Subject};
use crate::burden::{Burden, Spent};
use crate::in_force;
use crate::inspect::{Program, offsets};
use crate::measure::watch::{Accounted, Readings, StandstillWatch};
use crate::measure::{CpuProgress, CpuSoFar, Observer, Pace, PhaseNumber, Progress, Spike};
use crate::sys::usage;
use crate::trace::{ReleaseTrace, TraceError};
use crate::watch::keep::Keeper;
use crate::watch::{Action, Said, Wanted};
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::inspect::{Policy as Known, Record, Releases, Seen};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, End, EndReason, Frame, Granted, Header, Interval, Mark, MarkKind, Moment, RecTime,
};
use punctual_numbers::scenario::{Amount, Policy, ProbeThread, Scenario};
use punctual_numbers::trace::Tid;
use punctual_numbers::watch as numbers;
use punctual_rt::kernel::{real_time, sleep_until};
use punctual_rt::now;
use std::sync::atomic::Ordering::Relaxed;

const INTERVAL: Nanos = Nanos::from_secs(10);
/// Time between two looks at the threads of the program.
const LOOK: Nanos = Nanos::from_secs(10);

pub struct Run<'a> {
    studied: &'a Studied,
    wanted: &'a Wanted,
    trace: ReleaseTrace,
    /// What one record takes.
    each: Nanos,
    lanes: Vec<(numbers::Lane, Releases)>,
    causes: Option<Causes>,
    budget: Option<Nanos>,
    /// Texts for the beginning of the segment.
    notes: Vec<String>,
    records: Vec<Record>,
    taken: u64,
    lost: u64,
    epoch: MonoTime,
    interval_from: MonoTime,
    /// Time of the interval that was recorded.
    recorded: Nanos,
    is_on: bool,
    looked: MonoTime,
    has_told_cost: bool,
}

impl<'a> Run<'a> {
    pub fn begin(
        studied: &'a Studied,
        subject: &Subject,
        wanted: &'a Wanted,
        frugality: &Frugality,
    ) -> Result<Self, TraceError> {
        let (trace, each) = super::open(&studied.lanes, &wanted.setting.cpus.online)?;
        let mut notes = vec![story(studied)];
        let causes = match frugality.has_causes().then(|| Causes::start(&studied.lanes, &wanted.setting)) {
            Some(Ok(causes)) => Some(causes),
            Some(Err(why)) => {
                notes.push(format!("causes are not looked for: {why}"));
                None
            }
            None => None,
        };
        let lane = |lane: &Lane| {
            let tid = Tid::try_from(lane.tid).unwrap_or_default();
            (numbers::Lane::new(lane.number, subject.budget), Releases::new(tid, lane.by, lane.period))
        };
        let at = now();
        Ok(Self {
            lanes: studied.lanes.iter().map(lane).collect(),
            studied,
            wanted,
            trace,
            each,
            causes,
            budget: subject.budget,
            notes,
            records: Vec::new(),
            taken: 0,
            lost: 0,
            epoch: at,
            interval_from: at,
            recorded: Nanos::ZERO,
            is_on: false,
            looked: at,
            has_told_cost: false,
        })
    }

    /// Watches until the time is up, the program ends or changes, or the keeper ends the run.
    pub fn until_end(
        mut self,
        program: &Program,
        length: Nanos,
        frugality: &mut Frugality,
        keeper: &mut Keeper<'_, '_>,
    ) -> EndReason {
        let mut clocks =
            StandstillWatch::new(Readings::take(), Accounted::take(), self.wanted.setting.cpus.online.len())
                .for_clock_source(self.wanted.setting.clock_source.as_deref());
        self.switch(true);
        self.epoch = now();
        (self.interval_from, self.looked) = (self.epoch, self.epoch);
        self.announce(keeper);
        let until = self.epoch.plus(length);
        let mut last = self.epoch;
        let mut second: u32 = 0;
        let reason = loop {
            let due = last.plus(Pace::SPARING.tick).min(until);
            sleep_until(due);
            let at = now();
            self.recorded = self.recorded.plus(if self.is_on { at.since(last) } else { Nanos::ZERO });
            last = at;
            self.drain(keeper);
            for event in clocks.tick(Readings::take(), due) {
                keeper.frame(Frame::Event(event.recorded(self.epoch)));
            }
            if at.since(self.interval_from) >= INTERVAL {
                self.cut_interval(at, keeper);
                keeper.checkpoint();
            }
            keeper.progress(&self.progress(at));
            let threads = self.studied.lanes.len();
            if let Some((burden, saving)) = frugality.look(at, threads, || self.spent(at)) {
                self.save(saving, &burden, frugality, keeper);
            }
            second = second.wrapping_add(1);
            let is_on = second % frugality.one_of() == 0;
            if is_on != self.is_on {
                self.switch(is_on);
            }
            if let Some(reason) = self.ending(at, until, program, keeper) {
                break reason;
            }
        };
        self.finish(reason, keeper);
        reason
    }

    fn ending(
        &mut self,
        at: MonoTime,
        until: MonoTime,
        program: &Program,
        keeper: &Keeper<'_, '_>,
    ) -> Option<EndReason> {
        let stops = self.wanted.actions.contains(&Action::Stop);
        if stops && self.lanes.iter().any(|(lane, _)| lane.over_budget().0 > 0) {
            return Some(EndReason::LimitExceeded);
        }
        if program.has_ended() {
            return Some(EndReason::ProgramEnded);
        }
        if keeper.ends.load(Relaxed) {
            let is_next_segment = keeper.turn.is_some();
            return Some(if is_next_segment { EndReason::Completed } else { EndReason::Interrupted });
        }
        if at >= until || program.is_another() {
            return Some(EndReason::Completed);
        }
        let is_time = at.since(self.looked) >= LOOK;
        if is_time {
            self.looked = at;
        }
        // Other threads are worth a new look at the program, but not all the time.
        let is_old = at.since(self.epoch) >= STUDY_APART;
        (is_time && is_old && program.threads() != self.studied.threads).then_some(EndReason::Completed)
    }

    /// Writes the first frames.
    fn announce(&mut self, keeper: &mut Keeper<'_, '_>) {
        let setting = &self.wanted.setting;
        let lanes = &self.studied.lanes;
        let thread = |lane: &Lane| ProbeThread { cpu: lane.number, period: lane.period };
        let first = lanes.first().map_or(Policy::Other, policy);
        let scenario = Scenario {
            threads: lanes.iter().map(thread).collect(),
            budget: self.budget,
            ..Scenario::plain([], Nanos::ZERO, first, Amount::Time(numbers::DAY))
        };
        let header = Header {
            tool_version: setting.tool_version.clone(),
            started_unix_ns: real_time(),
            epoch: self.epoch,
            scenario,
            machine: setting.machine.clone(),
            placement: Placement::default(),
            clock: Clock { source: setting.clock_source.clone(), ..Clock::default() },
            checkpoint: INTERVAL,
        };
        let granted = |lane: &Lane| Granted {
            cpu: lane.number,
            tid: lane.tid,
            policy: policy(lane),
            affinity: lane.cpus.clone(),
            memory_locked: lane.is_locked,
        };
        let cpus = lanes.iter().flat_map(|lane| lane.cpus.iter()).collect();
        keeper.frame(Frame::Header(Box::new(header)));
        keeper.frame(Frame::Program(self.studied.program.clone()));
        keeper.frame(Frame::Threads(lanes.iter().map(granted).collect()));
        keeper.frame(Frame::InForce(in_force::read(Moment::Before, &cpus)));
        if let Some(causes) = &self.causes {
            keeper.frame(causes.frame());
        }
        for note in std::mem::take(&mut self.notes) {
            self.note(note, keeper);
        }
        keeper.frame(mark(RecTime::EPOCH, MarkKind::PhaseStart(0)));
        keeper.checkpoint();
    }

    fn note(&self, text: String, keeper: &mut Keeper<'_, '_>) {
        keeper.frame(mark(RecTime::of(now(), self.epoch), MarkKind::Note(text)));
    }

    fn switch(&mut self, on: bool) {
        // If the kernel refuses, nothing is recorded, and the time is not counted as watched.
        self.is_on = self.trace.switch(on).is_ok() && on;
        // Records from between the last reading and the end of a part are read after it, so that what a thread waited for
        // then must not last to the beginning of the next part.
        for (lane, releases) in &mut self.lanes {
            releases.forget();
            lane.interrupted();
        }
    }

    fn drain(&mut self, keeper: &mut Keeper<'_, '_>) {
        self.taken = self.taken.saturating_add(self.trace.drain(&mut self.records));
        let offsets = offsets();
        for (studied, (lane, releases)) in self.studied.lanes.iter().zip(&mut self.lanes) {
            for record in &self.records {
                if record.seen == Seen::Lost {
                    lane.interrupted();
                }
                let Some(released) = releases.take(record, &offsets) else { continue };
                if released.wake_up.release < self.epoch {
                    continue;
                }
                lane.add(released.wake_up, &released.skipped, self.epoch);
                if let Some(causes) = &mut self.causes {
                    causes.add(studied.tid, &released.wake_up);
                }
            }
            if let Some(causes) = &mut self.causes {
                causes.learn(studied.tid, lane);
            }
        }
        let found = self.causes.as_ref().map(Causes::take).unwrap_or_default();
        for frame in found {
            keeper.frame(frame);
        }
    }

    fn cut_interval(&mut self, at: MonoTime, keeper: &mut Keeper<'_, '_>) {
        let start = RecTime::of(self.interval_from, self.epoch);
        // Time in which nothing was recorded is not counted as watched.
        let length = std::mem::take(&mut self.recorded).min(at.since(self.interval_from));
        let cpus = self.lanes.iter_mut().map(|(lane, _)| lane.interval()).collect();
        self.interval_from = at;
        keeper.frame(Frame::Interval(Interval { start, length, phase: 0, cpus }));
        let worst: Vec<_> = self.lanes.iter_mut().flat_map(|(lane, _)| lane.worst()).collect();
        if !worst.is_empty() {
            keeper.frame(Frame::Worst(worst));
        }
        let lost = self.trace.lost();
        let before = std::mem::replace(&mut self.lost, lost);
        if before == 0 && lost > 0 {
            self.note(format!("the kernel lost {lost} records so far; cycles around them are not counted"), keeper);
        }
    }

    fn progress(&self, at: MonoTime) -> Progress {
        let of = |(lane, _): &(numbers::Lane, Releases), number: u32| CpuProgress {
            cpu: number,
            activations: lane.activations(),
            max: None,
            over_budget: lane.over_budget().0,
        };
        let spike = |(lane, _): &(numbers::Lane, Releases), number: u32| CpuSoFar {
            cpu: number,
            ran: Counts::new(),
            skipped: 0,
            last_spike: lane.over_budget().1.map(|late| Spike {
                woke: late.woke,
                latency: late.latency(),
                cause: None,
            }),
        };
        let numbered = || self.lanes.iter().zip(self.studied.lanes.iter().map(|lane| lane.number));
        Progress {
            at,
            elapsed: at.since(self.epoch),
            total: numbers::DAY,
            phase: "idle".to_owned(),
            is_idle: true,
            phase_number: PhaseNumber { number: 0, of: 1 },
            warming_up: false,
            cpus: numbered().map(|(lane, number)| of(lane, number)).collect(),
            skipped: 0,
            latencies: numbered().map(|(lane, number)| spike(lane, number)).collect(),
        }
    }

    fn spent(&self, at: MonoTime) -> Spent {
        let of_causes = self.causes.as_ref().map_or(0, Causes::records);
        Spent { at, own: usage::own_cpu(), records: self.each.times(self.taken), causes: self.each.times(of_causes) }
    }

    fn save(&mut self, saving: Saving, burden: &Burden, frugality: &Frugality, keeper: &mut Keeper<'_, '_>) {
        let limit = frugality.limit(self.studied.lanes.len());
        let percent = |share: f64| format!("{:.3} %", share * 100.0);
        let given_up = match saving {
            Saving::None => String::new(),
            Saving::NoCauses => "; from here on causes are not looked for".to_owned(),
            Saving::OneOf(n) => format!("; from here on one second of {n} is watched"),
        };
        if saving == Saving::NoCauses {
            let left = self.causes.take().map(Causes::end).unwrap_or_default();
            for frame in left {
                keeper.frame(frame);
            }
        }
        if !std::mem::replace(&mut self.has_told_cost, true) || saving != Saving::None {
            let [all, own, records, causes] = [burden.all(), burden.own, burden.records, burden.causes].map(percent);
            let (each, limit_text) = (self.each.as_ns(), percent(limit));
            let text = format!(
                "the watch takes {all} of a CPU ({own} itself, {records} for records of {each} ns each, {causes} for causes) \
                 and may take {limit_text}{given_up}"
            );
            self.note(text, keeper);
            keeper.says(&Said::Cost { burden: *burden, each: self.each, limit, saving });
        }
    }

    fn finish(mut self, reason: EndReason, keeper: &mut Keeper<'_, '_>) {
        let at = now();
        self.switch(false);
        self.drain(keeper);
        let left = self.causes.take().map(Causes::end).unwrap_or_default();
        for frame in left {
            keeper.frame(frame);
        }
        self.cut_interval(at, keeper);
        keeper.frame(mark(RecTime::of(at, self.epoch), MarkKind::PhaseEnd(0)));
        let write_error = keeper.write_error();
        keeper.frame(Frame::End(End { at: RecTime::of(at, self.epoch), reason, write_error }));
    }
}

fn mark(at: RecTime, kind: MarkKind) -> Frame {
    Frame::Mark(Mark { at, kind })
}

/// What stands in this segment where others have CPUs.
fn story(studied: &Studied) -> String {
    let program = &studied.program;
    let threads = program.threads.iter().map(|thread| format!("{} is {} ({})", thread.number, thread.name, thread.tid));
    let threads: Vec<String> = threads.collect();
    format!(
        "threads of {} ({}) were watched, and their numbers stand in the place of CPUs: {}",
        program.name,
        program.pid,
        threads.join(", ")
    )
}

fn policy(lane: &Lane) -> Policy {
    let priority = |priority: u32| u8::try_from(priority).unwrap_or(u8::MAX);
    match lane.policy {
        Some((Known::Fifo, number)) => Policy::Fifo(priority(number)),
        Some((Known::RoundRobin, number)) => Policy::RoundRobin(priority(number)),
        _ => Policy::Other,
    }
}
