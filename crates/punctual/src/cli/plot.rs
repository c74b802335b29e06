//! Options for charts of a result.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct PlotArgs {
    /// Draw a chart into FILE, which ends in .svg or .png, or without FILE on the terminal
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[allow(clippy::option_option, reason = "not asked for, asked for without a file, and with one")]
    pub plot: Option<Option<PathBuf>>,
    /// Which chart
    #[arg(long, value_enum, value_name = "CHART", default_value_t = ChartName::Histogram, requires = "plot")]
    pub chart: ChartName,
    /// Draw another result into the same chart; can be given several times
    #[arg(long, value_name = "RESULT", requires = "plot")]
    pub with: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChartName {
    /// How often which latency occurred; both axes logarithmic
    Histogram,
    /// The share of activations later than each latency, with the limits of its confidence; both axes logarithmic
    Exceedance,
    /// Median, 99.9 % and largest latency over the time of the run
    OverTime,
}
