//! A grid combined with a way to wait: one call per activation. This is all that a periodic thread does between two
//! bodies, without statistics and without creating a thread. It also runs on a simulated clock.

use crate::backend::{Attached, Backend, Departure, InBand, Needs, find_only};
use crate::grid::Grid;
use crate::wait::{Approach, Clock, Means, Monotonic, Sleeper, Wait, Waited, Waiter};
use crate::{Class, ConfigError, Error, Stopper, Wake};
use punctual_hist::{Delta, MonoTime, Nanos};

/// How long before the release the return from a wait is rehearsed (see `Engine::wait`). Must be longer than the return
/// takes.
const REHEARSAL: Nanos = Nanos::from_us(2);

/// The default of the largest error that is classed as on time.
pub const TOLERANCE: Nanos = Nanos::from_us(10);

/// Paces a thread along a grid.
///
/// This is the engine below [`Cyclic`](crate::Cyclic), for programs that keep their own statistics.
///
/// ```
/// use punctual_rt::{Grid, Nanos, Pacer, Sleeper, Wait, now};
///
/// let grid = Grid::new(now() + Nanos::from_ms(2), Nanos::from_ms(1));
/// let mut pacer = Pacer::new(grid, &Wait::Sleep, Sleeper::Absolute)?;
/// for index in 0..5 {
///     let wake = pacer.wait();
///     assert!(wake.index >= index && wake.woke >= wake.release);
/// }
/// # Ok::<(), punctual_rt::Error>(())
/// ```
pub struct Pacer(Engine<Monotonic>);

pub(crate) struct Engine<C> {
    pub(crate) grid: Grid,
    pub(crate) waiter: Waiter<C>,
}

impl Pacer {
    /// Makes a pacer for the current thread.
    ///
    /// # Errors
    /// [`SetupError::Timer`](crate::SetupError::Timer) if no timer file descriptor can be created.
    ///
    /// # Real-time
    /// May enter the kernel: call before the loop.
    ///
    /// # Kernel
    /// Any supported Linux (4.4 and later).
    pub fn new(grid: Grid, wait: &Wait, sleeper: Sleeper) -> Result<Self, Error> {
        Ok(Self(Engine { grid, waiter: Waiter::new(wait, sleeper, TOLERANCE)? }))
    }

    /// Makes a pacer for the current thread, which a real-time core paces.
    pub(crate) fn out_of_band(grid: Grid, wait: &Wait, core: Attached) -> Self {
        Self(Engine { grid, waiter: Waiter::out_of_band(wait, core, TOLERANCE) })
    }

    /// Makes a pacer for the current thread, which `backend` is to pace: a real-time core, or Linux. Locks the memory of the
    /// process for a core. [`Cyclic`](crate::Cyclic) chooses by itself, and always [`Sleeper::Absolute`]. A core knows no other
    /// way, except that Cobalt also has timer files ([`Sleeper::Timerfd`]).
    ///
    /// # Errors
    /// [`SetupError::Evl`](crate::SetupError::Evl) or [`SetupError::Cobalt`](crate::SetupError::Cobalt) with the reason why
    /// the core cannot be used; [`ConfigError::OnlyInBand`] if the wait or the sleeper is none of a core.
    ///
    /// # Real-time
    /// Enters the kernel, allocates, and may fault: call before the loop.
    ///
    /// # Kernel
    /// See [`Backend`].
    pub fn on_backend(
        grid: Grid,
        wait: &Wait,
        sleeper: Sleeper,
        backend: Backend,
        priority: u8,
    ) -> Result<Self, Error> {
        let Some(found) = find_only(backend)? else { return Self::new(grid, wait, sleeper) };
        let by_timer = sleeper == Sleeper::Timerfd && backend == Backend::Cobalt;
        if !wait.is_of_cores() || (sleeper != Sleeper::Absolute && !by_timer) {
            return Err(Error::Config(ConfigError::OnlyInBand));
        }
        wait.validate()?;
        let stop = Stopper::default();
        let (in_band, report) = (InBand::Count, Box::new(|_| ()));
        let needs = Needs { priority, in_band, by_timer, memory_is_locked: false, stop: stop.clone(), report };
        Ok(Self::out_of_band(grid, wait, Attached::new(found, needs)?).stopped_by(stop))
    }

