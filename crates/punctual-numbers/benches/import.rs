//! Measures the time and the memory that it takes to import a gigabyte of samples.
//!
//! `cargo bench -p punctual-numbers --bench import`: the bytes are made in memory and fed in pieces like those of a
//! file, so that the disk is not measured. The last column is the largest amount of memory that the process has used so
//! far, as the kernel counts it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench that cannot go on has failed; it prints, and rates need no 53 bits"
)]

use punctual_numbers::foreign::{Format, Import, ImportOptions, Series, Unit};
use std::fmt::Write as _;
use std::time::Instant;

const GIGABYTE: usize = 1_000_000_000;

fn main() {
    println!("{:<24}{:>12}{:>10}{:>12}{:>12}", "", "values", "seconds", "MB/s", "peak MB");
    let latencies = piece(|k, text| writeln!(text, "{}", 3_000 + k * 7_919 % 60_000).unwrap());
    let options = |format, unit| ImportOptions { format: Some(format), unit: Some(unit), period: None };
    repeated("latencies in ns", &latencies, options(Format::Latencies, Unit::Ns));
    let periods = piece(|k, text| writeln!(text, "{}", 1_000_000 + k * 31 % 97 - 48).unwrap());
    repeated("periods in ns", &periods, options(Format::Periods, Unit::Ns));
    let columns = piece(|k, text| writeln!(text, "{k},{}.{:03}", 3 + k * 7_919 % 60, k % 1_000).unwrap());
    let columns = format!("sequence,latency_us\n{columns}");
    repeated("a column of a CSV", &columns, ImportOptions::default());
    let verbose = piece(|k, text| writeln!(text, "{:8}:{k:8}:{:8}", k % 8, 3 + k * 7_919 % 60).unwrap());
    repeated("cyclictest -v", &verbose, options(Format::Cyclictest, Unit::Us));
}

fn piece(line: impl Fn(u64, &mut String)) -> String {
    let mut text = String::new();
    (0..200_000).for_each(|k| line(k, &mut text));
    text
}

fn repeated(name: &str, piece: &str, options: ImportOptions) {
    let bytes = piece.as_bytes();
    let start = Instant::now();
    let mut import = Import::begin(&bytes[..bytes.len().min(1 << 16)], options).unwrap();
    let mut fed = 0;
    // The heading of a CSV is written only in the first piece.
    let body = piece.find("\n0,").map_or(bytes, |at| &bytes[at + 1..]);
    for chunk in bytes.chunks(1 << 18) {
        import.feed(chunk).unwrap();
        fed += chunk.len();
    }
    while fed < GIGABYTE {
        for chunk in body.chunks(1 << 18) {
            import.feed(chunk).unwrap();
            fed += chunk.len();
        }
    }
    let run = import.finish().unwrap();
    let values: u64 = run.series.iter().map(Series::counted).sum();
    let seconds = start.elapsed().as_secs_f64();
    println!("{name:<24}{values:>12}{seconds:>10.2}{:>12.0}{:>12}", fed as f64 / 1e6 / seconds, peak_mb());
}

fn peak_mb() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    kb.map_or_else(|| "unknown".to_owned(), |kb| (kb / 1_024).to_string())
}
