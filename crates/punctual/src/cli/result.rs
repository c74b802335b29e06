//! Options for files with results.

use super::long::{BetweenArgs, DayArgs};
use super::plot::PlotArgs;
use super::value::parse_duration;
use super::{Form, Quiet};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use punctual_hist::Nanos;
use punctual_numbers::foreign::{Format, ImportOptions, Unit};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The recording, the folder of a watch, or the result of another program [default: the newest recording of this folder]
    pub recording: Option<PathBuf>,
    #[command(flatten)]
    pub import: ImportArgs,
    /// Write an HTML report to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
    /// Also print text when --html writes a page
    #[arg(long, conflicts_with = "json")]
    pub text: bool,
    #[command(flatten)]
    pub between: BetweenArgs,
    #[command(flatten)]
    pub day: DayArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
}

/// What the user states about a file of another program that does not state it.
#[derive(Args, Clone, Copy, Debug)]
pub struct ImportArgs {
    /// Read the file in this format, without recognising it: cyclictest, rt-tests-json, rt-tests-pairs, xenomai,
    /// latmus, rtla, jitterdebugger, jitterdebugger-raw, oslat, queuelat, hwlatdetect, rteval, stress-ng, rt-app, hdr,
    /// hgrm, boards, timestamps, periods or latencies
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub from: Option<Format>,
    /// Unit of the numbers, if the file does not state it: ns, us, ms or s
    #[arg(long, value_parser = parse_unit)]
    pub unit: Option<Unit>,
    /// Time between releases, if the file does not state it
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub period: Option<Nanos>,
}

impl ImportArgs {
    /// Refuses options about values that a recording of punctual states itself.
    pub fn refuse_beside_recording(self, file: &Path) -> Result<()> {
        if self.unit.is_some() || self.period.is_some() {
            let file = file.display();
            bail!(
                "{file} is a recording of punctual, which contains its unit and period: leave --unit and --period out"
            );
        }
        Ok(())
    }

    /// The options as the import takes them.
    pub fn options(self) -> ImportOptions {
        ImportOptions { format: self.from, unit: self.unit, period: self.period }
    }
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The recording, or the result of another program
    pub file: PathBuf,
    /// Format to write
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Largest latency you can live with, for formats that say whether a run passed [default: the recording's]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// Name of the run in the table of --format parquet [default: the file's name]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Name of the machine in the table of --format parquet [default: its name or model, if the file states it]
    #[arg(long, value_name = "NAME")]
    pub machine_name: Option<String>,
    #[command(flatten)]
    pub import: ImportArgs,
    #[command(flatten)]
    pub form: Quiet,
}

/// Formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The histogram of cyclictest -h, for plotting scripts
    Cyclictest,
    /// The JSON of rt-tests, for KernelCI and OpenShift
    RtTestsJson,
    /// Columns for gnuplot, with a heading
    Gnuplot,
    /// One line for each cell, for spreadsheets and data frames
    Csv,
    /// HdrHistogram log, version 2
    Hdr,
    /// Metrics for the textfile collector of Prometheus; a file is replaced in one step
    Prometheus,
    /// Line protocol of InfluxDB, for Telegraf and VictoriaMetrics as well
    Influx,
    /// KTAP, version 1, as tests of the kernel print
    Ktap,
    /// Test cases as LAVA collects them
    Lava,
    /// JUnit XML, for CI
    Junit,
    /// Parquet, one table for all runs of a fleet, over time; needs --out
    Parquet,
}

fn parse_format(name: &str) -> Result<Format, String> {
    let known = || Format::IMPORTED.map(Format::name).join(", ");
    Format::named(name).ok_or_else(|| format!("'{name}' is not one of {}", known()))
}

fn parse_unit(name: &str) -> Result<Unit, String> {
    Unit::named(name).ok_or_else(|| format!("'{name}' is not one of ns, us, ms, s"))
}
