//! Counts the releases later than a threshold in each slice of a recording, and chooses the thresholds.
//!
//! Thresholds are computed from the pooled latencies of both recordings, so that they favour neither.

use super::arm::{Arm, float};
use crate::stats::moods::Events;
use punctual_hist::{Counts, Nanos, bucket_high, bucket_index, bucket_low};

/// At most this part of all releases is beyond the threshold of rare events.
const RARE: f64 = 1e-3;
/// The number of events beyond the first and beyond the second threshold of rare events, in both recordings together.
const FEW: f64 = 16.0;
const MORE: f64 = 64.0;
/// A gap in the tail is searched where the number of events beyond it is in this range. The ratio of the edges of a gap
/// must be at least `GAP`.
const GAP_EVENTS: (f64, f64) = (5.0, 1_000.0);
const GAP: f64 = 1.25;
/// A second threshold is used only if the numbers of events beyond the two differ by this factor.
const APART: f64 = 1.8;

/// For each edge, the events whose latency lies in that bucket or above.
pub(super) fn beyond(arm: &Arm, edges: &[usize]) -> Vec<Events> {
    let mut slices: Vec<Vec<(f64, f64)>> = vec![Vec::with_capacity(arm.slices.len()); edges.len()];
    for slice in &arm.slices {
        let (mut late, mut due) = (vec![0.0; edges.len()], 0.0);
        for (bucket, n) in slice.cpu.ran.nonzero().chain(slice.cpu.skipped.nonzero()) {
            let n = float(n);
            due += n;
            for (late, edge) in late.iter_mut().zip(edges) {
                if bucket >= *edge {
                    *late += n;
                }
            }
        }
        slices.iter_mut().zip(late).for_each(|(slices, late)| slices.push((late, due)));
    }
    slices.iter().map(|slices| Events::new(slices, arm.length.as_secs_f64())).collect()
}

/// The releases that were later than the budget or skipped. With `counted`, the budget is that of the recording, which
/// counted them exactly.
pub(super) fn missed(arm: &Arm, budget: Option<Nanos>, counted: bool) -> Events {
    let limit = budget.map(|budget| bucket_index(budget.as_ns()));
    let of = |slice: &super::arm::CpuSlice| {
        let cpu = &slice.cpu;
        let over = cpu.ran.nonzero().filter(|(bucket, _)| limit.is_some_and(|limit| *bucket > limit));
        let over = if counted { cpu.over_budget } else { over.fold(0u64, |sum, (_, n)| sum.saturating_add(n)) };
        let skipped = float(cpu.skipped.count());
        (float(over) + skipped, skipped + float(cpu.ran.count()))
    };
    let slices: Vec<(f64, f64)> = arm.slices.iter().map(of).collect();
    Events::new(&slices, arm.length.as_secs_f64())
}

/// The edge, below or above the bucket of the latency `ns`, for which the share of releases beyond it is nearest to
/// `share`.
pub(super) fn edge_at(all: &Counts, ns: f64, share: f64) -> usize {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates; latencies are not negative"
    )]
    let bucket = bucket_index(ns as u64);
    let off = |edge: usize| {
        let beyond = all.nonzero().filter(|(bucket, _)| *bucket >= edge).map(|(_, n)| float(n)).sum::<f64>();
        (beyond - float(all.count()) * share).abs()
    };
    if off(bucket) < off(bucket + 1) { bucket } else { bucket + 1 }
}

/// All lower edges of filled buckets, from the top, each with the number of releases beyond it.
fn edges(all: &Counts) -> Vec<(usize, f64)> {
    let mut buckets: Vec<(usize, u64)> = all.nonzero().collect();
    buckets.reverse();
    let mut sum = 0.0;
    let beyond = |(bucket, n): &(usize, u64)| {
        sum += float(*n);
        (*bucket, sum)
    };
    buckets.iter().map(beyond).collect()
}

/// The thresholds of rare events. The first is the widest gap in the pooled tail, or without a gap the edge beyond
/// which there are about 16 events; the second is the edge beyond which there are about 64. Few events give fewer
/// thresholds.
pub(super) fn rare_edges(all: &Counts) -> Vec<usize> {
    let most = float(all.count()) * RARE;
    let tail: Vec<(usize, f64)> = edges(all).into_iter().take_while(|(_, beyond)| *beyond <= most).collect();
    let nearest = |wanted: f64| {
        let off = |(_, beyond): &(usize, f64)| (beyond / wanted).ln().abs();
        tail.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b)))
    };
    let mut found: Vec<(usize, f64)> = gap(all, &tail).or_else(|| nearest(FEW)).into_iter().collect();
    if let Some(more) = nearest(MORE) {
        let apart = |(_, beyond): &(usize, f64)| (more.1 / beyond).max(beyond / more.1) >= APART;
        if found.iter().all(apart) {
            found.push(more);
        }
    }
    found.into_iter().filter(|(_, beyond)| *beyond >= GAP_EVENTS.0).map(|(edge, _)| edge).collect()
}

/// The edge above the widest gap of the tail; `None` if no gap is wide enough to separate two kinds of events.
fn gap(all: &Counts, tail: &[(usize, f64)]) -> Option<(usize, f64)> {
    let held: Vec<usize> = all.nonzero().map(|(bucket, _)| bucket).collect();
    let width = |edge: usize| {
        let below = held.get(held.partition_point(|bucket| *bucket < edge).checked_sub(1)?)?;
        Some(float(bucket_low(edge)) / float(bucket_high(*below)).max(1.0))
    };
    let within = tail.iter().filter(|(_, beyond)| (GAP_EVENTS.0..=GAP_EVENTS.1).contains(beyond));
    let wide = within.filter_map(|(edge, beyond)| Some((width(*edge)?, (*edge, *beyond))));
    wide.filter(|(width, _)| *width >= GAP).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
}

/// The sizes of clusters: the largest latency, in nanoseconds, of each slice that has one beyond the edge. Each is the
/// middle of its bucket.
pub(super) fn peaks(arm: &Arm, edge: usize) -> Vec<f64> {
    let largest = |slice: &super::arm::CpuSlice| {
        let last = |tally: &crate::recording::Tally| tally.nonzero().last().map(|(bucket, _)| bucket);
        last(&slice.cpu.ran).max(last(&slice.cpu.skipped))
    };
    let beyond = arm.slices.iter().filter_map(largest).filter(|bucket| *bucket >= edge);
    beyond.map(|bucket| f64::midpoint(float(bucket_low(bucket)), float(bucket_high(bucket)))).collect()
}
