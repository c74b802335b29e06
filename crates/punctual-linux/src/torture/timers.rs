//! Many timers of each kind at once on every CPU. None may expire early, and no expiry may be lost. How late they are and
//! how many expiries came at once is told, and judged by nobody here.

use super::doubt::Doubt;
use super::seat::{Kind, Place, Seat, on_all};
use super::{Control, Order, TortureError};
use crate::sys::posix_timer::{AWAITED, PosixTimer, next_expiry};
use crate::sys::signals::set_blocked;
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::report::Percentiles;
use punctual_rt::now;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::collections::BTreeMap;
use std::io;

/// The period of the first timer, and by how much each further one is longer, so that they fall together and apart.
const PERIOD: Nanos = Nanos::from_ms(1);
const LONGER: Nanos = Nanos::from_us(37);
/// Time until the first expiry: all timers have been started by then.
const AHEAD: Nanos = Nanos::from_ms(20);
/// Longest wait for an expiry, after which a thread looks whether the test is over.
const LOOK: Nanos = Nanos::from_ms(50);
/// An expiry that was due and is not there after this time is lost.
const GRACE: Nanos = Nanos::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimerKind {
    /// Descriptors of `timerfd_create`, many of one thread.
    Timerfd,
    /// Timers of `timer_create`, many of one thread, which waits for their signals.
    Posix,
    /// Threads that sleep by `clock_nanosleep`, each to the end of its period.
    Sleep,
}

/// What became of timers.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timers {
    /// A row for each CPU and kind of timer.
    pub rows: Vec<TimerRow>,
}

/// The timers of one kind on one CPU.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimerRow {
    pub cpu: u32,
    /// What expires, and how a thread waits for it.
    pub timer: TimerKind,
    /// The scheduling of the threads that wait.
    pub kind: Kind,
    /// Number of timers of this kind on this CPU.
    pub timers: u32,
    /// Number of expiries that were seen.
    pub expiries: u64,
    /// Expiries that were seen before they were due.
    pub early: u64,
    /// Expiries that were due and were never seen.
    pub lost: u64,
    /// Expiries that came together with an earlier one, because nobody had taken that one yet.
    pub overruns: u64,
    /// Time from when an expiry was due until its thread ran.
    #[serde(rename = "late_ns")]
    pub late: Percentiles,
}

impl Timers {
    pub(super) fn is_broken(&self) -> bool {
        self.rows.iter().any(|row| row.early > 0 || row.lost > 0)
    }

    pub(super) fn doubts(&self, doubts: &mut Vec<Doubt>) {
        if self.rows.is_empty() || self.rows.iter().any(|row| row.expiries == 0) {
            doubts.push(Doubt::NothingTried);
        }
    }
}

pub(super) fn run(order: &Order, place: &Place, control: &Control<'_>) -> Result<Timers, TortureError> {
    // The first two threads of a CPU have all timers of a kind each, and each further one is a timer by itself.
    let seats = place.foremost(order.threads + 2, order.priority);
    let tallies = on_all(&seats, control, |seat| {
        seat.take()?;
        let (timer, done) = match seat.thread {
            0 => (TimerKind::Timerfd, descriptors(order.threads, control).map_err(seat.failed("use a timerfd"))),
            1 => (TimerKind::Posix, signals(order.threads, control).map_err(seat.failed("use POSIX timers"))),
            thread => (TimerKind::Sleep, sleep(thread - 2, control).map_err(seat.failed("sleep"))),
        };
        Ok(((seat.cpu, timer), (*seat, done?)))
    })?;
    let mut rows: BTreeMap<(u32, TimerKind), (Seat, Tally)> = BTreeMap::new();
    for (key, (seat, tally)) in tallies {
        rows.entry(key).or_insert_with(|| (seat, Tally::default())).1.add(&tally);
    }
    let row = |((cpu, timer), (seat, tally)): ((u32, TimerKind), (Seat, Tally))| {
        let Tally { expiries, early, lost, overruns, late } = tally;
        let late = Percentiles::of(&late);
        TimerRow { cpu, timer, kind: seat.kind, timers: order.threads, expiries, early, lost, overruns, late }
    };
    Ok(Timers { rows: rows.into_iter().map(row).collect() })
}

#[derive(Clone, Debug, Default)]
struct Tally {
    expiries: u64,
    early: u64,
    lost: u64,
    overruns: u64,
    late: Counts,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.expiries += other.expiries;
        self.early += other.early;
        self.lost += other.lost;
        self.overruns += other.overruns;
        self.late.merge(&other.late);
    }

    /// Counts expiries that were seen together at `at`.
    fn take(&mut self, rhythm: &mut Rhythm, expiries: u64, at: MonoTime) {
        let oldest = rhythm.due(rhythm.seen);
        let seen = rhythm.seen + expiries;
        let due = rhythm.due_by(at);
        self.early += seen.saturating_sub(due.max(rhythm.seen));
        self.expiries += expiries;
        self.overruns += expiries.saturating_sub(1);
        self.late.record(at.since(oldest));
        rhythm.seen = seen;
    }
}

/// When a timer is due, and how many of its expiries were seen.
#[derive(Clone, Copy, Debug)]
struct Rhythm {
    first: MonoTime,
    period: Nanos,
    seen: u64,
}

impl Rhythm {
    /// The rhythms of the timers of one thread.
    fn several(count: u32) -> Vec<Self> {
        let first = now() + AHEAD;
        (0..count).map(|number| Self { first, period: period(number), seen: 0 }).collect()
    }

