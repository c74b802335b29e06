//! A task that runs every millisecond and then prints its statistics. Start from this example.
//!
//!     cargo run --release -p punctual-rt --example hello_periodic [SECONDS [linux|evl|cobalt]]
//!
//! A real-time core (EVL, Cobalt) paces the task if the kernel has one. The second word chooses one, or Linux.
//!
//! It runs as any user. Whatever the system refuses is printed, and makes wake-ups less punctual.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use punctual_rt::stats::Report;
use punctual_rt::{Backend, Control, Ended, Memory, Nanos, Policy, Require, Task, TaskConfig};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    match error.downcast_ref::<punctual_rt::Error>() {
        Some(refused) => eprintln!("hello_periodic: {refused}; {}", refused.remedy()),
        None => eprintln!("hello_periodic: {error}"),
    }
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(1), |word| word.parse())?;
    let config = TaskConfig::periodic(Nanos::from_ms(1))
        .named("hello")
        .policy(Policy::Fifo(85))
        .memory(Memory::Lock { stack_bytes: 128 * 1024, heap_bytes: 0 })
        .require(Require::BestEffort);
    let config = match std::env::args().nth(2) {
        Some(word) => config.backend(word.parse::<Backend>()?),
        None => config,
    };
    print!("{}", config.check());
    let mut left = seconds.saturating_mul(1_000);
    let task = Task::spawn(&config, move |cycle| {
        // The work of a cycle: read inputs, compute, write outputs.
        left = left.saturating_sub(cycle.wake.missed.saturating_add(1));
        if left == 0 { Control::Stop } else { Control::Continue }
    })?;
    for refused in task.refusals() {
        println!("refused: {refused}");
    }
    let stats = task.stats().clone();
    let ended = task.join();
    if ended != Ended::Stopped {
        println!("ended early: {ended:?}");
    }
    print!("{}", Report::new(&stats.snapshot()));
    Ok(())
}
