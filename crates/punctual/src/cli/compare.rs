//! `punctual compare`.

use super::Brief;
use super::need::NeedArgs;
use super::result::ImportArgs;
use super::value::{Loads, parse_cpus, parse_duration, parse_loads, parse_percent};
use clap::{Args, ValueEnum};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct CompareArgs {
    /// Recordings, or results of other programs; each is compared with the first of them, or with --baseline. --from,
    /// --unit and --period are for files that do not state their format, unit or period [default: the two newest
    /// recordings of this folder]
    #[arg(value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub import: ImportArgs,
    #[command(flatten)]
    pub need: NeedArgs,
    /// Compare all recordings with this one
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Several recordings of the first side, compared with those of --b: how much the runs of one side differ
    /// determines how certain a difference is
    #[arg(long, value_name = "FILES", num_args = 1.., requires = "b", conflicts_with_all = ["recordings", "baseline"])]
    pub a: Vec<PathBuf>,
    /// Several recordings of the second side
    #[arg(long, value_name = "FILES", num_args = 1.., requires = "a")]
    pub b: Vec<PathBuf>,
    #[command(flatten)]
    pub turns: TurnArgs,
    /// Changes smaller than this share of the first value count as neither better nor worse
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    /// Count activations later than this as misses [default: the budget of the recordings]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// Compare recordings that should not be compared; the result says so
    #[arg(long)]
    pub anyway: bool,
    /// Also give a verdict for files that do not contain the order of their values, as if the values were independent
    #[arg(long)]
    pub as_if_independent: bool,
    /// Exit with 2 if a comparison has this result
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub fail_on: Option<CompareLevel>,
    /// Print every number, group and difference
    #[arg(long, conflicts_with_all = ["json", "brief"])]
    pub full: bool,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with overlaid charts to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// Write JUnit XML to this file, for CI
    #[arg(long, value_name = "PATH")]
    pub junit: Option<PathBuf>,
}

/// Options for measuring two set-ups in turn.
#[derive(Clone, Debug, Args)]
pub struct TurnArgs {
    /// Measure in turn: run COMMAND A, measure, run COMMAND B, measure, and so on, A B B A; then compare the rounds
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["recordings", "baseline", "a", "resume"])]
    pub interleave: Vec<String>,
    /// With --interleave: number of rounds, each of one measurement of A and one of B
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// With --interleave: length of each measurement [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Nanos>,
    /// With --interleave: time to wait after each command before measuring
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub settle: Nanos,
    /// With --interleave: CPUs to measure [default: all that are allowed]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// With --interleave: load to measure under [default: the profile's, or none]
    #[arg(long, value_name = "NAMES", value_parser = parse_loads)]
    pub load: Option<Loads>,
    /// With --interleave: seed of the order [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// With --interleave: folder to make for the state and the recordings [default: punctual-compare-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the rounds in this folder, with the options they were started with
    #[arg(long, value_name = "DIR", conflicts_with_all = ["recordings", "baseline", "a"])]
    pub resume: Option<PathBuf>,
    /// With --interleave: show the order and how long it takes; run and measure nothing
    #[arg(long, requires = "interleave")]
    pub dry_run: bool,
}

/// From which verdict of a comparison on the exit code is 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareLevel {
    /// Recordings that are worse, in part or in all
    Worse,
    /// Also recordings with too little data to tell
    Unsure,
}
