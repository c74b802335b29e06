//! Options of `punctual fleet`.

use super::Brief;
use super::tables::{AskArgs, PackArgs};
use super::value::parse_duration;
use clap::{Args, Subcommand};
use punctual_hist::Nanos;
use std::path::PathBuf;

#[derive(Clone, Debug, Subcommand)]
pub enum FleetCommand {
    /// Run a command of punctual on many hosts by ssh, and fetch what it writes
    Run(FleetRunArgs),
    /// Pack the recordings and audits of many machines into tables that SQL engines can read
    Pack(PackArgs),
    /// Ask the packed tables a question, by DuckDB: which machines are bad, what they share, which change made them worse
    Ask(AskArgs),
}

#[derive(Args, Clone, Debug)]
pub struct FleetRunArgs {
    /// List of hosts: one on each line, in a form that ssh accepts; text after a # is ignored
    #[arg(long, value_name = "FILE")]
    pub hosts: PathBuf,
    /// Folder of the results; with the folder of an earlier run, only hosts without a result are tried
    /// [default: punctual-fleet-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of hosts that work at the same time
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub at_once: u16,
    /// Longest time for the command on one host, after which it is ended [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Nanos>,
    /// Longest time for reaching a host
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub connect_limit: Nanos,
    /// Start no further host after N of them have failed [default: try all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub stop_after: Option<u32>,
    /// Name or path of punctual on the hosts
    #[arg(long, value_name = "PATH", default_value = "punctual", conflicts_with = "bring")]
    pub program: String,
    /// Copy this static program to the hosts and remove it afterwards; once for each architecture among the hosts
    #[arg(long, value_name = "FILE")]
    pub bring: Vec<PathBuf>,
    /// Run the command by sudo, which must not ask for a password
    #[arg(long)]
    pub sudo: bool,
    /// Configuration of ssh in place of ~/.ssh/config
    #[arg(long, value_name = "FILE")]
    pub ssh_config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub form: Brief,
    /// Words after punctual, as in -- check --budget 50us
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}
