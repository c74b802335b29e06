//! Hundreds of timers that expire at the same instant. They make a hard interrupt long by the kernel's own work only.
//!
//! The thread that arms them has a lower priority than the measuring thread, so that it is no delay itself.

use super::{Noted, Planting, Stop, jitter, notes};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;

/// Approximate time of a traced timer's callback, in nanoseconds.
const CALLBACK_NS: u64 = 400;

/// Arms timers for the same instant again and again. Each time, it waits for them with a sleep that ends just after
/// that instant.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    let timers = usize::try_from((planting.burst_ns / CALLBACK_NS).clamp(1, 900))?;
    let timers: Result<Vec<OwnedFd>> = (0..timers).map(|_| timer()).collect();
    let timers = timers?;
    let mut noted = notes();
    let mut random = sys::now_ns() | 1;
    sys::make_real_time(Policy::Fifo(1))?;
    while !stop.asked() && noted.len() < noted.capacity() {
        // Arming all timers takes about as long as their expiry. It is done in small steps, so that it is no delay of
        // its own.
        let start_ns = sys::now_ns() + 2_000_000 + jitter(&mut random, planting.every_ns);
        for some in timers.chunks(20) {
            some.iter().try_for_each(|timer| arm(timer, start_ns))?;
            sys::sleep_until(sys::now_ns() + 50_000);
        }
        sys::sleep_until(start_ns + 1);
        // This thread has a low priority and may wake late. The storm itself takes at most twice the burst.
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
