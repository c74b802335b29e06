//! A loop of 1 kHz in Rust with one planted defect, as in `loop.c`. The second argument says in which cycles it comes: in every
//! tenth, for example. It does not use our library.

#![allow(clippy::print_stdout, reason = "printing is the planted defect")]

use rustix::thread::{
    ClockId, CpuSet, NanosleepRelativeResult, clock_nanosleep_absolute, disable_transparent_huge_pages, nanosleep,
    sched_getcpu, sched_setaffinity,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const PERIOD_NS: i64 = 1_000_000;
const BLOCK: usize = 1 << 26;
const PAGE: usize = 4096;
/// Longest time that the other thread holds the lock at once.
const HELD: Duration = Duration::from_micros(300);

#[inline(never)]
fn planted_malloc() {
    // A block this large is always mapped anew.
    let mut block: Vec<u8> = Vec::with_capacity(BLOCK);
    block.push(1);
    black_box(&block);
}

/// The memory was taken before, and was never touched.
#[inline(never)]
fn planted_fault(fresh: &mut std::slice::ChunksExactMut<'_, u8>) {
    if let Some([first, ..]) = fresh.next() {
        *first = 1;
        black_box(first);
    }
}

#[inline(never)]
fn planted_lock(lock: &Mutex<u64>) {
    if let Ok(mut held) = lock.lock() {
        *held += 1;
    }
}

#[inline(never)]
fn planted_server(mut server: &UnixStream) {
    let mut byte = [1];
    black_box(server.write_all(&byte).and_then(|()| server.read_exact(&mut byte)).is_ok());
}

#[inline(never)]
fn planted_print() {
    println!("cycle");
}

#[inline(never)]
fn planted_sleep() {
    let rest = nanosleep(&Timespec { tv_sec: 0, tv_nsec: 50_000 });
    black_box(matches!(rest, NanosleepRelativeResult::Ok));
}

#[inline(never)]
fn planted_migration() {
    let mut other = CpuSet::new();
    other.set(usize::from(sched_getcpu() == 0));
    black_box(sched_setaffinity(None, &other).is_ok());
}

/// Holds the lock for half of the time, so that the loop finds it held.
fn hold(lock: &Mutex<u64>) {
    loop {
        let held = lock.lock();
        thread::sleep(HELD);
        drop(held);
        thread::sleep(HELD);
    }
}

/// Answers what the loop asks.
fn serve(mut client: &UnixStream) {
    let mut byte = [0];
    while client.read_exact(&mut byte).and_then(|()| client.write_all(&byte)).is_ok() {}
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, every, cycles] = words.as_slice() else { return ExitCode::from(2) };
    let (Ok(every), Ok(cycles)) = (every.parse::<usize>(), cycles.parse::<usize>()) else { return ExitCode::from(2) };
    match run(kind, every, cycles) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Returns false if there is no such defect.
fn run(kind: &str, every: usize, cycles: usize) -> Result<bool> {
    let lock = Arc::new(Mutex::new(0));
    let (server, client) = UnixStream::pair()?;
    // A huge page would take the place of many small ones.
    disable_transparent_huge_pages(true)?;
    let mut memory = vec![0; if kind == "fault" { PAGE * (cycles + 1) } else { 0 }];
    let mut fresh = memory.chunks_exact_mut(PAGE);
    let mut defect: Box<dyn FnMut() + '_> = match kind {
        "clean" | "relative" | "timerfd" => Box::new(|| ()),
        "malloc" => Box::new(planted_malloc),
        "fault" => Box::new(|| planted_fault(&mut fresh)),
        "lock" => {
            let held = Arc::clone(&lock);
            thread::spawn(move || hold(&held));
            Box::new(|| planted_lock(&lock))
        }
        "server" => {
            thread::spawn(move || serve(&client));
            Box::new(|| planted_server(&server))
        }
        "printf" => Box::new(planted_print),
        "sleep" => Box::new(planted_sleep),
        "migration" => Box::new(planted_migration),
        _ => return Ok(false),
    };
    let first = period_after(clock_gettime(ClockId::Monotonic));
    let mut wait = waiting(kind, first)?;
    for cycle in 1..=cycles {
        wait()?;
        black_box((0..2_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
        if every > 0 && cycle % every == 0 {
            defect();
        }
    }
    if kind != "relative" {
        record(first)?;
    }
    Ok(true)
}

/// Writes when the first cycle was released, in nanoseconds of `CLOCK_MONOTONIC`. The others follow a millisecond apart, whatever
/// happens to the loop.
fn record(first: Timespec) -> Result<()> {
    let Some(path) = std::env::var_os("LOOP_RECORD") else { return Ok(()) };
    std::fs::write(path, format!("{}\n", first.tv_sec * 1_000_000_000 + first.tv_nsec))
}

fn period_after(mut time: Timespec) -> Timespec {
    time.tv_nsec += PERIOD_NS;
    if time.tv_nsec >= 1_000_000_000 {
        time.tv_nsec -= 1_000_000_000;
        time.tv_sec += 1;
    }
    time
}

/// What the loop waits by, from its first release on.
fn waiting(kind: &str, first: Timespec) -> Result<Box<dyn FnMut() -> Result<()>>> {
    let period = Timespec { tv_sec: 0, tv_nsec: PERIOD_NS };
    Ok(match kind {
        "relative" => Box::new(move || match nanosleep(&period) {
            NanosleepRelativeResult::Err(error) => Err(error.into()),
            NanosleepRelativeResult::Ok | NanosleepRelativeResult::Interrupted(_) => Ok(()),
        }),
        "timerfd" => {
            let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
            let spec = Itimerspec { it_interval: period, it_value: first };
            timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &spec)?;
            let mut timer = File::from(timer);
            Box::new(move || timer.read_exact(&mut [0; 8]))
        }
        _ => {
            let mut next = first;
            Box::new(move || {
                let due = next;
                next = period_after(due);
                Ok(clock_nanosleep_absolute(ClockId::Monotonic, &due)?)
            })
        }
    })
}
