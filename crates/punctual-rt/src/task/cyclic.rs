//! A periodic loop on the caller's own thread.

use super::TaskConfig;
use super::config::check_period;
use super::core_lost::Watch;
use super::paced_by::PacedBy;
use super::start::Epoch;
use crate::backend::{Backend, Departure, SwitchCause};
use crate::setup::{Prepared, Refusal};
use crate::stats::{Stats, StatsReader, StatsWriter};
use crate::{Error, Grid, Means, Overrun, Pacer, Stopper, Wake};
use punctual_hist::{Delta, MonoTime, Nanos};
use std::marker::PhantomData;

/// The reason why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The loop was told to stop, or its body asked to end.
    Stopped,
    /// Releases were missed, and the loop was configured with [`Overrun::Stop`].
    Overrun {
        /// Number of missed releases.
        missed: u64,
    },
    /// The body panicked.
    Panicked,
    /// The real-time core took the loop in-band, and the loop was configured with [`InBand::Strict`](crate::InBand::Strict).
    InBand(SwitchCause),
    /// The real-time core did not let the loop sleep any more, for example because it was stopped. Both cores end their
    /// threads then: nothing of the thread runs any more, and what it owned is lost.
    CoreLost {
        /// The `errno` of the core.
        errno: i32,
    },
}

/// A periodic loop on the current thread: [`Cyclic::new`] sets the thread up, and [`Cyclic::wait`] waits for releases.
///
/// For example the loop of an `EtherCAT` master:
///
/// ```
/// use punctual_rt::{Cyclic, Delta, Nanos, TaskConfig};
///
/// let mut cyclic = Cyclic::new(&TaskConfig::periodic(Nanos::from_us(500)).named("bus"))?;
/// let stop = cyclic.stopper();
/// let mut cycles = 0;
/// while let Some(wake) = cyclic.wait() {
///     // receive; `wake.missed` releases after this one had passed as well, and are not run
///     cyclic.steer(Delta::from_ns(-120)); // what a servo said
///     // compute, send
///     cyclic.finish();
///     cycles += 1;
///     if cycles == 10 {
///         stop.stop();
///     }
/// }
/// assert_eq!(cycles, 10);
/// # Ok::<(), punctual_rt::Error>(())
/// ```
/// The value is not `Send`, because it belongs to the thread that was set up.
pub struct Cyclic {
    pacer: Pacer,
    stats: StatsWriter,
    /// The activation that is not recorded in the statistics yet.
    open: Option<Wake>,
    reader: StatsReader,
    /// The configuration, from which the first wait makes the grid.
    waiting: Option<TaskConfig>,
    stops_at_overrun: bool,
    stop: Stopper,
    ended: Option<Ended>,
    prepared: Prepared,
    /// Looks whether the core has ended the thread.
    watch: Option<Watch>,
    /// The set-up belongs to this thread.
    not_send: PhantomData<*const ()>,
}

impl Cyclic {
    /// Sets the current thread up. The releases begin with the first [`Cyclic::wait`], so initialisation before that
    /// call misses none.
    ///
    /// # Errors
    /// The errors of [`TaskConfig::validate`]; what the system refuses under
    /// [`Require::Strict`](crate::setup::Require); [`SetupError::Timer`](crate::SetupError::Timer); and
    /// [`SetupError::Evl`](crate::SetupError::Evl) or [`SetupError::Cobalt`](crate::SetupError::Cobalt), see
    /// [`TaskConfig::backend`].
    ///
    /// # Real-time
    /// Allocates, faults, enters the kernel: call before the loop.
    ///
    /// # Kernel
    /// Linux 4.4 and later. What an older kernel lacks is listed in [`Cyclic::refusals`]. EVL with ABI 26, 32 or 36, and
    /// Cobalt of Xenomai 3.2 and 3.3, on x86-64 and arm64.
    pub fn new(config: &TaskConfig) -> Result<Self, Error> {
        config.validate()?;
        let (stats, reader) = Stats::create(&config.stats())?;
        let paced_by = PacedBy::choose(config)?;
        let mut prepared = config.setup.apply()?;
        let grid = Grid::new(MonoTime::default(), config.period);
        let stop = Stopper::default();
        let pacer = paced_by.pacer(config, &mut prepared, &stats, grid, &stop)?.with_tolerance(config.tolerance);
        let mut pacer = pacer.stopped_by(stop.clone());
        if config.confirms_interference {
            pacer = pacer.confirming_interference();
        }
        Ok(Self {
            pacer,
            stats,
            open: None,
            reader,
            waiting: Some(config.clone()),
            stops_at_overrun: config.overrun == Overrun::Stop,
            stop,
            ended: None,
            prepared,
            watch: None,
            not_send: PhantomData,
        })
    }

    /// Waits for the next release; `None` if the loop has ended, see [`Cyclic::ended`].
    ///
    /// # Real-time
    /// Allocates nothing, locks nothing, enters the kernel only to wait. The first call is an exception: it chooses the
    /// first release, and may poll to find the scheduler's tick.
    #[inline]
    pub fn wait(&mut self) -> Option<Wake> {
        if self.waiting.is_some() {
            self.begin();
        }
        self.record();
        if self.ended.is_some() {
            return None;
        }
        let Self { pacer, stats, open, stop, .. } = self;
        let wake = open.insert(Wake::default());
        pacer.wait_into(|| stats.warm(), wake);
        if stop.is_stopped() {
            (self.open, self.ended) = (None, Some(self.why_stopped()));
            return None;
        }
        if wake.missed > 0 && self.stops_at_overrun {
            self.ended = Some(Ended::Overrun { missed: wake.missed });
            return None;
        }
        Some(*wake)
    }

