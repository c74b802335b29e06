//! Periodic tasks: a thread that is set up, paced, and observed.
//!
//! [`Cyclic`] paces the thread that calls it; [`Task`] starts one of its own; a [`Group`] starts several on one epoch.

mod config;
mod cyclic;
mod start;

pub use config::{Phase, PhaseClock, TaskConfig};
pub use cyclic::{Cyclic, Ended};

use crate::setup::{Grants, Refusal, grants};
use crate::stats::StatsReader;
use crate::{Error, SetupError, Stopper, Wake};
use punctual_hist::{Delta, MonoTime, Nanos};
use start::Epoch;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What a body returns: whether the task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The body runs again at the next release.
    Continue,
    /// The task ends.
    Stop,
}

/// One activation, as its body sees it.
#[non_exhaustive]
pub struct Cycle<'a> {
    /// Which release this is, how late the thread woke and why, and how many of the releases after it were missed.
    pub wake: Wake,
    cyclic: &'a mut Cyclic,
}

impl Cycle<'_> {
    /// See [`Cyclic::steer`].
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn steer(&mut self, by: Delta) -> Delta {
        self.cyclic.steer(by)
    }

    /// See [`Cyclic::set_period`].
    ///
    /// # Errors
    /// [`ConfigError::Period`](crate::ConfigError::Period).
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn set_period(&mut self, period: Nanos) -> Result<(), Error> {
        self.cyclic.set_period(period)
    }

    /// See [`Cyclic::shift_phase`].
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn shift_phase(&mut self, by: Delta) {
        self.cyclic.shift_phase(by);
    }

    /// The release after this one.
    pub const fn next_release(&self) -> MonoTime {
        self.cyclic.grid().release()
    }
}

/// A running periodic task. Dropping it stops it and waits for its end: no control loop runs on unnoticed.
///
/// After a `fork` the child has no thread of the task, and shares the page of statistics: it must neither go on with the
/// loop nor expect numbers of its own.
pub struct Task {
    thread: Option<JoinHandle<Ended>>,
    stop: Stopper,
    stats: StatsReader,
    grants: Grants,
    refusals: Vec<Refusal>,
}

/// What a thread reports when it is set up: its task, and where its first release would be if it leads the group.
type Report = Result<(Task, Option<Epoch>), Error>;

impl Task {
    /// Starts a thread, sets it up, and runs `body` at each release. Returns when the thread is set up.
    ///
    /// # Errors
    /// What [`Cyclic::new`] refuses; [`SetupError::Thread`].
    ///
    /// # Real-time
    /// Starts a thread, and blocks until it is set up: call before the loop, never from one.
    ///
    /// # Kernel
    /// As [`Cyclic::new`].
    pub fn spawn<F>(config: &TaskConfig, body: F) -> Result<Self, Error>
    where
        F: FnMut(&mut Cycle<'_>) -> Control + Send + 'static,
    {
        let mut group = Group::new();
        group.add(config, body)?;
        group.start().pop().ok_or(Error::Setup(SetupError::Thread(0)))
    }

    /// Ends the task at its next release, or within 0.1 s where that is later.
    ///
    /// # Real-time
    /// One store.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// What ends the task, for any thread, also while another one waits for its end.
    ///
    /// # Real-time
    /// Counts a reference; neither allocates nor locks.
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Waits until the task has ended by itself, or by [`Task::stop`]; why it did.
    ///
    /// # Real-time
    /// Blocks until the task has ended, for ever if nobody ends it: never call it from a loop, least of all from its own.
    pub fn join(mut self) -> Ended {
        self.wait_for_end()
    }

    /// The statistics, for any thread.
    pub const fn stats(&self) -> &StatsReader {
        &self.stats
    }

    /// What the system really gave the thread.
    pub const fn grants(&self) -> &Grants {
        &self.grants
    }

    /// What was asked of the system and refused; none under [`Require::Strict`](crate::setup::Require).
    ///
    /// # Real-time
    /// Pure.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    fn wait_for_end(&mut self) -> Ended {
        let thread = self.thread.take();
        thread.map_or(Ended::Stopped, |thread| thread.join().unwrap_or(Ended::Panicked))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop.stop();
        self.wait_for_end();
    }
}

