//! Throttling of real-time threads: their share of CPU time is lowered, and a thread of the lowest real-time priority
//! uses it up.
//!
//! The share is restored at the end. Kernels since 6.12 throttle only if they are built with real-time group
//! scheduling. Without it, they have a server for ordinary threads, which has the same effect on real-time threads.

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
/// Real-time threads get two fifths of the time (`SHARE`). The period is halved `HALVED` times, so that no thread waits
/// for long. The setting holds for every CPU; the threads that serve timers are real-time threads too, and need less
/// than this share elsewhere.
const HALVED: u32 = 5;
const SHARE: (u64, u64) = (2, 5);
/// Length of a gap that throttling causes: three fifths of a period of 31.25 ms, less the time that other threads used.
/// A shorter or longer gap has another cause, such as a turn of another CPU in an emulator.
const THROTTLED_NS: RangeInclusive<u64> = 5_000_000..=20_000_000;
/// A longer gap in the thread's running time is neither an interrupt nor the measuring thread.
const GAP_NS: u64 = 500_000;
/// The thread runs nearly all the time, because throttling that begins while it sleeps would not be noticed.
const BURST_NS: u64 = 5_000_000;
/// Sleep between two bursts. It is needed because the run time of a real-time thread without sleeping is limited.
pub const NAP_NS: u64 = 200_000;

/// Throttles again and again. A plant is a gap in the running time of the thread that uses up the share.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    rename(&planting.name)?;
    let _share = Share::lower()?;
    sys::make_real_time(Policy::Fifo(1))?;
    let mut noted = gaps(BURST_NS, BURST_NS + NAP_NS, None, stop);
    noted.retain(|noted| THROTTLED_NS.contains(&(noted.end_ns - noted.start_ns)));
    Ok(planting.plants("-", &noted))
}

/// Runs for `burst_ns` of each `every_ns` until asked to stop, and returns the gaps in which it wanted to run and did
/// not. With `turn_ns`, it gives the spin hint in this interval: an emulator that runs its CPUs in turn would otherwise
/// not run the other CPUs.
pub fn gaps(burst_ns: u64, every_ns: u64, turn_ns: Option<u64>, stop: &Stop) -> Vec<Noted> {
    let mut noted = notes();
    let mut turned = 0;
    let mut due = sys::now_ns() + every_ns;
    while !stop.asked() && noted.len() < noted.capacity() {
        sys::sleep_until(due);
        // Waking late and being interrupted both count as gaps.
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

/// The original share, to be restored.
struct Share {
    period_us: u64,
    runtime: String,
}

impl Share {
    /// Lowers the share. After each single write, the share must fit into the period and leave room for what the kernel
    /// has promised to other threads.
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
