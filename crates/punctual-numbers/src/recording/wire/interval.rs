//! Encodes intervals in few bits, because nearly every byte of a long recording belongs to an interval.
//!
//! Neighbouring buckets hold similar counts and neighbouring seconds similar maxima, so each is written as the
//! difference to the one before, in a code that is shortest for differences of the usual size.

use super::bits::{BitReader, BitWriter, Damage, zigzag};
use super::values::Wire;
use crate::recording::{Counters, CpuInterval, Interval, RecTime};
use punctual_facts::cpu_set::CPU_LIMIT;
use punctual_hist::{BUCKETS, Nanos};

/// Whether the interval can be written and read again: its CPUs and buckets are within their limits, and its buckets
/// and seconds are in ascending order.
pub(super) fn is_ordered(interval: &Interval) -> bool {
    let buckets = |pairs: &[(u16, u64)]| {
        pairs.is_sorted_by(|(a, _), (b, _)| a < b) && pairs.last().is_none_or(|(last, _)| usize::from(*last) < BUCKETS)
    };
    interval.cpus.iter().all(|cpu| {
        cpu.cpu < CPU_LIMIT
            && buckets(&cpu.ran)
            && buckets(&cpu.skipped)
            && cpu.block_max.is_sorted_by(|(a, _), (b, _)| a < b)
    })
}

/// A value that is written in the number code of a given order, chosen so that usual values take few bits. For a list,
/// `order` is the order in which its length is written.
trait Coded: Sized {
    fn put_as(&self, order: u32, to: &mut BitWriter);
    fn take_as(order: u32, from: &mut BitReader) -> Result<Self, Damage>;
}

/// Implements [`Wire`] for structs, field by field. The number behind a field is the order of its code; a field without
/// a number is written by its own [`Wire`].
macro_rules! coded {
    (@put $field:expr, $to:ident) => { $field.put($to) };
    (@put $field:expr, $to:ident, $order:literal) => { $field.put_as($order, $to) };
    (@take $from:ident) => { Wire::take($from)? };
    (@take $from:ident, $order:literal) => { Coded::take_as($order, $from)? };
    ($($type:ident { $($field:ident $(: $order:literal)?),+ })+) => { $(
        impl Wire for $type {
            fn put(&self, to: &mut BitWriter) {
                $( coded!(@put self.$field, to $(, $order)?); )+
            }
            fn take(from: &mut BitReader) -> Result<Self, Damage> {
                Ok(Self { $( $field: coded!(@take from $(, $order)?) ),+ })
            }
        }
    )+ };
}

coded! {
    Interval { start: 36, length: 30, phase: 4, cpus }
    CpuInterval {
        cpu: 4, ran: 8, ran_sum: 28, ran_min: 9, ran_max: 13, skipped: 8, skipped_sum: 0, skipped_max: 0,
        over_budget: 0, early: 0, longest_gap: 18, block_max: 4, counters
    }
    Counters { voluntary_switches: 12, involuntary_switches: 0, minor_faults: 0, major_faults: 0, migrations: 0 }
}

/// Types that are written as a single number, with the conversion in both directions.
macro_rules! numbers {
    ($($type:ty: |$value:ident| $put:expr, |$number:ident| $take:expr;)+) => { $(
        impl Coded for $type {
            fn put_as(&self, order: u32, to: &mut BitWriter) {
                let $value = *self;
                to.number(order, $put);
            }
            fn take_as(order: u32, from: &mut BitReader) -> Result<Self, Damage> {
                let $number = from.number(order)?;
                $take
            }
        }
    )+ };
}

numbers! {
    u64: |n| n, |n| Ok(n);
    Nanos: |length| length.as_ns(), |ns| Ok(Self::from_ns(ns));
    RecTime: |at| at.as_ns(), |ns| Ok(Self::after_epoch(Nanos::from_ns(ns)));
    u16: |phase| u64::from(phase),
        |phase| Self::try_from(phase).map_err(|_| Damage("a load phase has an impossible number"));
    u32: |cpu| u64::from(cpu),
        |cpu| Self::try_from(cpu).ok().filter(|cpu| *cpu < CPU_LIMIT).ok_or(Damage("a CPU has an impossible number"));
}