    /// Why the loop was stopped: by a call, or by a core that can no longer pace it.
    #[cold]
    fn why_stopped(&self) -> Ended {
        match self.pacer.departure() {
            None => Ended::Stopped,
            Some(Departure::InBand(cause)) => Ended::InBand(cause),
            Some(Departure::Refused(errno)) => Ended::CoreLost { errno },
        }
    }

    /// Marks the end of the body, for the execution time, the response time and the deadline in the statistics. Only
    /// the first call per cycle counts.
    ///
    /// # Real-time
    /// One reading of the clock and about 100 ns of bookkeeping, which [`Cyclic::wait`] does if this was not called.
    #[inline]
    pub fn finish(&mut self) {
        if self.open.is_some() {
            let at = crate::now();
            self.record();
            self.stats.finished(at);
        }
    }

    /// Records the last activation, if it is not recorded yet. Called after the body, so that it does not delay the
    /// body.
    #[inline]
    fn record(&mut self) {
        if let Some(wake) = self.open.take() {
            self.stats.woke(&wake);
        }
    }

    /// Moves the next release, and all after it. Returns the distance really moved, which [`TaskConfig::steer_max`]
    /// limits. Does nothing before the first wait.
    ///
    /// # Real-time
    /// One reading of the clock.
    #[inline]
    pub fn steer(&mut self, by: Delta) -> Delta {
        if self.waiting.is_some() { Delta::ZERO } else { self.pacer.steer(by) }
    }

    /// Sets the period from the next release on.
    ///
    /// # Errors
    /// [`ConfigError::Period`](crate::ConfigError::Period) for a period below 1 us. Then the old period stays.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn set_period(&mut self, period: Nanos) -> Result<(), Error> {
        check_period(period)?;
        if let Some(config) = &mut self.waiting {
            config.period = period;
        }
        self.pacer.set_period(period);
        self.stats.set_period(period);
        Ok(())
    }

    /// Moves the releases by any distance at once, see [`Grid::shift_phase`]. Does nothing before the first wait.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn shift_phase(&mut self, by: Delta) {
        if self.waiting.is_none() {
            self.pacer.shift_phase(by);
        }
    }

    /// Skips the releases that have passed, for example after an operation that was meant to be long, and returns their
    /// number. They count neither as run nor as missed.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn resync(&mut self) -> u64 {
        if self.waiting.is_some() { 0 } else { self.pacer.resync() }
    }

    /// The grid, with the next release and the period. Before the first wait its instants have no meaning.
    pub const fn grid(&self) -> &Grid {
        self.pacer.grid()
    }

    /// The reason why the loop ended, if it has.
    pub const fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// The means with which this loop waits on this machine.
    ///
    /// # Real-time
    /// Only computes.
    pub fn means(&mut self) -> Means {
        self.pacer.means()
    }

    /// The kernel that paces this loop.
    ///
    /// # Real-time
    /// Reads memory.
    pub fn backend(&self) -> Backend {
        self.pacer.backend()
    }

    /// The refused parts of the set-up; empty under [`Require::Strict`](crate::setup::Require).
    ///
    /// # Real-time
    /// Only computes.
    pub fn refusals(&self) -> &[Refusal] {
        self.prepared.refusals()
    }

    /// The statistics, which any thread may read.
    ///
    /// # Real-time
    /// Only computes; cloning the reader counts references, and neither allocates nor locks.
    pub fn stats(&self) -> &StatsReader {
        &self.reader
    }

    /// A handle that ends the loop from any thread.
    ///
    /// # Real-time
    /// Counts a reference; neither allocates nor locks.
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Calls `lost` if a real-time core is stopped and ends the thread of this loop, which the core does in the kernel: the
    /// wait does not return, and nothing that the thread owns is dropped. `lost` gets [`Ended::CoreLost`], on a thread of
    /// Linux that looks 20 times a second until the loop is dropped; [`stopper`](Self::stopper) then says that the loop was
    /// stopped. On Linux, which does not end threads, nothing is started.
    ///
    /// # Errors
    /// [`SetupError::Thread`](crate::SetupError::Thread) if the thread cannot be started.
    ///
    /// # Real-time
    /// Starts a thread: call before the loop.
    pub fn on_core_lost(&mut self, lost: impl FnOnce(Ended) + Send + 'static) -> Result<(), Error> {
        if self.backend() != Backend::Linux {
            let lost = move || lost(Ended::CoreLost { errno: libc::ENXIO });
            self.watch = Some(Watch::start(crate::kernel::thread_id(), self.stop.clone(), lost)?);
        }
        Ok(())
    }

    /// Sets the first release to `first`, instead of the position in [`TaskConfig::phase`].
    pub(super) fn begin_at(&mut self, first: MonoTime) {
        if let Some(config) = self.waiting.take() {
            let grid = Grid::new(first, config.period).with_overrun(config.overrun);
            self.pacer.set_grid(config.steer_max.map_or(grid, |max| grid.with_steer_max(max)));
        }
    }

    /// Not inlined: the proof that waiting cannot panic or allocate recognises it by name.
    #[cold]
    #[inline(never)]
    fn begin(&mut self) {
        if let Some(config) = &self.waiting {
            let first = Epoch::choose(config).soon();
            self.begin_at(first);
        }
    }
}

impl Drop for Cyclic {
    fn drop(&mut self) {
        self.record();
    }
}
