//! `punctual share`.

use super::{ImportArgs, Quiet};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct ShareArgs {
    /// The recording, or the result of another program [default: the newest recording of this folder]
    #[arg(value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// File to write [default: share-DATE-TIME.json]
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "dry_run")]
    pub out: Option<PathBuf>,
    /// What was measured on which machine, in one line [default: model and kernel]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Load of the machine during the measurement, for the result of another program
    #[arg(long, value_name = "TEXT")]
    pub load: Option<String>,
    /// Where the numbers were published, if they are not yours
    #[arg(long, value_name = "TEXT")]
    pub published: Option<String>,
    /// Day of the measurement or the publication, as 2026-11-27 [default: that of the recording]
    #[arg(long, value_name = "DAY")]
    pub day: Option<String>,
    /// A fact about the machine that the result does not state, as in "model=RK3588 board"; may be given several times
    #[arg(long, value_name = "NAME=TEXT", value_parser = parse_fact)]
    pub fact: Vec<(String, String)>,
    /// A doubt about the numbers; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub doubt: Vec<String>,
    /// A snapshot of the machine that was measured [default: this machine, if the result is of it]
    #[arg(long, value_name = "FILE", conflicts_with = "no_snapshot")]
    pub machine: Option<PathBuf>,
    /// Leave out the snapshot
    #[arg(long)]
    pub no_snapshot: bool,
    /// Print the file instead of writing it
    #[arg(long)]
    pub dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Check files of others instead: whether they are complete and contain nothing private
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["result", "out", "title", "load", "published", "day", "fact", "doubt", "machine", "no_snapshot", "dry_run"])]
    pub check: Vec<PathBuf>,
    #[command(flatten)]
    pub import: ImportArgs,
    #[command(flatten)]
    pub form: Quiet,
}

fn parse_fact(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=TEXT")?;
    match (name.trim(), value.trim()) {
        ("", _) | (_, "") => Err("write NAME=TEXT".to_owned()),
        (name, value) => Ok((name.to_owned(), value.to_owned())),
    }
}
