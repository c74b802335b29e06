//! A measuring thread, which waits for its releases and records when it wakes.
//!
//! The thread sets itself up and reads the settings back. The loop allocates nothing, locks nothing and prints nothing.

use super::Recorder;
use super::driver::{Ask, Driver, DriverError, Listener, Second};
use super::other_clock::{ClockError, OpenClock, was_set};
use super::round_trip::{Endpoint, EndpointError, OpenEndpoint};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::Granted;
use punctual_numbers::scenario::{DRIVER_WARM_UP, Mechanism, Policy, ProbeThread};
use punctual_rt::{Backend, Grid, Margin, Pacer, Sleeper, Wait, Wake, kernel, now, setup};
use std::ops::Range;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use thiserror::Error;

/// Stack size of a measuring thread, and the part of it that is touched before the loop.
const STACK_BYTES: usize = 256 * 1024;
const STACK_TOUCHED_BYTES: usize = 64 * 1024;

#[derive(Debug, Error)]
pub enum ProbeError {
    #[error("CPU {cpu}: {source}")]
    Refused { cpu: u32, source: punctual_rt::Error },
    #[error("CPU {cpu}: {source}")]
    Driver { cpu: u32, source: DriverError },
    #[error("CPU {cpu}: {source}")]
    Clock { cpu: u32, source: ClockError },
    #[error("CPU {cpu}: {source}")]
    Endpoint { cpu: u32, source: EndpointError },
    #[error("CPU {cpu}: asked for {asked}, granted {granted}")]
    GrantedOtherwise { cpu: u32, asked: String, granted: String },
    #[error("CPU {cpu}: one sleep takes {needs:?} here, so a period of {period:?} cannot be kept")]
    PeriodTooShort { cpu: u32, period: Nanos, needs: Nanos },
    #[error(
        "CPU {cpu}: no thread could be started: {reason}; look at RLIMIT_NPROC and RLIMIT_AS (/proc/self/limits) and at \
         pids.max of the control group"
    )]
    NoThread { cpu: u32, reason: std::io::Error },
    #[error("CPU {cpu}: the measuring thread ended before it began")]
    Died { cpu: u32 },
}

#[derive(Debug, Default)]
pub struct RunControl {
    stop: AtomicBool,
    limit_hit: AtomicBool,
    core_lost: AtomicBool,
    source_lost: AtomicBool,
    /// Why a driver of a core did not measure, a clock could no longer be read, or an endpoint did not answer; and what can
    /// be done.
    refused: Mutex<Option<String>>,
    /// How often the clock on which the releases lie was set during the run.
    clock_set: AtomicU64,
}

impl RunControl {
    pub fn stop(&self) {
        self.stop.store(true, Release);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Acquire)
    }

    /// Ends the run because a real-time core was stopped.
    pub fn lose_core(&self) {
        self.core_lost.store(true, Release);
        self.stop();
    }

    /// Whether a real-time core refused to let a thread sleep, or ended it.
    pub fn core_lost(&self) -> bool {
        self.core_lost.load(Acquire)
    }

    /// How often the clock on which the releases lie was set during the run.
    pub fn clock_set(&self) -> u64 {
        self.clock_set.load(Relaxed)
    }

    /// Whether the clock of the releases could no longer be read, or the other side of a channel no longer answered.
    pub fn source_lost(&self) -> bool {
        self.source_lost.load(Acquire)
    }

    /// Ends the run because the driver of a core refused.
    fn lose_driver(&self, why: String) {
        self.note_refusal(why);
        self.lose_core();
    }

    /// Ends the run because of its clock or its endpoint.
    fn lose_source(&self, why: String) {
        self.note_refusal(why);
        self.source_lost.store(true, Release);
        self.stop();
    }

    fn note_refusal(&self, why: String) {
        if let Ok(mut refused) = self.refused.lock() {
            *refused = Some(why);
        }
    }

    /// Why a driver, a clock or an endpoint ended the run, and what can be done.
    pub fn take_refused(&self) -> Option<String> {
        self.refused.lock().ok()?.take()
    }

    /// Whether the latency of an activation exceeded the stop limit.
    pub fn limit_hit(&self) -> bool {
        self.limit_hit.load(Acquire)
    }
}

/// How a thread waits, and with what.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub mechanism: Mechanism,
    /// The other side of a round trip.
    pub endpoint: Option<Endpoint>,
}

