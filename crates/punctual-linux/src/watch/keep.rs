//! Takes what a run of the watch hands out: writes it into the store, tells the figures, and decides when the run ends.

use super::act::{Actions, Lateness};
use super::cost::{Cost, Spent};
use super::serve::{Figures, Server, with};
use super::store::Store;
use super::{Said, SaidTo};
use crate::measure::{Observer, Progress};
use crate::recording::RecordingWriter;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::{EndReason, Frame, Mark, MarkKind, RecTime, WatchedProgram};
use punctual_rt::kernel::real_time;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Longest time between two syncs of the file. A power failure loses no more than this.
const SYNC: Nanos = Nanos::from_secs(300);
/// Time between two versions of the file for Prometheus.
const REFRESH: Nanos = Nanos::from_secs(60);
/// A run whose frames cannot be written goes on for this long before the next segment is tried.
const TRY_AGAIN: Nanos = Nanos::from_secs(300);

/// Why a run was ended by the watch itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The period becomes longer, because the watch costs too much.
    Period(Nanos),
    /// The segment has grown large, or could not be written.
    NextSegment,
}

/// What outlives single runs.
pub struct Household<'a> {
    pub store: Store,
    pub figures: Figures,
    pub server: Option<Server>,
    pub actions: Actions,
    pub interrupted: &'a AtomicBool,
    pub said: SaidTo<'a>,
    /// Texts for the beginning of the next segment.
    pub notes: Vec<String>,
}

/// Takes the frames of one run, from its header to its end.
pub struct Keeper<'a, 'b> {
    home: &'a mut Household<'b>,
    /// Ends the run when it is set.
    pub ends: &'a AtomicBool,
    writer: Option<RecordingWriter>,
    write_error: Option<String>,
    failed_at: Option<MonoTime>,
    cost: Cost,
    period: Nanos,
    tids: Vec<u32>,
    program: Option<WatchedProgram>,
    over_budget: Vec<u64>,
    synced: Option<MonoTime>,
    refreshed: Option<MonoTime>,
    is_urgent: bool,
    pub turn: Option<Turn>,
}

impl<'a, 'b> Keeper<'a, 'b> {
    pub fn new(home: &'a mut Household<'b>, ends: &'a AtomicBool, cost: Cost, period: Nanos) -> Self {
        Self {
            home,
            ends,
            writer: None,
            write_error: None,
            failed_at: None,
            cost,
            period,
            tids: Vec::new(),
            program: None,
            over_budget: Vec::new(),
            synced: None,
            refreshed: None,
            is_urgent: false,
            turn: None,
        }
    }

    /// A keeper of a run whose cost is looked at elsewhere.
    pub fn uncosted(home: &'a mut Household<'b>, ends: &'a AtomicBool, period: Nanos) -> Self {
        Self::new(home, ends, Cost::new(f64::INFINITY), period)
    }

    pub fn says(&mut self, said: &Said) {
        (self.home.said)(said);
    }

    /// Waits until everything is on the disk.
    pub fn finish(mut self) -> Option<Turn> {
        if let Some(Err(error)) = self.writer.as_mut().map(RecordingWriter::finish) {
            self.failed(error.to_string());
        }
        self.turn
    }

    fn begin(&mut self) {
        match self.home.store.begin() {
            Ok(writer) => self.writer = Some(writer),
            Err(error) => self.failed(error.to_string()),
        }
    }

