//! Many timers that expire all the time.

use super::worker::{Load, Worker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::io;

pub(super) const LOAD: Load = Load {
    name: "timers",
    stresses: "High-resolution timers: 32 on each CPU that expire every millisecond, each at its own moment.",
    unit: "expirations",
    needs_dir: false,
    run,
};

const TIMERS: i64 = 32;
const PERIOD_NS: i64 = 1_000_000;

fn run(worker: &Worker) -> io::Result<()> {
    let mut timers = Vec::new();
    for number in 0..TIMERS {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let first = PERIOD_NS + number * PERIOD_NS / TIMERS;
        let expiry = Itimerspec { it_interval: after(PERIOD_NS), it_value: after(first) };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &expiry)?;
        timers.push(timer);
    }
    let mut ends: Vec<PollFd<'_>> = timers.iter().map(|timer| PollFd::new(timer, PollFlags::IN)).collect();
    worker.begun();
    while worker.wanted() {
        poll(&mut ends, Some(&after(100_000_000))).or_else(interrupted)?;
        for end in ends.iter().filter(|end| !end.revents().is_empty()) {
            let mut expired = [0_u8; 8];
            if rustix::io::read(end, &mut expired).is_ok() {
                worker.count(u64::from_ne_bytes(expired));
            }
        }
    }
    Ok(())
}

fn after(nanoseconds: i64) -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: nanoseconds }
}

fn interrupted(error: rustix::io::Errno) -> io::Result<usize> {
    if error == rustix::io::Errno::INTR { Ok(0) } else { Err(error.into()) }
}