impl Coded for Option<Nanos> {
    fn put_as(&self, order: u32, to: &mut BitWriter) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put_as(order, to);
        }
    }
    fn take_as(order: u32, from: &mut BitReader) -> Result<Self, Damage> {
        if bool::take(from)? { Coded::take_as(order, from).map(Some) } else { Ok(None) }
    }
}

/// Writes non-empty buckets as the gap to the bucket before and the difference to the count before.
impl Coded for Vec<(u16, u64)> {
    fn put_as(&self, order: u32, to: &mut BitWriter) {
        to.number(order, self.len() as u64);
        let (mut next, mut before) = (0, 0);
        for (position, (bucket, count)) in self.iter().enumerate() {
            to.number(gap_order(position), u64::from(*bucket).saturating_sub(next));
            to.difference(noise_order(before), before, *count);
            (next, before) = (u64::from(*bucket) + 1, *count);
        }
    }
    fn take_as(order: u32, from: &mut BitReader) -> Result<Self, Damage> {
        let count = from.count(order)?;
        if count > BUCKETS {
            return Err(Damage("a histogram has more buckets than there are"));
        }
        let mut pairs = Self::with_capacity(count);
        let (mut next, mut before) = (0u64, 0u64);
        for position in 0..count {
            let bucket = next.saturating_add(from.number(gap_order(position))?);
            let narrow = u16::try_from(bucket).ok().filter(|bucket| usize::from(*bucket) < BUCKETS);
            before = from.difference(noise_order(before), before)?;
            pairs.push((narrow.ok_or(Damage("a histogram bucket is out of range"))?, before));
            next = bucket + 1;
        }
        Ok(pairs)
    }
}

/// Code order of the gap before a bucket: the first bucket can be anywhere, and most later ones directly follow the one
/// before.
const fn gap_order(position: usize) -> u32 {
    if position == 0 { 9 } else { 0 }
}

/// Code order of the difference to the next count. Neighbouring counts differ by about the square root of a count.
const fn noise_order(count: u64) -> u32 {
    (64 - count.leading_zeros()) / 2
}

/// Writes seconds in ascending order, each with its maximum.
impl Coded for Vec<(u32, Nanos)> {
    fn put_as(&self, order: u32, to: &mut BitWriter) {
        to.number(order, self.len() as u64);
        let Some((first_second, first)) = self.first() else { return };
        let steps = || self.iter().zip(self.iter().skip(1)).map(|((_, a), (_, b))| (a.as_ns(), b.as_ns()));
        let total = steps().fold(0u64, |total, (a, b)| total.saturating_add(zigzag(b.wrapping_sub(a))));
        let order = total.checked_div(self.len() as u64).map_or(0, |mean| mean.checked_ilog2().unwrap_or(0).min(48));
        to.bits(u64::from(order), 6);
        to.number(16, u64::from(*first_second));
        to.number(14, first.as_ns());
        for (((second, _), (next, _)), (a, b)) in self.iter().zip(self.iter().skip(1)).zip(steps()) {
            to.number(0, u64::from(next.saturating_sub(*second).saturating_sub(1)));
            to.difference(order, a, b);
        }
    }
    fn take_as(order: u32, from: &mut BitReader) -> Result<Self, Damage> {
        let count = from.count(order)?;
        let mut blocks = Self::new();
        if count == 0 {
            return Ok(blocks);
        }
        let order = u32::try_from(from.bits(6)?).unwrap_or(0);
        if order > 48 {
            return Err(Damage("block maxima are in a code this format does not have"));
        }
        let too_late = Damage("a second has an impossible number");
        let mut second = u32::try_from(from.number(16)?).map_err(|_| too_late)?;
        let mut max = from.number(14)?;
        blocks.push((second, Nanos::from_ns(max)));
        for _ in 1..count {
            let gap = u32::try_from(from.number(0)?).ok().and_then(|gap| gap.checked_add(1));
            second = gap.and_then(|gap| second.checked_add(gap)).ok_or(too_late)?;
            max = from.difference(order, max)?;
            blocks.push((second, Nanos::from_ns(max)));
        }
        Ok(blocks)
    }
}
