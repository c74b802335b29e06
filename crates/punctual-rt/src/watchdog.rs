//! Noticing from outside that a loop has stopped going round.
//!
//! The loop's [`Heart`] beats once per cycle, which costs one store. The [`Watchdog`], a thread of its own, looks at
//! an interval whether each heart has beaten within its limit, and otherwise calls an action.
//!
//! Time counts only as far as the watchdog itself ran: when it comes back late, the whole machine may have stood still (a
//! paused virtual machine, firmware), so the time beyond its interval counts against no heart. The watchdog also comes back
//! late when a thread of higher priority keeps its CPU: give it a CPU or a priority where the threads it watches cannot
//! delay it.

use crate::sync::{PiMutex, Signal};
use crate::sys::now;
use crate::{ConfigError, Error, MonoTime, Nanos, Policy, SetupError, setup};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread::{Builder, JoinHandle};

/// The count of a heart that has retired.
const RETIRED: u64 = u64::MAX;
/// The count that the watchdog remembers of a heart it has not looked at yet; no heart counts so far.
const NEVER_SEEN: u64 = RETIRED - 1;

/// The loop's end: beats.
///
/// Dropping it does not end the watch: a thread that panicked has stopped beating, and that is to be noticed. To end
/// it, [`retire`](Self::retire).
pub struct Heart {
    beats: Arc<AtomicU64>,
    count: u64,
}

impl Heart {
    /// The loop is alive: to be called once per cycle.
    ///
    /// # Real-time
    /// One store. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn beat(&mut self) {
        // Never one of the marks: at one beat per nanosecond this lasts 584 years.
        self.count = self.count.wrapping_add(1);
        self.beats.store(self.count, Relaxed);
    }

    /// Ends the watch: the loop stops as intended.
    ///
    /// # Real-time
    /// May free memory: call after the loop.
    pub fn retire(self) {
        self.beats.store(RETIRED, Release);
    }
}

/// A heart that has not beaten in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The name that it was given.
    pub heart: Arc<str>,
    /// For how long at least it has not beaten, without the time in which the watchdog itself did not run.
    pub silent: Nanos,
    /// The longest pause between two beats that it was allowed.
    pub limit: Nanos,
    /// How much longer it was silent while the watchdog itself did not run.
    pub excused: Nanos,
    /// When this was noticed.
    pub at: MonoTime,
}

/// How a watchdog runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// How often it looks: a fraction of the shortest limit.
    pub interval: Nanos,
    /// The policy of its thread.
    pub policy: Policy,
    /// CPUs it may run on; empty for those the calling thread may run on.
    pub cpus: Vec<u32>,
}

impl WatchdogConfig {
    /// Looks every `interval`, as an ordinary thread.
    pub const fn every(interval: Nanos) -> Self {
        Self { interval, policy: Policy::Other, cpus: Vec::new() }
    }
}

/// What a watchdog does about a miss; called on its thread.
///
/// Boxed so that several kinds can be chosen between at run time; any `FnMut(&Miss) + Send` will do.
pub type Action = Box<dyn FnMut(&Miss) + Send>;

/// Writes a line of text to `output`. Failures to write are ignored, as there is nowhere else to report them.
///
/// # Real-time
/// Allocates; what it returns blocks as long as `output` does, on the watchdog's thread.
pub fn write_to(mut output: impl Write + Send + 'static) -> Action {
    Box::new(move |miss| {
        let (silent, limit) = (miss.silent.as_ns() / 1_000, miss.limit.as_ns() / 1_000);
        let _ = writeln!(output, "{} has not beaten for {silent} us; its limit is {limit} us", miss.heart);
    })
}

/// One heart, seen from outside.
struct Watched {
    name: Arc<str>,
    limit: Nanos,
    beats: Arc<AtomicU64>,
    seen: u64,
    silent: Nanos,
    excused: Nanos,
    /// Told already; to be told again only after it has beaten.
    missed: bool,
}