    fn write(&mut self, frame: &Frame) {
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.append(frame)) {
            self.failed(error.to_string());
        }
    }

    fn failed(&mut self, why: String) {
        if self.write_error.is_none() {
            (self.home.said)(&Said::NotWritten(why.clone()));
            self.home.notes.push(format!("until here nothing was kept: {why}"));
            self.write_error = Some(why);
        }
    }

    fn turn(&mut self, turn: Turn) {
        self.turn = Some(turn);
        self.ends.store(true, Relaxed);
    }

    fn act(&mut self, progress: &Progress) {
        let failed = self.home.actions.look(progress.at);
        self.say_failures(failed);
        let now: Vec<u64> = progress.cpus.iter().map(|cpu| cpu.over_budget).collect();
        let before = std::mem::replace(&mut self.over_budget, now);
        let late = progress.cpus.iter().zip(before.iter().chain(std::iter::repeat(&0)));
        let late = late.map(|(cpu, before)| (cpu.cpu, cpu.over_budget.saturating_sub(*before)));
        let Some((cpu, times)) = late.max_by_key(|(_, times)| *times).filter(|(_, times)| *times > 0) else { return };
        self.is_urgent = true;
        let spike = progress.latencies.iter().find(|of| of.cpu == cpu).and_then(|of| of.last_spike.as_ref());
        let thread = self.program.as_ref().and_then(|program| program.thread(cpu)).map(str::to_owned);
        let late = Lateness { cpu, thread, latency: spike.map(|spike| spike.latency), times, unix_ns: real_time() };
        let failed = self.home.actions.late(progress.at, &late);
        self.say_failures(failed);
        (self.home.said)(&Said::Late(late));
    }

    fn say_failures(&mut self, failed: impl IntoIterator<Item = String>) {
        for why in failed {
            (self.home.said)(&Said::ActionFailed(why));
        }
    }

    fn look_at_cost(&mut self, at: MonoTime) {
        let tids = &self.tids;
        let longer = self.cost.look(at, self.period, || Spent::read(at, tids));
        let Some((period, shares)) = longer.zip(self.cost.shares) else { return };
        let said = Said::Costly { share: shares.all, limit: self.cost.limit(), before: self.period, now: period };
        (self.home.said)(&said);
        self.home.notes.push(format!(
            "from here on every {} and no longer every {}: the watch took {:.2} % of a CPU, and may take {:.2} %",
            short(period),
            short(self.period),
            shares.all * 100.0,
            self.cost.limit() * 100.0
        ));
        self.turn(Turn::Period(period));
    }

    fn refresh(&mut self, at: MonoTime) {
        if self.refreshed.is_some_and(|last| at.since(last) < REFRESH) {
            return;
        }
        self.refreshed = Some(at);
        with(&self.home.figures, |watching| {
            watching.own_cpu = crate::sys::usage::own_cpu();
            watching.actions = self.home.actions.done;
            watching.period = self.period;
        });
        if let Some(Err(error)) = self.home.server.as_ref().map(Server::refresh) {
            (self.home.said)(&Said::ActionFailed(format!("write the figures for Prometheus: {error}")));
        }
    }
}

/// A period as a note has it, which is text for good: `250 us`, `5 ms`.
fn short(period: Nanos) -> String {
    let us = period.as_ns() / 1000;
    if us >= 1000 && us % 1000 == 0 { format!("{} ms", us / 1000) } else { format!("{us} us") }
}

impl Observer for Keeper<'_, '_> {
    fn frame(&mut self, frame: Frame) {
        with(&self.home.figures, |watching| watching.add(&frame));
        match frame {
            Frame::Header(_) => {
                self.begin();
                self.write(&frame);
                for note in std::mem::take(&mut self.home.notes) {
                    self.write(&Frame::Mark(Mark { at: RecTime::EPOCH, kind: MarkKind::Note(note) }));
                }
            }
            Frame::End(mut end) => {
                // The watch ended the run to begin the next one, which is no interruption.
                if end.reason == EndReason::Interrupted && self.turn.is_some() {
                    end.reason = EndReason::Completed;
                }
                self.write(&Frame::End(end));
            }
            Frame::Program(ref program) => {
                self.program = Some(program.clone());
                self.write(&frame);
            }
            Frame::Threads(ref threads) => {
                self.tids = threads.iter().map(|thread| thread.tid).collect();
                self.write(&frame);
            }
            frame => self.write(&frame),
        }
    }

    fn checkpoint(&mut self) {
        let at = crate::measure::now();
        if !self.is_urgent && self.synced.is_some_and(|last| at.since(last) < SYNC) {
            return;
        }
        (self.synced, self.is_urgent) = (Some(at), false);
        if let Some(Err(error)) = self.writer.as_mut().map(RecordingWriter::checkpoint) {
            self.failed(error.to_string());
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if self.home.interrupted.load(Relaxed) {
            self.ends.store(true, Relaxed);
        }
        if progress.warming_up || self.ends.load(Relaxed) {
            return;
        }
        self.act(progress);
        self.look_at_cost(progress.at);
        self.refresh(progress.at);
        if self.write_error.is_some() && self.failed_at.is_none() {
            self.failed_at = Some(progress.at);
        }
        let is_time = self.failed_at.is_some_and(|since| progress.at.since(since) >= TRY_AGAIN);
        let bytes = self.writer.as_ref().map_or(0, RecordingWriter::good_bytes);
        if self.turn.is_none() && (is_time || bytes > self.home.store.growing_max()) {
            self.turn(Turn::NextSegment);
        }
    }

    fn looks_closely(&self) -> bool {
        !self.home.actions.is_empty()
    }

    fn write_error(&self) -> Option<String> {
        self.write_error.clone()
    }
}
