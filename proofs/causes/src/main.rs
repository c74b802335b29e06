//! Injected truth: plants delays whose cause and size are known, and holds what `punctual explain` says against them.
//!
//! ```text
//! Planting -> kernel, threads -> Plants (truth) --\
//! punctual measure --explain, punctual explain --json -> Spikes -> Verdict by kind -> table
//! ```
//! No product: it knows the product only as a program that is started, and by the JSON it prints.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a test program is for")]

mod kind;
mod plant;
mod sys;
mod truth;

use anyhow::Result;
use clap::{Parser, Subcommand};
use kind::Kind;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Plants delays of known cause and size, and judges what punctual makes of them")]
struct Words {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plant one kind of delay on one CPU, and write down what was planted
    Plant(PlantWords),
}

#[derive(clap::Args)]
struct PlantWords {
    /// What to plant
    kind: Kind,
    /// The CPU that is to be late
    #[arg(long)]
    cpu: u32,
    /// For how many seconds
    #[arg(long = "for", default_value_t = 10)]
    seconds: u64,
    /// How long each delay is, in microseconds
    #[arg(long, default_value_t = 300)]
    burst_us: u64,
    /// From one to the next, about so many microseconds
    #[arg(long, default_value_t = 7000)]
    every_us: u64,
    /// Priority of real-time threads
    #[arg(long, default_value_t = 95)]
    priority: u8,
    /// Name of threads that are to be recognised
    #[arg(long, default_value = "planted")]
    name: String,
    /// Process whose pages are taken away (fault)
    #[arg(long)]
    victim: Option<u32>,
    /// Where to write what was planted
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(Words::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("causes: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: Words) -> Result<()> {
    match words.command {
        Command::Plant(words) => {
            let planting = plant::Planting {
                kind: words.kind,
                cpu: words.cpu,
                seconds: words.seconds,
                burst_ns: words.burst_us * 1000,
                every_ns: words.every_us * 1000,
                priority: words.priority,
                name: words.name,
                victim: words.victim,
            };
            let plants = plant::run(&planting)?;
            truth::write(&words.out, &plants)?;
            println!("{} {} planted", plants.len(), words.kind.name());
            Ok(())
        }
    }
}
