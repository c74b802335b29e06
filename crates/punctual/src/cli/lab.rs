//! Options of `punctual lab`.

use super::Brief;
use super::value::{Loads, parse_duration, parse_loads, parse_percent};
use clap::{Args, Subcommand};
use punctual_hist::Nanos;
use punctual_lab::choice::Choice;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct LabArgs {
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Measure several kernels under the same loads, and show them side by side
    Compare(LabCompareArgs),
    /// Compare a kernel with an earlier one, for CI: exits with 2 if it is worse
    Gate(LabGateArgs),
    /// Find the version, the word of the command line, or the option of the configuration that made a kernel worse
    Bisect(LabBisectArgs),
}

/// Kernels that one word of the command line stands for.
pub type Kernels = Vec<Choice>;

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct LabCompareArgs {
    /// Kernels: debian:12, debian:13-rt, debian:12-rt-arm64, an image (./bzImage), deb:FILE. Each may be followed by
    /// +WORD for a word of its command line, and +FILE.ko for a module; +preempt=all is four kernels
    #[arg(long, value_name = "LIST", required = true, value_delimiter = ',', value_parser = parse_kernels)]
    pub kernel: Vec<Kernels>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Number of measurements of each kernel, each with a seed of its own; fewer than 3 show little
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Use several CPUs and the host's time, to see that everything works; the numbers say nothing about a kernel
    #[arg(long)]
    pub real: bool,
    /// Changes smaller than this share count as neither better nor worse
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    /// Do not look for causes
    #[arg(long)]
    pub no_explain: bool,
    /// Write an HTML page to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: Brief,
    /// Print every number of every kernel and load
    #[arg(long, conflicts_with_all = ["json", "brief"])]
    pub full: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What is measured in a guest, and how it runs.
#[derive(Args, Clone, Debug)]
pub struct GuestArgs {
    /// Load phases in turn, loads of a phase joined by +; classic-2002 stands for idle and the four loads of
    /// the published suite classic-2002 that need no display
    #[arg(long, value_name = "NAMES", default_value = "classic-2002", value_parser = parse_lab_loads)]
    pub load: Loads,
    /// Time between releases
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration)]
    pub period: Nanos,
    /// Length of one measurement in the guest's time, over all loads
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub duration: Nanos,
    /// Static punctual for the guests, one for each architecture [default: this program, if it is static]
    #[arg(long, value_name = "FILE")]
    pub binary: Vec<PathBuf>,
    /// Folder for the results; what is there already is not measured again [default: punctual-lab]
    #[arg(long, value_name = "DIR", default_value = "punctual-lab")]
    pub out: PathBuf,
    /// Folder for kernels of Debian [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user's cache]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Guests at once [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,
    /// Memory of a guest in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = clap::value_parser!(u32).range(128..=65536))]
    pub memory: u32,
    /// Longest time that one guest may work, in the host's time
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    pub limit: Nanos,
}

fn parse_kernels(text: &str) -> Result<Kernels, String> {
    Choice::parse(text).map_err(|error| format!("{error:#}"))
}

fn parse_lab_loads(text: &str) -> Result<Loads, String> {
    /// The loads of `measure --suite classic-2002`, without graphics: a guest has no display.
    const CLASSIC: &str = "idle,io-copy,io-read,io-write,proc";
    parse_loads(if text == "classic-2002" { CLASSIC } else { text })
}

#[derive(Args, Clone, Debug)]
pub struct LabGateArgs {
    /// The kernel to judge, named as for punctual lab compare
    #[arg(long, value_name = "KERNEL", value_parser = parse_kernel, required_unless_present = "build")]
    pub kernel: Option<Choice>,
    /// Options that the kernel must have been built with, as lines of a configuration; a kernel with other values is
    /// refused. With --build, the configuration to build
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Command that builds the kernel to judge: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its
    /// image
    #[arg(long, value_name = "COMMAND", requires = "config", conflicts_with = "kernel")]
    pub build: Option<String>,
    /// Compare the kernel with the one in this file, which --save has written; load, period, duration and memory are
    /// those of the file
    #[arg(long, value_name = "FILE", required_unless_present = "save")]
    pub baseline: Option<PathBuf>,
    /// Write the measurements of this kernel to a file with which later kernels are compared
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Number of measurements, each with a seed of its own
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u64).range(3..=1000))]
    pub seeds: u64,
    /// Changes smaller than this share are no alarm
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    /// Write JUnit XML to this file, for CI: one case for each load
    #[arg(long, value_name = "PATH", conflicts_with = "save")]
    pub junit: Option<PathBuf>,
    /// Write an HTML page to this file
    #[arg(long, value_name = "PATH", conflicts_with = "save")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document, in the format of lab compare
    #[arg(long, conflicts_with = "save")]
    pub json: bool,
}

#[derive(Args, Clone, Debug)]
pub struct LabBisectArgs {
    /// Kernels in order, the first good and the last bad; or one kernel, with --good-words and --bad-words
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_kernel, required_unless_present = "build")]
    pub kernel: Vec<Choice>,
    /// Words of the command line with which the kernel is good
    #[arg(long, value_name = "WORDS", requires = "bad_words", allow_hyphen_values = true)]
    pub good_words: Option<String>,
    /// Words of the command line with which the kernel is bad
    #[arg(long, value_name = "WORDS", requires = "good_words", allow_hyphen_values = true)]
    pub bad_words: Option<String>,
    /// Configuration of a good kernel
    #[arg(long, value_name = "FILE", requires = "build")]
    pub good_config: Option<PathBuf>,
    /// Configuration of a bad kernel
    #[arg(long, value_name = "FILE", requires = "build")]
    pub bad_config: Option<PathBuf>,
    /// Command that builds a kernel: $PUNCTUAL_CONFIG names its configuration, $PUNCTUAL_IMAGE the file for its image
    #[arg(long, value_name = "COMMAND", requires_all = ["good_config", "bad_config"], conflicts_with_all = ["kernel", "good_words"])]
    pub build: Option<String>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Number of measurements of each kernel, each with a seed of its own
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// The good and the bad kernel must differ by more than this share
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn parse_kernel(text: &str) -> Result<Choice, String> {
    let mut kernels = parse_kernels(text)?;
    match (kernels.pop(), kernels.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(format!("'{text}' stands for several kernels: name one")),
    }
}
