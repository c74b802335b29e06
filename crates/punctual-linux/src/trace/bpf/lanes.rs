//! The rings that the BPF program writes, read in place while it continues writing.
//!
//! A record is used only if its mark says that it is complete, and if the ring has not overwritten it meanwhile. This
//! module does not interpret records.

use super::record::{RECORD_BYTES, RECORD_WORDS, Raw};
use crate::sys::shared_words::SharedWords;
use punctual_hist::{MonoTime, Nanos};
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, fence};

/// Number of words of a lane's header (`struct lane` of the BPF program), which precede its ring.
pub const LANE_WORDS: usize = 16;
/// The programs know this many CPUs.
pub const CPUS: usize = 1024;
/// The lower bits of a mark are the number of the record; the higher bits are the CPU.
const NUMBER: u64 = (1 << 48) - 1;
/// Offsets in `struct lane`.
const HEAD: usize = 0;
const ON: usize = 8;
const THREAD: usize = 9;
const STACK_OVER: usize = 10;
/// Number of the oldest records that are not read, because they may be overwritten while they are read.
const MARGIN: u64 = 256;

/// All lanes: one for each measured CPU, and one for all other CPUs.
pub struct Lanes {
    heads: SharedWords,
    ring: SharedWords,
    count: usize,
    shift: u32,
}

pub enum RecordRead {
    Whole(Raw),
    Overwritten,
    Unfinished,
}

impl Lanes {
    /// Makes `count` lanes of 2^`shift` records each.
    pub fn new(heads: SharedWords, ring: SharedWords, count: usize, shift: u32) -> Self {
        let lanes = Self { heads, ring, count, shift };
        (0..count).for_each(|lane| lanes.set_stack_over(lane, Nanos::MAX));
        lanes
    }

    fn word(&self, lane: usize, word: usize) -> Option<&AtomicU64> {
        self.heads.words().get(lane * LANE_WORDS + word)
    }

    fn set(&self, lane: usize, word: usize, value: u64) {
        if let Some(word) = self.word(lane, word) {
            word.store(value, Relaxed);
        }
    }

    pub fn switch(&self, on: bool) {
        (0..self.count).for_each(|lane| self.set(lane, ON, u64::from(on)));
    }

    pub fn set_thread(&self, lane: usize, tid: u32) {
        self.set(lane, THREAD, u64::from(tid));
    }

    /// Sets the latency of a measuring thread above which the program records the stack of the thread that delays it.
    pub fn set_stack_over(&self, lane: usize, over: Nanos) {
        // The limit is needed because the BPF program compares this value with signed differences.
        self.set(lane, STACK_OVER, over.as_ns().min(u64::MAX >> 1));
    }

    pub fn written(&self, lane: usize) -> u64 {
        self.word(lane, HEAD).map_or(0, |head| head.load(Acquire))
    }

    pub fn lane_bytes(&self) -> u64 {
        RECORD_BYTES << self.shift
    }

    fn capacity(&self) -> u64 {
        1 << self.shift
    }

    /// The oldest record that will not be overwritten soon.
    fn first(&self, lane: usize) -> u64 {
        let oldest = self.written(lane).saturating_sub(self.capacity());
        if oldest == 0 { 0 } else { oldest + MARGIN.min(self.capacity() / 4) }
    }

    /// When the oldest record was written; zero if none was overwritten yet.
    pub fn oldest(&self, lane: usize) -> MonoTime {
        match self.first(lane) {
            0 => MonoTime::default(),
            first => self.at(lane, first),
        }
    }

    fn words_of(&self, lane: usize, number: u64) -> &[AtomicU64] {
        let place = (lane << self.shift) + usize::try_from(number & (self.capacity() - 1)).unwrap_or_default();
        self.ring.words().get(place * RECORD_WORDS..(place + 1) * RECORD_WORDS).unwrap_or_default()
    }

    fn at(&self, lane: usize, number: u64) -> MonoTime {
        MonoTime::from_ns(self.words_of(lane, number).get(1).map_or(0, |word| word.load(Relaxed)))
    }

