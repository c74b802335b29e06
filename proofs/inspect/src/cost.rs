//! The cost of an inspection on the thread that is inspected: a loop that keeps its own record, alone, inspected, and
//! inspected without looking for causes, in turn.
//!
//! The times are only printed, because a machine is as fast as it is.

use crate::Words;
use crate::run;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// Name of each way to run the loop, and the options of the inspection; `None` without one.
const WAYS: [(&str, Option<&[&str]>); 3] =
    [("alone", None), ("inspected", Some(&[])), ("without causes", Some(&["--no-causes"]))];

/// The latencies that the loop saw itself, and what the inspection said of them, in nanoseconds.
struct Seen {
    median: u64,
    p99: u64,
    told: Option<[u64; 2]>,
}

/// Prints the median and the 99th percentile of the loop's own latency in each round, the medians over all rounds, and their ratios to
/// the loop alone.
pub fn cost(words: &Words) -> Result<()> {
    let program = run::build(words)?;
    let mut all: [[Vec<u64>; 2]; WAYS.len()] = Default::default();
    println!(
        "{:<6} {:<16} {:>10} {:>10} {:>14} {:>14}",
        "round", "loop", "own p50", "own p99", "inspection p50", "p99"
    );
    for round in 0..words.rounds {
        for ((name, options), of_it) in WAYS.iter().zip(&mut all) {
            let seen = seen(words, &program, *options)?;
            let told = seen.told.map_or_else(|| [String::new(), String::new()], |told| told.map(us));
            println!(
                "{round:<6} {name:<16} {:>10} {:>10} {:>14} {:>14}",
                us(seen.median),
                us(seen.p99),
                told[0],
                told[1]
            );
            of_it[0].push(seen.median);
            of_it[1].push(seen.p99);
        }
    }
    let medians = all.map(|of_it| of_it.map(median));
    for ((name, _), of_it) in WAYS.iter().zip(medians) {
        let [p50, p99] = [0, 1].map(|which| {
            let hundredths = of_it[which] * 100 / medians[0][which].max(1);
            format!("{} ({}.{:02} times)", us(of_it[which]), hundredths / 100, hundredths % 100)
        });
        println!("median of rounds, {name}: p50 {p50}, p99 {p99}");
    }
    Ok(())
}

fn seen(words: &Words, program: &std::path::Path, options: Option<&[&str]>) -> Result<Seen> {
    let cycles = words.cycles.to_string();
    let mut command = match options {
        None => Command::new(program),
        Some(options) => {
            let mut command = Command::new(&words.punctual);
            command.args(["inspect", "--json", "--duration", "600s"]).args(options).arg("--").arg(program);
            command
        }
    };
    let output = command.args(["timed", "1", &cycles]).output().context("start the loop")?;
    ensure!(output.status.success(), "the loop ended with {}", output.status);
    // Under inspection, what the program prints goes to standard error.
    let text = String::from_utf8_lossy(if options.is_some() { &output.stderr } else { &output.stdout });
    let numbers = text.lines().find_map(|line| line.strip_prefix("own latency ")).context("find the loop's record")?;
    let numbers: Vec<u64> = numbers.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [median, p99, _] = numbers[..] else { anyhow::bail!("the loop's record is {numbers:?}") };
    let told = options.map(|_| told(&output.stdout)).transpose()?;
    Ok(Seen { median, p99, told })
}

/// The median and the 99th percentile of latency in the document.
fn told(document: &[u8]) -> Result<[u64; 2]> {
    let document: Value = serde_json::from_slice(document).context("read what punctual inspect printed")?;
    let latency = &document["threads"][0]["cycles"]["latency"];
    let number = |name: &str| latency[name].as_u64().with_context(|| format!("find {name} in {latency}"));
    Ok([number("p50_ns")?, number("p99_ns")?])
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn us(ns: u64) -> String {
    format!("{}.{} us", ns / 1000, ns % 1000 / 100)
}
