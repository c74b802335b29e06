//! A task that runs every millisecond and then prints its statistics. Start from this example.
//!
//!     cargo run --release -p punctual-rt --example hello_periodic [SECONDS]
//!
//! It runs as any user. Whatever the system refuses is printed, and makes wake-ups less punctual.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use punctual_rt::stats::Report;
use punctual_rt::{Control, Memory, Nanos, Policy, Require, Task, TaskConfig};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(1), |word| word.parse())?;
    let config = TaskConfig::periodic(Nanos::from_ms(1))
        .named("hello")
        .policy(Policy::Fifo(85))
        .memory(Memory::Lock { stack_bytes: 128 * 1024, heap_bytes: 0 })
        .require(Require::BestEffort);
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
    task.join();
    print!("{}", Report::new(&stats.snapshot()));
    Ok(())
}
