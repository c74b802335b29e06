//! Decides whose windows are kept: each late activation has the same chance, and the worst are always kept.
//!
//! Each CPU has slots of its own. Vitter's Algorithm R draws late activations for the sampled slots, so that a spike of
//! the last minute is kept as likely as one of the first. The worst activations are kept in addition: if another draw
//! takes the sampled slot of one, its window moves to a slot of the worst. This module only computes slots; the caller
//! cuts and stores the windows.

use super::Kept;
use punctual_hist::{Counts, Nanos, SplitMix};
use std::collections::BTreeMap;

/// Number of windows of worst activations per CPU, if that is at most a quarter of the CPU's slots.
const WORST: u32 = 64;
/// Number of windows of ordinary activations of all CPUs together, unless the number of slots or CPUs demands another.
const ORDINARY: u32 = 200;

/// Threshold for late activations until there are enough activations to derive one.
const LATE_AT_FIRST: Nanos = Nanos::from_us(100);
/// Number of the largest latencies that count as late at first. After a thousand times as many activations, the largest
/// thousandth counts as late.
const LATE_AT_LEAST: u64 = 10;
/// Number of worst activations kept per CPU, if all CPUs together have at most `windows_max` windows.
pub fn worst_max(windows_max: u32, cpus: usize) -> u32 {
    let share = windows_max / u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    WORST.min(share / 4)
}

/// The 99.9th percentile of the latencies so far. While there are few latencies, a lower percentile is used, so that
/// early spikes are not missed.
pub fn late_threshold(so_far: &Counts) -> Nanos {
    rarest_threshold(so_far, (so_far.count() / 1000).max(LATE_AT_LEAST))
}

/// The latency that only about this many of the latencies so far exceed.
pub fn rarest_threshold(so_far: &Counts, count: u64) -> Nanos {
    match so_far.count().checked_sub(count) {
        None | Some(0) => LATE_AT_FIRST,
        Some(rank) => so_far.value_at_rank(rank).unwrap_or(LATE_AT_FIRST),
    }
}

/// The slot of a window in the recording, and why the window is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSlot {
    pub slot: u32,
    pub kept: Kept,
}

/// The slot of the window of a late activation, and the move that must come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub place: WindowSlot,
    /// The slot to which the window that is now in `place` must first be moved, because it is among the worst.
    pub moved: Option<WindowSlot>,
}

#[derive(Clone, Debug)]
pub struct Keeper {
    cpus: BTreeMap<u32, OneCpu>,
    random: SplitMix,
    /// How often [`Keeper::be_sparing`] was called.
    sparing: u32,
}

/// After this many calls of [`Keeper::be_sparing`], a new activation replaces the least of the worst only if it is
/// later by more than a quarter. Latencies that keep growing slowly then cause few windows.
const VERY_SPARING: u32 = 4;

/// The slots of one CPU: sampled ones first, then those of the worst, then ordinary ones.
#[derive(Clone, Debug)]
struct OneCpu {
    first_slot: u32,
    sampled: u32,
    worst: u32,
    ordinary: u32,
    late_seen: u64,
    ordinary_seen: u64,
    /// The worst activations so far, unsorted: (latency, slot of the window).
    top: Vec<(Nanos, u32)>,
}

