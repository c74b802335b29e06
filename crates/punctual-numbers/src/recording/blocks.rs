//! Keeps the exact largest latency of each block of time, by load phase and CPU. A block is one second at first. When
//! there are too many blocks, neighbours are joined in pairs, so that weeks take no more room than hours.

use super::{Interval, schedule::BLOCK};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Largest number of blocks of one phase and CPU, and largest number of all blocks together. A block takes 16 bytes.
const BLOCKS_MAX: usize = 8192;
const ALL_MAX: usize = 1 << 20;

#[derive(Clone, Debug)]
pub struct Blocks {
    /// Seconds in a block: a power of two.
    seconds: u32,
    /// The blocks of each (phase, CPU), by their number since the epoch.
    lists: BTreeMap<(u16, u32), BTreeMap<u32, Block>>,
}

/// The largest latency of a block, and the number of seconds of the block whose maximum is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    max: Nanos,
    seconds: u32,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { seconds: 1, lists: BTreeMap::new() }
    }
}

impl Block {
    fn join(&mut self, other: Self) {
        self.max = self.max.max(other.max);
        self.seconds = self.seconds.saturating_add(other.seconds);
    }
}

impl Blocks {
    pub fn length(&self) -> Nanos {
        BLOCK.times(u64::from(self.seconds))
    }

    /// The pairs (load phase, CPU) that have block maxima.
    pub fn keys(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.lists.keys().copied()
    }

    /// The largest latency of each block over all CPUs that `cpus` selects, by the number of the block since the epoch.
    /// A block is left out if the maximum of any second is missing on any selected CPU.
    pub fn of(&self, phase: u16, cpus: impl Fn(u32) -> bool) -> BTreeMap<u32, Nanos> {
        let lists: Vec<_> =
            self.lists.iter().filter(|((p, cpu), _)| *p == phase && cpus(*cpu)).map(|(_, list)| list).collect();
        let Some((first, others)) = lists.split_first() else { return BTreeMap::new() };
        let whole = |block: &Block| (block.seconds == self.seconds).then_some(block.max);
        let of_all = |(index, block): (&u32, &Block)| {
            let max = others.iter().try_fold(whole(block)?, |max, list| Some(max.max(whole(list.get(index)?)?)))?;
            Some((*index, max))
        };
        first.iter().filter_map(of_all).collect()
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        for cpu in &interval.cpus {
            let list = self.lists.entry((interval.phase, cpu.cpu)).or_default();
            let index = |(second, _): &(u32, Nanos)| second / self.seconds;
            for seconds in cpu.block_max.chunk_by(|last, next| index(last) == index(next)) {
                let Some(first) = seconds.first() else { continue };
                let mut block = Block { max: Nanos::ZERO, seconds: 0 };
                for (_, max) in seconds {
                    block.join(Block { max: *max, seconds: 1 });
                }
                list.entry(index(first)).and_modify(|mine| mine.join(block)).or_insert(block);
            }
        }
        while self.too_many() {
            self.halve();
        }
    }

    fn too_many(&self) -> bool {
        let longest = self.lists.values().map(BTreeMap::len).max().unwrap_or_default();
        let all = || self.lists.values().map(BTreeMap::len).sum::<usize>();
        self.seconds < 1 << 30 && (longest > BLOCKS_MAX || all() > ALL_MAX)
    }

    fn halve(&mut self) {
        self.seconds = self.seconds.saturating_mul(2);
        for list in self.lists.values_mut() {
            let mut joined: BTreeMap<u32, Block> = BTreeMap::new();
            for (index, block) in std::mem::take(list) {
                joined.entry(index / 2).and_modify(|mine| mine.join(block)).or_insert(block);
            }
            *list = joined;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{CpuInterval, RecTime};

    fn interval(phase: u16, maxima: &[(u32, u32, u64)]) -> Interval {
        let cpu = |cpu: u32| CpuInterval {
            cpu,
            block_max: maxima.iter().filter(|m| m.0 == cpu).map(|m| (m.1, Nanos::from_ns(m.2))).collect(),
            ..CpuInterval::default()
        };
        Interval { start: RecTime::EPOCH, length: Nanos::from_secs(1), phase, cpus: vec![cpu(1), cpu(2)] }
    }

    #[test]
    fn cpus_together_and_phases_apart() {
        let mut blocks = Blocks::default();
        blocks.add(&interval(0, &[(1, 0, 50), (2, 0, 70), (1, 1, 9)]));
        blocks.add(&interval(1, &[(1, 2, 40), (2, 2, 30)]));
        let ns = |list: BTreeMap<u32, Nanos>| list.into_iter().map(|(i, max)| (i, max.as_ns())).collect::<Vec<_>>();
        assert_eq!(ns(blocks.of(0, |_| true)), [(0, 70)], "CPU 2 has no second 1");
        assert_eq!(ns(blocks.of(0, |cpu| cpu == 1)), [(0, 50), (1, 9)]);
        assert_eq!(ns(blocks.of(1, |_| true)), [(2, 40)]);
        assert!(blocks.of(2, |_| true).is_empty());
    }

    #[test]
    fn weeks_take_no_more_room_and_lose_no_maximum() {
        let mut blocks = Blocks::default();
        for minute in 0..4_000u32 {
            let seconds: Vec<_> = (0..60).map(|s| (1, minute * 60 + s, u64::from(minute))).collect();
            blocks.add(&interval(0, &seconds));
        }
        let list = blocks.of(0, |cpu| cpu == 1);
        assert_eq!(blocks.length(), Nanos::from_secs(32));
        assert!(list.len() > 7_000 && list.len() <= BLOCKS_MAX, "{}", list.len());
        assert_eq!(list.values().map(|max| max.as_ns()).max(), Some(3_999));
    }

    #[test]
    fn absurd_seconds_do_no_harm() {
        let mut blocks = Blocks::default();
        for n in 0..20_000u32 {
            blocks.add(&interval(0, &[(1, n.wrapping_mul(2_654_435_761), 5), (1, u32::MAX, 6)]));
        }
        assert!(blocks.lists.values().all(|list| list.len() <= BLOCKS_MAX));
    }
}
