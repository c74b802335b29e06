//! A loop that measures, and an ordinary thread that evaluates: three ways to pass data out of a loop without waiting.
//!
//!     cargo run --release -p punctual-rt --example producer_consumer [SECONDS] [TRACE-FILE]
//!
//! A queue carries every value, a cell the newest value, and a log what happened. With a file name, the log becomes a
//! trace that <https://ui.perfetto.dev> displays.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use punctual_rt::log::{Drain, LogWriter};
use punctual_rt::stats::Report;
use punctual_rt::{
    Control, Cycle, LatestWriter, Memory, Nanos, Policy, Require, Sender, Task, TaskConfig, latest, rt_log, spsc,
};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;

/// One measurement of the loop.
#[derive(Clone, Copy)]
struct Sample {
    index: u64,
    angle: i64,
}

/// The loop's ends of the queue, the cell and the log.
struct Producer {
    every: Sender<Sample>,
    newest: LatestWriter<Sample>,
    log: LogWriter,
    left: u64,
}

impl Producer {
    /// One cycle: allocates nothing, locks nothing, waits for nobody.
    fn cycle(&mut self, cycle: &Cycle<'_>) -> Control {
        let Self { every, newest, log, left } = self;
        let sample = log.span("measure", |_| Sample { index: cycle.wake.index, angle: angle(cycle.wake.index) });
        if every.push(sample).is_err() {
            rt_log!(log, "the consumer is behind: sample {} is lost", sample.index);
        }
        newest.write(sample);
        log.counter("latency", cycle.wake.latency());
        if cycle.wake.missed > 0 {
            rt_log!(log, "{} releases missed after {}", cycle.wake.missed, cycle.wake.index);
        }
        *left = left.saturating_sub(cycle.wake.missed.saturating_add(1));
        if *left == 0 { Control::Stop } else { Control::Continue }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let seconds: u64 = words.next().map_or(Ok(1), |word| word.parse())?;
    let mut drain = Drain::new();
    if let Some(path) = words.next() {
        let file = File::create(&path).map_err(|error| format!("create {path}: {error}"))?;
        drain = drain.trace(BufWriter::new(file));
    }
    let (every, mut samples) = spsc(1_024);
    let (newest, mut gauge) = latest(Sample { index: 0, angle: 0 });
    let log = drain.writer("producer", 8_192);
    let drain = drain.start(Nanos::from_ms(50))?;

    let config = TaskConfig::periodic(Nanos::from_ms(1))
        .named("producer")
        .policy(Policy::Fifo(85))
        .memory(Memory::Lock { stack_bytes: 128 * 1024, heap_bytes: 0 })
        .require(Require::BestEffort);
    let mut producer = Producer { every, newest, log, left: seconds.saturating_mul(1_000) };
    let task = Task::spawn(&config, move |cycle| producer.cycle(cycle))?;
    for refused in task.refusals() {
        println!("refused: {refused}");
    }

    let (mut received, mut sum, mut former) = (0u64, 0i64, None);
    loop {
        // The order matters: values sent before the end are still received after it is noticed.
        let ended = samples.is_abandoned();
        while let Some(sample) = samples.pop() {
            if former.is_some_and(|former| former >= sample.index) {
                return Err("a sample came twice, or out of order".into());
            }
            (received, sum, former) = (received + 1, sum + sample.angle, Some(sample.index));
        }
        if ended {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let newest = gauge.read().value;
    let stats = task.stats().clone();
    task.join();
    let logged = drain.stop()?;
    let mean = sum / i64::try_from(received.max(1))?;
    println!("{received} samples received, {} refused, mean angle {mean} mdeg", samples.refused());
    println!("newest sample {}: {} mdeg", newest.index, newest.angle);
    println!("{} log records, {} lost", logged.records, logged.lost);
    let snapshot = stats.snapshot();
    print!("{}", Report::new(&snapshot));
    if received + samples.refused() != snapshot.counters.activations {
        return Err("samples are missing".into());
    }
    Ok(())
}

/// Angle of a wheel that turns once a second, in thousandths of a degree.
fn angle(index: u64) -> i64 {
    i64::try_from(index % 1_000).unwrap_or(0) * 360
}
