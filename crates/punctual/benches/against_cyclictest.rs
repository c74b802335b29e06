//! Compares punctual with cyclictest: same CPU, period, priority and `cpu_dma_latency`, measured one after the other.
//! Needs root and Debian's `rt-tests`. Run with `cargo bench -p punctual --bench against_cyclictest`.

#![allow(
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a benchmark that cannot go on says why; a ratio needs no more"
)]

use std::fs;
use std::process::Command;

const ROUNDS: usize = 4;
const SECONDS: u32 = 20;

struct Figures {
    p50_us: f64,
    cpu_us_per_activation: f64,
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let cpu = std::thread::available_parallelism().map_or(0, |n| n.get() - 1).to_string();
    println!("{ROUNDS} rounds of {SECONDS} s on CPU {cpu}, in turn; CPU time is user + system of the whole process");
    println!(
        "{:>6} {:>16} {:>16} {:>18} {:>18}",
        "round", "cyclictest p50", "punctual p50", "cyclictest CPU/act", "punctual CPU/act"
    );
    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        // The order alternates, so that neither program always measures first.
        let (theirs, ours) = if round % 2 == 0 {
            (cyclictest(&cpu), punctual(&cpu))
        } else {
            let ours = punctual(&cpu);
            (cyclictest(&cpu), ours)
        };
        println!(
            "{round:>6} {:>13.1} us {:>13.1} us {:>15.2} us {:>15.2} us",
            theirs.p50_us, ours.p50_us, theirs.cpu_us_per_activation, ours.cpu_us_per_activation
        );
        rounds.push((ours.p50_us - theirs.p50_us, ours.cpu_us_per_activation / theirs.cpu_us_per_activation));
    }
    println!("p50 difference, median: {:+.1} us (limit 2)", median(rounds.iter().map(|r| r.0)));
    println!("CPU time ratio, median: {:.2} (limit 1.00)", median(rounds.iter().map(|r| r.1)));
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn cyclictest(cpu: &str) -> Figures {
    let seconds = SECONDS.to_string();
    let args = ["-m", "-q", "-p90", "-i1000", "-h2000", "-t1", "-a", cpu, "-D", &seconds];
    let (text, cpu_seconds) = timed(Command::new("cyclictest").args(args));
    let cells: Vec<(f64, u64)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter_map(|(us, n)| Some((us.parse().ok()?, n.trim().parse().ok()?)))
        .collect();
    let total: u64 = cells.iter().map(|(_, n)| n).sum();
    let mut seen = 0;
    let p50_us = cells
        .iter()
        .find(|(_, n)| {
            seen += n;
            seen * 2 >= total
        })
        // cyclictest rounds down to whole microseconds, so half a microsecond is added.
        .map_or(f64::NAN, |(us, _)| us + 0.5);
    Figures { p50_us, cpu_us_per_activation: cpu_seconds * 1e6 / total as f64 }
}

fn punctual(cpu: &str) -> Figures {
    let recording = std::env::temp_dir().join(format!("against-cyclictest-{}.punctual", std::process::id()));
    let _ = fs::remove_file(&recording);
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["measure", "--json", "--cpus", cpu, "--period", "1ms", "--priority", "90", "--dma-latency", "0"]);
    command.args(["--warm-up", "2", "--duration", &format!("{SECONDS}s"), "--out"]).arg(&recording);
    let (text, cpu_seconds) = timed(&mut command);
    let _ = fs::remove_file(&recording);
    let report: serde_json::Value = serde_json::from_str(&text).expect("one JSON document");
    let number = |path: &str| report.pointer(path).and_then(serde_json::Value::as_f64).expect(path);
    let ran = number("/cpus/0/ran");
    Figures { p50_us: number("/cpus/0/latency_ns/p50") / 1e3, cpu_us_per_activation: cpu_seconds * 1e6 / ran }
}

/// Runs a program and returns its standard output and its user and system time in seconds.
fn timed(command: &mut Command) -> (String, f64) {
    let before = children_seconds();
    let output = command.output().unwrap_or_else(|e| panic!("run {command:?}: {e}; install rt-tests?"));
    (String::from_utf8_lossy(&output.stdout).into_owned(), children_seconds() - before)
}

/// User and system time of the children that were waited for: fields 16 and 17 of `/proc/self/stat`, in hundredths of a
/// second.
fn children_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    let (_, rest) = stat.rsplit_once(')').expect("a name in parentheses");
    rest.split_whitespace().skip(13).take(2).map(|f| f.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}