/// A heart that has not beaten, from both ends.
fn pair(name: &str, limit: Nanos) -> (Heart, Watched) {
    let beats = Arc::new(AtomicU64::new(0));
    let heart = Heart { beats: Arc::clone(&beats), count: 0 };
    let (silent, excused) = (Nanos::ZERO, Nanos::ZERO);
    (heart, Watched { name: name.into(), limit, beats, seen: NEVER_SEEN, silent, excused, missed: false })
}

impl Watched {
    /// After `counted` more time that counts and `excused` that does not: a miss, if it is one and was not told.
    fn look(&mut self, counted: Nanos, excused: Nanos, at: MonoTime) -> Option<Miss> {
        let beats = self.beats.load(Relaxed);
        if beats != self.seen {
            (self.seen, self.silent, self.excused, self.missed) = (beats, Nanos::ZERO, Nanos::ZERO, false);
            return None;
        }
        self.silent += counted;
        self.excused += excused;
        if self.missed || self.silent <= self.limit {
            return None;
        }
        self.missed = true;
        let heart = Arc::clone(&self.name);
        Some(Miss { heart, silent: self.silent, limit: self.limit, excused: self.excused, at })
    }
}

/// What the thread and its owner share.
struct Heartbeats {
    hearts: PiMutex<Vec<Watched>>,
    stop: Signal,
    misses: AtomicU64,
}

impl Heartbeats {
    fn look(&self, counted: Nanos, excused: Nanos, at: MonoTime) -> Vec<Miss> {
        // Refused only by a kernel without PI futexes, and only while a heart is being added: the next look will do.
        let Ok(mut hearts) = self.hearts.lock() else { return Vec::new() };
        hearts.retain(|heart| heart.beats.load(Acquire) != RETIRED);
        hearts.iter_mut().filter_map(|heart| heart.look(counted, excused, at)).collect()
    }

    fn run(&self, interval: Nanos, action: &mut Action) {
        let mut last = now();
        // Ends early only when told to stop.
        while !self.stop.wait_until(last + interval) {
            let at = now();
            let passed = at - last;
            let excused = passed - interval;
            last = at;
            for miss in self.look(passed - excused, excused, at) {
                if self.stop.pending() != 0 {
                    return;
                }
                self.misses.store(self.misses.load(Relaxed).saturating_add(1), Relaxed);
                // A watchdog that died of its action would be missed by nobody; the panic has been printed already.
                let _ = catch_unwind(AssertUnwindSafe(|| action(&miss)));
            }
        }
    }
}