    /// The kernel that paces the thread.
    ///
    /// # Real-time
    /// Reads memory.
    pub fn backend(&self) -> Backend {
        self.0.waiter.clock.core().map_or(Backend::Linux, Attached::backend)
    }

    /// Why a core can no longer pace the thread, if that is so.
    pub(crate) fn departure(&self) -> Option<Departure> {
        self.0.waiter.clock.core().and_then(Attached::departure)
    }

    /// The `errno` with which a real-time core refused to let the thread sleep. From then on [`Pacer::wait`] returns at
    /// once.
    ///
    /// # Real-time
    /// Reads memory.
    pub fn core_lost(&self) -> Option<i32> {
        match self.departure()? {
            Departure::Refused(errno) => Some(errno),
            Departure::InBand(_) => None,
        }
    }

    /// How often a real-time core took the thread in-band since its first sleep. The number is at most 0.1 s old; on Linux
    /// it is 0.
    ///
    /// # Real-time
    /// Reads memory.
    pub fn in_band_switches(&self) -> u64 {
        self.0.waiter.clock.core().map_or(0, Attached::switches)
    }

    /// The present number of [`Pacer::in_band_switches`].
    ///
    /// # Real-time
    /// One call of the core, which leaves the thread out-of-band.
    pub fn count_in_band_switches(&mut self) -> u64 {
        self.0.waiter.clock.core_mut().map_or(0, Attached::count_switches)
    }

    /// Sets the largest error that is classed as on time; by default [`TOLERANCE`].
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: Nanos) -> Self {
        self.0.waiter.tolerance = tolerance;
        self
    }

    /// After an activation that lost time while polling, asks the kernel whether another thread ran (`getrusage`, 0.3
    /// us). Without this, the loop makes no system call except its wait, but on kernels before 6.19 the cause is more
    /// often unknown.
    ///
    /// # Real-time
    /// Enters the kernel: call before the loop.
    #[must_use]
    pub fn confirming_interference(mut self) -> Self {
        self.0.waiter.clock.confirm_interference();
        self
    }

    /// The means with which this pacer waits on this machine.
    ///
    /// # Real-time
    /// Only computes.
    pub fn means(&mut self) -> Means {
        self.0.waiter.clock.means()
    }

    /// Makes long waits end early when `stop` is set.
    pub(crate) fn stopped_by(mut self, stop: Stopper) -> Self {
        self.0.waiter.stop = stop;
        self
    }

    /// The grid in its present state.
    pub const fn grid(&self) -> &Grid {
        &self.0.grid
    }

    /// Continues with another grid. The delays learned from earlier sleeps are kept.
    ///
    /// # Real-time
    /// Copies about a hundred bytes.
    pub fn set_grid(&mut self, grid: Grid) {
        self.0.grid = grid;
    }

    /// Waits for the next release; returns at once if it is past.
    ///
    /// # Real-time
    /// Allocates nothing, locks nothing, and enters the kernel only to wait.
    #[inline]
    pub fn wait(&mut self) -> Wake {
        let mut wake = Wake::default();
        self.0.wait(|| {}, &mut wake);
        wake
    }

    /// Waits as [`Pacer::wait`] does, and leaves the outcome in `wake`. If the wait polls, `warm` is called between the
    /// sleep and the release; if it takes more than a microsecond or two, the activation may be late.
    #[inline]
    pub(crate) fn wait_into(&mut self, warm: impl FnOnce(), wake: &mut Wake) {
        self.0.wait(warm, wake);
    }

    /// Moves the next releases as [`Grid::steer`] does.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn steer(&mut self, by: Delta) -> Delta {
        self.0.at_now(|grid, now| grid.steer(by, now))
    }

    /// Changes the period as [`Grid::set_period`] does.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn set_period(&mut self, period: Nanos) {
        self.0.at_now(|grid, now| grid.set_period(period, now));
    }

    /// Moves the grid as [`Grid::shift_phase`] does.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn shift_phase(&mut self, by: Delta) {
        self.0.at_now(|grid, now| grid.shift_phase(by, now));
    }

    /// Skips past releases as [`Grid::resync`] does.
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn resync(&mut self) -> u64 {
        self.0.at_now(Grid::resync)
    }
}