pub struct Go {
    pub warm_up_from: MonoTime,
    /// The first release that counts.
    pub from: MonoTime,
    /// Releases at or after this instant are not due.
    pub end: MonoTime,
    pub warm_up: Recorder,
    pub recorder: Recorder,
}

pub struct Probe {
    pub thread: ProbeThread,
    pub granted: Granted,
    go: Sender<Go>,
    /// Number of stretches that the thread has finished (`done`), and of those it was given (`sent`).
    done: Arc<AtomicU32>,
    sent: u32,
    /// How often a real-time core took the thread in-band in its statistics, and how many of these are recorded.
    in_band: Arc<AtomicU64>,
    in_band_taken: u64,
    handle: JoinHandle<()>,
}

impl Probe {
    /// Starts a thread and waits until it is set up. If there is an error, no thread is left behind.
    pub fn start(
        thread: ProbeThread,
        policy: Policy,
        wait: Waiting,
        limit: Option<Nanos>,
        memory_locked: bool,
        online: &CpuSet,
        control: &Arc<RunControl>,
    ) -> Result<Self, ProbeError> {
        let (go, begin) = channel();
        let done = Arc::new(AtomicU32::new(0));
        let in_band = Arc::new(AtomicU64::new(0));
        let (report, reported) = channel();
        let plan = ThreadPlan {
            thread,
            policy,
            mechanism: wait.mechanism,
            endpoint: wait.endpoint,
            limit: limit.unwrap_or(Nanos::MAX),
            online: online.iter().collect(),
            control: Arc::clone(control),
            done: Arc::clone(&done),
            in_band: Arc::clone(&in_band),
        };
        let cpu = thread.cpu;
        let handle = std::thread::Builder::new()
            .name(format!("probe/{cpu}"))
            .stack_size(STACK_BYTES)
            .spawn(move || plan.run(&report, &begin))
            .map_err(|reason| ProbeError::NoThread { cpu, reason })?;
        let granted = reported.recv().map_err(|_| ProbeError::Died { cpu })??;
        Ok(Self {
            thread,
            granted: Granted { memory_locked, ..granted },
            go,
            done,
            sent: 0,
            in_band,
            in_band_taken: 0,
            handle,
        })
    }

    pub fn begin(&mut self, go: Go) {
        self.sent += 1;
        // Fails if the thread has died, which `is_idle` reports.
        let _ = self.go.send(go);
    }

    /// Number of switches in-band since the last call.
    pub fn take_in_band(&mut self) -> u64 {
        let now = self.in_band.load(Acquire);
        now - std::mem::replace(&mut self.in_band_taken, now)
    }

    /// Whether the thread has finished what it was given, or has died.
    pub fn is_idle(&self) -> bool {
        self.done.load(Acquire) == self.sent || self.handle.is_finished()
    }

    /// Whether the kernel ended the thread, so that it can neither finish nor be joined. EVL does that to its threads when
    /// it is stopped.
    pub fn has_vanished(&self) -> bool {
        // A thread that ends by itself has finished before the kernel forgets its id.
        !kernel::has_thread(self.granted.tid) && !self.handle.is_finished()
    }

    /// Waits for the thread to end. Returns `false` if it panicked.
    pub fn join(self) -> bool {
        drop(self.go);
        self.handle.join().is_ok()
    }
}

/// How a thread of this plan comes to its releases.
enum Way {
    /// A pacer of the run-time library.
    Paced(Box<Pacer>),
    /// It sleeps for a period after each activation, as latency tests of 2002 did.
    FromHere,
    /// Its releases lie on a clock of their own.
    OnClock(OpenClock),
    /// It waits in the driver of a core, which measures.
    Driver(Driver),
    /// It sends a message at each release and waits for the answer.
    RoundTrip(OpenEndpoint),
}

struct ThreadPlan {
    thread: ProbeThread,
    policy: Policy,
    mechanism: Mechanism,
    endpoint: Option<Endpoint>,
    limit: Nanos,
    online: Vec<u32>,
    control: Arc<RunControl>,
    done: Arc<AtomicU32>,
    in_band: Arc<AtomicU64>,
}

impl ThreadPlan {
    fn run(&self, report: &Sender<Result<Granted, ProbeError>>, begin: &Receiver<Go>) {
        let mut way = match self.set_up() {
            Ok((granted, way)) => {
                let _ = report.send(Ok(granted));
                way
            }
            Err(error) => {
                let _ = report.send(Err(error));
                return;
            }
        };
        while let Ok(go) = begin.recv() {
            self.measure(&mut way, go);
            self.done.fetch_add(1, Release);
        }
    }

