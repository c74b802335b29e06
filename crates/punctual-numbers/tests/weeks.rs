//! Tests the size of a recording of weeks, and the details that it keeps.
//!
//! No time passes: the intervals have the lengths of a real measurement, and their counts are drawn at random. The
//! latencies of each CPU have a body at some microseconds, a thin tail, and are smaller at night.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "says what it found")]

mod cost;
mod header;

use header::header;
use punctual_hist::{Nanos, bucket_high, bucket_index};
use punctual_numbers::compare::{Comparison, Options};
use punctual_numbers::recording::schedule::interval_length;
use punctual_numbers::recording::{
    Counters, CpuInterval, End, EndReason, Frame, Interval, RecTime, Recording, RecordingReader, Stretch, TimeSlice,
    encode, encode_preamble,
};
use punctual_numbers::report::Report;
use std::io::Write as _;

const HOUR: u64 = 3_600;
const WEEK: u64 = 7 * 24 * HOUR;
const CPUS: u32 = 8;
const PERIOD: Nanos = Nanos::from_ms(1);
/// The largest size of a recording of weeks: the limit of `punctual-linux/benches/long_recording.rs`.
const FILE_LIMIT: usize = 64 << 20;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Draws the interval of a CPU. Its latencies fill some forty buckets, and each bucket takes about a sixth of the
/// activations that are left.
fn cpu(cpu: u32, start: Nanos, length: Nanos, random: &mut Random) -> CpuInterval {
    let night = start.as_ns() / 1_000_000_000 / HOUR % 24 < 8;
    let low = bucket_index(if night { 2_100 } else { 2_900 } + 40 * u64::from(cpu));
    let mut left = length.whole(PERIOD);
    let mut ran: Vec<(u16, u64)> = Vec::new();
    for bucket in low.. {
        let n = if bucket < low + 40 { left / 6 + random.below(left / 60 + 2).min(left) } else { left };
        let n = n.min(left);
        left -= n;
        if n > 0 {
            ran.push((u16::try_from(bucket).unwrap(), n));
        }
        if left == 0 {
            break;
        }
    }
    let seconds = length.as_ns() / 1_000_000_000;
    let first = u32::try_from(start.as_ns() / 1_000_000_000).unwrap();
    let high = bucket_high(usize::from(ran.last().unwrap().0));
    let block = |n| (first + u32::try_from(n).unwrap(), Nanos::from_ns(high - random.below(high / 8)));
    let block_max: Vec<(u32, Nanos)> = (0..seconds).map(block).collect();
    CpuInterval {
        cpu,
        ran_sum: Nanos::from_us(3).times(length.whole(PERIOD)),
        ran_min: Some(Nanos::from_ns(2_000)),
        ran_max: Some(Nanos::from_ns(high)),
        ran,
        block_max,
        longest_gap: PERIOD.plus(Nanos::from_us(9)),
        counters: Counters { voluntary_switches: length.whole(PERIOD), ..Counters::default() },
        ..CpuInterval::default()
    }
}

/// Passes the bytes of a run to `to` piece by piece, and returns their number.
fn write(length: Nanos, mut to: impl FnMut(&[u8])) -> usize {
    let (mut piece, mut size) = (Vec::new(), 0);
    let mut random = Random(42);
    encode_preamble(&mut piece);
    encode(&Frame::Header(Box::new(header(CPUS, length))), &mut piece).unwrap();
    let mut at = Nanos::ZERO;
    while at < length {
        let step = interval_length(at).min(length.minus(at));
        let cpus = (0..CPUS).map(|number| cpu(number, at, step, &mut random)).collect();
        encode(
            &Frame::Interval(Interval { start: RecTime::after_epoch(at), length: step, phase: 0, cpus }),
            &mut piece,
        )
        .unwrap();
        at = at.plus(step);
        to(&piece);
        size += piece.len();
        piece.clear();
    }
    encode(
        &Frame::End(End { at: RecTime::after_epoch(at), reason: EndReason::Completed, write_error: None }),
        &mut piece,
    )
    .unwrap();
    to(&piece);
    size + piece.len()
}

