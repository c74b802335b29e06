//! `punctual explain`.

use super::Brief;
use super::long::DayArgs;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The recording, made with measure --explain or check, or the folder of a watch [default: the newest recording of
    /// this folder]
    pub recording: Option<PathBuf>,
    #[command(flatten)]
    pub day: DayArgs,
    /// Print everything: all causes with the knobs that affect them, more of the worst activations, and the method;
    /// with --json all windows, some megabytes for a long recording
    #[arg(long, conflicts_with_all = ["spike", "brief"])]
    pub full: bool,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document
    #[arg(long, conflicts_with_all = ["top", "spike", "brief"])]
    pub json: bool,
    /// Write an HTML page with charts of the worst activations to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// Write a trace for the Perfetto viewer to this file
    #[arg(long, value_name = "PATH")]
    pub perfetto: Option<PathBuf>,
    /// Number of causes to show; with --full all
    #[arg(long, value_name = "N", default_value = "5")]
    pub top: NonZeroUsize,
    /// Show one late activation part by part; 1 is the worst
    #[arg(long, value_name = "N", conflicts_with = "brief")]
    pub spike: Option<NonZeroUsize>,
}
