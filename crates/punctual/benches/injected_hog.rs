//! A hog with a higher real-time priority than the measurement blocks the CPU for 20 ms once a second. The number of
//! skipped releases that punctual counts must equal the number computed from the lengths of the bursts. Needs root. Run
//! with `cargo bench -p punctual --bench injected_hog`.

#![allow(clippy::expect_used, clippy::cast_precision_loss, reason = "a benchmark that cannot go on says why; ratios")]

use punctual_hist::{MonoTime, Nanos};
use punctual_rt::{Policy, kernel, now, setup};
use std::path::Path;
use std::process::Command;

const SECONDS: u64 = 10;
const PERIOD: Nanos = Nanos::from_ms(1);
const BURST: Nanos = Nanos::from_ms(20);

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let cpu = std::thread::available_parallelism().map_or(0, |n| n.get() - 1);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let quiet = measure(cpu, &dir.path().join("quiet.punctual"));
    let recording = dir.path().join("hog.punctual");
    let hog = std::thread::spawn(move || hog(u32::try_from(cpu).expect("a CPU number")));
    let report = measure(cpu, &recording);
    let bursts = hog.join().expect("the hog ends");
    // Of the releases within a burst, the first runs late and all others are skipped.
    let each: Vec<f64> = bursts.iter().map(|length| length.as_ns() as f64 / PERIOD.as_ns() as f64 - 1.0).collect();
    let expected = each.iter().sum::<f64>() / each.len() as f64 * SECONDS as f64;
    let (noise, counted) = (number(&quiet, "/cpus/0/skipped"), number(&report, "/cpus/0/skipped"));
    let off = ((counted - noise) / expected - 1.0) * 100.0;
    println!("releases due: {} (arithmetic: {})", number(&report, "/cpus/0/due"), SECONDS * 1000);
    println!("skipped without the hog, as this machine is: {noise}");
    println!("skipped: {counted}, less those {}: arithmetic {expected:.0}, {off:+.1} % (limit 2 %)", counted - noise);
    println!("p99 of the activations that ran: {:.0} us", number(&report, "/cpus/0/latency_ns/p99") / 1e3);
    let p99_due = number(&report, "/cpus/0/latency_due_ns/p99") / 1e3;
    println!("p99 of the releases due: {p99_due:.0} us (at least 10 000)");
    let text = Command::new(env!("CARGO_BIN_EXE_punctual")).arg("report").arg(&recording).output().expect("a report");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let difference = text.split("  - ").find(|part| part.contains("skipped") && part.contains("releases due"));
    println!("the report says: {}", difference.map_or_else(|| "nothing of it".to_owned(), first_sentence));
}

fn measure(cpu: usize, recording: &Path) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["measure", "--json", "--period", "1ms", "--priority", "90", "--budget", "900us", "--cpus"]);
    command.arg(cpu.to_string()).args(["--duration", &format!("{SECONDS}s"), "--out"]).arg(recording);
    serde_json::from_slice(&command.output().expect("punctual runs").stdout).expect("one JSON document")
}

fn number(report: &serde_json::Value, path: &str) -> f64 {
    report.pointer(path).and_then(serde_json::Value::as_f64).expect(path)
}

fn first_sentence(text: &str) -> String {
    text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Blocks `cpu` once a second for a little longer than the measurement lasts, and returns the lengths of the bursts.
fn hog(cpu: u32) -> Vec<Nanos> {
    setup::pin_current(&[cpu]).expect("the CPU is there");
    setup::set_policy(Policy::Fifo(95)).expect("root may use the real-time class");
    let first = now();
    (0..SECONDS + 2).map(|second| burst(first.plus(Nanos::from_secs(second)))).collect()
}

fn burst(at: MonoTime) -> Nanos {
    kernel::sleep_until(at);
    let began = now();
    while now() < began.plus(BURST) {}
    now().since(began)
}