fn count(slices: &[&TimeSlice]) -> u64 {
    slices.iter().flat_map(|slice| slice.cpus.values()).map(|cpu| cpu.ran.counts().count()).sum()
}

/// Checks that no sample is lost, that the time line is bounded, and that an hour near the end of the run still has
/// slices of minutes and exact maxima of seconds. Returns the size of the file.
fn kept(length: Nanos) -> usize {
    let (mut whole, hour) = (RecordingReader::new(), Nanos::from_secs(HOUR));
    let from = length.minus(hour.times(5));
    let mut late =
        RecordingReader::of_stretch(Stretch::new(RecTime::after_epoch(from), RecTime::after_epoch(from.plus(hour))));
    let size = write(length, |piece| {
        whole.feed(piece).unwrap();
        late.feed(piece).unwrap();
    });
    let (whole, late): (Recording, Recording) = (whole.finish().unwrap(), late.finish().unwrap());
    let slices: Vec<&TimeSlice> = whole.slices.iter().collect();
    let due = length.whole(PERIOD) * u64::from(CPUS);
    assert_eq!((count(&slices), whole.covered), (due, length));
    assert!((440..=1024).contains(&slices.len()), "{}", slices.len());
    let longest = slices.iter().map(|slice| slice.length).max().unwrap();
    assert!(longest <= Nanos::from_ns(length.as_ns() / 400), "{longest:?}");
    assert!(whole.cpus.values().all(|cpu| cpu.blocks == length.as_ns() / 1_000_000_000));
    let late_slices: Vec<&TimeSlice> = late.slices.iter().collect();
    assert_eq!(late_slices.len(), 60, "a slice for each minute");
    assert!(late.cpus.values().all(|cpu| cpu.blocks == HOUR && cpu.ran.count() == HOUR * 1000));
    let report = Report::of(&late);
    assert_eq!(report.measured, hour);
    println!(
        "{} d of 8 CPUs at 1 kHz: {:.1} MiB, {} slices of up to {} min; an hour of it: {} slices of 1 min, {HOUR} exact \
         maxima of each CPU",
        length.as_ns() / 1_000_000_000 / 86_400,
        f64::from(u32::try_from(size).unwrap()) / f64::from(1 << 20),
        slices.len(),
        longest.as_ns() / 60_000_000_000,
        late_slices.len(),
    );
    size
}

#[test]
fn a_day_keeps_its_detail() {
    assert!(kept(Nanos::from_secs(24 * HOUR)) <= 3 << 20);
}

/// Run with `cargo test --release -p punctual-numbers --test weeks -- --ignored --nocapture`.
#[test]
#[ignore = "takes a minute unless optimised"]
fn four_weeks_fit_and_keep_their_detail() {
    assert!(kept(Nanos::from_secs(4 * WEEK)) <= FILE_LIMIT);
}

/// Prints what a report and a comparison of recordings of 1e9 activations on each of eight CPUs cost. Run with
/// `cargo test --release -p punctual-numbers --test weeks billion -- --ignored --nocapture`.
#[test]
#[ignore = "takes a minute unless optimised"]
fn a_billion_activations_on_each_cpu_are_reported_and_compared_within_limits() {
    let length = PERIOD.times(1_000_000_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.punctual");
    let mut file = std::fs::File::create(&path).unwrap();
    write(length, |piece| file.write_all(piece).unwrap());
    cost::forget_peak();
    let timed = |what: &str, of: &dyn Fn()| {
        let before = cost::cpu_seconds();
        of();
        let (took, peak) = (cost::cpu_seconds() - before, cost::peak_kb() >> 10);
        println!("{what}: {took:.2} s of processor time, at most {peak} MiB of memory so far");
        took
    };
    let reported = timed("report", &|| drop(Report::of(&cost::read(&path))));
    let compared = timed("compare", &|| {
        let (a, b) = (cost::read(&path), cost::read(&path));
        let both = [("a".to_owned(), &a), ("b".to_owned(), &b)];
        drop(Comparison::of(&both, Options::default()).unwrap());
    });
    assert!(reported <= 1.0 && compared <= 2.0 && cost::peak_kb() <= 64 << 10, "{reported} {compared}");
}
