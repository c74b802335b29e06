//! The exact maximum of every second, handed from the loop to whoever writes it down.

use punctual_hist::Nanos;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// Seconds kept for a reader that is late: 17 minutes.
const KEPT: u64 = 1024;

/// One finished second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number, from the epoch.
    pub second: u64,
    /// The largest lateness in it.
    pub max: Nanos,
    /// The longest time between two wake-ups that ended in it, without those set aside as gaps.
    pub longest_gap: Nanos,
}

#[derive(Default)]
struct Slot {
    second: AtomicU64,
    max: AtomicU64,
    gap: AtomicU64,
}

struct Ring {
    slots: Box<[Slot]>,
    /// Blocks whose writing has begun: slots of older ones may be torn.
    begun: AtomicU64,
    /// Blocks that are written.
    done: AtomicU64,
}

/// Makes the two ends.
pub(crate) fn ring() -> (BlockWriter, BlockReader) {
    let slots = core::iter::repeat_with(Slot::default).take(1024).collect();
    let ring = Arc::new(Ring { slots, begun: AtomicU64::new(0), done: AtomicU64::new(0) });
    (BlockWriter(Arc::clone(&ring)), BlockReader { ring, read: 0 })
}

impl Ring {
    fn slot(&self, n: u64) -> Option<&Slot> {
        self.slots.get(usize::try_from(n % KEPT).ok()?)
    }
}

pub(crate) struct BlockWriter(Arc<Ring>);

impl BlockWriter {
    /// Hands over a finished second; overwrites the oldest when the reader is 17 minutes late.
    pub(crate) fn push(&mut self, block: Block) {
        let n = self.0.done.load(Relaxed);
        let Some(slot) = self.0.slot(n) else { return };
        self.0.begun.store(n.saturating_add(1), Relaxed);
        fence(Release);
        slot.second.store(block.second, Relaxed);
        slot.max.store(block.max.as_ns(), Relaxed);
        slot.gap.store(block.longest_gap.as_ns(), Relaxed);
        self.0.done.store(n.saturating_add(1), Release);
    }
}

pub(crate) struct BlockReader {
    ring: Arc<Ring>,
    read: u64,
}

impl BlockReader {
    /// The blocks finished since the last call, in order, and how many came too late to be read.
    pub(crate) fn take(&mut self) -> (Vec<Block>, u64) {
        let done = self.ring.done.load(Acquire);
        let from = self.read.max(done.saturating_sub(KEPT));
        let copied: Vec<(u64, Block)> = (from..done).filter_map(|n| Some((n, self.ring.slot(n)?.read()))).collect();
        fence(Acquire);
        let torn_below = self.ring.begun.load(Relaxed).saturating_sub(KEPT);
        let good: Vec<Block> = copied.into_iter().filter(|(n, _)| *n >= torn_below).map(|(_, block)| block).collect();
        let lost = done.saturating_sub(self.read).saturating_sub(good.len() as u64);
        self.read = done;
        (good, lost)
    }
}

impl Slot {
    fn read(&self) -> Block {
        Block {
            second: self.second.load(Relaxed),
            max: Nanos::from_ns(self.max.load(Relaxed)),
            longest_gap: Nanos::from_ns(self.gap.load(Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: u64) -> Block {
        Block { second: n, max: Nanos::from_ns(n), longest_gap: Nanos::from_ns(n) }
    }

    #[test]
    fn a_reader_in_time_gets_every_block_once() {
        let (mut writer, mut reader) = ring();
        writer.push(block(0));
        writer.push(block(1));
        assert_eq!(reader.take(), (vec![block(0), block(1)], 0));
        writer.push(block(2));
        assert_eq!(reader.take(), (vec![block(2)], 0));
        assert_eq!(reader.take(), (vec![], 0));
    }

    #[test]
    fn what_a_late_reader_loses_is_counted() {
        let (mut writer, mut reader) = ring();
        (0..KEPT + 10).for_each(|n| writer.push(block(n)));
        let (blocks, lost) = reader.take();
        assert_eq!((blocks.len() as u64, lost), (KEPT, 10));
        assert_eq!(blocks[0], block(10));
    }

    #[test]
    fn blocks_are_never_torn() {
        let (mut writer, mut reader) = ring();
        let thread = std::thread::spawn(move || (0..500_000).for_each(|n| writer.push(block(n))));
        let mut seen = 0;
        while !thread.is_finished() || seen < 500_000 {
            let (blocks, lost) = reader.take();
            for b in &blocks {
                assert_eq!((b.max.as_ns(), b.longest_gap.as_ns()), (b.second, b.second));
            }
            seen += blocks.len() as u64 + lost;
        }
        thread.join().unwrap();
        assert_eq!(seen, 500_000);
    }
}
