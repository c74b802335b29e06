//! Options of `punctual fleet pack` and `punctual fleet ask`.

use super::Quiet;
use super::value::parse_duration;
use clap::{Args, ValueEnum};
use punctual_hist::Nanos;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "such a build refuses to pack"))]
pub struct PackArgs {
    /// Folders with recordings (*.punctual) and audits (audit --json, *.json); the first folder below each is the
    /// machine's name
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Folder of the tables; what is packed there already is not packed again
    #[arg(long, short, value_name = "PATH")]
    pub out: PathBuf,
    /// Write the names of machines into the tables; without this option they are masked, and only PATH/private contains them
    #[arg(long)]
    pub names: bool,
    #[command(flatten)]
    pub form: Quiet,
}

#[derive(Args, Clone, Debug)]
pub struct AskArgs {
    /// Folder of the tables, as fleet pack wrote it
    #[arg(value_name = "PATH")]
    pub pack: PathBuf,
    /// What to ask
    #[arg(value_enum)]
    pub question: Question,
    /// Latency beyond which an activation is a miss [default: the budget of each recording]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// A machine is bad if more than this many of a million releases are missed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub misses_per_million: u32,
    /// Machine to ask about, as the other answers name it [default: all, or the worst one]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Column by which percentiles are grouped
    #[arg(long, value_enum, default_value_t = By::KernelRelease)]
    pub by: By,
    /// Print the question in SQL instead of asking it
    #[arg(long, value_enum, value_name = "ENGINE", num_args = 0..=1, default_missing_value = "duckdb", conflicts_with_all = ["json", "csv"])]
    pub sql: Option<Dialect>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print the rows as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    #[command(flatten)]
    pub form: Quiet,
}

/// Questions that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Question {
    /// The machines that miss the most
    Worst,
    /// The findings that the bad machines share
    Shared,
    /// The kernel or setting whose change made machines worse
    Brought,
    /// What differs on a machine since it was last good
    Changed,
    /// Exact percentiles of groups
    Percentiles,
    /// Whether the newest run of each machine is worse than the 20 before it
    Newest,
}

/// Engines whose SQL can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    Duckdb,
    Datafusion,
    Clickhouse,
}

/// Columns of the tables by which groups are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Machine,
    Model,
    KernelRelease,
    KernelFlavour,
    Architecture,
    Program,
    Configuration,
    Phase,
    Cpu,
    Month,
}