    fn set_up(&self) -> Result<(Granted, Way), ProbeError> {
        let cpu = self.thread.cpu;
        let refused = |source| ProbeError::Refused { cpu, source };
        setup::quiet_current();
        let wanted = rt_policy(self.policy, self.thread.period);
        // The deadline class admits a thread only if it may run on every CPU of its scheduling domain.
        let pinned = !matches!(self.policy, Policy::Deadline { .. });
        let only = [cpu];
        setup::pin_current(if pinned { &only } else { &self.online }).map_err(refused)?;
        punctual_rt::prefault_stack(STACK_TOUCHED_BYTES).map_err(refused)?;
        setup::set_policy(wanted).map_err(refused)?;
        let granted = setup::granted().map_err(refused)?;
        self.verify(wanted, pinned, &granted)?;
        self.check_period()?;
        let way = self.way()?;
        let affinity: CpuSet = granted.cpus.iter().copied().collect();
        Ok((Granted { cpu, tid: granted.tid, policy: self.policy, affinity, memory_locked: false }, way))
    }

    fn way(&self) -> Result<Way, ProbeError> {
        let ProbeThread { cpu, period } = self.thread;
        if let Some((core, context)) = self.mechanism.driver_of() {
            let ask = Ask { core, context, cpu, period, priority: self.priority() };
            return Driver::attach(ask).map(Way::Driver).map_err(|source| ProbeError::Driver { cpu, source });
        }
        match (self.mechanism, &self.endpoint) {
            (Mechanism::OnClock(clock), _) => {
                OpenClock::open(clock).map(Way::OnClock).map_err(|source| ProbeError::Clock { cpu, source })
            }
            (Mechanism::RoundTrip(channel), Some(endpoint)) => {
                let open = OpenEndpoint::open(channel, endpoint);
                open.map(Way::RoundTrip).map_err(|source| ProbeError::Endpoint { cpu, source })
            }
            _ => {
                let pacer = self.pacer().transpose().map_err(|source| ProbeError::Refused { cpu, source })?;
                Ok(pacer.map_or(Way::FromHere, |pacer| Way::Paced(Box::new(pacer))))
            }
        }
    }

    /// The pacer of the run-time library for the mechanism to be measured. `None` if no pacer has part in it.
    fn pacer(&self) -> Option<Result<Pacer, punctual_rt::Error>> {
        let (wait, sleeper) = match self.mechanism {
            Mechanism::Absolute => (Wait::Sleep, Sleeper::Absolute),
            Mechanism::Relative => (Wait::Sleep, Sleeper::Relative),
            Mechanism::Timerfd => (Wait::Sleep, Sleeper::Timerfd),
            Mechanism::Futex => (Wait::Sleep, Sleeper::Futex),
            Mechanism::Hybrid => (Wait::Hybrid(Margin::AUTO), Sleeper::Absolute),
            Mechanism::Spin => (Wait::Spin, Sleeper::Absolute),
            Mechanism::Evl => return Some(self.on_core(Backend::Evl, Sleeper::Absolute)),
            Mechanism::Cobalt => return Some(self.on_core(Backend::Cobalt, Sleeper::Absolute)),
            Mechanism::CobaltTimer => return Some(self.on_core(Backend::Cobalt, Sleeper::Timerfd)),
            Mechanism::Nanosleep
            | Mechanism::EvlKernel
            | Mechanism::EvlIrq
            | Mechanism::CobaltKernel
            | Mechanism::CobaltIrq
            | Mechanism::OnClock(_)
            | Mechanism::RoundTrip(_) => return None,
        };
        Some(Pacer::new(Grid::new(now(), self.thread.period), &wait, sleeper))
    }

    fn on_core(&self, core: Backend, sleeper: Sleeper) -> Result<Pacer, punctual_rt::Error> {
        Pacer::on_backend(Grid::new(now(), self.thread.period), &Wait::Sleep, sleeper, core, self.priority())
    }

    /// The priority on a core. Cores pace only threads of `SCHED_FIFO`, which a checked scenario has.
    const fn priority(&self) -> u8 {
        if let Policy::Fifo(priority) = self.policy { priority } else { 1 }
    }

