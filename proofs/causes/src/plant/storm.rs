//! Hundreds of timers that expire at one instant: a hard interrupt made long by nothing but the kernel's own work.
//!
//! Who arms them ranks below the measuring thread, and so is no delay himself.

use super::{Noted, Planting, Stop, jitter, notes};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;

/// About how long the callback of a traced timer takes.
const CALLBACK_NS: u64 = 400;

/// Arms timers for the same instant, again and again, and waits for them with a sleep that ends just after.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    let timers = usize::try_from((planting.burst_ns / CALLBACK_NS).clamp(1, 900))?;
    let timers: Result<Vec<OwnedFd>> = (0..timers).map(|_| timer()).collect();
    let timers = timers?;
    let mut noted = notes();
    let mut random = sys::now_ns() | 1;
    sys::make_real_time(Policy::Fifo(1))?;
    while !stop.asked() && noted.len() < noted.capacity() {
        // Arming them all takes about as long as they do; it is done bit by bit, so as not to be a delay of its own.
        let start_ns = sys::now_ns() + 2_000_000 + jitter(&mut random, planting.every_ns);
        for some in timers.chunks(20) {
            some.iter().try_for_each(|timer| arm(timer, start_ns))?;
            sys::sleep_until(sys::now_ns() + 50_000);
        }
        sys::sleep_until(start_ns + 1);
        // We rank low: what comes later than twice the burst is not the storm.
        let end_ns = sys::now_ns().min(start_ns + 2 * planting.burst_ns);
        noted.push(Noted { start_ns, end_ns, gaps_ns: 0 });
    }
    Ok(planting.plants("timerfd_tmrproc", &noted))
}

fn timer() -> Result<OwnedFd> {
    timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty()).context("make a timer")
}

fn arm(timer: &OwnedFd, at_ns: u64) -> Result<()> {
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: sys::timespec(at_ns) };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once).context("arm a timer")?;
    Ok(())
}
