//! Measures what the statistics cost a loop, and whether a thread that reads them all the time changes this. Run with
//! `cargo bench -p punctual-rt --bench stats`.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

use punctual_hist::Histogram;
use punctual_rt::{Class, MonoTime, Nanos, Stats, StatsConfig, StatsReader, StatsWriter, Wake, kernel, now};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const PERIOD: Nanos = Nanos::from_ms(1);
const ROUNDS: usize = 5;

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    println!("histogram record: {:.2} ns (limit 5)", record_ns());
    println!("both calls of a cycle, in a row: {:.1} ns", both_calls_ns());
    let mut alone = Vec::new();
    println!("snapshot by a reader: {:.0} us", snapshot_ns() / 1e3);
    let (mut watched, mut warmed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(after_sleeps(false, false));
        warmed.push(after_sleeps(false, true));
        watched.push(after_sleeps(true, false));
    }
    println!(
        "both calls of a cycle, after a real sleep of 1 ms, medians of {ROUNDS} alternating rounds of 2000 cycles:"
    );
    println!("  nobody reads:              {}", words(alone));
    println!("  nobody reads, warm() first: {}", words(warmed));
    println!("  snapshots without a pause: {}", words(watched));
}

/// Nanoseconds per call: the median over batches, because other programs use this CPU as well.
fn each_ns(batches: usize, batch: u32, mut one: impl FnMut()) -> f64 {
    let mut times: Vec<Nanos> = (0..batches)
        .map(|_| {
            let started = now();
            (0..batch).for_each(|_| one());
            now() - started
        })
        .collect();
    times.sort_unstable();
    times[batches / 2].as_secs_f64() * 1e9 / f64::from(batch)
}

fn record_ns() -> f64 {
    let (mut writer, reader) = Histogram::new();
    let mut state = 1u64;
    let ns = each_ns(2_000, 10_000, || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writer.record(black_box(Nanos::from_ns(8_000 + (state >> 48))));
    });
    assert_eq!(reader.snapshot().count(), 20_000_000);
    ns
}

/// A loop with random latencies between 8 and 72 us.
struct Loop {
    writer: StatsWriter,
    state: u64,
    index: u64,
}

impl Loop {
    fn new() -> (Self, StatsReader) {
        let budget = Some(Nanos::from_us(50));
        let config = StatsConfig { budget, deadline: budget, ..StatsConfig::new("bench", PERIOD) };
        let (writer, reader) = Stats::create(&config).expect("a page");
        (Self { writer, state: 1, index: 0 }, reader)
    }

    fn wake(&mut self) -> Wake {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let late = Nanos::from_ns(8_000 + (self.state >> 48));
        let release = MonoTime::from_ns(1_000_000_000) + PERIOD * self.index;
        let index = self.index;
        self.index += 1;
        let woke = release + late;
        let (overshoot, polled) = (Some(late), Nanos::from_ns(self.state >> 50));
        Wake { index, release, woke, interval: PERIOD, missed: 0, class: Class::LateFromSleep, overshoot, polled }
    }

    fn both(&mut self, wake: &Wake) {
        self.writer.woke(black_box(wake));
        self.writer.finished(black_box(wake.woke + Nanos::from_us(20)));
    }
}

fn both_calls_ns() -> f64 {
    let (mut cyclic, reader) = Loop::new();
    let ns = each_ns(5_000, 1_000, || {
        let wake = cyclic.wake();
        cyclic.both(&wake);
    });
    assert_eq!(reader.snapshot().counters.activations, 5_000_000);
    ns
}

fn snapshot_ns() -> f64 {
    let (mut cyclic, reader) = Loop::new();
    for _ in 0..5_000 {
        let wake = cyclic.wake();
        cyclic.both(&wake);
    }
    each_ns(500, 1, || drop(black_box(reader.snapshot())))
}

/// Median and 99th percentile of both calls after a sleep, which leaves the caches cold, without the time of reading
/// the clock.
fn after_sleeps(watched: bool, warmed: bool) -> (Nanos, Nanos) {
    let (mut cyclic, reader) = Loop::new();
    let stop = Arc::new(AtomicBool::new(!watched));
    let stopped = Arc::clone(&stop);
    let reading = std::thread::spawn(move || {
        while !stopped.load(Relaxed) {
            black_box(reader.snapshot());
        }
    });
    let mut costs: Vec<Nanos> = Vec::with_capacity(2_000);
    for _ in 0..costs.capacity() {
        kernel::sleep_for(PERIOD);
        let wake = cyclic.wake();
        if warmed {
            cyclic.writer.warm();
        }
        let started = now();
        cyclic.both(&wake);
        costs.push(now() - started - Nanos::from_ns(25));
    }
    stop.store(true, Relaxed);
    reading.join().expect("a reader");
    costs.sort_unstable();
    (costs[costs.len() / 2], costs[costs.len() * 99 / 100])
}

fn words(mut rounds: Vec<(Nanos, Nanos)>) -> String {
    rounds.sort_unstable();
    let median = rounds[ROUNDS / 2].0;
    rounds.sort_unstable_by_key(|round| round.1);
    format!("median {} ns, p99 {} ns", median.as_ns(), rounds[ROUNDS / 2].1.as_ns())
}
