//! Long gaps, set aside for judgement.
//!
//! When a thread wakes a tenth of a second late, it cannot know whether it was starved or whether the whole machine
//! stood still (suspended, a paused virtual machine). So the activation is put aside here instead of into the
//! histograms, and whoever reads the statistics decides: a latency after all, or one event of the machine.

use punctual_hist::{Activation, Nanos};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Gaps that may wait for judgement; when full, the loop records them as latencies itself.
const SLOTS: u64 = 64;
const WORDS: usize = 8;

/// An activation that came very late, with the releases skipped meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The late activation.
    pub activation: Activation,
    /// Releases skipped after it.
    pub skipped: u64,
    /// Time from the last skipped release to the wake-up.
    pub last_skipped_late: Nanos,
    /// Time since the thread woke before that; in no [`Block`](super::Block) either.
    pub since_last_wake: Nanos,
}

struct Ring {
    slots: Box<[[AtomicU64; WORDS]]>,
    written: AtomicU64,
    read: AtomicU64,
}

pub(crate) fn ring() -> (GapWriter, GapReader) {
    let slots = core::iter::repeat_with(Default::default).take(64).collect();
    let ring = Arc::new(Ring { slots, written: AtomicU64::new(0), read: AtomicU64::new(0) });
    (GapWriter(Arc::clone(&ring)), GapReader(ring))
}

impl Ring {
    fn slot(&self, n: u64) -> Option<&[AtomicU64; WORDS]> {
        self.slots.get(usize::try_from(n % SLOTS).ok()?)
    }
}

pub(crate) struct GapWriter(Arc<Ring>);

impl GapWriter {
    /// Sets a gap aside; `false` when there is no room, and the caller must record it itself.
    pub(crate) fn push(&mut self, gap: &Gap) -> bool {
        let written = self.0.written.load(Relaxed);
        if written.saturating_sub(self.0.read.load(Acquire)) >= SLOTS {
            return false;
        }
        let Some(slot) = self.0.slot(written) else { return false };
        let a = &gap.activation;
        let counts = (u64::from(a.involuntary_switches) << 32) | u64::from(a.faults);
        let place = (u64::from(a.cpu) << 32) | u64::from(a.migrations);
        let (late, since) = (gap.last_skipped_late.as_ns(), gap.since_last_wake.as_ns());
        let words = [a.release.as_ns(), a.woke.as_ns(), a.index, counts, place, gap.skipped, late, since];
        for (cell, word) in slot.iter().zip(words) {
            cell.store(word, Relaxed);
        }
        self.0.written.store(written.saturating_add(1), Release);
        true
    }
}

pub(crate) struct GapReader(Arc<Ring>);

impl GapReader {
    /// The oldest gap not yet taken.
    pub(crate) fn take(&mut self) -> Option<Gap> {
        let read = self.0.read.load(Relaxed);
        if read == self.0.written.load(Acquire) {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, cell) in words.iter_mut().zip(self.0.slot(read)?) {
            *word = cell.load(Relaxed);
        }
        self.0.read.store(read.saturating_add(1), Release);
        Some(from_words(&words))
    }

    /// Gaps waiting, each counted with its skipped releases.
    pub(crate) fn waiting(&self) -> u64 {
        let (read, written) = (self.0.read.load(Relaxed), self.0.written.load(Acquire));
        let skipped = |n| self.0.slot(n).map_or(0, |slot| slot[5].load(Relaxed));
        (read..written).fold(0, |total: u64, n| total.saturating_add(1).saturating_add(skipped(n)))
    }
}

#[allow(clippy::cast_possible_truncation, reason = "takes the two halves of a word apart")]
fn from_words(words: &[u64; WORDS]) -> Gap {
    use punctual_hist::MonoTime;
    let [release, woke, index, counts, place, skipped, late, since] = *words;
    let activation = Activation {
        release: MonoTime::from_ns(release),
        woke: MonoTime::from_ns(woke),
        index,
        cpu: (place >> 32) as u32,
        involuntary_switches: (counts >> 32) as u32,
        faults: counts as u32,
        migrations: place as u32,
        counted_over: MonoTime::from_ns(woke).since(MonoTime::from_ns(release)),
    };
    Gap { activation, skipped, last_skipped_late: Nanos::from_ns(late), since_last_wake: Nanos::from_ns(since) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::MonoTime;

    fn gap(n: u64) -> Gap {
        let activation = Activation {
            release: MonoTime::from_ns(n),
            woke: MonoTime::from_ns(n + 5),
            index: n,
            cpu: 1,
            involuntary_switches: 2,
            faults: 3,
            migrations: 4,
            counted_over: Nanos::from_ns(5),
        };
        Gap { activation, skipped: n, last_skipped_late: Nanos::from_ns(7), since_last_wake: Nanos::from_ns(8) }
    }

    #[test]
    fn gaps_come_out_as_they_went_in_and_a_full_ring_says_so() {
        let (mut writer, mut reader) = ring();
        assert!((0..SLOTS).all(|n| writer.push(&gap(n))));
        assert!(!writer.push(&gap(99)), "no room: the caller keeps it");
        assert_eq!(reader.waiting(), (0..SLOTS).map(|n| n + 1).sum::<u64>());
        assert!((0..SLOTS).all(|n| reader.take() == Some(gap(n))));
        assert_eq!(reader.take(), None);
    }
}