    /// Records from an instant on, in the order in which they were written.
    pub fn read(&self, lane: usize, from: MonoTime) -> impl Iterator<Item = RecordRead> + '_ {
        let head = self.written(lane);
        let (mut low, mut high) = (self.first(lane), head);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(lane, middle) < from { low = middle + 1 } else { high = middle }
        }
        (low..head).map(move |number| self.one(lane, number))
    }

    /// Hands over the records from number `next` on, up to the first that is still being written. Returns how many were
    /// overwritten before they could be read.
    pub fn read_on(&self, lane: usize, next: &mut u64, mut take: impl FnMut(Raw)) -> u64 {
        let first = self.first(lane).max(*next);
        let mut lost = first - std::mem::replace(next, first);
        while *next < self.written(lane) {
            match self.one(lane, *next) {
                RecordRead::Whole(raw) => take(raw),
                RecordRead::Overwritten => lost += 1,
                RecordRead::Unfinished => break,
            }
            *next += 1;
        }
        lost
    }

    fn one(&self, lane: usize, number: u64) -> RecordRead {
        let words = self.words_of(lane, number);
        let mark = words.first().map_or(0, |word| word.load(Acquire));
        let mut copy = [0; RECORD_WORDS];
        for (to, word) in copy.iter_mut().zip(words) {
            *to = word.load(Relaxed);
        }
        // The writer advances the head before it overwrites a record. So if any of the new content was read, the new
        // head is visible too.
        fence(Acquire);
        if self.written(lane) > number + self.capacity() {
            return RecordRead::Overwritten;
        }
        if mark & NUMBER != (number + 1) & NUMBER {
            return RecordRead::Unfinished;
        }
        RecordRead::Whole(Raw::new(copy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIFT: u32 = 10;

    fn lanes() -> Lanes {
        let file = || tempfile::tempfile().unwrap();
        let map = |words: usize| {
            let file = file();
            file.set_len((words * 8) as u64).unwrap();
            SharedWords::map(&file, 0, words).unwrap()
        };
        Lanes::new(map(2 * LANE_WORDS), map((2 * RECORD_WORDS) << SHIFT), 2, SHIFT)
    }

    /// Writes record `n` with time `n`, as the kernel does.
    fn write(lanes: &Lanes, lane: usize, n: u64, whole: bool) {
        lanes.set(lane, HEAD, n + 1);
        let words = lanes.words_of(lane, n);
        words[1].store(n, Relaxed);
        words[0].store(if whole { (n + 1) | 5 << 48 } else { 0 }, Relaxed);
    }

    #[test]
    fn records_are_read_from_an_instant_on() {
        let lanes = lanes();
        (0..100).for_each(|n| write(&lanes, 1, n, n != 97));
        let read = |from| -> Vec<Option<u64>> {
            let told = |read| match read {
                RecordRead::Whole(raw) => Some(raw.at().as_ns()),
                RecordRead::Overwritten | RecordRead::Unfinished => None,
            };
            lanes.read(1, MonoTime::from_ns(from)).map(told).collect()
        };
        assert_eq!(read(95), [Some(95), Some(96), None, Some(98), Some(99)]);
        assert_eq!(read(1_000), []);
        assert_eq!(lanes.written(0), 0, "the other lane is another");
        assert_eq!(lanes.oldest(1), MonoTime::default());
    }

    #[test]
    fn what_was_overwritten_is_not_taken_for_what_it_was() {
        let lanes = lanes();
        (0..3_000).for_each(|n| write(&lanes, 0, n, true));
        assert_eq!(lanes.oldest(0), MonoTime::from_ns(3_000 - 1_024 + 256));
        assert!(matches!(lanes.one(0, 1_975), RecordRead::Overwritten));
        assert!(matches!(lanes.one(0, 1_976), RecordRead::Whole(raw) if raw.at().as_ns() == 1_976 && raw.cpu() == 5));
        assert_eq!(lanes.read(0, MonoTime::default()).count(), 1_024 - 256);
    }

    #[test]
    fn reading_goes_on_where_it_ended_and_counts_what_it_missed() {
        let lanes = lanes();
        let mut next = 0;
        let mut read = || {
            let mut times = Vec::new();
            let lost = lanes.read_on(0, &mut next, |raw| times.push(raw.at().as_ns()));
            (lost, times.first().copied(), times.len())
        };
        (0..10).for_each(|n| write(&lanes, 0, n, n != 8));
        assert_eq!(read(), (0, Some(0), 8), "the ninth is not finished");
        assert_eq!(read(), (0, None, 0));
        (8..20).for_each(|n| write(&lanes, 0, n, true));
        assert_eq!(read(), (0, Some(8), 12));
        (20..2_000).for_each(|n| write(&lanes, 0, n, true));
        let oldest = 2_000 - 1_024 + 256;
        assert_eq!(read(), (oldest - 20, Some(oldest), 768));
    }
}
