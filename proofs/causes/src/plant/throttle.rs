//! Real-time throttling: the share of time that real-time threads may have is lowered, and a thread of the lowest
//! real-time priority uses it up.
//!
//! The share is put back when this ends. Kernels since 6.12 throttle only where real-time group scheduling is built in;
//! they have a server for ordinary threads, which does the same to real-time ones.

use super::thread::rename;
use super::{Noted, Planting, Stop, notes};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};
use std::fmt::Display;
use std::hint;
use std::ops::RangeInclusive;

const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
/// Real-time threads get two fifths of the time, in periods that are halved `HALVED` times, so that no thread waits for
/// long. This holds for every CPU; threads that serve timers are real-time ones, and need less than this elsewhere.
const HALVED: u32 = 5;
const SHARE: (u64, u64) = (2, 5);
/// Throttling takes three fifths of 31.25 ms, less what others took of it. A gap far from that was something else, as an
/// emulator that gave another CPU its turn, or has such a turn in it.
const THROTTLED_NS: RangeInclusive<u64> = 5_000_000..=20_000_000;
/// A gap in the thread's own time that is longer than this was no interrupt and no measuring thread.
const GAP_NS: u64 = 500_000;
/// It wants to run nearly always: throttling that begins while it sleeps would not be seen.
const BURST_NS: u64 = 5_000_000;
/// Sleep between two bursts: a limit holds for the time that a real-time thread may run without sleeping.
pub const NAP_NS: u64 = 200_000;

/// Throttles again and again. A plant is a gap in the time of the thread that uses it up.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    rename(&planting.name)?;
    let _share = Share::lower()?;
    sys::make_real_time(Policy::Fifo(1))?;
    let mut noted = gaps(BURST_NS, BURST_NS + NAP_NS, None, stop);
    noted.retain(|noted| THROTTLED_NS.contains(&(noted.end_ns - noted.start_ns)));
    Ok(planting.plants("-", &noted))
}

/// Runs for `burst_ns` of each `every_ns` until told to stop, and notes when it wanted to run and did not. With `turn_ns` it
/// says in these intervals that it spins: an emulator that runs its CPUs in turns gives other CPUs none while this runs.
pub fn gaps(burst_ns: u64, every_ns: u64, turn_ns: Option<u64>, stop: &Stop) -> Vec<Noted> {
    let mut noted = notes();
    let mut turned = 0;
    let mut due = sys::now_ns() + every_ns;
    while !stop.asked() && noted.len() < noted.capacity() {
        sys::sleep_until(due);
        // Woken late, or not running while it wanted to: both are gaps.
        let mut last = due;
        let mut ran = 0;
        while ran < burst_ns && noted.len() < noted.capacity() {
            let now = sys::now_ns();
            let gap = now.saturating_sub(last);
            if gap > GAP_NS {
                noted.push(Noted { start_ns: last, end_ns: now, gaps_ns: 0 });
            } else {
                ran += gap;
            }
            last = now;
            if turn_ns.is_some_and(|turn_ns| now >= turned + turn_ns) {
                hint::spin_loop();
                turned = now;
            }
        }
        due = last + every_ns - burst_ns;
    }
    noted
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
        write(RUNTIME, period_us * SHARE.0 / SHARE.1)?;
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