/// Waits for single instants, with the precision that a task has for its releases.
///
/// ```
/// use punctual_rt::{Delay, Nanos, Wait, now};
///
/// let mut delay = Delay::new(&Wait::Hybrid(punctual_rt::Margin::AUTO))?;
/// let instant = now() + Nanos::from_us(300);
/// assert!(delay.until(instant).woke >= instant);
/// # Ok::<(), punctual_rt::Error>(())
/// ```
pub struct Delay(Waiter<Monotonic>);

impl Delay {
    /// Upper limit of the period from which the margin is computed, however long the wait is.
    const SPAN_MAX: Nanos = Nanos::from_ms(1);

    /// Makes a delay for the current thread. The delays that it learns from sleeps are kept between calls.
    ///
    /// # Errors
    /// [`SetupError::Timer`](crate::SetupError::Timer) if no timer file descriptor can be created.
    ///
    /// # Real-time
    /// May enter the kernel: call before the loop.
    pub fn new(wait: &Wait) -> Result<Self, Error> {
        Ok(Self(Waiter::new(wait, Sleeper::Absolute, TOLERANCE)?))
    }

    /// Waits until `instant`; returns at once if it is past.
    ///
    /// # Real-time
    /// The same as for [`Pacer::wait`].
    pub fn until(&mut self, instant: MonoTime) -> Wake {
        let interval = instant - crate::now();
        let Waited { woke, class, overshoot, polled } = self.0.wait_until(instant, interval.min(Self::SPAN_MAX));
        Wake { release: instant, woke, interval, class, overshoot, polled, ..Wake::default() }
    }
}

impl<C: Clock> Engine<C> {
    /// Waits for the next release. `warm` is called between the sleep and the release. The outcome is left in `wake`.
    ///
    /// The latency that a caller sees depends on the few instructions between the last clock reading of the wait and
    /// the caller's own next reading. After a sleep, these instructions are not in the cache. So the usual outcome is
    /// written where the caller wants it *before* the release, and the return is rehearsed by polling for an instant
    /// shortly before it. Afterwards only comparisons and two stores remain. Returning the outcome by value would copy it
    /// then.
    #[inline]
    pub(crate) fn wait(&mut self, warm: impl FnOnce(), wake: &mut Wake) {
        let (release, period) = (self.grid.release(), self.grid.period());
        let (back, overshoot) = match self.waiter.approach(release, period) {
            Approach::There(waited) => return self.told(&waited, wake),
            Approach::Near { back, overshoot } => (back, overshoot),
        };
        let former = self.grid;
        *wake = Wake { overshoot, ..self.grid.advance(release) };
        let rehearsal = release - REHEARSAL;
        let mut instant = release;
        if back < rehearsal - REHEARSAL {
            warm();
            instant = rehearsal;
        }
        loop {
            wake.woke = self.waiter.poll_until(instant);
            wake.polled = wake.woke - back;
            if !self.waiter.is_on_time(wake.woke, instant) || wake.woke >= self.grid.release() {
                break;
            }
            if instant == release {
                return self.waiter.arrived(wake.polled);
            }
            instant = release;
        }
        self.grid = former;
        // After lost time in the rehearsal the release may still be ahead. Polling again would erase the marks that
        // show the cause.
        let hit_early = instant < release && wake.woke < release;
        let back_at = if hit_early { self.waiter.poll_until(release) } else { wake.woke };
        let waited = self.waiter.polled_until(back_at, release, back, overshoot);
        self.told(&waited, wake);
    }

    /// Advances the grid by the outcome of a wait.
    #[inline(never)]
    fn told(&mut self, waited: &Waited, wake: &mut Wake) {
        let Waited { woke, class, overshoot, polled } = *waited;
        let advanced = match (self.waiter.is_external(), class) {
            // The event did not come, and the next release is not due yet: the grid does not advance.
            (true, Class::TimedOut) if woke < self.grid.release() => {
                Wake { index: self.grid.index(), release: self.grid.release(), woke, ..Wake::default() }
            }
            (true, Class::TimedOut) | (false, _) => self.grid.advance(woke),
            (true, _) => self.grid.follow(woke),
        };
        *wake = Wake { class, overshoot, polled, ..advanced };
    }

    fn at_now<T>(&mut self, act: impl FnOnce(&mut Grid, MonoTime) -> T) -> T {
        let now = self.waiter.clock.now();
        act(&mut self.grid, now)
    }
}