    fn due(&self, number: u64) -> MonoTime {
        self.first + self.period * number
    }

    /// Number of expiries due by this time.
    fn due_by(&self, at: MonoTime) -> u64 {
        if at < self.first { 0 } else { at.since(self.first).whole(self.period) + 1 }
    }
}

fn period(number: u32) -> Nanos {
    PERIOD.plus(LONGER.times(number.into()))
}

/// Takes expiries until the test is over, and then those that were due by that time. `take` waits at most for the given
/// time, and counts what it finds.
fn until_over(
    rhythms: &mut [Rhythm],
    control: &Control<'_>,
    mut take: impl FnMut(&mut [Rhythm], &mut Tally, Nanos) -> io::Result<()>,
) -> io::Result<Tally> {
    let mut tally = Tally::default();
    while control.goes_on() {
        take(rhythms, &mut tally, LOOK)?;
    }
    let end = now();
    let missing = |rhythms: &[Rhythm]| -> u64 {
        rhythms.iter().map(|rhythm| rhythm.due_by(end).saturating_sub(rhythm.seen)).sum()
    };
    while missing(rhythms) > 0 && now().since(end) < GRACE {
        take(rhythms, &mut tally, LOOK)?;
    }
    tally.lost = missing(rhythms);
    Ok(tally)
}

fn timespec(ns: u64) -> Timespec {
    let [seconds, rest] = [ns / 1_000_000_000, ns % 1_000_000_000].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    Timespec { tv_sec: seconds, tv_nsec: rest }
}

fn descriptors(count: u32, control: &Control<'_>) -> io::Result<Tally> {
    let mut rhythms = Rhythm::several(count);
    let mut timers: Vec<OwnedFd> = Vec::new();
    for rhythm in &rhythms {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let expiry =
            Itimerspec { it_interval: timespec(rhythm.period.as_ns()), it_value: timespec(rhythm.first.as_ns()) };
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &expiry)?;
        timers.push(timer);
    }
    let mut ends: Vec<PollFd<'_>> = timers.iter().map(|timer| PollFd::new(timer, PollFlags::IN)).collect();
    until_over(&mut rhythms, control, |rhythms, tally, within| {
        match poll(&mut ends, Some(&timespec(within.as_ns()))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for (end, rhythm) in ends.iter().zip(rhythms) {
            let mut expiries = [0; 8];
            if !end.revents().is_empty() && rustix::io::read(end, &mut expiries).is_ok_and(|bytes| bytes == 8) {
                tally.take(rhythm, u64::from_ne_bytes(expiries), now());
            }
        }
        Ok(())
    })
}

fn signals(count: u32, control: &Control<'_>) -> io::Result<Tally> {
    set_blocked(AWAITED, true)?;
    let mut rhythms = Rhythm::several(count);
    let mut timers = Vec::new();
    for (number, rhythm) in rhythms.iter().enumerate() {
        let timer = PosixTimer::create(AWAITED, number)?;
        timer.start(rhythm.first, rhythm.period)?;
        timers.push(timer);
    }
    let tally = until_over(&mut rhythms, control, |rhythms, tally, within| {
        let Some(expiry) = next_expiry(within)? else { return Ok(()) };
        if let Some(rhythm) = rhythms.get_mut(expiry.value) {
            tally.take(rhythm, expiry.overruns + 1, now());
        }
        Ok(())
    })?;
    // Signals that are still queued end with the thread.
    drop(timers);
    Ok(tally)
}

fn sleep(number: u32, control: &Control<'_>) -> io::Result<Tally> {
    let mut rhythm = [Rhythm { first: now() + AHEAD, period: period(number), seen: 0 }];
    until_over(&mut rhythm, control, |rhythms, tally, _| {
        for rhythm in rhythms {
            match clock_nanosleep_absolute(ClockId::Monotonic, &timespec(rhythm.due(rhythm.seen).as_ns())) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => {
                    let at = now();
                    // A sleep that ends early is an expiry as well.
                    tally.take(rhythm, rhythm.due_by(at).saturating_sub(rhythm.seen).max(1), at);
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_ms(1);

    fn rhythm() -> Rhythm {
        Rhythm { first: MonoTime::from_ns(5_000_000), period: MS, seen: 0 }
    }

    #[test]
    fn what_is_early_late_and_together_is_counted() {
        let (mut rhythm, mut tally) = (rhythm(), Tally::default());
        let at = |us: u64| MonoTime::from_ns(us * 1000);
        tally.take(&mut rhythm, 1, at(5_010));
        assert_eq!((tally.early, tally.overruns, tally.late.max()), (0, 0, Some(Nanos::from_us(10))));
        tally.take(&mut rhythm, 3, at(8_100));
        assert_eq!((tally.early, tally.overruns, tally.late.max()), (0, 2, Some(Nanos::from_us(2_100))));
        tally.take(&mut rhythm, 1, at(8_999));
        assert_eq!((tally.early, tally.expiries, rhythm.seen), (1, 5, 5));
        tally.take(&mut rhythm, 1, at(9_001));
        assert_eq!(tally.early, 2, "one more than was due by then");
    }

    #[test]
    fn expiries_are_due_from_the_first_on() {
        let due = |us: u64| rhythm().due_by(MonoTime::from_ns(us * 1000));
        assert_eq!([due(0), due(4_999), due(5_000), due(5_999), due(6_000), due(15_500)], [0, 0, 1, 1, 2, 11]);
    }
}
