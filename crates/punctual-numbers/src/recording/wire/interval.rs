//! An interval in few bits: of a long recording nearly every byte is one of these.
//!
//! Neighbouring buckets hold similar counts and neighbouring seconds similar maxima, so each is written as the
//! difference to the one before, in a code as wide as that difference usually is.

use super::bits::{BitReader, BitWriter, Damage, zigzag};
use crate::recording::{Counters, CpuInterval, Interval, RecTime};
use punctual_facts::cpu_set::CPU_LIMIT;
use punctual_hist::{BUCKETS, Nanos};

/// Whether the interval can be written and read again: known CPUs, buckets and seconds in ascending order.
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

pub(super) fn put_interval(interval: &Interval, to: &mut BitWriter) {
    to.number(36, interval.start.as_ns());
    to.number(30, interval.length.as_ns());
    to.number(4, u64::from(interval.phase));
    to.number(4, interval.cpus.len() as u64);
    for cpu in &interval.cpus {
        put_cpu(cpu, to);
    }
}

pub(super) fn take_interval(from: &mut BitReader) -> Result<Interval, Damage> {
    let start = RecTime::after_epoch(nanos(from, 36)?);
    let length = nanos(from, 30)?;
    let phase = u16::try_from(from.number(4)?).map_err(|_| Damage("a load phase has an impossible number"))?;
    let count = from.count(4)?;
    let cpus = (0..count).map(|_| take_cpu(from)).collect::<Result<_, _>>()?;
    Ok(Interval { start, length, phase, cpus })
}

fn put_cpu(cpu: &CpuInterval, to: &mut BitWriter) {
    to.number(4, u64::from(cpu.cpu));
    put_buckets(&cpu.ran, to);
    to.number(28, cpu.ran_sum.as_ns());
    put_optional(cpu.ran_min, 9, to);
    put_optional(cpu.ran_max, 13, to);
    put_buckets(&cpu.skipped, to);
    to.number(0, cpu.skipped_sum.as_ns());
    to.number(0, cpu.skipped_max.as_ns());
    to.number(0, cpu.over_budget);
    to.number(0, cpu.early);
    to.number(18, cpu.longest_gap.as_ns());
    put_blocks(&cpu.block_max, to);
    to.number(12, cpu.counters.voluntary_switches);
    to.number(0, cpu.counters.involuntary_switches);
    to.number(0, cpu.counters.minor_faults);
    to.number(0, cpu.counters.major_faults);
    to.number(0, cpu.counters.migrations);
}

fn take_cpu(from: &mut BitReader) -> Result<CpuInterval, Damage> {
    let cpu = u32::try_from(from.number(4)?).ok().filter(|cpu| *cpu < CPU_LIMIT);
    Ok(CpuInterval {
        cpu: cpu.ok_or(Damage("a CPU has an impossible number"))?,
        ran: take_buckets(from)?,
        ran_sum: nanos(from, 28)?,
        ran_min: take_optional(from, 9)?,
        ran_max: take_optional(from, 13)?,
        skipped: take_buckets(from)?,
        skipped_sum: nanos(from, 0)?,
        skipped_max: nanos(from, 0)?,
        over_budget: from.number(0)?,
        early: from.number(0)?,
        longest_gap: nanos(from, 18)?,
        block_max: take_blocks(from)?,
        counters: Counters {
            voluntary_switches: from.number(12)?,
            involuntary_switches: from.number(0)?,
            minor_faults: from.number(0)?,
            major_faults: from.number(0)?,
            migrations: from.number(0)?,
        },
    })
}

/// Non-empty buckets: the gap from each to the next, and the count as a difference to the count before.
fn put_buckets(pairs: &[(u16, u64)], to: &mut BitWriter) {
    to.number(8, pairs.len() as u64);
    let (mut next, mut before) = (0, 0);
    for (position, (bucket, count)) in pairs.iter().enumerate() {
        to.number(gap_order(position), u64::from(*bucket).saturating_sub(next));
        to.difference(noise_order(before), before, *count);
        (next, before) = (u64::from(*bucket) + 1, *count);
    }
}

fn take_buckets(from: &mut BitReader) -> Result<Vec<(u16, u64)>, Damage> {
    let count = from.count(8)?;
    if count > BUCKETS {
        return Err(Damage("a histogram has more buckets than there are"));
    }
    let mut pairs = Vec::with_capacity(count);
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

/// The first bucket can be anywhere, and the following ones are mostly next to each other.
const fn gap_order(position: usize) -> u32 {
    if position == 0 { 9 } else { 0 }
}

/// Counts scatter by about their square root.
const fn noise_order(count: u64) -> u32 {
    (64 - count.leading_zeros()) / 2
}

/// Seconds, ascending, each with its maximum.
fn put_blocks(blocks: &[(u32, Nanos)], to: &mut BitWriter) {
    to.number(4, blocks.len() as u64);
    let Some((first_second, first)) = blocks.first() else { return };
    let steps = || blocks.iter().zip(blocks.iter().skip(1)).map(|((_, a), (_, b))| (a.as_ns(), b.as_ns()));
    let total = steps().fold(0u64, |total, (a, b)| total.saturating_add(zigzag(b.wrapping_sub(a))));
    let order = total.checked_div(blocks.len() as u64).map_or(0, |mean| mean.checked_ilog2().unwrap_or(0).min(48));
    to.bits(u64::from(order), 6);
    to.number(16, u64::from(*first_second));
    to.number(14, first.as_ns());
    for (((second, _), (next, _)), (a, b)) in blocks.iter().zip(blocks.iter().skip(1)).zip(steps()) {
        to.number(0, u64::from(next.saturating_sub(*second).saturating_sub(1)));
        to.difference(order, a, b);
    }
}

fn take_blocks(from: &mut BitReader) -> Result<Vec<(u32, Nanos)>, Damage> {
    let count = from.count(4)?;
    let mut blocks = Vec::new();
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

fn nanos(from: &mut BitReader, order: u32) -> Result<Nanos, Damage> {
    from.number(order).map(Nanos::from_ns)
}

fn put_optional(value: Option<Nanos>, order: u32, to: &mut BitWriter) {
    to.bits(u64::from(value.is_some()), 1);
    if let Some(value) = value {
        to.number(order, value.as_ns());
    }
}

fn take_optional(from: &mut BitReader, order: u32) -> Result<Option<Nanos>, Damage> {
    if from.bits(1)? == 1 { nanos(from, order).map(Some) } else { Ok(None) }
}
