//! When a thread was released and when it ran, for those who look for what made it late.

use super::cycles::cycles;
use super::pacing::{pacing, woken};
use super::record::{Call, Offsets, Record, Seen};
use super::steps::steps;
use crate::trace::Tid;
use punctual_hist::{MonoTime, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// A release of a thread, and its return from the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    pub release: MonoTime,
    pub woke: MonoTime,
    /// The CPU on which the thread returned.
    pub cpu: u32,
}

impl WakeUp {
    pub fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }
}

/// The wake-ups of a thread, from its records in order of time; none unless a timer paces it, or others do and it
/// `is_real_time`. The last one is missing: its cycle had not ended.
pub fn wake_ups(records: &[&Record], tid: Tid, is_real_time: bool, calls: &[Call], offsets: &Offsets) -> Vec<WakeUp> {
    let steps = steps(records, tid);
    let by_others = || woken(&steps, calls).filter(|_| is_real_time);
    let Some(pacing) = pacing(&steps, calls).or_else(by_others) else { return Vec::new() };
    let cycles = cycles(&steps, pacing, calls, offsets);
    let wake_up = |cycle: &super::Cycle| {
        let (release, woke) = (cycle.release?, cycle.woke);
        let before = records.get(..records.partition_point(|record| record.at <= woke))?;
        let cpu = before.iter().rev().find(|record| record.tid == tid)?.cpu;
        Some(WakeUp { release, woke, cpu })
    };
    cycles.iter().filter_map(wake_up).collect()
}

/// The records of each thread: its own, those about its waking and running, and all losses.
pub fn by_thread<'a>(
    tids: impl IntoIterator<Item = Tid>,
    records: impl IntoIterator<Item = &'a Record>,
) -> BTreeMap<Tid, Vec<&'a Record>> {
    let mut by_thread: BTreeMap<Tid, Vec<&Record>> = tids.into_iter().map(|tid| (tid, Vec::new())).collect();
    for record in records {
        if record.seen == Seen::Lost {
            for records in by_thread.values_mut() {
                records.push(record);
            }
            continue;
        }
        let about: BTreeSet<Tid> = match record.seen {
            Seen::Switch { prev, next, .. } => [prev, next].into(),
            Seen::Waking { tid } => [tid].into(),
            _ => [record.tid].into(),
        };
        for tid in about {
            by_thread.entry(tid).and_modify(|records| records.push(record));
        }
    }
    by_thread
}
