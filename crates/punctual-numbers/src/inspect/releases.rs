//! Finds releases and wake-ups of one thread in very few records: of a timer that the thread armed, or of its being woken,
//! and of its getting a CPU. This is for months: two records a cycle instead of six.

use super::late::WakeUp;
use super::record::{Offsets, Record, Seen};
use super::values::Pace;
use crate::trace::Tid;
use punctual_hist::{MonoTime, Nanos};

/// A gap of more periods than this is a pause of the program: releases in it were not skipped.
const SKIPPED_MAX: u64 = 10_000;

/// What releases a thread, as far as it matters which records tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleasedBy {
    /// A timer of a sleep until an absolute time.
    SleepUntil,
    /// A timer of any other wait: a sleep for a length of time, or the time limit of a wait.
    Sleep,
    Timerfd,
    PosixTimer,
    /// Another thread or an interrupt, which ends the wait.
    Waking,
}

impl ReleasedBy {
    /// `None` if nothing that can be followed paces the thread.
    pub fn of(pace: &Pace) -> Option<Self> {
        Some(match pace {
            Pace::Sleep { absolute: true, .. } => Self::SleepUntil,
            Pace::Sleep { .. } | Pace::TimeOut { .. } => Self::Sleep,
            Pace::Timerfd { .. } => Self::Timerfd,
            Pace::PosixTimer { .. } => Self::PosixTimer,
            Pace::Woken { .. } => Self::Waking,
            Pace::StillWaits { .. } | Pace::NeverWaits | Pace::Idle | Pace::NotSeen { .. } => return None,
        })
    }

    /// Whether releases have a place of their own in time, whatever the thread does.
    fn keeps_grid(self) -> bool {
        matches!(self, Self::SleepUntil | Self::Timerfd | Self::PosixTimer)
    }
}

/// Follows one thread from release to release, by the records that are about it.
#[derive(Clone, Debug)]
pub struct Releases {
    tid: Tid,
    by: ReleasedBy,
    period: Nanos,
    /// The release that the thread waits for.
    awaited: Option<MonoTime>,
    last: Option<MonoTime>,
}

/// A wake-up, with the times from each release that was skipped before it to this wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    pub wake_up: WakeUp,
    pub skipped: Vec<Nanos>,
}

impl Releases {
    pub fn new(tid: Tid, by: ReleasedBy, period: Nanos) -> Self {
        Self { tid, by, period, awaited: None, last: None }
    }

    /// Takes the next record of any thread, in order of time.
    pub fn take(&mut self, record: &Record, offsets: &Offsets) -> Option<Released> {
        match record.seen {
            Seen::Armed { expires } if record.tid == self.tid && self.by != ReleasedBy::Waking => {
                let expires = offsets.nearest(expires, record.at);
                // If the thread did not run since an earlier release, it never slept: it was late already.
                let before = self.awaited.replace(expires).filter(|release| *release <= record.at)?;
                Some(self.woke(before, record))
            }
            // A thread that is still awake, or was woken already, is not released again.
            Seen::Waking { tid } if tid == self.tid && self.by == ReleasedBy::Waking => {
                self.awaited = self.awaited.or(Some(record.at));
                None
            }
            Seen::Switch { next, .. } if next == self.tid => {
                // Before the release, the thread was only pre-empted on its way to sleep, or a signal woke it.
                let release = self.awaited.filter(|release| *release <= record.at)?;
                self.awaited = None;
                Some(self.woke(release, record))
            }
            Seen::Lost => {
                self.forget();
                None
            }
            _ => None,
        }
    }

    /// Forgets what it waits for, because records are missing or were not recorded.
    pub fn forget(&mut self) {
        (self.awaited, self.last) = (None, None);
    }

    fn woke(&mut self, release: MonoTime, record: &Record) -> Released {
        let wake_up = WakeUp { release, woke: record.at, cpu: record.cpu };
        let before = self.last.replace(release).filter(|_| self.by.keeps_grid() && self.period > Nanos::ZERO);
        let steps = before.map_or(0, |before| release.since(before).plus(self.period.divided_by(2)).whole(self.period));
        let late = |number| before.map(|before| record.at.since(before.plus(self.period.times(number))));
        let skipped = (1..steps).take_while(|_| steps <= SKIPPED_MAX).filter_map(late).collect();
        Released { wake_up, skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Context;

    const TID: Tid = 40;

    fn record(us: u64, tid: Tid, seen: Seen) -> Record {
        Record { at: MonoTime::from_ns(us * 1000), cpu: 1, tid, context: Context::default(), seen }
    }

    fn armed(us: u64, expires_us: i64) -> Record {
        record(us, TID, Seen::Armed { expires: expires_us * 1000 })
    }

    fn runs(us: u64) -> Record {
        record(us, 0, Seen::Switch { prev: 0, prev_state: 0, next: TID, next_prio: 19 })
    }

    /// Latencies in microseconds, with the number of releases skipped before each.
    fn followed(by: ReleasedBy, records: &[Record]) -> Vec<(u64, usize)> {
        let mut releases = Releases::new(TID, by, Nanos::from_ms(1));
        let found = records.iter().filter_map(|record| releases.take(record, &Offsets::default()));
        found.map(|of| (of.wake_up.latency().as_ns() / 1000, of.skipped.len())).collect()
    }

    #[test]
    fn a_timer_is_the_release_and_the_cpu_is_the_wake_up() {
        let records = [armed(100, 1000), runs(1007), armed(1100, 2000), runs(2003), runs(2500)];
        assert_eq!(followed(ReleasedBy::SleepUntil, &records), [(7, 0), (3, 0)], "the last one was only pre-empted");
    }

    #[test]
    fn a_thread_that_is_too_late_to_sleep_is_late_and_not_lost() {
        let records = [armed(100, 1000), runs(1007), armed(2300, 2000), armed(2400, 3000), runs(3001)];
        assert_eq!(followed(ReleasedBy::SleepUntil, &records), [(7, 0), (400, 0), (1, 0)]);
    }

    #[test]
    fn releases_without_a_cycle_are_skipped_and_a_pause_is_none() {
        let records = [armed(100, 1000), runs(1007), armed(1100, 4000), runs(4010)];
        assert_eq!(followed(ReleasedBy::Timerfd, &records), [(7, 0), (10, 2)]);
        let paused = [armed(100, 1000), runs(1007), armed(1100, 60_000_000), runs(60_000_010)];
        assert_eq!(followed(ReleasedBy::Timerfd, &paused), [(7, 0), (10, 0)]);
        assert_eq!(followed(ReleasedBy::Sleep, &records), [(7, 0), (10, 0)], "it has no grid");
    }

    #[test]
    fn preemption_before_the_release_and_missing_records_make_no_cycle() {
        let early = [armed(100, 1000), runs(150), runs(1004)];
        assert_eq!(followed(ReleasedBy::SleepUntil, &early), [(4, 0)]);
        let lost = [armed(100, 1000), record(500, 0, Seen::Lost), runs(9000), armed(9100, 10_000), runs(10_002)];
        assert_eq!(followed(ReleasedBy::SleepUntil, &lost), [(2, 0)]);
    }

    #[test]
    fn a_thread_that_others_wake_is_released_by_the_first_waking() {
        let woken = |us| record(us, 7, Seen::Waking { tid: TID });
        let records = [woken(100), woken(105), runs(120), runs(300), woken(400), runs(401), armed(420, 1)];
        assert_eq!(followed(ReleasedBy::Waking, &records), [(20, 0), (1, 0)]);
    }
}
