//! Notices from another thread that a loop has stopped completing cycles.
//!
//! The loop's [`Heart`] beats once per cycle, which costs one store. The [`Watchdog`] is a thread that checks at an
//! interval whether each heart has beaten within its limit, and calls an action if not.
//!
//! Only the time during which the watchdog itself could run counts. If it wakes late, the whole machine may have stood
//! still (a paused virtual machine, firmware), so the time beyond its interval counts against no heart. The watchdog
//! also wakes late if a thread of higher priority occupies its CPU. So give it a CPU or a priority at which the watched
//! threads cannot delay it.

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

/// The count of a heart that was retired.
const RETIRED: u64 = u64::MAX;
/// The remembered count of a heart that the watchdog has not looked at yet. No heart reaches this count.
const NEVER_SEEN: u64 = RETIRED - 1;

/// The loop's end of a watchdog, on which the loop calls [`beat`](Self::beat) once per cycle.
///
/// Dropping it does not end the watch: a thread that panicked no longer beats, and this must be noticed. Use
/// [`retire`](Self::retire) to end the watch.
pub struct Heart {
    beats: Arc<AtomicU64>,
    count: u64,
}

impl Heart {
    /// Tells the watchdog that the loop is alive. Call it once per cycle.
    ///
    /// # Real-time
    /// One store. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn beat(&mut self) {
        // Never reaches one of the special counts: at one beat per nanosecond this takes 584 years.
        self.count = self.count.wrapping_add(1);
        self.beats.store(self.count, Relaxed);
    }

    /// Ends the watch because the loop stops as intended.
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
    /// Name of the heart.
    pub heart: Arc<str>,
    /// The shortest time for which the heart may have been silent, without the time in which the watchdog could not
    /// run.
    pub silent: Nanos,
    /// The longest allowed time between two beats.
    pub limit: Nanos,
    /// Additional time of silence during which the watchdog could not run.
    pub excused: Nanos,
    /// When the watchdog noticed the miss.
    pub at: MonoTime,
}

/// The configuration of a watchdog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// Time between two checks; choose a fraction of the shortest limit.
    pub interval: Nanos,
    /// Scheduling policy of the watchdog's thread.
    pub policy: Policy,
    /// CPUs that the watchdog may run on; empty for those of the calling thread.
    pub cpus: Vec<u32>,
}

impl WatchdogConfig {
    /// A watchdog that checks every `interval`, in an ordinary thread.
    pub const fn every(interval: Nanos) -> Self {
        Self { interval, policy: Policy::Other, cpus: Vec::new() }
    }
}

/// A function that a watchdog calls in its thread at each miss.
///
/// Boxed so that the kind can be chosen at run time. Any `FnMut(&Miss) + Send` can be used.
pub type Action = Box<dyn FnMut(&Miss) + Send>;

/// Makes an action that writes a line of text to `output`. Failures to write are ignored, because there is nowhere else
/// to report them.
///
/// # Real-time
/// Allocates. The action blocks as long as `output` does, in the watchdog's thread.
pub fn write_to(mut output: impl Write + Send + 'static) -> Action {
    Box::new(move |miss| {
        let (silent, limit) = (miss.silent.as_ns() / 1_000, miss.limit.as_ns() / 1_000);
        let _ = writeln!(output, "{} has not beaten for {silent} us; its limit is {limit} us", miss.heart);
    })
}

/// One heart, as the watchdog sees it.
struct Watched {
    name: Arc<str>,
    limit: Nanos,
    beats: Arc<AtomicU64>,
    seen: u64,
    silent: Nanos,
    excused: Nanos,
    /// Whether the present silence was already reported. Reset by the next beat.
    missed: bool,
}

/// Makes both ends of a heart that has not beaten.
fn pair(name: &str, limit: Nanos) -> (Heart, Watched) {
    let beats = Arc::new(AtomicU64::new(0));
    let heart = Heart { beats: Arc::clone(&beats), count: 0 };
    let (silent, excused) = (Nanos::ZERO, Nanos::ZERO);
    (heart, Watched { name: name.into(), limit, beats, seen: NEVER_SEEN, silent, excused, missed: false })
}

impl Watched {
    /// Checks the heart after `counted` more time that counts and `excused` time that does not. Returns a miss that was
    /// not reported yet.
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

/// Data shared by the watchdog's thread and its owner.
struct Heartbeats {
    hearts: PiMutex<Vec<Watched>>,
    stop: Signal,
    misses: AtomicU64,
}

impl Heartbeats {
    fn look(&self, counted: Nanos, excused: Nanos, at: MonoTime) -> Vec<Miss> {
        // Fails only on a kernel without PI futexes, and only while a heart is being added. The next check comes soon.
        let Ok(mut hearts) = self.hearts.lock() else { return Vec::new() };
        hearts.retain(|heart| heart.beats.load(Acquire) != RETIRED);
        hearts.iter_mut().filter_map(|heart| heart.look(counted, excused, at)).collect()
    }

    fn run(&self, interval: Nanos, action: &mut Action) {
        let mut last = now();
        // The wait returns early only when the watchdog is told to stop.
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
                // A panic in the action must not end the watchdog, because nobody would notice. The panic message was
                // already printed.
                let _ = catch_unwind(AssertUnwindSafe(|| action(&miss)));
            }
        }
    }
}

/// Watches hearts until it is dropped.
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
    /// Starts the thread with the requested policy and CPUs, or not at all.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] if the interval is zero; [`ConfigError::Priority`], [`SetupError::Policy`],
    /// [`SetupError::Affinity`] if policy or CPUs are refused; [`SetupError::Thread`] if no thread can be started.
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

    /// Starts watching: from now on the heart must beat at least once every `limit`. A miss is noticed at most two
    /// intervals after the limit, never before it, and is reported once per silence.
    ///
    /// # Errors
    /// [`ConfigError::ZeroLength`] if `limit` is zero; [`LockError::Refused`](crate::LockError::Refused) on a kernel
    /// without PI futexes.
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

    /// Number of misses so far.
    ///
    /// # Real-time
    /// One load.
    pub fn misses(&self) -> u64 {
        self.watch.misses.load(Relaxed)
    }

    /// Number of watched hearts. A retired heart counts until the next check.
    ///
    /// # Real-time
    /// Takes the lock that the watchdog holds during a check: not for the loop.
    pub fn hearts(&self) -> usize {
        self.watch.hearts.lock().map_or(0, |hearts| hearts.len())
    }
}

/// Applies policy and CPUs of the configuration to the calling thread.
fn set_up(config: &WatchdogConfig) -> Result<(), Error> {
    if !config.cpus.is_empty() {
        setup::pin_current(&config.cpus)?;
    }
    setup::set_policy(config.policy)
}

impl Drop for Watchdog {
    /// Stops the thread and waits for it, so the action is not called afterwards. If the action itself drops the
    /// watchdog, this does not wait, and the action is not called again after it has returned.
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
