//! Writes the recording of a run of 211 hours at 100 us on 8 CPUs, reads it back and reports on it. Shows the size of
//! the file, whether the writer's memory stays constant, and how long the report takes.
//!
//! The run is simulated interval by interval: bucket counts are drawn from their distribution, not sample by sample.
//! The distribution is that of a published run of 211 hours (Xenomai 3.1, user task, 100 us), varied slightly by CPU
//! and hour. Without `--bench` (as `cargo test --all-targets` runs it) only the first hours are written.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a simulation draws counts from real numbers"
)]

use punctual_hist::{Activation, BUCKETS, MonoTime, Nanos, SplitMix, WORST_K, bucket_high, bucket_index, bucket_low};
use punctual_linux::recording::{RecordingError, RecordingWriter, read_file};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::schedule::{BLOCK, interval_length};
use punctual_numbers::recording::{
    Clock, Counters, CpuInterval, End, EndReason, Frame, Header, Interval, Mark, MarkKind, RecTime, Worst,
};
use punctual_numbers::report::Report;
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const CPUS: u32 = 8;
const PERIOD: Nanos = Nanos::from_us(100);
const FILE_LIMIT: u64 = 64 << 20;
const REPORT_LIMIT: Duration = Duration::from_secs(2);
/// Largest accepted growth of the writer's memory after the first hour.
const GROWTH_LIMIT_KIB: u64 = 512;

/// Number of samples that the run published for each microsecond of latency; the first entry begins at 0.5 us.
const PUBLISHED: [f64; 24] = [
    1_599_357_037.0,
    1_621_130_106.0,
    56_618_753.0,
    4_386_985.0,
    3_848_531.0,
    3_556_704.0,
    3_353_649.0,
    3_033_218.0,
    2_560_133.0,
    2_035_075.0,
    1_516_866.0,
    1_038_989.0,
    680_815.0,
    417_124.0,
    224_296.0,
    115_165.0,
    58_075.0,
    27_669.0,
    11_648.0,
    4_648.0,
    1_646.0,
    467.0,
    38.0,
    1.0,
];
const SHORTEST_NS: f64 = 343.0;

fn main() -> ExitCode {
    let whole = std::env::args().any(|argument| argument == "--bench");
    let length = Nanos::from_secs(if whole { 211 * 3600 } else { 3 * 3600 });
    match run(length) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            println!("a limit is not met");
            ExitCode::from(2)
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(length: Nanos) -> Result<bool, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("long.punctual");
    let before = peak_kib()?;
    let (samples, growth) = write(&path, length)?;
    let size = std::fs::metadata(&path)?.len();
    println!("{:.0} h, {samples} activations", length.as_secs_f64() / 3600.0);
    println!("file: {:.1} MiB (limit {} MiB)", mib(size), FILE_LIMIT >> 20);
    println!("writer: process peaks at {} KiB ({before} before); {growth} more than after an hour", peak_kib()?);

    let started = Instant::now();
    let recording = read_file(&path)?;
    let read = started.elapsed();
    let report = Report::of(&recording);
    let total = started.elapsed();
    println!("read {read:.2?}, report in all {total:.2?} (limit {REPORT_LIMIT:.0?}); peak {} KiB", peak_kib()?);
    let ran: u64 = report.cpus.iter().map(|cpu| cpu.row.ran).sum();
    println!("{ran} activations in the report, {} points of time line", report.timeline.len());
    let fast = total <= REPORT_LIMIT || cfg!(debug_assertions);
    Ok(ran == samples && size <= FILE_LIMIT && growth <= GROWTH_LIMIT_KIB && fast)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Writes the recording. Returns the number of activations, and the growth of the writer's memory after the first hour.
fn write(path: &std::path::Path, length: Nanos) -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let mut writer = RecordingWriter::create(path)?;
    writer.append(&Frame::Header(Box::new(header(length))))?;
    writer.append(&Frame::Mark(Mark { at: RecTime::EPOCH, kind: MarkKind::PhaseStart(0) }))?;
    let mut threads: Vec<Thread> = (0..CPUS).map(Thread::new).collect();
    let (mut at, mut samples, mut after_an_hour) = (Nanos::ZERO, 0, None);
    while at < length {
        let step = interval_length(at);
        let cpus: Vec<CpuInterval> = threads.iter_mut().map(|thread| thread.interval(at, step)).collect();
        samples += cpus.iter().flat_map(|cpu| &cpu.ran).map(|(_, n)| n).sum::<u64>();
        writer.append(&Frame::Interval(Interval { start: RecTime::after_epoch(at), length: step, phase: 0, cpus }))?;
        append_worst(&mut writer, &mut threads)?;
        at = at.plus(step);
        if at >= Nanos::from_secs(3600) && after_an_hour.is_none() {
            after_an_hour = Some(peak_kib()?);
        }
    }
    writer.append(&Frame::Mark(Mark { at: RecTime::after_epoch(at), kind: MarkKind::PhaseEnd(0) }))?;
    writer.append(&Frame::End(End {
        at: RecTime::after_epoch(at),
        reason: EndReason::Completed,
        write_error: None,
    }))?;
    writer.finish()?;
    Ok((samples, peak_kib()?.saturating_sub(after_an_hour.unwrap_or_default())))
}

