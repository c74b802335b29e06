//! Hundreds of timers that expire at one instant: a hard interrupt made long by nothing but the kernel's own work.

use super::{Planting, Stop, jitter};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;

/// A callback of a timer takes at least so long.
const CALLBACK_NS: u64 = 250;

/// Arms timers for the same instant, again and again, and waits for them with a sleep that ends just after.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    let timers = usize::try_from((planting.burst_ns / CALLBACK_NS).clamp(1, 900))?;
    let timers: Result<Vec<OwnedFd>> = (0..timers).map(|_| timer()).collect();
    let timers = timers?;
    let mut plants = Vec::with_capacity(1 << 16);
    let mut random = sys::now_ns() | 1;
    sys::make_real_time(Policy::Fifo(planting.priority))?;
    while !stop.asked() && plants.len() < plants.capacity() {
        // Arming them all takes about as long as they do; it is done bit by bit, so as not to be a delay of its own.
        let start_ns = sys::now_ns() + 2_000_000 + jitter(&mut random, planting.every_ns);
        for some in timers.chunks(20) {
            some.iter().try_for_each(|timer| arm(timer, start_ns))?;
            sys::sleep_until(sys::now_ns() + 50_000);
        }
        sys::sleep_until(start_ns + 1);
        plants.push(planting.plant("timerfd_tmrproc", start_ns, sys::now_ns()));
    }
    Ok(plants)
}

fn timer() -> Result<OwnedFd> {
    timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty()).context("make a timer")
}

fn arm(timer: &OwnedFd, at_ns: u64) -> Result<()> {
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: sys::timespec(at_ns) };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once).context("arm a timer")?;
    Ok(())
}