/// Watches over hearts until it is dropped.
///
/// ```
/// use punctual_rt::{Nanos, watchdog::{Watchdog, WatchdogConfig, write_to}};
///
/// let watchdog = Watchdog::start(WatchdogConfig::every(Nanos::from_ms(5)), write_to(std::io::stderr()))?;
/// let mut heart = watchdog.watch("control", Nanos::from_ms(20))?;
/// for _ in 0..3 {
///     heart.beat();    // once per cycle
/// }
/// heart.retire();
/// # Ok::<(), punctual_rt::Error>(())
/// ```
pub struct Watchdog {
    watch: Arc<Heartbeats>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts the thread, with the policy and on the CPUs asked for, or not at all.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] when the interval is zero; [`ConfigError::Priority`], [`SetupError::Policy`], [`SetupError::Affinity`]
    /// when policy or CPUs are refused; [`SetupError::Thread`] when no thread can be had.
    ///
    /// # Real-time
    /// Starts a thread and waits for it to be set up: call before the loop.
    pub fn start(config: WatchdogConfig, mut action: Action) -> Result<Self, Error> {
        if config.interval == Nanos::ZERO {
            return Err(Error::Config(ConfigError::ZeroLength));
        }
        config.policy.checked()?;
        let watch =
            Arc::new(Heartbeats { hearts: PiMutex::new(Vec::new()), stop: Signal::new(), misses: AtomicU64::new(0) });
        let (theirs, (tell, told)) = (Arc::clone(&watch), std::sync::mpsc::sync_channel(1));
        let run = move || {
            let ready = set_up(&config);
            let failed = ready.is_err();
            if tell.send(ready).is_err() || failed {
                return;
            }
            theirs.run(config.interval, &mut action);
        };
        let thread = Builder::new().name("rt-watchdog".into()).spawn(run).map_err(SetupError::of_thread)?;
        let watchdog = Self { watch, thread: Some(thread) };
        told.recv().unwrap_or(Err(Error::Setup(SetupError::Thread(libc::ECANCELED))))?;
        Ok(watchdog)
    }

    /// Begins to watch: from now on the heart must beat, never pausing for longer than `limit`. A miss is noticed
    /// never before the limit and at most two intervals after it, and told once per silence.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] when `limit` is zero; [`LockError::Refused`](crate::LockError::Refused) on a kernel without PI futexes.
    ///
    /// # Real-time
    /// Allocates and locks: call before the loop.
    pub fn watch(&self, name: &str, limit: Nanos) -> Result<Heart, Error> {
        if limit == Nanos::ZERO {
            return Err(Error::Config(ConfigError::ZeroLength));
        }
        let (heart, watched) = pair(name, limit);
        self.watch.hearts.lock()?.push(watched);
        Ok(heart)
    }

    /// Misses so far.
    ///
    /// # Real-time
    /// One load.
    pub fn misses(&self) -> u64 {
        self.watch.misses.load(Relaxed)
    }

    /// Heartbeats being watched; one that retired counts until the next look.
    ///
    /// # Real-time
    /// Locks, against the watchdog's own look at all hearts: not for a loop.
    pub fn hearts(&self) -> usize {
        self.watch.hearts.lock().map_or(0, |hearts| hearts.len())
    }
}

/// Gives the calling thread what was asked for.
fn set_up(config: &WatchdogConfig) -> Result<(), Error> {
    if !config.cpus.is_empty() {
        setup::pin_current(&config.cpus)?;
    }
    setup::set_policy(config.policy)
}

impl Drop for Watchdog {
    /// Stops the thread and waits for it: the action is not called any more afterwards. (Dropped by the action itself,
    /// it does not wait, and the action is not called any more once it has returned.)
    fn drop(&mut self) {
        self.watch.stop.post();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Nanos = Nanos::from_ms(3);

    const AT: MonoTime = MonoTime::from_ns(0);

    #[test]
    fn a_silence_is_told_once_and_the_next_again() {
        let (_heart, mut never) = pair("never beat", LIMIT);
        let told: Vec<_> = (0..5).map(|_| never.look(Nanos::from_ms(1), Nanos::ZERO, AT).is_some()).collect();
        assert_eq!(told, [false, false, false, false, true]);
        let (mut heart, mut watched) = pair("x", LIMIT);
        let mut look = || watched.look(Nanos::from_ms(1), Nanos::ZERO, AT).map(|miss| miss.silent);
        for _ in 0..2 {
            heart.beat();
            let looks: Vec<_> = (0..7).map(|_| look()).collect();
            let told = Some(Nanos::from_ms(4));
            assert_eq!(looks, [None, None, None, None, told, None, None]);
        }
    }

    #[test]
    fn the_watchdogs_own_absence_is_held_against_nobody_but_reported() {
        let (_heart, mut watched) = pair("x", LIMIT);
        assert_eq!(watched.look(Nanos::from_ms(1), Nanos::ZERO, AT), None);
        assert_eq!(watched.look(Nanos::from_ms(1), Nanos::from_ms(5_000), AT), None);
        let miss = (0..3).find_map(|_| watched.look(Nanos::from_ms(1), Nanos::ZERO, AT)).unwrap();
        assert_eq!((miss.silent, miss.excused), (Nanos::from_ms(4), Nanos::from_ms(5_000)));
    }
}
