//! The cost of an inspection on the thread that is inspected, and on the machine: a loop that keeps its own record, alone, and
//! inspected by each engine, with and without looking for causes, in turn.
//!
//! The times are only printed, because a machine is as fast as it is.

use crate::Words;
use crate::run;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// A way to run the loop, and the options of the inspection; `None` without one.
struct Way {
    name: String,
    options: Option<Vec<String>>,
}

/// The loop alone, and inspected by each engine, with and without looking for causes.
fn ways(words: &Words) -> Vec<Way> {
    let mut ways = vec![Way { name: "alone".to_owned(), options: None }];
    for engine in words.engines() {
        let of_engine: Vec<String> =
            engine.iter().flat_map(|name| ["--engine", name.as_str()]).map(str::to_owned).collect();
        let name = engine.map_or("inspected", String::as_str);
        let without = [of_engine.as_slice(), &["--no-causes".to_owned()]].concat();
        ways.push(Way { name: name.to_owned(), options: Some(of_engine) });
        ways.push(Way { name: format!("{name}, without causes"), options: Some(without) });
    }
    ways
}

/// What is printed of each way, in nanoseconds except for the last, which is in parts of a million of a CPU.
const FIGURES: usize = 3;

/// The latencies that the loop saw itself, and what the inspection said of them, in nanoseconds, and of its own time on a
/// CPU, in millionths.
struct Seen {
    median: u64,
    p99: u64,
    told: Option<[u64; 3]>,
}

/// Prints the median and the 99th percentile of the loop's own latency in each round, what the inspection took of a CPU, the
/// medians of all that over all rounds, and their ratios to the loop alone.
pub fn cost(words: &Words) -> Result<()> {
    let program = run::build(words)?;
    let ways = ways(words);
    let mut all: Vec<[Vec<u64>; FIGURES]> = vec![Default::default(); ways.len()];
    println!(
        "{:<6} {:<24} {:>10} {:>10} {:>14} {:>10} {:>8}",
        "round", "loop", "own p50", "own p99", "inspection p50", "p99", "CPU"
    );
    for round in 0..words.rounds {
        for (Way { name, options }, of_it) in ways.iter().zip(&mut all) {
            let seen = seen(words, &program, options.as_deref())?;
            let [told_p50, told_p99, cpu] = seen.told.unwrap_or_default();
            println!(
                "{round:<6} {name:<24} {:>10} {:>10} {:>14} {:>10} {:>8}",
                us(seen.median),
                us(seen.p99),
                us(told_p50),
                us(told_p99),
                percent(cpu)
            );
            for (to, figure) in of_it.iter_mut().zip([seen.median, seen.p99, cpu]) {
                to.push(figure);
            }
        }
    }
    let medians: Vec<[u64; FIGURES]> = all.into_iter().map(|of_it| of_it.map(median)).collect();
    let alone = medians.first().copied().unwrap_or_default();
    for (Way { name, .. }, of_it) in ways.iter().zip(medians) {
        let [p50, p99] = [0, 1].map(|which| {
            let hundredths = of_it[which] * 100 / alone[which].max(1);
            format!("{} ({}.{:02} times)", us(of_it[which]), hundredths / 100, hundredths % 100)
        });
        println!("median of rounds, {name}: p50 {p50}, p99 {p99}, {} of one CPU", percent(of_it[2]));
    }
    Ok(())
}

fn seen(words: &Words, program: &std::path::Path, options: Option<&[String]>) -> Result<Seen> {
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

/// The median and the 99th percentile of latency in the document, and what the inspection took of a CPU, in millionths.
fn told(document: &[u8]) -> Result<[u64; 3]> {
    let document: Value = serde_json::from_slice(document).context("read what punctual inspect printed")?;
    let latency = &document["threads"][0]["cycles"]["latency"];
    let number = |name: &str| latency[name].as_u64().with_context(|| format!("find {name} in {latency}"));
    let time = |name: &str| document[name].as_u64().with_context(|| format!("find {name}"));
    let share = time("own_cpu_ns")?.saturating_mul(1_000_000) / time("observed_ns")?.max(1);
    Ok([number("p50_ns")?, number("p99_ns")?, share])
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn us(ns: u64) -> String {
    format!("{}.{} us", ns / 1000, ns % 1000 / 100)
}

fn percent(millionths: u64) -> String {
    format!("{}.{:02} %", millionths / 10_000, millionths / 100 % 100)
}