impl Keeper {
    /// A keeper of at most `windows_max` windows for these CPUs. The same seed makes the same choices.
    pub fn new(cpus: impl IntoIterator<Item = u32>, windows_max: u32, seed: u64) -> Self {
        let cpus: Vec<u32> = cpus.into_iter().collect();
        let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1);
        let share = windows_max / count;
        let worst = worst_max(windows_max, cpus.len());
        let ordinary = (ORDINARY / count).max(8).min(share / 4);
        let sampled = share - worst - ordinary;
        let slots = |(i, cpu): (u32, u32)| {
            let first_slot = i * share;
            let top = Vec::new();
            (cpu, OneCpu { first_slot, sampled, worst, ordinary, late_seen: 0, ordinary_seen: 0, top })
        };
        Self { cpus: (0..).zip(cpus).map(slots).collect(), random: SplitMix::new(seed), sparing: 0 }
    }

    /// Halves the number of sampled and of ordinary slots that may still be overwritten. Slots that remain in use stay
    /// a sample of the whole run; the others stay a sample of the time until now. The worst are still kept.
    pub fn be_sparing(&mut self) {
        self.sparing += 1;
    }

    pub fn sparing(&self) -> u32 {
        self.sparing
    }

    /// Registers a late activation of a CPU; returns where its window is to be kept, or `None` if it is not kept.
    pub fn late(&mut self, cpu: u32, latency: Nanos) -> Option<Keep> {
        let cpu = self.cpus.get_mut(&cpu)?;
        cpu.late_seen += 1;
        let drawn = draw(&mut self.random, cpu.late_seen, cpu.sampled);
        if let Some(n) = drawn.filter(|n| *n < halved(cpu.sampled, self.sparing)) {
            let slot = cpu.first_slot + n;
            let moved = cpu.move_away(slot);
            cpu.offer(latency, slot);
            return Some(Keep { place: WindowSlot { slot, kept: Kept::Sampled }, moved });
        }
        let slot = cpu.free_worst_slot(latency, self.sparing >= VERY_SPARING)?;
        cpu.offer(latency, slot);
        Some(Keep { place: WindowSlot { slot, kept: Kept::Worst }, moved: None })
    }

    /// Registers an ordinary activation of a CPU; returns where its window is to be kept, or `None` if it is not kept.
    pub fn ordinary(&mut self, cpu: u32) -> Option<WindowSlot> {
        let cpu = self.cpus.get_mut(&cpu)?;
        cpu.ordinary_seen += 1;
        let drawn = draw(&mut self.random, cpu.ordinary_seen, cpu.ordinary);
        let n = drawn.filter(|n| *n < halved(cpu.ordinary, self.sparing))?;
        Some(WindowSlot { slot: cpu.first_slot + cpu.sampled + cpu.worst + n, kept: Kept::Ordinary })
    }

    /// Whether the window in this slot may have to move later, so that the caller must keep a copy of it.
    pub fn may_move(&self, cpu: u32, slot: u32) -> bool {
        self.cpus
            .get(&cpu)
            .is_some_and(|cpu| slot < cpu.first_slot + cpu.sampled && cpu.top.iter().any(|t| t.1 == slot))
    }
}

impl OneCpu {
    /// The slot to which the window in `slot` must move before it is replaced; `None` if it is not among the worst.
    fn move_away(&mut self, slot: u32) -> Option<WindowSlot> {
        let at = self.top.iter().position(|(_, in_slot)| *in_slot == slot)?;
        let to = self.unused_worst_slot()?;
        self.top.get_mut(at)?.1 = to;
        Some(WindowSlot { slot: to, kept: Kept::Worst })
    }

    /// A slot of the worst for an activation that was not drawn; `None` if its latency is not among the worst.
    fn free_worst_slot(&mut self, latency: Nanos, sparing: bool) -> Option<u32> {
        if self.top.len() < self.worst as usize {
            return self.unused_worst_slot();
        }
        let (least, at) = self.top.iter().zip(0..).map(|((latency, _), at)| (*latency, at)).min()?;
        let needed = if sparing { least.plus(Nanos::from_ns(least.as_ns() / 4)) } else { least };
        if latency <= needed {
            return None;
        }
        // The least of the worst is dropped. If its window was in a slot of the worst, that slot becomes free.
        self.top.swap_remove(at);
        self.unused_worst_slot()
    }

    fn offer(&mut self, latency: Nanos, slot: u32) {
        self.top.push((latency, slot));
        if self.top.len() > self.worst as usize {
            let least = self.top.iter().zip(0..).map(|((latency, _), at)| (*latency, at)).min();
            least.map(|(_, at)| self.top.swap_remove(at));
        }
    }

    fn unused_worst_slot(&self) -> Option<u32> {
        let first = self.first_slot + self.sampled;
        (first..first + self.worst).find(|slot| !self.top.iter().any(|(_, used)| used == slot))
    }
}

fn halved(slots: u32, times: u32) -> u32 {
    slots.checked_shr(times).unwrap_or(0)
}

