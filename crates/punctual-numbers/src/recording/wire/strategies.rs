//! Makes arbitrary frames for property tests.
//!
//! The macros that define how a value is written also define how it is made of random numbers ([`Made`]). Values are
//! mostly small and taken from a few, so that the records of a window often name the same task, timer or CPU. After the
//! random numbers have run out, every further number is 0. So fewer numbers make a simpler value, and failing cases can
//! be shrunk.

use crate::recording::{Counters, CpuInterval, Frame, Header, Interval, MaximaLost, RecTime, Worst};
use crate::trace::{Address, Context, RemoteRecord, TraceRecord, Window};
use proptest::prelude::*;
use punctual_facts::cpu_set::{CPU_LIMIT, CpuSet};
use punctual_hist::SplitMix;
use punctual_hist::{Activation, BUCKETS, MonoTime, Nanos};
use std::collections::BTreeMap;

pub(crate) fn frame() -> impl Strategy<Value = Frame> {
    made()
}

pub(crate) fn header() -> impl Strategy<Value = Header> {
    made()
}

pub(crate) fn interval() -> impl Strategy<Value = Interval> {
    made()
}

pub(crate) fn window() -> impl Strategy<Value = Window> {
    made()
}

fn made<T: Made + std::fmt::Debug>() -> impl Strategy<Value = T> {
    (any::<u64>(), 0usize..2_000).prop_map(|(seed, left)| T::made(&mut Numbers { random: SplitMix::new(seed), left }))
}

pub(in crate::recording) struct Numbers {
    random: SplitMix,
    left: usize,
}

