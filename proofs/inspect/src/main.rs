//! Plants defects in small loops, inspects them, and compares what `punctual inspect` reports with what was planted.
//!
//! ```text
//! loop.c -> cc, in several builds \
//!           the loop in Rust -------> punctual inspect --json -- LOOP KIND EVERY CYCLES -> Seen -> row of the table
//! ```
//! The product is used only as a program that is started, and by the JSON that it prints.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a test program is for")]

mod cost;
mod judge;
mod kind;
mod releases;
mod run;

use anyhow::Result;
use clap::Parser;
use judge::Row;
use releases::Releases;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Plants defects in small loops, and judges what punctual inspect makes of them")]
pub struct Words {
    /// The program to judge
    #[arg(long)]
    pub punctual: PathBuf,
    /// The folder of the loop in Rust
    #[arg(long)]
    pub programs: PathBuf,
    /// A folder for what is built
    #[arg(long)]
    pub folder: PathBuf,
    /// The loop in C
    #[arg(long)]
    pub source: PathBuf,
    /// One build in C, one rate, and few kinds in other languages
    #[arg(long)]
    pub quick: bool,
    /// One build of each language, and defects in each thousandth and ten-thousandth cycle
    #[arg(long, conflicts_with = "quick")]
    pub rare: bool,
    /// Only builds with this in their names, such as Rust or static
    #[arg(long)]
    pub build: Option<String>,
    /// Inspect by each of these engines, as in bpf,tracefs; otherwise by the best one of the build
    #[arg(long, value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Compare the latency of a loop with that of the same loop under inspection, and judge nothing
    #[arg(long)]
    pub cost: bool,
    /// Rounds of that comparison
    #[arg(long, default_value_t = 5)]
    pub rounds: u32,
    /// Cycles of each loop
    #[arg(long, default_value_t = 2_000)]
    pub cycles: u64,
}

impl Words {
    /// The engines to inspect by; `None` is the best one.
    fn engines(&self) -> Vec<Option<&String>> {
        if self.engine.is_empty() { vec![None] } else { self.engine.iter().map(Some).collect() }
    }
}

/// Of this share of the defects the function must be named.
const NAMED_PERCENT: usize = 95;
/// Exit code if nothing could be judged here.
const NOT_RUN: u8 = 3;

fn main() -> ExitCode {
    let words = Words::parse();
    if words.cost {
        return match cost::cost(&words) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        };
    }
    match judged(&words) {
        Ok(None) => ExitCode::from(NOT_RUN),
        Ok(Some((rows, releases))) => {
            by_build(&rows);
            let wrong = rows.iter().filter(|row| row.wrong.is_some()).count();
            let named = rows.iter().filter(|row| row.is_named == Some(true)).count();
            let places = rows.iter().filter(|row| row.is_named.is_some()).count();
            println!(
                "{} of {} loops told right; function named in {named} of {places}",
                rows.len() - wrong,
                rows.len()
            );
            println!("{releases}");
            let is_named = named * 100 >= places * NAMED_PERCENT;
            if wrong == 0 && is_named && releases.is_right(words.quick) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => failed(&error),
    }
}

/// Prints how many loops of each build were told right.
fn by_build(rows: &[Row]) {
    for of_it in rows.chunk_by(|one, other| one.build == other.build) {
        let right = of_it.iter().filter(|row| row.wrong.is_none()).count();
        let named = of_it.iter().filter(|row| row.is_named == Some(true)).count();
        let places = of_it.iter().filter(|row| row.is_named.is_some()).count();
        let build = of_it.first().map_or("", |row| row.build);
        println!("{build:<20} {right} of {} told right; function named in {named} of {places}", of_it.len());
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("inspect_truth: {error:#}");
    ExitCode::FAILURE
}

/// Inspects each loop; `None` if the kernel's trace cannot be used here.
fn judged(words: &Words) -> Result<Option<(Vec<Row>, Releases)>> {
    let (mut rows, mut releases) = (Vec::new(), Releases::default());
    let plants = run::plants(words)?;
    for engine in words.engines() {
        println!("{}", engine.map_or("the best engine:", String::as_str));
        for plant in &plants {
            let Some((document, files)) = run::inspect(words, plant, engine)? else {
                println!("the kernel's trace cannot be used here");
                return Ok(None);
            };
            let row = judge::row(plant, &document);
            println!("{row}");
            rows.push(row);
            if let Some(of_it) = Releases::read(&files, judge::tid(&document), plant.cycles)? {
                releases.add(of_it);
            }
        }
    }
    Ok(Some((rows, releases)))
}
