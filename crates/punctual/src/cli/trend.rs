//! `punctual trend`.

use super::Brief;
use super::value::parse_percent;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct TrendArgs {
    /// Recordings of one scenario on one machine, or folders that hold them; they are put in the order of their start
    #[arg(required = true, value_name = "FILE")]
    pub recordings: Vec<PathBuf>,
    /// Shifts smaller than this share of the value before are not reported
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    /// Number of false alarms that are accepted in a thousand runs
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub false_alarms: f64,
    /// Exit with 2 if the series has this result
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = TrendLevel::Worse)]
    pub fail_on: TrendLevel,
    /// Write an HTML page with the runs over time to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print the runs as CSV, one line each, as Apache Otava reads it
    #[arg(long, conflicts_with_all = ["json", "brief"])]
    pub csv: bool,
    #[command(flatten)]
    pub form: Brief,
}

/// From which verdict of a series on the exit code is 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrendLevel {
    /// A series that became worse
    Worse,
    /// Also a series that became better, because something changed unnoticed
    Shift,
    /// None
    Never,
}
