//! Plants delays whose cause and size are known, and compares them with what `punctual explain` reports.
//!
//! ```text
//! Planting -> kernel, threads -> Plants (truth) --\
//! punctual measure --explain, punctual explain --json -> Spikes -> Verdict by kind -> table
//! ```
//! The product is used only as a program that is started, and by the JSON that it prints.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a test program is for")]

mod cost;
mod explanation;
mod follow;
mod judge;
mod kind;
mod plant;
mod run;
mod sys;
mod table;
mod truth;
mod turns;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use kind::Kind;
use std::os::unix::process::CommandExt;
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
    /// Plant one kind of delay on one CPU, and record what was planted
    Plant(PlantWords),
    /// Compare an explanation with what was planted
    Judge(JudgeWords),
    /// Run a program that may not lock its memory
    Unlocked {
        /// The program and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Keep turns on a CPU short, in an emulator that runs its CPUs in turns
    Turns {
        /// The CPU, on which nothing must be measured
        #[arg(long)]
        cpu: u32,
        /// Time until the program ends, in seconds
        #[arg(long = "for")]
        seconds: u64,
        /// Run also before ordinary threads on that CPU, on kernels that do not throttle real-time threads
        #[arg(long)]
        first: bool,
    },
    /// Measure, plant, explain and judge, one kind after the other
    Run(RunWords),
    /// Keep a loop's phase to the clock of a PTP device, change that clock on the way, and print the phase errors
    Follow {
        /// The device, which nothing else may adjust
        #[arg(long, default_value = "/dev/ptp0")]
        device: PathBuf,
    },
    /// Measure the cost of looking for causes: with and without it alternately, then with a million events a second
    Cost(CostWords),
}

#[derive(clap::Args)]
struct CostWords {
    /// The product's program, built as it will be used
    #[arg(long)]
    punctual: PathBuf,
    /// The CPU that is measured
    #[arg(long, default_value_t = 1)]
    cpu: u32,
    /// How long each measurement is, in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Number of measurements with and without looking for causes
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// The folder for the recordings
    #[arg(long)]
    folder: PathBuf,
}

#[derive(clap::Args)]
struct JudgeWords {
    /// The kind that was planted
    kind: Kind,
    /// The CPU it was planted on
    #[arg(long)]
    cpu: u32,
    /// The file that the planter wrote
    #[arg(long)]
    truth: PathBuf,
    /// The output of `punctual explain FILE --json`
    #[arg(long)]
    explanation: PathBuf,
    /// The number of late activations that a verdict needs
    #[arg(long, default_value_t = 200)]
    least: u64,
    /// Ignore activations with a smaller latency than this, in microseconds
    #[arg(long, default_value_t = 100)]
    threshold_us: u64,
}

#[derive(clap::Args)]
struct RunWords {
    /// Path of the program `punctual` that is tested
    #[arg(long)]
    punctual: PathBuf,
    /// The CPU that is measured
    #[arg(long, default_value_t = 1)]
    cpu: u32,
    /// Plant for a few seconds per kind, and only kinds that work on any machine
    #[arg(long)]
    quick: bool,
    /// Plant only these kinds
    #[arg(long = "kind")]
    kinds: Vec<Kind>,
    /// The folder for recordings and truths
    #[arg(long)]
    folder: PathBuf,
}

#[derive(clap::Args)]
struct PlantWords {
    /// The kind to plant
    kind: Kind,
    /// The CPU whose activations become late
    #[arg(long)]
    cpu: u32,
    /// Time during which delays are planted, in seconds
    #[arg(long = "for", default_value_t = 10)]
    seconds: u64,
    /// How long each delay is, in microseconds
    #[arg(long, default_value_t = 300)]
    burst_us: u64,
    /// Mean time from one delay to the next, in microseconds
    #[arg(long, default_value_t = 7000)]
    every_us: u64,
    /// Priority of real-time threads
    #[arg(long, default_value_t = 95)]
    priority: u8,
    /// Name of the threads that explanations have to name
    #[arg(long, default_value = "planted")]
    name: String,
    /// Process whose pages are taken away (fault)
    #[arg(long)]
    victim: Option<u32>,
    /// The file to which the planted delays are written
    #[arg(long)]
    out: PathBuf,
}

