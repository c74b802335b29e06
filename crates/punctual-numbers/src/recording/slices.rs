//! The time line of a run, in slices that grow with the run, so that a run of weeks has no more slices than one of
//! minutes.

use super::tally::CpuTallies;
use super::{Interval, RecTime};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Largest number of slices: about as many as a screen is pixels wide.
const SLICES_MAX: usize = 1024;
/// Largest number of buckets in all slices (64 MB), so that a machine of hundreds of CPUs gets fewer slices, but never fewer
/// than `SLICES_MIN`.
const BUCKETS_MAX: usize = 4 << 20;
const SLICES_MIN: usize = 16;

/// The time line: at most 1024 slices. Neighbouring slices are joined up to a target length, which grows whenever there
/// are too many slices.
#[derive(Clone, Debug, Default)]
pub struct TimeLine {
    list: Vec<TimeSlice>,
    target: Nanos,
    covered: Nanos,
    /// Number of buckets in all slices but the last, which still grows.
    buckets: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeSlice {
    pub start: RecTime,
    pub length: Nanos,
    /// Number of the load phase at the start of the slice.
    pub phase: u16,
    pub cpus: BTreeMap<u32, CpuTallies>,
}

impl TimeLine {
    pub fn iter(&self) -> impl Iterator<Item = &TimeSlice> {
        self.list.iter()
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        self.covered = self.covered.plus(interval.length);
        let joined = self
            .list
            .last_mut()
            .filter(|last| last.phase == interval.phase && last.length.plus(interval.length) <= self.target)
            .filter(|last| interval.start.since(last.start.plus(last.length)) <= self.target);
        if let Some(last) = joined {
            last.add(interval);
            return;
        }
        let mut slice =
            TimeSlice { start: interval.start, length: Nanos::ZERO, phase: interval.phase, cpus: BTreeMap::new() };
        slice.add(interval);
        self.buckets = self.buckets.saturating_add(self.list.last().map_or(0, TimeSlice::size));
        self.list.push(slice);
        while self.too_many() {
            self.thin();
        }
    }

    fn too_many(&self) -> bool {
        let buckets = || self.buckets.saturating_add(self.list.last().map_or(0, TimeSlice::size));
        self.list.len() > SLICES_MAX || (self.list.len() > SLICES_MIN && buckets() > BUCKETS_MAX)
    }

    /// Removes at least a quarter of the slices by joining neighbours of the same phase, or of different phases if that
    /// is not enough. The loop ends because the target length doubles until everything fits.
    fn thin(&mut self) {
        let enough = self.list.len() / 4 * 3;
        // The target is 9/8 of the mean length of two slices. Slices consist of whole intervals and vary in length:
        // with a target of exactly two mean lengths, some pairs would be a little too long to be joined.
        let useful = Nanos::from_ns(self.covered.as_ns() / (SLICES_MAX as u64 / 2)).times(9);
        let useful = Nanos::from_ns(useful.as_ns() / 8);
        self.target = self.target.max(useful).max(Nanos::from_ns(1));
        loop {
            let target = self.target;
            let near = |last: &TimeSlice, next: &TimeSlice| next.start.since(last.start.plus(last.length)) <= target;
            self.join(|last, next| last.phase == next.phase && near(last, next));
            if self.list.len() > enough {
                self.join(|_, _| true);
            }
            if self.list.len() <= enough {
                return;
            }
            self.target = self.target.times(2);
        }
    }

    fn join(&mut self, may: impl Fn(&TimeSlice, &TimeSlice) -> bool) {
        let mut joined: Vec<TimeSlice> = Vec::with_capacity(self.list.len());
        for slice in std::mem::take(&mut self.list) {
            let fits = |last: &&mut TimeSlice| may(last, &slice) && last.length.plus(slice.length) <= self.target;
            match joined.last_mut().filter(fits) {
                Some(last) => last.absorb(&slice),
                None => joined.push(slice),
            }
        }
        self.list = joined;
        self.buckets = self.list.split_last().map_or(0, |(_, before)| before.iter().map(TimeSlice::size).sum());
    }
}

impl TimeSlice {
    /// Number of buckets of all CPUs.
    fn size(&self) -> usize {
        self.cpus.values().map(|cpu| cpu.ran.size().saturating_add(cpu.skipped.size())).sum()
    }