fn append_worst(writer: &mut RecordingWriter, threads: &mut [Thread]) -> Result<(), RecordingError> {
    let changed =
        threads.iter_mut().filter_map(|thread| std::mem::take(&mut thread.worst_changed).then_some(&thread.worst));
    let worst: Vec<Worst> = changed.flatten().copied().collect();
    if worst.is_empty() { Ok(()) } else { writer.append(&Frame::Worst(worst)) }
}

/// Largest resident set of this process so far, in KiB.
fn peak_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

fn header(length: Nanos) -> Header {
    let text = |t: &str| t.to_owned();
    Header {
        tool_version: text("simulated"),
        started_unix_ns: 1_700_000_000_000_000_000,
        epoch: MonoTime::from_ns(EPOCH_NS),
        scenario: Scenario {
            threads: (0..CPUS).map(|cpu| ProbeThread { cpu, period: PERIOD }).collect(),
            policy: Policy::Fifo(90),
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(0),
            length: Amount::Time(length),
            budget: Some(Nanos::from_us(50)),
            limit: None,
            dma_latency_us: None,
            load_phases: vec![LoadPhase { loads: vec![text("cpu")], parts: 1 }],
            load_cpus: None,
            suite: None,
        },
        machine: vec![("machine", "none: simulated").into()],
        placement: Placement::default(),
        clock: Clock::default(),
        checkpoint: interval_length(Nanos::ZERO),
    }
}

const EPOCH_NS: u64 = 86_400_000_000_000;

/// One simulated measuring thread.
struct Thread {
    cpu: u32,
    random: SplitMix,
    /// Probability of each bucket in the current hour.
    shape: Vec<(u16, f64)>,
    shaped_for: Option<u64>,
    min: Nanos,
    max: Nanos,
    worst: Vec<Worst>,
    worst_changed: bool,
}

impl Thread {
    fn new(cpu: u32) -> Self {
        let random = SplitMix::new(0x5EED + u64::from(cpu));
        let (shape, worst) = (Vec::new(), Vec::new());
        Self { cpu, random, shape, shaped_for: None, min: Nanos::MAX, max: Nanos::ZERO, worst, worst_changed: false }
    }

    fn interval(&mut self, at: Nanos, length: Nanos) -> CpuInterval {
        let hour = at.whole(Nanos::from_secs(3600));
        if self.shaped_for != Some(hour) {
            self.shape = shape(0.9 + 0.2 * self.random.unit());
            self.shaped_for = Some(hour);
        }
        let due = length.whole(PERIOD);
        let first = u32::try_from(at.whole(BLOCK)).unwrap_or(u32::MAX);
        let seconds = u32::try_from(length.whole(BLOCK)).unwrap_or(u32::MAX);
        let block_max: Vec<(u32, Nanos)> = (first..first + seconds).map(|s| (s, self.block_max())).collect();
        let max = block_max.iter().map(|(_, max)| *max).max().unwrap_or_default();
        let ran = self.buckets(due, max);
        let middle = |b: u16| u64::midpoint(bucket_low(usize::from(b)), bucket_high(usize::from(b)));
        let sum = ran.iter().map(|(bucket, n)| middle(*bucket) * n).sum();
        let low = ran.first().map_or(u64::MAX, |(bucket, _)| bucket_low(usize::from(*bucket)));
        (self.min, self.max) = (self.min.min(Nanos::from_ns(low)), self.max.max(max));
        for (second, max) in &block_max {
            self.offer(*second, *max);
        }
        CpuInterval {
            cpu: self.cpu,
            ran,
            ran_sum: Nanos::from_ns(sum),
            ran_min: Some(self.min),
            ran_max: Some(self.max),
            longest_gap: PERIOD.plus(max),
            block_max,
            counters: Counters {
                voluntary_switches: due,
                involuntary_switches: u64::from(self.random.unit() < 0.01),
                ..Counters::default()
            },
            ..CpuInterval::default()
        }
    }