    fn verify(&self, wanted: punctual_rt::Policy, pinned: bool, granted: &setup::Granted) -> Result<(), ProbeError> {
        let cpu = self.thread.cpu;
        let otherwise = |asked: String, granted: String| Err(ProbeError::GrantedOtherwise { cpu, asked, granted });
        if granted.policy != wanted {
            return otherwise(format!("{wanted:?}"), format!("{:?}", granted.policy));
        }
        if pinned && granted.cpus != [cpu] {
            return otherwise(format!("CPU {cpu} alone"), format!("CPUs {:?}", granted.cpus));
        }
        Ok(())
    }

    /// Refuses a period shorter than one sleep, because it would leave no time for other work on the CPU.
    fn check_period(&self) -> Result<(), ProbeError> {
        if self.mechanism == Mechanism::Spin || self.mechanism.core().is_some() {
            return Ok(());
        }
        let mut costs = [Nanos::MAX; 15];
        for cost in &mut costs {
            let before = now();
            kernel::sleep_until(before.plus(Nanos::from_us(1)));
            *cost = now().since(before);
        }
        costs.sort_unstable();
        // Only the fastest sleep counts, because the others may be slow only because the machine is busy.
        let needs = costs[0];
        let Self { thread: ProbeThread { cpu, period }, .. } = *self;
        if period <= needs { Err(ProbeError::PeriodTooShort { cpu, period, needs }) } else { Ok(()) }
    }

    fn measure(&self, way: &mut Way, go: Go) {
        let Go { warm_up_from, from, end, mut warm_up, mut recorder } = go;
        let pacer = match way {
            Way::Paced(pacer) => pacer,
            Way::FromHere => {
                self.sleep_from_here(warm_up_from..from, Nanos::MAX, &mut warm_up);
                recorder.arm();
                self.sleep_from_here(from..end, self.limit, &mut recorder);
                return recorder.finish();
            }
            Way::OnClock(clock) => {
                self.on_clock(clock, warm_up_from..from, Nanos::MAX, &mut warm_up);
                recorder.arm();
                self.on_clock(clock, from..end, self.limit, &mut recorder);
                return recorder.finish();
            }
            Way::RoundTrip(endpoint) => {
                self.there_and_back(endpoint, warm_up_from..from, Nanos::MAX, &mut warm_up);
                recorder.arm();
                self.there_and_back(endpoint, from..end, self.limit, &mut recorder);
                return recorder.finish();
            }
            Way::Driver(driver) => return self.by_driver(driver, warm_up_from..end, &mut recorder),
        };
        self.on_grid(pacer, warm_up_from..from, Nanos::MAX, &mut warm_up, |_| ());
        recorder.arm();
        // Switches of the warm-up do not count. Those of an earlier phase do.
        let uncounted = pacer.count_in_band_switches() - self.in_band.load(Relaxed);
        let count = |switches| self.in_band.store(switches - uncounted, Relaxed);
        self.on_grid(pacer, from..end, self.limit, &mut recorder, count);
        count(pacer.count_in_band_switches());
        recorder.finish();
    }

    /// Lets a driver measure, which warms up by itself. A long span is measured in parts.
    fn by_driver(&self, driver: &Driver, span: Range<MonoTime>, recorder: &mut Recorder) {
        kernel::sleep_until(span.start);
        while now().plus(DRIVER_WARM_UP) < span.end && !self.control.stopped() {
            let measured = driver.measure(span.end, &mut Telling { plan: self, recorder });
            match measured {
                Ok((cells, whole)) => recorder.tell_end(&cells, &whole),
                Err(error) => self.control.lose_driver(format!("{error}: {}", error.remedy())),
            }
        }
    }

    /// Waits for the releases of `span`. After each activation, `count` receives the number of in-band switches.
    fn on_grid(
        &self,
        pacer: &mut Pacer,
        span: Range<MonoTime>,
        limit: Nanos,
        recorder: &mut Recorder,
        count: impl Fn(u64),
    ) {
        pacer.set_grid(Grid::new(span.start, self.thread.period).ending(span.end));
        while pacer.grid().release() < span.end && !self.control.stop.load(Relaxed) {
            let wake = pacer.wait();
            if pacer.core_lost().is_some() {
                return self.control.lose_core();
            }
            recorder.record(&wake);
            count(pacer.in_band_switches());
            self.check_limit(wake.latency(), limit);
        }
    }

