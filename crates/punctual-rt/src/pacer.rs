//! A grid and a way to wait, together: one call per activation. Everything a periodic thread does between its body's
//! end and its next beginning, without statistics and without a thread; it runs on a pretended clock as well.

use crate::grid::Grid;
use crate::wait::{Approach, Clock, Means, Monotonic, Sleeper, Wait, Waited, Waiter};
use crate::{Class, Error, Stopper, Wake};
use punctual_hist::{Delta, MonoTime, Nanos};

/// How long before the release the return from a wait is rehearsed: longer than returning takes.
const REHEARSAL: Nanos = Nanos::from_us(2);

/// The largest error that counts as on time, unless said otherwise.
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
    /// A pacer for the current thread.
    ///
    /// # Errors
    /// [`SetupError::Timer`](crate::SetupError::Timer) when no timer file descriptor can be had.
    ///
    /// # Real-time
    /// May enter the kernel: call before the loop.
    ///
    /// # Kernel
    /// Any supported Linux (4.4 and later).
    pub fn new(grid: Grid, wait: &Wait, sleeper: Sleeper) -> Result<Self, Error> {
        Ok(Self(Engine { grid, waiter: Waiter::new(wait, sleeper, TOLERANCE)? }))
    }

    /// An error of at most `tolerance` is classed as on time; [`TOLERANCE`] unless said otherwise.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: Nanos) -> Self {
        self.0.waiter.tolerance = tolerance;
        self
    }

    /// After an activation that was hit while polling, asks the kernel whether another thread ran (`getrusage`, 0.3 us).
    /// Without it the loop makes no system call but its wait, and kernels before 6.19 more often leave the answer open.
    ///
    /// # Real-time
    /// Enters the kernel: call before the loop.
    #[must_use]
    pub fn confirming_interference(mut self) -> Self {
        self.0.waiter.clock.confirm_interference();
        self
    }

    /// What this pacer waits with on this machine.
    ///
    /// # Real-time
    /// Pure.
    pub fn means(&mut self) -> Means {
        self.0.waiter.clock.means()
    }

    /// Lets waits that are long end early when `stop` says so.
    pub(crate) fn stopped_by(mut self, stop: Stopper) -> Self {
        self.0.waiter.stop = stop;
        self
    }

    /// The grid as it stands.
    pub const fn grid(&self) -> &Grid {
        &self.0.grid
    }

    /// Goes on along another grid. What was learned of sleeps is kept.
    ///
    /// # Real-time
    /// A copy of a hundred bytes.
    pub fn set_grid(&mut self, grid: Grid) {
        self.0.grid = grid;
    }

    /// Waits for the next release; returns at once when it is past.
    ///
    /// # Real-time
    /// Allocates nothing, locks nothing; enters the kernel to wait, and otherwise not.
    #[inline]
    pub fn wait(&mut self) -> Wake {
        self.0.wait(|| {}, |_| {})
    }

    /// As [`Pacer::wait`]. `warm` is called where there is time to burn, between the sleep and the release, if the wait
    /// polls there; what it takes beyond a microsecond or two can make the activation late. `deliver` gets the outcome, and
    /// before that perhaps a draft of it, to be overwritten.
    #[inline]
    pub(crate) fn wait_delivering(&mut self, warm: impl FnOnce(), deliver: impl FnMut(&Wake)) -> Wake {
        self.0.wait(warm, deliver)
    }

    /// See [`Grid::steer`].
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn steer(&mut self, by: Delta) -> Delta {
        self.0.at_now(|grid, now| grid.steer(by, now))
    }

    /// See [`Grid::set_period`].
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn set_period(&mut self, period: Nanos) {
        self.0.at_now(|grid, now| grid.set_period(period, now));
    }

    /// See [`Grid::shift_phase`].
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn shift_phase(&mut self, by: Delta) {
        self.0.at_now(|grid, now| grid.shift_phase(by, now));
    }

    /// See [`Grid::resync`].
    ///
    /// # Real-time
    /// One reading of the clock.
    pub fn resync(&mut self) -> u64 {
        self.0.at_now(Grid::resync)
    }
}