/// Exit code if nothing could be judged.
const NOT_RUN: u8 = 3;
/// Kinds of the quick run: one of each sort that works on any machine.
const QUICK: [Kind; 7] = [Kind::Hog, Kind::Rr, Kind::Irq, Kind::Softirq, Kind::Irqoff, Kind::Preemptoff, Kind::Kworker];

fn main() -> ExitCode {
    let ended = match Words::parse().command {
        Command::Plant(words) => plant(words).map(|()| ExitCode::SUCCESS),
        Command::Judge(words) => judge(&words),
        Command::Unlocked { words } => unlocked(&words),
        Command::Turns { cpu, seconds, first } => turns::keep_short(cpu, seconds, first).map(|()| ExitCode::SUCCESS),
        Command::Run(words) => run(words),
        Command::Follow { device } => follow::run(&device).map(|()| ExitCode::SUCCESS),
        Command::Cost(words) => cost(words),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("causes: {error:#}");
        ExitCode::FAILURE
    })
}

fn plant(words: PlantWords) -> Result<()> {
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

fn unlocked(words: &[String]) -> Result<ExitCode> {
    let (program, words) = words.split_first().context("which program?")?;
    let mut command = std::process::Command::new(program);
    sys::without_locked_memory(command.args(words));
    Err(command.exec()).with_context(|| format!("start {program}"))
}

fn cost(words: CostWords) -> Result<ExitCode> {
    let CostWords { punctual, cpu, seconds, rounds, folder } = words;
    let cost = cost::Cost { punctual, cpu, seconds, rounds, folder };
    std::fs::create_dir_all(&cost.folder).with_context(|| format!("make {}", cost.folder.display()))?;
    sys::bound((u64::from(rounds) + 2) * 2 * (seconds + 20))?;
    cost.turns()?;
    cost.flood()?;
    Ok(ExitCode::SUCCESS)
}

fn judge(words: &JudgeWords) -> Result<ExitCode> {
    let plants = truth::read(&words.truth)?;
    let explanation = explanation::read(&words.explanation)?;
    let sight = kind::Sight::Whole;
    let case =
        judge::Case { kind: words.kind, sight, cpu: words.cpu, least_ns: words.threshold_us * 1000, stolen_ns: 0 };
    let tally = judge::judge(case, &plants, &explanation.spikes);
    let good = tally.verdict(words.kind, words.least).is_ok();
    println!("{}", table::heading());
    println!("{}", table::line(words.kind, &run::Outcome::Judged(tally), words.least));
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(words: RunWords) -> Result<ExitCode> {
    let all = if words.quick { QUICK.to_vec() } else { Kind::value_variants().to_vec() };
    let (seconds, least, rounds) = if words.quick { (4, 20, 6) } else { (12, 200, 4) };
    let kinds = if words.kinds.is_empty() { all } else { words.kinds };
    let run =
        run::Run { punctual: words.punctual, cpu: words.cpu, kinds, seconds, least, rounds, folder: words.folder };
    if let Some(why) = run.possible()? {
        eprintln!("NOT RUN: {why}");
        return Ok(ExitCode::from(NOT_RUN));
    }
    println!("{}", table::heading());
    let (mut failed, mut judged) = (0, 0);
    for kind in &run.kinds {
        let outcome = run.kind(*kind);
        println!("{}", table::line(*kind, &outcome, least));
        match &outcome {
            run::Outcome::NotRun(_) => {}
            run::Outcome::Judged(tally) if tally.verdict(*kind, least).is_ok() => judged += 1,
            _ => failed += 1,
        }
    }
    println!("{judged} kinds held, {failed} failed, {} not run", run.kinds.len() - judged - failed);
    Ok(ExitCode::from(match (failed, judged) {
        (0, 0) => NOT_RUN,
        (0, _) => 0,
        _ => 1,
    }))
}