/// Algorithm R: draws which of `slots` the `seen`-th item gets; `None` if it gets none.
fn draw(random: &mut SplitMix, seen: u64, slots: u32) -> Option<u32> {
    let seen = usize::try_from(seen).unwrap_or(usize::MAX);
    let n = if seen <= slots as usize { seen - 1 } else { random.below(seen) };
    u32::try_from(n).ok().filter(|n| *n < slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(values_us: impl IntoIterator<Item = u64>) -> Counts {
        let mut counts = Counts::new();
        values_us.into_iter().for_each(|us| counts.record(Nanos::from_us(us)));
        counts
    }

    #[test]
    fn late_is_what_ten_were_and_then_the_thousandth_part() {
        assert_eq!(late_threshold(&counts([])), LATE_AT_FIRST);
        assert_eq!(late_threshold(&counts([1; 10])), LATE_AT_FIRST);
        let near = |counts: &Counts, us: u64| {
            let threshold = late_threshold(counts).as_ns();
            assert!(threshold.abs_diff(us * 1_000) < us * 20, "{threshold} ns is not about {us} us");
        };
        near(&counts(1..=1_000), 990);
        near(&counts(1..=100_000), 99_900);
    }

    /// Acts as the recording: returns the contents of each slot after late activations with these latencies.
    fn kept(windows_max: u32, seed: u64, latencies: &[u64]) -> BTreeMap<u32, (Kept, u64)> {
        let mut keeper = Keeper::new([3], windows_max, seed);
        let mut slots: BTreeMap<u32, (Kept, u64)> = BTreeMap::new();
        for latency in latencies {
            let Some(Keep { place, moved }) = keeper.late(3, Nanos::from_ns(*latency)) else { continue };
            if let Some(to) = moved {
                slots.insert(to.slot, (to.kept, slots[&place.slot].1));
            }
            slots.insert(place.slot, (place.kept, *latency));
        }
        slots
    }

    proptest! {
        #[test]
        fn the_worst_are_always_kept(
            windows_max in 0_u32..80, seed: u64, latencies in prop::collection::vec(0_u64..1_000_000, 0..400)
        ) {
            let kept = kept(windows_max, seed, &latencies);
            prop_assert!(kept.len() <= windows_max as usize);
            let mut worst = latencies.clone();
            worst.sort_unstable_by(|a, b| b.cmp(a));
            let mut there: Vec<u64> = kept.values().map(|(_, latency)| *latency).collect();
            there.sort_unstable_by(|a, b| b.cmp(a));
            let bound = WORST.min(windows_max / 4) as usize;
            prop_assert_eq!(there.get(..bound.min(worst.len())), worst.get(..bound.min(worst.len())));
        }
    }

    #[test]
    fn early_and_late_ones_are_sampled_alike() {
        let mut early = 0;
        for seed in 0..200 {
            let latencies: Vec<u64> = (0..2_000).collect();
            let sampled = |(kept, _): &&(Kept, u64)| *kept == Kept::Sampled;
            let kept = kept(40, seed, &latencies);
            early += kept.values().filter(sampled).filter(|(_, latency)| *latency < 1_000).count();
        }
        // In 200 runs with 20 slots each, 2000 windows of the first half are expected, with a standard deviation of 32.
        assert!((1_850..2_150).contains(&early), "{early}");
    }

    #[test]
    fn a_sparing_keeper_keeps_the_worst_and_a_sample_of_the_whole_run() {
        let (mut late_ones, mut written) = (0, 0);
        for seed in 0..200 {
            let mut keeper = Keeper::new([3], 40, seed);
            let mut slots: BTreeMap<u32, u64> = BTreeMap::new();
            for n in 0..2_000 {
                if n == 200 {
                    keeper.be_sparing();
                }
                // The largest latency comes near the end of the run.
                let latency = if n == 1_500 { 9_000 } else { n % 1_000 };
                let Some(Keep { place, moved }) = keeper.late(3, Nanos::from_ns(latency)) else { continue };
                written += u32::from(n >= 200);
                if let Some(to) = moved {
                    slots.insert(to.slot, slots[&place.slot]);
                }
                slots.insert(place.slot, n);
            }
            assert!(slots.values().any(|n| *n == 1_500), "the worst of all");
            // After one halving, 10 of the 20 sampled slots can still be overwritten.
            late_ones += slots.range(..10).filter(|(_, n)| **n >= 1_000).count();
        }
        assert!((850..1_150).contains(&late_ones), "{late_ones} of 2000 are of the second half");
        assert!(written > 0);
        let mut keeper = Keeper::new([3], 40, 1);
        (0..VERY_SPARING + 40).for_each(|_| keeper.be_sparing());
        let kept = (1..100_000).filter(|n| keeper.late(3, Nanos::from_ns(*n)).is_some()).count();
        assert!((20..600).contains(&kept), "{kept} although each is worse than all before");
    }

    #[test]
    fn every_cpu_has_slots_of_its_own() {
        let mut keeper = Keeper::new([0, 5], 100, 1);
        let mut slots = [0, 5].map(|cpu| {
            let late = (0..500).filter_map(|n| keeper.late(cpu, Nanos::from_ns(n)).map(|keep| keep.place.slot));
            let mut slots: Vec<u32> = late.collect();
            slots.extend((0..500).filter_map(|_| keeper.ordinary(cpu).map(|place| place.slot)));
            slots
        });
        for slots in &mut slots {
            slots.sort_unstable();
        }
        assert!(slots[0].last() < slots[1].first());
        assert!(slots[1].last() < Some(&100));
        assert_eq!(keeper.late(7, Nanos::MAX), None, "nobody measures there");
    }

    #[test]
    fn the_same_seed_chooses_the_same() {
        let latencies: Vec<u64> = (0..1_000).map(|n| n * 7_919 % 1_009).collect();
        assert_eq!(kept(50, 9, &latencies), kept(50, 9, &latencies));
        assert_ne!(kept(50, 9, &latencies), kept(50, 10, &latencies));
    }
}
