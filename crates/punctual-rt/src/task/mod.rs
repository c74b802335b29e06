//! Periodic tasks: threads that are set up, paced, and observed.
//!
//! [`Cyclic`] paces the calling thread, [`Task`] starts a thread, and a [`Group`] starts several at a common epoch.

mod config;
mod core_lost;
mod cyclic;
mod paced_by;
mod start;

pub use config::{Phase, PhaseClock, TaskConfig};
pub use cyclic::{Cyclic, Ended};

use crate::backend::Backend;
use crate::kernel::{has_thread, sleep_for};
use crate::setup::{Grants, Refusal, grants};
use crate::stats::StatsReader;
use crate::{Error, SetupError, Stopper, Wake};
use paced_by::PacedBy;
use punctual_hist::{Delta, MonoTime, Nanos};
use start::Epoch;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The return value of a body: whether the task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The body runs again at the next release.
    Continue,
    /// The task ends.
    Stop,
}

/// One activation, as passed to its body.
#[non_exhaustive]
pub struct Cycle<'a> {
    /// Number, latency and class of the activation, and the number of later releases that were missed.
    pub wake: Wake,
    cyclic: &'a mut Cyclic,
}

impl Cycle<'_> {
    /// Moves the next releases as [`Cyclic::steer`] does.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn steer(&mut self, by: Delta) -> Delta {
        self.cyclic.steer(by)
    }

    /// Changes the period as [`Cyclic::set_period`] does.
    ///
    /// # Errors
    /// [`ConfigError::Period`](crate::ConfigError::Period) for a period below 1 us.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn set_period(&mut self, period: Nanos) -> Result<(), Error> {
        self.cyclic.set_period(period)
    }

    /// Moves the releases as [`Cyclic::shift_phase`] does.
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

/// A running periodic task. Dropping it stops it and waits for its end, so that no control loop runs on unnoticed.
///
/// After a `fork` the child has no thread of the task, but shares the statistics page. It must neither continue the
/// loop nor expect numbers of its own.
pub struct Task {
    thread: Option<JoinHandle<Ended>>,
    stop: Stopper,
    stats: StatsReader,
    grants: Grants,
    refusals: Vec<Refusal>,
    backend: Backend,
}

/// The report of a thread after its set-up: the task, and the epoch if its task is the first of a group.
type Report = Result<(Task, Option<Epoch>), Error>;

impl Task {
    /// Starts a thread, sets it up, and runs `body` at each release. Returns when the thread is set up.
    ///
    /// # Errors
    /// The errors of [`Cyclic::new`], and [`SetupError::Thread`].
    ///
    /// # Real-time
    /// Starts a thread, and blocks until it is set up: call before the loop, never from one.
    ///
    /// # Kernel
    /// The same as for [`Cyclic::new`].
    pub fn spawn<F>(config: &TaskConfig, body: F) -> Result<Self, Error>
    where
        F: FnMut(&mut Cycle<'_>) -> Control + Send + 'static,
    {
        let mut group = Group::new();
        group.add(config, body)?;
        group.start().pop().ok_or(Error::Setup(SetupError::Thread(0)))
    }

    /// Ends the task at its next release, or within 0.1 s if that release is later.
    ///
    /// # Real-time
    /// One store.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// A handle that ends the task from any thread, also while another thread waits in [`Task::join`].
    ///
    /// # Real-time
    /// Counts a reference; neither allocates nor locks.
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Waits until the task has ended on its own or by [`Task::stop`], and returns the reason.
    ///
    /// # Real-time
    /// Blocks until the task has ended, possibly for ever: never call it from a loop, least of all from the task
    /// itself.
    pub fn join(mut self) -> Ended {
        self.wait_for_end()
    }

    /// The statistics, which any thread may read.
    pub const fn stats(&self) -> &StatsReader {
        &self.stats
    }

    /// What the system granted to the thread of the task.
    pub const fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The kernel that paces the task.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// The refused parts of the set-up; empty under [`Require::Strict`](crate::setup::Require).
    ///
    /// # Real-time
    /// Only computes.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    fn wait_for_end(&mut self) -> Ended {
        let Some(thread) = self.thread.take() else { return Ended::Stopped };
        if self.backend != Backend::Linux && has_vanished(&thread, self.grants.thread.tid) {
            return Ended::CoreLost { errno: libc::ENXIO };
        }
        thread.join().unwrap_or(Ended::Panicked)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop.stop();
        self.wait_for_end();
    }
}

/// Waits until the thread has ended. Returns whether the kernel ended it, so that it can never be joined: a core does that
/// to its threads when it is stopped.
fn has_vanished(thread: &JoinHandle<Ended>, tid: u32) -> bool {
    /// Time between two looks at the thread.
    const LOOK: Nanos = Nanos::from_ms(5);
    while !thread.is_finished() {
        // A thread that ends by itself has finished before the kernel forgets its id.
        if !has_thread(tid) && !thread.is_finished() {
            return true;
        }
        sleep_for(LOOK);
    }
    false
}

/// Tasks that start at a common epoch and keep their phases to each other.
#[derive(Default)]
pub struct Group {
    waiting: Vec<Waiting>,
    epoch: Epoch,
}

/// A task that is set up. The order of the fields matters: a thread ends when its sender is dropped, and dropping the
/// task waits for the thread.
struct Waiting {
    go: Sender<MonoTime>,
    /// Time from the epoch to the task's first release.
    offset: Nanos,
    task: Task,
}

impl Group {
    /// Makes a group without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a thread and sets it up. The thread waits for [`Group::start`].
    ///
    /// The first release of the first task is the epoch of the group. For the other tasks only [`Phase::Offset`] has an
    /// effect: their first releases lie at that offset from the epoch.
    ///
    /// # Errors
    /// The errors of [`Cyclic::new`], and [`SetupError::Thread`].
    ///
    /// # Real-time
    /// Starts a thread, and blocks until it is set up: call before the loop, never from one.
    pub fn add<F>(&mut self, config: &TaskConfig, body: F) -> Result<(), Error>
    where
        F: FnMut(&mut Cycle<'_>) -> Control + Send + 'static,
    {
        // Checked before spawning a thread, which needs a valid name.
        config.validate()?;
        // Cobalt gives the rights that a member of its group lacks to the first thread that asks, and threads inherit
        // them. So this thread asks, which may start further tasks. The new thread tells what is refused.
        drop(PacedBy::choose(config));
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

    /// Starts all tasks, and returns them in the order in which they were added.
    ///
    /// # Real-time
    /// Allocates, and wakes each task: not for the loop.
    pub fn start(self) -> Vec<Task> {
        let epoch = self.epoch.soon();
        let begin = |waiting: Waiting| {
            // Sending fails only if the thread has died; its task then ends as panicked.
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
    // The sender was dropped, so the group will not start.
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

/// The report of a task from its own thread, so that the tick is looked for on the task's CPU.
fn reported(cyclic: &Cyclic, config: &TaskConfig, leads: bool) -> (Task, Option<Epoch>) {
    let (stop, stats, refusals) = (cyclic.stopper(), cyclic.stats().clone(), cyclic.refusals().to_vec());
    let backend = cyclic.backend();
    let task = Task { thread: None, stop, stats, grants: grants(), refusals, backend };
    (task, leads.then(|| Epoch::choose(config)))
}

#[cfg(test)]
mod tests;