/// Waits for single instants, as exactly as a task does for its releases.
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
    /// The longest time that a margin is reckoned from, whatever the length of the wait.
    const SPAN_MAX: Nanos = Nanos::from_ms(1);

    /// A delay for the current thread; what it learns of sleeps it keeps from one to the next.
    ///
    /// # Errors
    /// [`SetupError::Timer`](crate::SetupError::Timer).
    ///
    /// # Real-time
    /// May enter the kernel: call before the loop.
    pub fn new(wait: &Wait) -> Result<Self, Error> {
        Ok(Self(Waiter::new(wait, Sleeper::Absolute, TOLERANCE)?))
    }

    /// Waits until `instant`; returns at once when it is past.
    ///
    /// # Real-time
    /// As [`Pacer::wait`].
    pub fn until(&mut self, instant: MonoTime) -> Wake {
        let interval = instant - crate::now();
        let Waited { woke, class, overshoot, polled } = self.0.wait_until(instant, interval.min(Self::SPAN_MAX));
        Wake { release: instant, woke, interval, class, overshoot, polled, ..Wake::default() }
    }
}

impl<C: Clock> Engine<C> {
    /// Waits for the next release. `warm` is called where there is time to burn, between the sleep and the release;
    /// `deliver` gets the outcome, and before that a draft of it in rehearsal.
    ///
    /// What a caller gets depends on the few instructions between the last reading of the clock and its own next one, and
    /// after a sleep these are cold. So the usual outcome is worked out *before* the release; the way out is rehearsed,
    /// polling for an instant a little before it; and what is left to do afterwards is to compare and to store.
    #[inline]
    pub(crate) fn wait(&mut self, warm: impl FnOnce(), mut deliver: impl FnMut(&Wake)) -> Wake {
        let (release, period) = (self.grid.release(), self.grid.period());
        let (back, overshoot) = match self.waiter.approach(release, period) {
            Approach::There(waited) => return self.told(&waited, deliver),
            Approach::Near { back, overshoot } => (back, overshoot),
        };
        let former = self.grid;
        let mut wake = Wake { overshoot, ..self.grid.advance(release) };
        let rehearsal = release - REHEARSAL;
        let mut instant = release;
        if back < rehearsal - REHEARSAL {
            warm();
            instant = rehearsal;
        }
        loop {
            wake.woke = self.waiter.poll_until(instant);
            wake.polled = wake.woke - back;
            deliver(&wake);
            if !self.waiter.is_on_time(wake.woke, instant) || wake.woke >= self.grid.release() {
                break;
            }
            if instant == release {
                self.waiter.arrived(wake.polled);
                return wake;
            }
            instant = release;
        }
        self.grid = former;
        // After a hit in the rehearsal there may be time left; polling on would wipe out the marks of who it was.
        let hit_early = instant < release && wake.woke < release;
        let back_at = if hit_early { self.waiter.poll_until(release) } else { wake.woke };
        let waited = self.waiter.polled_until(back_at, release, back, overshoot);
        self.told(&waited, deliver)
    }

    /// Moves the grid on by the outcome of a wait.
    #[inline(never)]
    fn told(&mut self, waited: &Waited, mut deliver: impl FnMut(&Wake)) -> Wake {
        let Waited { woke, class, overshoot, polled } = *waited;
        let wake = match (self.waiter.is_external(), class) {
            // What did not come moves nothing, and what has not been due is not run.
            (true, Class::TimedOut) if woke < self.grid.release() => {
                Wake { index: self.grid.index(), release: self.grid.release(), woke, ..Wake::default() }
            }
            (true, Class::TimedOut) | (false, _) => self.grid.advance(woke),
            (true, _) => self.grid.follow(woke),
        };
        let wake = Wake { class, overshoot, polled, ..wake };
        deliver(&wake);
        wake
    }

    fn at_now<T>(&mut self, act: impl FnOnce(&mut Grid, MonoTime) -> T) -> T {
        let now = self.waiter.clock.now();
        act(&mut self.grid, now)
    }
}