    /// Sleeps for a period after each activation, as latency tests of 2002 did. The releases do not lie on a grid.
    fn sleep_from_here(&self, span: Range<MonoTime>, limit: Nanos, recorder: &mut Recorder) {
        kernel::sleep_until(span.start);
        let count = span.end.since(span.start).whole(self.thread.period);
        for index in 0..count {
            if self.control.stop.load(Relaxed) {
                break;
            }
            let release = now().plus(self.thread.period);
            kernel::sleep_for(self.thread.period);
            let wake = Wake { index, release, woke: now(), interval: self.thread.period, ..Wake::default() };
            recorder.record(&wake);
            self.check_limit(wake.latency(), limit);
        }
    }

    /// Sends a message at each release. The next release that is not over when its answer is there is the next in turn.
    fn there_and_back(
        &self,
        endpoint: &mut OpenEndpoint,
        span: Range<MonoTime>,
        limit: Nanos,
        recorder: &mut Recorder,
    ) {
        let period = self.thread.period;
        let count = span.end.since(span.start).whole(period);
        let (mut index, mut release) = (0, span.start);
        while index < count && !self.control.stop.load(Relaxed) {
            kernel::sleep_until(release);
            let (sent, answered) = match endpoint.round_trip() {
                Ok(times) => times,
                Err(error) => return self.control.lose_source(format!("{error}: {}", error.remedy())),
            };
            let missed = answered.since(sent).whole(period).min(count - index - 1);
            let wake = Wake { index, release: sent, woke: answered, interval: period, missed, ..Wake::default() };
            recorder.record(&wake);
            self.check_limit(wake.latency(), limit);
            (index, release) = (index + 1 + missed, release.plus(period.times(1 + missed)));
        }
    }

    /// Waits for releases that lie on another clock, which gives the latency too. `CLOCK_MONOTONIC` says when that was,
    /// as for all activations.
    fn on_clock(&self, clock: &OpenClock, span: Range<MonoTime>, limit: Nanos, recorder: &mut Recorder) {
        kernel::sleep_until(span.start);
        if let Err(error) = self.follow(clock, span, limit, recorder) {
            self.control.lose_source(format!("the clock of the releases could no longer be read: {error}"));
        }
    }

    fn follow(
        &self,
        clock: &OpenClock,
        span: Range<MonoTime>,
        limit: Nanos,
        recorder: &mut Recorder,
    ) -> std::io::Result<()> {
        let period = self.thread.period;
        let count = span.end.since(span.start).whole(period);
        let (mut before, mut last) = (now(), clock.read()?);
        let (mut index, mut release) = (0, last.plus(period));
        while index < count && !self.control.stop.load(Relaxed) {
            let shows = clock.sleep_until(release)?;
            let woke = now();
            let passed = shows.checked_minus(last);
            let latency = shows.minus(release);
            if was_set(passed, woke.since(before)) {
                // The release has moved with the clock, so that nothing can be said about it. The grid begins anew.
                self.control.clock_set.fetch_add(1, Relaxed);
                (index, release) = (index + 1, shows.plus(period));
            } else {
                let missed = latency.whole(period).min(count - index - 1);
                let due = MonoTime::from_ns(woke.as_ns().saturating_sub(latency.as_ns()));
                recorder.record(&Wake { index, release: due, woke, interval: period, missed, ..Wake::default() });
                self.check_limit(latency, limit);
                (index, release) = (index + 1 + missed, release.plus(period.times(1 + missed)));
            }
            (before, last) = (woke, shows);
        }
        Ok(())
    }

    #[inline]
    fn check_limit(&self, late: Nanos, limit: Nanos) {
        if late > limit {
            self.control.limit_hit.store(true, Relaxed);
            self.control.stop.store(true, Release);
        }
    }
}

/// Passes on what a driver tells.
struct Telling<'a> {
    plan: &'a ThreadPlan,
    recorder: &'a mut Recorder,
}

impl Listener for Telling<'_> {
    fn second(&mut self, at: MonoTime, second: &Second) {
        self.recorder.tell(at, second);
        self.plan.check_limit(Nanos::from_ns(u64::try_from(second.max).unwrap_or(0)), self.plan.limit);
    }

    fn stops(&self) -> bool {
        self.plan.control.stopped()
    }
}

fn rt_policy(policy: Policy, period: Nanos) -> punctual_rt::Policy {
    match policy {
        Policy::Fifo(priority) => punctual_rt::Policy::Fifo(priority),
        Policy::RoundRobin(priority) => punctual_rt::Policy::RoundRobin(priority),
        Policy::Deadline { runtime } => punctual_rt::Policy::Deadline { runtime, deadline: period, period },
        Policy::Other => punctual_rt::Policy::Other,
    }
}