    /// Draws bucket counts with a Poisson distribution. No bucket lies above that of `max`, which has at least one
    /// value.
    fn buckets(&mut self, due: u64, max: Nanos) -> Vec<(u16, u64)> {
        let top = bucket_index(max.as_ns());
        let random = &mut self.random;
        let below = self.shape.iter().filter(|(bucket, _)| usize::from(*bucket) <= top);
        let drawn = below.map(|(bucket, share)| {
            let at_least = u64::from(usize::from(*bucket) == top);
            (*bucket, poisson(random, *share * due as f64).max(at_least))
        });
        drawn.filter(|(_, n)| *n > 0).collect()
    }

    /// Draws the largest of a second's samples: the value whose probability of not being exceeded is `u^(1/n)`.
    fn block_max(&mut self) -> Nanos {
        let n = BLOCK.whole(PERIOD) as f64;
        let above = -self.random.unit().ln() / n;
        let mut left = 0.0;
        let found = self.shape.iter().rev().find(|(_, share)| {
            left += share;
            left >= above
        });
        let bucket = usize::from(found.map_or(0, |(bucket, _)| *bucket));
        let width = bucket_high(bucket) - bucket_low(bucket) + 1;
        Nanos::from_ns(bucket_low(bucket) + self.random.bits() % width)
    }

    fn offer(&mut self, second: u32, latency: Nanos) {
        let least = self.worst.last().map(|w| w.activation.latency());
        if self.worst.len() >= WORST_K && least.is_some_and(|least| least >= latency) {
            return;
        }
        let release = MonoTime::from_ns(EPOCH_NS).plus(BLOCK.times(u64::from(second))).plus(PERIOD.times(777));
        let activation = Activation {
            release,
            woke: release.plus(latency),
            index: u64::from(second) * 10_000 + 777,
            cpu: self.cpu,
            counted_over: Nanos::from_ms(60_000),
            ..Activation::default()
        };
        self.worst.push(Worst { cpu: self.cpu, activation });
        self.worst.sort_by_key(|w| std::cmp::Reverse(w.activation.latency()));
        self.worst.truncate(WORST_K);
        self.worst_changed = true;
    }
}

/// The published distribution stretched by `scale`, in our buckets. Between published points it is interpolated
/// linearly on a logarithmic scale, and the tail is extrapolated.
fn shape(scale: f64) -> Vec<(u16, f64)> {
    let density = |us: f64| {
        let position = (us - 0.5).max(0.0);
        let index = (position as usize).min(PUBLISHED.len() - 2);
        let (a, b) = (PUBLISHED[index].ln(), PUBLISHED[index + 1].ln());
        (a + (b - a) * (position - index as f64)).exp()
    };
    let weigh = |bucket: usize| {
        let (low, high) = (bucket_low(bucket) as f64, bucket_high(bucket) as f64 + 1.0);
        let middle = f64::midpoint(low, high) / scale;
        if middle < SHORTEST_NS { 0.0 } else { density(middle / 1000.0) * (high - low) }
    };
    let weights: Vec<(u16, f64)> =
        (0..BUCKETS.min(1200)).map(|b| (b as u16, weigh(b))).filter(|(_, w)| *w > 0.0).collect();
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.into_iter().map(|(bucket, weight)| (bucket, weight / total)).filter(|(_, p)| *p > 1e-13).collect()
}

/// Draws a number of events with this mean: exactly below 30, by the normal approximation above.
fn poisson(random: &mut SplitMix, mean: f64) -> u64 {
    if mean < 30.0 {
        let (floor, mut product, mut n) = ((-mean).exp(), random.unit(), 0);
        while product > floor {
            product *= random.unit();
            n += 1;
        }
        return n;
    }
    let radius = (-2.0 * random.unit().ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * random.unit()).cos();
    (mean + mean.sqrt() * normal).round().max(0.0) as u64
}
