//! A loop of 1 kHz in Rust with one planted defect: `clean`, `malloc`, `printf` or `sleep`. The second argument says in
//! which cycles it comes: in every tenth, for example. It does not use our library.

#![allow(clippy::print_stdout, reason = "printing is the planted defect")]

use rustix::thread::{ClockId, NanosleepRelativeResult, clock_nanosleep_absolute, nanosleep};
use rustix::time::{Timespec, clock_gettime};
use std::hint::black_box;
use std::process::ExitCode;

const PERIOD_NS: i64 = 1_000_000;
const BLOCK: usize = 1 << 26;

#[inline(never)]
fn planted_malloc() {
    // A block this large is always mapped anew.
    let mut block: Vec<u8> = Vec::with_capacity(BLOCK);
    block.push(1);
    black_box(&block);
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

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, every, cycles] = words.as_slice() else { return ExitCode::from(2) };
    let (Ok(every), Ok(cycles)) = (every.parse::<u64>(), cycles.parse::<u64>()) else { return ExitCode::from(2) };
    let defect: fn() = match kind.as_str() {
        "clean" => || (),
        "malloc" => planted_malloc,
        "printf" => planted_print,
        "sleep" => planted_sleep,
        _ => return ExitCode::from(2),
    };
    let mut next = clock_gettime(ClockId::Monotonic);
    for cycle in 0..cycles {
        next.tv_nsec += PERIOD_NS;
        if next.tv_nsec >= 1_000_000_000 {
            next.tv_nsec -= 1_000_000_000;
            next.tv_sec += 1;
        }
        if clock_nanosleep_absolute(ClockId::Monotonic, &next).is_err() {
            return ExitCode::FAILURE;
        }
        black_box((0..2_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
        if every > 0 && cycle % every == every - 1 {
            defect();
        }
    }
    ExitCode::SUCCESS
}