impl Numbers {
    fn next(&mut self) -> u64 {
        let number = self.random.bits();
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { 0 } else { number }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number of random magnitude: small and large ones are about equally frequent.
    fn wide(&mut self) -> u64 {
        let number = self.next();
        number >> (number % 64)
    }

    fn usual(&mut self) -> bool {
        self.below(9) < 8
    }

    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    /// One of several items, of which earlier ones are more likely. The kinds of records begin with switches and
    /// wakings, so that windows have many records that refer to each other.
    pub(super) fn early<T: Clone>(&mut self, of: &[T]) -> T {
        let end = 1 + usize::try_from(self.below(of.len() as u64)).unwrap();
        self.one(&of[..end])
    }

    fn several<T: Made, const N: usize>(&mut self) -> [T; N] {
        [(); N].map(|()| T::made(self))
    }

    fn list<T, C: FromIterator<T>>(&mut self, limit: u64, mut item: impl FnMut(&mut Self) -> T) -> C {
        (0..self.below(limit)).map(|_| item(self)).collect()
    }
}

/// A value that can be made from random numbers.
pub(in crate::recording) trait Made: Sized {
    fn made(of: &mut Numbers) -> Self;
}

macro_rules! made {
    ($($type:ty: |$of:ident| $make:expr;)+) => { $(
        impl Made for $type {
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any number will do")]
            fn made($of: &mut Numbers) -> Self {
                $make
            }
        }
    )+ };
}

const NUMBERS: [i32; 6] = [0, 7, 8, 9, 49, 120];
const FLAGS: [u8; 7] = [0, 0x01, 0x05, 0x09, 0x0d, 0x10, 0x19];
const NAMES: [&str; 8] = ["", "hog", "kworker/1:2", "ksoftirqd/1", "migration/1", "irq/9-x", "idle", "hrtimer_wakeup"];

made! {
    u8: |of| of.next() as u8;
    u16: |of| of.next() as u16;
    u32: |of| if of.usual() { of.below(4) as u32 } else { of.next() as u32 };
    u64: |of| of.wide();
    i32: |of| if of.usual() { of.one(&NUMBERS) } else { of.next() as i32 };
    i64: |of| of.next() as i64;
    bool: |of| of.below(2) == 1;
    Nanos: |of| Nanos::from_ns(of.wide());
    RecTime: |of| RecTime::after_epoch(Made::made(of));
    MonoTime: |of| MonoTime::from_ns(of.wide());
    Address: |of| Address(if of.usual() { of.below(4) } else { of.next() });
    String: |of| if of.usual() { of.one(&NAMES).to_owned() } else { of.list(12, character) };
    CpuSet: |of| of.list(12, |of| of.below(u64::from(CPU_LIMIT)) as u32);
    MaximaLost: |of| MaximaLost { at: Made::made(of), blocks: of.wide() / 1_000_000_000 };
    Interval: |of| {
        let (start, length, phase) = (Made::made(of), Made::made(of), Made::made(of));
        Interval { start, length, phase, cpus: Made::made(of) }
    };
    CpuInterval: |of| CpuInterval {
        cpu: of.below(u64::from(CPU_LIMIT)) as u32,
        ran: buckets(of),
        ran_sum: Made::made(of),
        ran_min: Made::made(of),
        ran_max: Made::made(of),
        skipped: buckets(of),
        skipped_sum: Made::made(of),
        skipped_max: Made::made(of),
        over_budget: Made::made(of),
        early: Made::made(of),
        longest_gap: Made::made(of),
        block_max: of.list::<_, BTreeMap<_, _>>(20, |of| (of.next() as u32, Made::made(of))).into_iter().collect(),
        counters: Made::made(of),
    };
    Counters: |of| {
        let [voluntary_switches, involuntary_switches, minor_faults, major_faults, migrations] = of.several();
        Counters { voluntary_switches, involuntary_switches, minor_faults, major_faults, migrations }
    };
    Worst: |of| {
        let (release, woke, index, counted_over) = (Made::made(of), Made::made(of), Made::made(of), Made::made(of));
        let [on, involuntary_switches, faults, migrations] = of.several();
        let activation =
            Activation { release, woke, index, cpu: on, involuntary_switches, faults, migrations, counted_over };
        Worst { cpu: Made::made(of), activation }
    };
    Window: |of| {
        let release = of.wide();
        let base = release.saturating_sub(20_000);
        let late = if of.usual() { of.below(100_000) } else { of.wide() };
        let mut records: Vec<TraceRecord> = of.list(60, |of| record(base, of));
        if of.usual() {
            records.sort_by_key(|record| record.at);
        }
        let incomplete = if of.usual() { None } else { Made::made(of) };
        Window {
            slot: Made::made(of),
            kept: Made::made(of),
            cpu: Made::made(of),
            tid: Made::made(of),
            release: MonoTime::from_ns(release),
            woke: MonoTime::from_ns(release.saturating_add(late)),
            phase: Made::made(of),
            elsewhere: of.list(4, |of| RemoteRecord { cpu: Made::made(of), record: record(base, of) }),
            records,
            names: Made::made(of),
            incomplete,
            around: Made::made(of),
        }
    };
}

fn character(of: &mut Numbers) -> char {
    u32::try_from(of.wide()).ok().and_then(char::from_u32).filter(|c| *c != '\n').unwrap_or('x')
}

/// Random (bucket, count) pairs in ascending order of the buckets.
fn buckets(of: &mut Numbers) -> Vec<(u16, u64)> {
    let bucket = |of: &mut Numbers| u16::try_from(of.below(BUCKETS as u64)).unwrap();
    of.list::<_, BTreeMap<_, _>>(60, |of| (bucket(of), of.wide())).into_iter().collect()
}

/// A record that is mostly within 120 us after `base`.
fn record(base: u64, of: &mut Numbers) -> TraceRecord {
    let at = if of.usual() { base.saturating_add(of.below(120_000)) } else { of.next() };
    let flags = if of.usual() { of.one(&FLAGS) } else { Made::made(of) };
    let (tid, context) = (Made::made(of), Context { flags, preempt: Made::made(of) });
    TraceRecord { at: MonoTime::from_ns(at), tid, context, what: Made::made(of) }
}

impl<T: Made> Made for Option<T> {
    fn made(of: &mut Numbers) -> Self {
        bool::made(of).then(|| T::made(of))
    }
}

impl<T: Made> Made for Vec<T> {
    fn made(of: &mut Numbers) -> Self {
        of.list(6, T::made)
    }
}

impl<K: Made + Ord, V: Made> Made for BTreeMap<K, V> {
    fn made(of: &mut Numbers) -> Self {
        of.list(4, <(K, V)>::made)
    }
}

impl<A: Made, B: Made> Made for (A, B) {
    fn made(of: &mut Numbers) -> Self {
        (A::made(of), B::made(of))
    }
}

impl<T: Made> Made for Box<T> {
    fn made(of: &mut Numbers) -> Self {
        Self::new(T::made(of))
    }
}
