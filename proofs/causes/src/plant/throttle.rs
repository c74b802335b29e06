//! Real-time throttling: the share of time that real-time threads may have is lowered, and a thread of the lowest
//! real-time priority uses it up.
//!
//! The share is put back when this ends. Kernels since 6.12 throttle only where real-time group scheduling is built in.

use super::thread::rename;
use super::{Planting, Stop};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};
use std::fmt::Display;

const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
/// A tenth of the time, by periods short enough that nobody is kept waiting for long: halved so often.
const HALVED: u32 = 4;
const SHARE: u64 = 10;
/// A gap in the thread's own time that is longer than this was no interrupt and no measuring thread.
const GAP_NS: u64 = 500_000;
/// It runs 30 % of the time, which is more than it may.
const BURST_NS: u64 = 1_500_000;
const EVERY_NS: u64 = 5_000_000;

/// Throttles again and again. A plant is a gap in the time of the thread that uses it up.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    rename(&planting.name)?;
    let mut plants = Vec::with_capacity(1 << 16);
    let _share = Share::lower()?;
    sys::make_real_time(Policy::Fifo(1))?;
    let mut due = sys::now_ns() + EVERY_NS;
    while !stop.asked() && plants.len() < plants.capacity() {
        sys::sleep_until(due);
        // Woken late, or not running while it wanted to: both are gaps.
        let mut last = due;
        let mut ran = 0;
        while ran < BURST_NS && plants.len() < plants.capacity() {
            let now = sys::now_ns();
            let gap = now.saturating_sub(last);
            if gap > GAP_NS {
                plants.push(planting.plant("-", last, now));
            } else {
                ran += gap;
            }
            last = now;
        }
        due = last + EVERY_NS - BURST_NS;
    }
    Ok(plants)
}

/// The share as it was, to be put back.
struct Share {
    period_us: u64,
    runtime: String,
}

impl Share {
    /// The share must fit into the period and leave room for what is promised to others, after each single write.
    fn lower() -> Result<Self> {
        let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("read {path}"));
        let before = Self {
            period_us: read(PERIOD)?.trim().parse().with_context(|| format!("understand {PERIOD}"))?,
            runtime: read(RUNTIME)?.trim().to_owned(),
        };
        let mut period_us = before.period_us;
        for _ in 0..HALVED {
            period_us /= 2;
            write(RUNTIME, period_us)?;
            write(PERIOD, period_us)?;
        }
        write(RUNTIME, period_us / SHARE)?;
        Ok(before)
    }

    fn put_back(&self) -> Result<()> {
        if std::fs::read_to_string(PERIOD).is_ok_and(|period| period.trim() == self.period_us.to_string()) {
            return write(RUNTIME, &self.runtime);
        }
        for halved in (0..HALVED).rev() {
            let period_us = self.period_us >> halved;
            write(RUNTIME, period_us / 2)?;
            write(PERIOD, period_us)?;
        }
        write(RUNTIME, &self.runtime)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            eprintln!("causes: {error:#}; it was {} of {} us", self.runtime, self.period_us);
        }
    }
}

fn write(path: &str, value: impl Display) -> Result<()> {
    std::fs::write(path, value.to_string()).with_context(|| format!("write {value} to {path}"))
}