/// Tasks that start on one epoch and keep their phases to each other.
#[derive(Default)]
pub struct Group {
    waiting: Vec<Waiting>,
    epoch: Epoch,
}

/// A task that is set up. The order of the fields matters: without its sender, the thread that is waited for ends.
struct Waiting {
    go: Sender<MonoTime>,
    /// From the epoch to its first release.
    offset: Nanos,
    task: Task,
}

impl Group {
    /// No task yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a thread and sets it up; it waits for [`Group::start`].
    ///
    /// The epoch of the group lies where the phase of the task added first puts its first release. Of the tasks added
    /// later only [`Phase::Offset`] counts: their first releases are at that offset from the epoch.
    ///
    /// # Errors
    /// What [`Cyclic::new`] refuses; [`SetupError::Thread`].
    ///
    /// # Real-time
    /// Starts a thread, and blocks until it is set up: call before the loop, never from one.
    pub fn add<F>(&mut self, config: &TaskConfig, body: F) -> Result<(), Error>
    where
        F: FnMut(&mut Cycle<'_>) -> Control + Send + 'static,
    {
        // Before a thread is spawned, which needs a valid name.
        config.validate()?;
        let leads = self.waiting.is_empty();
        let (go, begin) = channel();
        let (report, reported) = channel();
        let own = config.clone();
        let thread = std::thread::Builder::new()
            .name(config.name.clone())
            .stack_size(config.stack_bytes())
            .spawn(move || run(&own, body, leads, &report, &begin))
            .map_err(SetupError::of_thread)?;
        let (mut task, epoch) = reported.recv().map_err(|_| SetupError::Thread(libc::ECHILD))??;
        task.thread = Some(thread);
        self.epoch = epoch.unwrap_or(self.epoch);
        let offset = match config.phase {
            Phase::Offset(offset) if !leads => offset,
            _ => Nanos::ZERO,
        };
        self.waiting.push(Waiting { go, offset, task });
        Ok(())
    }

    /// Lets all tasks begin; they come in the order they were added.
    ///
    /// # Real-time
    /// Allocates, and wakes each task: not for a loop.
    pub fn start(self) -> Vec<Task> {
        let epoch = self.epoch.soon();
        let begin = |waiting: Waiting| {
            // A thread that died shows as one that panicked.
            let _ = waiting.go.send(epoch + waiting.offset);
            waiting.task
        };
        self.waiting.into_iter().map(begin).collect()
    }
}

fn run<F>(config: &TaskConfig, mut body: F, leads: bool, report: &Sender<Report>, begin: &Receiver<MonoTime>) -> Ended
where
    F: FnMut(&mut Cycle<'_>) -> Control,
{
    let (set_up, mut cyclic) = match Cyclic::new(config) {
        Ok(cyclic) => (Ok(reported(&cyclic, config, leads)), Some(cyclic)),
        Err(error) => (Err(error), None),
    };
    let _ = report.send(set_up);
    let Some(cyclic) = &mut cyclic else { return Ended::Stopped };
    // Without a beginning, the group was given up.
    let Ok(first) = begin.recv() else { return Ended::Stopped };
    cyclic.begin_at(first);
    while let Some(wake) = cyclic.wait() {
        let control = body(&mut Cycle { wake, cyclic });
        cyclic.finish();
        if control == Control::Stop {
            return Ended::Stopped;
        }
    }
    cyclic.ended().unwrap_or(Ended::Stopped)
}

/// What is known of a task on its own thread, where the tick is looked for on its own CPU.
fn reported(cyclic: &Cyclic, config: &TaskConfig, leads: bool) -> (Task, Option<Epoch>) {
    let (stop, stats, refusals) = (cyclic.stopper(), cyclic.stats().clone(), cyclic.refusals().to_vec());
    (Task { thread: None, stop, stats, grants: grants(), refusals }, leads.then(|| Epoch::choose(config)))
}

#[cfg(test)]
mod tests;