    fn add(&mut self, interval: &Interval) {
        self.length = self.length.plus(interval.length);
        for cpu in &interval.cpus {
            self.cpus.entry(cpu.cpu).or_default().add(cpu);
        }
    }

    fn absorb(&mut self, next: &Self) {
        self.length = self.length.plus(next.length);
        for (cpu, theirs) in &next.cpus {
            self.cpus.entry(*cpu).or_default().absorb(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::CpuInterval;

    fn interval(second: u64, length: Nanos, phase: u16) -> Interval {
        let cpu = CpuInterval { cpu: 1, ran: vec![(100, 7)], skipped: vec![(9, 2)], ..CpuInterval::default() };
        Interval { start: RecTime::from_secs(second), length, phase, cpus: vec![cpu] }
    }

    /// The numbers of slices, of activations that ran and of skipped releases, and the total length of the slices.
    fn sums(slices: &TimeLine) -> (usize, u64, u64, Nanos) {
        let cpus = || slices.iter().flat_map(|slice| slice.cpus.values());
        let covered = slices.iter().fold(Nanos::ZERO, |total, slice| total.plus(slice.length));
        (
            slices.iter().count(),
            cpus().map(|c| c.ran.counts().count()).sum(),
            cpus().map(|c| c.skipped.count()).sum(),
            covered,
        )
    }

    #[test]
    fn a_long_run_has_slices_of_about_equal_length_and_loses_nothing() {
        let mut slices = TimeLine::default();
        for second in 0..100_000 {
            slices.add(&interval(second, Nanos::from_secs(1), u16::from(second > 70_000)));
        }
        let (count, ran, skipped, covered) = sums(&slices);
        assert!((512..=1024).contains(&count), "{count}");
        assert_eq!((ran, skipped, covered), (700_000, 200_000, Nanos::from_secs(100_000)));
        let longest = slices.iter().map(|slice| slice.length).max().unwrap();
        let short = slices.iter().filter(|slice| slice.length.times(2) < longest).count();
        assert!(short <= 4, "{short} slices are much shorter than the longest, {longest:?}");
    }

    #[test]
    fn phases_that_change_all_the_time_do_not_make_the_time_line_grow() {
        let mut slices = TimeLine::default();
        for second in 0..20_000u16 {
            slices.add(&interval(u64::from(second), Nanos::from_secs(1), second));
        }
        let (count, ran, ..) = sums(&slices);
        assert!((256..=1024).contains(&count), "{count}");
        assert_eq!(ran, 140_000);
    }

    #[test]
    fn impossible_lengths_do_no_harm() {
        for length in [Nanos::ZERO, Nanos::MAX] {
            let mut slices = TimeLine::default();
            (0..5000).for_each(|second| slices.add(&interval(second, length, 0)));
            assert!(sums(&slices).0 <= 1024 && sums(&slices).1 == 35_000);
        }
    }

    #[test]
    fn many_cpus_get_fewer_slices() {
        let ran: Vec<(u16, u64)> = (0..2000).map(|bucket| (bucket, 1)).collect();
        let cpu = |cpu| CpuInterval { cpu, ran: ran.clone(), ..CpuInterval::default() };
        let mut slices = TimeLine::default();
        for second in 0..200 {
            let cpus = (0..32).map(cpu).collect();
            slices.add(&Interval { start: RecTime::from_secs(second), length: Nanos::from_secs(1), phase: 0, cpus });
        }
        let count = slices.iter().count();
        assert!((SLICES_MIN..66).contains(&count), "{count}");
    }
}
