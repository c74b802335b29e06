//! Options for long runs, and for several runs made one after the other.

use super::Brief;
use super::value::{When, WhichDay, parse_day, parse_when};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct MergeArgs {
    /// The recordings: runs of one scenario on one machine, one after the other
    #[arg(required = true, value_name = "FILE")]
    pub recordings: Vec<PathBuf>,
    /// Recording to write
    #[arg(long, short, value_name = "PATH")]
    pub out: PathBuf,
    /// Print one JSON document: the report of the merged recording
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub form: Brief,
}

/// Options for continuing a recording by `punctual measure`.
#[derive(Args, Clone, Debug)]
pub struct ResumeArgs {
    /// Continue this recording, in the same boot and with its own scenario: append the part that was left to measure,
    /// or as much as --duration or --activations say
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "cpus", "period", "policy", "priority", "runtime", "mechanism", "clock", "phase", "seed", "warm_up", "budget", "limit",
            "dma_latency", "load", "load_cpus", "suite", "out", "explain", "list_loads"
        ]
    )]
    pub resume: Option<PathBuf>,
}

/// Selects one day of a watch.
#[derive(Args, Clone, Copy, Debug)]
pub struct DayArgs {
    /// For the folder of a watch, show this day: its number, or its date in UTC as in 2026-11-22
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub day: Option<WhichDay>,
}

/// Options that select a part of a recording for `punctual report`.
#[derive(Args, Clone, Debug)]
pub struct BetweenArgs {
    /// Report only what happened between two times: of the run as in +1h30m, or of the day as in 2026-11-22T10:00 (UTC,
    /// or with an offset as in +01:00)
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], value_parser = parse_when, allow_hyphen_values = true)]
    pub between: Option<Vec<When>>,
}
