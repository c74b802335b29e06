//! The figures of one watched thread of a program, as a recording keeps those of a CPU.

use crate::inspect::WakeUp;
use crate::recording::{CpuInterval, RecTime, Worst};
use punctual_hist::{Activation, Counts, MonoTime, Nanos, WORST_K};
use std::cmp::Reverse;

const SECOND: Nanos = Nanos::from_secs(1);

/// What a thread did since the segment began, and since the last interval.
#[derive(Debug)]
pub struct Lane {
    number: u32,
    budget: Option<Nanos>,
    /// Latencies of the segment so far, up to the last interval.
    so_far: Counts,
    ran: Counts,
    skipped: Counts,
    skipped_max: Nanos,
    over_budget: u64,
    longest_gap: Nanos,
    woke: Option<MonoTime>,
    seconds: Vec<(u32, Nanos)>,
    worst: Vec<Activation>,
    index: u64,
    has_new_worst: bool,
    over_budget_so_far: u64,
    latest_over_budget: Option<Activation>,
}

impl Lane {
    pub fn new(number: u32, budget: Option<Nanos>) -> Self {
        Self {
            number,
            budget,
            so_far: Counts::new(),
            ran: Counts::new(),
            skipped: Counts::new(),
            skipped_max: Nanos::ZERO,
            over_budget: 0,
            longest_gap: Nanos::ZERO,
            woke: None,
            seconds: Vec::new(),
            worst: Vec::new(),
            index: 0,
            has_new_worst: false,
            over_budget_so_far: 0,
            latest_over_budget: None,
        }
    }

    /// Counts a wake-up, and the releases before it that passed without running.
    pub fn add(&mut self, wake_up: WakeUp, skipped: &[Nanos], epoch: MonoTime) {
        for late in skipped {
            self.skipped.record(*late);
            self.skipped_max = self.skipped_max.max(*late);
        }
        let latency = wake_up.latency();
        let WakeUp { release, woke, cpu } = wake_up;
        let activation = Activation { release, woke, cpu, index: self.index, ..Activation::default() };
        self.index = self.index.saturating_add(1 + skipped.len() as u64);
        self.ran.record(latency);
        if self.budget.is_some_and(|budget| latency > budget) {
            self.over_budget += 1;
            self.over_budget_so_far += 1;
            self.latest_over_budget = Some(activation);
        }
        if let Some(before) = self.woke.replace(woke) {
            self.longest_gap = self.longest_gap.max(woke.since(before));
        }
        let second = u32::try_from(RecTime::of(woke, epoch).since_epoch().whole(SECOND)).unwrap_or(u32::MAX);
        match self.seconds.last_mut() {
            Some((last, max)) if *last >= second => *max = (*max).max(latency),
            _ => self.seconds.push((second, latency)),
        }
        self.keep_worst(activation);
    }

    fn keep_worst(&mut self, activation: Activation) {
        let is_full = self.worst.len() >= WORST_K;
        if is_full && self.worst.last().is_some_and(|least| least.latency() >= activation.latency()) {
            return;
        }
        self.worst.push(activation);
        self.worst.sort_by_key(|one| Reverse(one.latency()));
        self.worst.truncate(WORST_K);
        self.has_new_worst = true;
    }

    /// Forgets where the thread was, because records are missing: the next distance would be no gap of the thread.
    pub fn interrupted(&mut self) {
        self.woke = None;
    }

    /// Everything since the last interval.
    pub fn interval(&mut self) -> CpuInterval {
        let (ran, skipped) = (std::mem::take(&mut self.ran), std::mem::take(&mut self.skipped));
        self.so_far.merge(&ran);
        CpuInterval {
            ran_min: self.so_far.min(),
            ran_max: self.so_far.max(),
            skipped_max: self.skipped_max,
            over_budget: std::mem::take(&mut self.over_budget),
            longest_gap: std::mem::take(&mut self.longest_gap),
            block_max: std::mem::take(&mut self.seconds),
            ..CpuInterval::of(self.number, &ran, &skipped)
        }
    }

    /// The worst activations so far, if there are other ones than at the last call.
    pub fn worst(&mut self) -> Vec<Worst> {
        let is_new = std::mem::take(&mut self.has_new_worst);
        let worst = |activation: &Activation| Worst { cpu: self.number, activation: *activation };
        self.worst.iter().filter(|_| is_new).map(worst).collect()
    }

    /// Latencies of the segment so far, also those of the interval under way.
    pub fn latencies(&self) -> Counts {
        let mut all = self.so_far.clone();
        all.merge(&self.ran);
        all
    }

    pub fn activations(&self) -> u64 {
        self.index
    }

    /// Activations of the segment above the budget, and the latest of them.
    pub fn over_budget(&self) -> (u64, Option<Activation>) {
        (self.over_budget_so_far, self.latest_over_budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> MonoTime {
        MonoTime::from_ns(us * 1000)
    }

    fn add(lane: &mut Lane, release_us: u64, latency_us: u64, skipped: &[Nanos]) {
        let wake_up = WakeUp { release: at_us(release_us), woke: at_us(release_us + latency_us), cpu: 3 };
        lane.add(wake_up, skipped, at_us(0));
    }

    #[test]
    fn intervals_hold_what_is_new_and_extremes_of_all() {
        let us = Nanos::from_us;
        let mut lane = Lane::new(7, Some(us(100)));
        add(&mut lane, 1_000, 300, &[]);
        add(&mut lane, 2_000, 5, &[]);
        let first = lane.interval();
        assert_eq!((first.cpu, first.over_budget, first.ran_max), (7, 1, Some(us(300))));
        add(&mut lane, 2_001_000, 20, &[us(900)]);
        let second = lane.interval();
        assert_eq!((second.over_budget, second.ran_max, second.skipped_max), (0, Some(us(300)), us(900)));
        assert_eq!(second.ran.iter().map(|(_, n)| n).sum::<u64>(), 1);
        assert_eq!((first.block_max, second.block_max), (vec![(0, us(300))], vec![(2, us(20))]));
        assert_eq!(second.longest_gap, us(2_001_020 - 2_005));
        assert_eq!((lane.activations(), lane.over_budget().0), (4, 1));
    }

    #[test]
    fn the_worst_are_few_and_told_once() {
        let mut lane = Lane::new(0, None);
        for n in 1..=100 {
            add(&mut lane, n * 1_000, n, &[]);
        }
        let worst = lane.worst();
        assert_eq!((worst.len(), worst[0].activation.latency()), (WORST_K, Nanos::from_us(100)));
        add(&mut lane, 200_000, 1, &[]);
        assert_eq!(lane.worst(), []);
    }
}
