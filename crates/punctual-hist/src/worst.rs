//! The worst activations of one thread, with enough detail about each to look for its cause.

use crate::{MonoTime, Nanos, Slot};
use alloc::{sync::Arc, vec::Vec};

/// Number of activations that the list keeps.
pub const WORST_K: usize = 32;
const WORDS: usize = 6;

/// An activation that ran, as seen by the thread that ran it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Activation {
    /// The instant at which the activation was due.
    #[cfg_attr(feature = "serde", serde(rename = "release_ns"))]
    pub release: MonoTime,
    /// When the thread read the clock for the first time after waking.
    #[cfg_attr(feature = "serde", serde(rename = "woke_ns"))]
    pub woke: MonoTime,
    /// Number of this activation, counted from 0 and including skipped ones.
    pub index: u64,
    /// The CPU on which the thread woke.
    #[cfg_attr(feature = "serde", serde(rename = "woke_on_cpu"))]
    pub cpu: u32,
    /// Number of involuntary context switches of the thread within `counted_over`.
    pub involuntary_switches: u32,
    /// Number of minor and major page faults within `counted_over`.
    pub faults: u32,
    /// Number of times the thread changed CPU within `counted_over`.
    pub migrations: u32,
    /// Length of the window in which the three counters above were counted, ending at `woke`.
    #[cfg_attr(feature = "serde", serde(rename = "counted_over_ns"))]
    pub counted_over: Nanos,
}

impl Activation {
    /// `woke` minus `release`; zero if the thread woke early.
    pub fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }

    fn to_words(self) -> [u64; WORDS] {
        let pair = |high: u32, low: u32| (u64::from(high) << 32) | u64::from(low);
        [
            self.release.as_ns(),
            self.woke.as_ns(),
            self.index,
            pair(self.cpu, self.involuntary_switches),
            pair(self.faults, self.migrations),
            self.counted_over.as_ns(),
        ]
    }

    #[allow(clippy::cast_possible_truncation, reason = "takes the two halves of a word apart")]
    fn from_words(words: &[u64; WORDS]) -> Self {
        let [release, woke, index, cpu_switches, faults_migrations, counted_over] = *words;
        Self {
            release: MonoTime::from_ns(release),
            woke: MonoTime::from_ns(woke),
            index,
            cpu: (cpu_switches >> 32) as u32,
            involuntary_switches: cpu_switches as u32,
            faults: (faults_migrations >> 32) as u32,
            migrations: faults_migrations as u32,
            counted_over: Nanos::from_ns(counted_over),
        }
    }
}

type Slots = Arc<[Slot<WORDS>]>;

/// Creates a list of worst activations as a writing and a reading end.
pub struct WorstList;

impl WorstList {
    /// Returns the writing and the reading end. Allocates once.
    #[allow(clippy::new_ret_no_self, reason = "a list is its two ends")]
    pub fn new() -> (WorstWriter, WorstReader) {
        let slots: Slots = core::iter::repeat_with(Slot::default).take(WORST_K).collect();
        let writer = WorstWriter { slots: Arc::clone(&slots), entered: 0, latency: [None; WORST_K], floor: None };
        (writer, WorstReader { slots })
    }
}

/// The writing end of a worst list.
pub struct WorstWriter {
    slots: Slots,
    /// Number of activations that have entered the list so far. It numbers the records in the slots.
    entered: u64,
    latency: [Option<Nanos>; WORST_K],
    /// The smallest latency in the list, once the list is full.
    floor: Option<Nanos>,
}

impl WorstWriter {
    /// Whether an activation of this latency would enter the list. Cheap enough to ask for every activation.
    ///
    /// # Real-time
    /// One comparison.
    #[inline]
    pub fn wants(&self, latency: Nanos) -> bool {
        self.floor.is_none_or(|floor| latency > floor)
    }

    /// Adds `activation` to the list if its latency is larger than the smallest one there, which it replaces when the
    /// list is full.
    ///
    /// # Real-time
    /// Wait-free; two passes over 32 words.
    pub fn offer(&mut self, activation: Activation) {
        if !self.wants(activation.latency()) {
            return;
        }
        let least = self.latency.iter().enumerate().min_by_key(|(_, latency)| **latency).map(|(i, _)| i);
        let Some(index) = least else { return };
        if let (Some(slot), Some(kept)) = (self.slots.get(index), self.latency.get_mut(index)) {
            *kept = Some(activation.latency());
            slot.write(self.entered, &activation.to_words());
            self.entered = self.entered.saturating_add(1);
        }
        self.floor = self.latency.iter().copied().min().flatten();
    }
}

/// The reading end of a worst list; clones read the same list.
#[derive(Clone)]
pub struct WorstReader {
    slots: Slots,
}

impl WorstReader {
    /// A copy of the list, worst first. A slot that the writer overwrites during four attempts is left out of this
    /// copy. The list is complete while the writer does not write.
    pub fn snapshot(&self) -> Vec<Activation> {
        let read =
            |slot: &Slot<WORDS>| (0..4).find_map(|_| slot.read()).map(|(_, words)| Activation::from_words(&words));
        let mut list: Vec<Activation> = self.slots.iter().filter_map(read).collect();
        list.sort_by_key(|a| core::cmp::Reverse(a.latency()));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn late_by(ns: u64, index: u64) -> Activation {
        Activation {
            release: MonoTime::from_ns(1_000),
            woke: MonoTime::from_ns(1_000 + ns),
            index,
            cpu: 3,
            involuntary_switches: 1,
            faults: 2,
            migrations: 4,
            counted_over: Nanos::from_ms(5),
        }
    }

    proptest! {
        #[test]
        fn keeps_the_largest(values in prop::collection::vec(0u64..1_000_000, 0..200)) {
            let (mut writer, reader) = WorstList::new();
            for (i, v) in values.iter().enumerate() {
                writer.offer(late_by(*v, i as u64));
            }
            let mut sorted = values.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.truncate(WORST_K);
            let got: Vec<u64> = reader.snapshot().iter().map(|a| a.latency().as_ns()).collect();
            prop_assert_eq!(got, sorted);
        }
    }

    #[test]
    fn every_field_survives() {
        let (mut writer, reader) = WorstList::new();
        writer.offer(late_by(77, 9));
        assert_eq!(reader.snapshot(), [late_by(77, 9)]);
    }

    #[test]
    fn a_reader_never_sees_a_torn_entry() {
        let (mut writer, reader) = WorstList::new();
        let thread = std::thread::spawn(move || (0..100_000u64).for_each(|i| writer.offer(late_by(i, i))));
        while !thread.is_finished() {
            for a in reader.snapshot() {
                assert_eq!(a.latency().as_ns(), a.index, "latency and index are written together");
            }
        }
        thread.join().unwrap();
        assert_eq!(reader.snapshot().len(), WORST_K);
    }
}
