//! `punctual compare`.

use super::Brief;
use super::need::NeedArgs;
use super::result::ImportArgs;
use super::value::{parse_duration, parse_percent};
use clap::{Args, ValueEnum};
use punctual_hist::Nanos;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Recordings, or results of other programs; each is held against the first of them, or against --baseline. --from,
    /// --unit and --period are for files that do not say themselves what they are
    /// [default: the two newest recordings of this folder]
    #[arg(value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub import: ImportArgs,
    #[command(flatten)]
    pub need: NeedArgs,
    /// Hold all of them against this recording
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// A change of less than this part of the first is called neither better nor worse
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    /// Count activations later than this as misses [default: the budget of the recordings]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// Compare what should not be compared; the result says so
    #[arg(long)]
    pub anyway: bool,
    /// Decide also where a file does not say in which order its values came, as if they did not depend on each other
    #[arg(long)]
    pub as_if_independent: bool,
    /// Exit with 2 when a recording is this bad
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
    /// Write a page with overlaid pictures here
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// Write JUnit XML here, for CI
    #[arg(long, value_name = "PATH")]
    pub junit: Option<PathBuf>,
}

/// From which verdicts of a comparison on the exit code is 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareLevel {
    /// Recordings that are worse, in part or in all
    Worse,
    /// Recordings of which there is not enough data to tell, too
    Unsure,
}
