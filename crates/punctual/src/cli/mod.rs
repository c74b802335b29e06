//! The command line: verbs, options and their help.

#![allow(clippy::doc_markdown, reason = "these comments are the help a user reads on a terminal")]

#[cfg(test)]
mod book;
mod campaign;
mod compare;
mod explain;
mod fleet;
mod inspect;
mod lab;
mod long;
mod names;
mod need;
mod optimize;
mod plot;
mod result;
mod share;
mod tables;
mod torture;
mod trend;
mod tune;
mod value;
mod watch;

pub use campaign::CampaignArgs;
pub use compare::{CompareArgs, CompareLevel};
pub use explain::ExplainArgs;
pub use fleet::{FleetCommand, FleetRunArgs};
pub use inspect::InspectArgs;
pub use lab::{GuestArgs, LabArgs, LabBisectArgs, LabCompareArgs, LabGateArgs, LabVerb};
pub use long::{MergeArgs, ResumeArgs};
pub use names::{ClockWish, GravityWish, Printed, mechanisms};
pub use need::{InitArgs, NeedArgs};
pub use optimize::OptimizeArgs;
pub use plot::ChartName;
pub use result::{ExportArgs, ExportFormat, ImportArgs, ReportArgs};
pub use share::ShareArgs;
#[cfg(feature = "parquet")]
pub use tables::PackArgs;
pub use tables::{AskArgs, By, Dialect, Question};
pub use torture::TortureArgs;
pub use trend::{TrendArgs, TrendLevel};
pub use tune::{RevertArgs, StatusArgs, TuneArgs};
pub use value::{CHECK_LOADS, Loads, PRIORITY, Period, When, WhichDay, parse_cpus, parse_duration, parse_loads};
pub use watch::WatchArgs;

use clap::{Args, Parser, Subcommand, ValueEnum};
use names::{ARCHES, CONTEXTS, ENGINES, FINDING_LEVELS, FLAVOURS, GRAVITIES, KERNELS, MECHANISMS, one_of, parse_clock};
use punctual_facts::cpu_set::{CPU_LIMIT, CpuSet};
use punctual_facts::finding::Severity;
use punctual_facts::machine::{Arch, Flavour, Version};
use punctual_hist::Nanos;
use punctual_linux::measure::Endpoint;
use punctual_linux::trace::EngineChoice;
use punctual_numbers::scenario::{Amount, Core, CoreContext, LoadPhase, Mechanism};
use std::ffi::OsString;
use std::path::PathBuf;
use value::{parse_amount, parse_period, parse_trace_buffer, parse_version};

const AFTER_HELP: &str = if cfg!(feature = "every-verb") {
    "Start here: sudo punctual check"
} else {
    "Start here: sudo punctual measure. This program is made for boards and has few verbs: take its recordings to a \
     whole punctual for the others."
};

/// Makes a Linux machine punctual, and proves it.
#[derive(Debug, Parser)]
#[command(
    name = "punctual",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// When to colour: auto is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    pub color: Colour,
    /// Language of what people read; formats for programs are English [default: the locale's, or en]
    #[arg(long, global = true, value_enum, value_name = "LANG")]
    pub lang: Option<Lang>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

/// Languages of what people read. The module `render::lang` says where they are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    En,
    /// Chinese, in simplified characters
    Zh,
}

// The small program for boards has the verbs that it does not skip here.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a project file that states the need once, from four questions or from options
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Init(InitArgs),
    /// The main job: audit, measure under load, and say whether the need is held
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Check(CheckArgs),
    /// List what on this machine stands in the way of real time
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Audit(AuditArgs),
    /// Say how the kernel treats each word of a command line
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Lint(LintArgs),
    /// Plan what to change on this machine, and change it: journalled, read back, reversible
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Tune(TuneArgs),
    /// Show what was changed, and whether it is configured, booted and in force
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Status(StatusArgs),
    /// Put back exactly what was there
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Revert(RevertArgs),
    /// Measure latency in a stated scenario, into a recording
    Measure(MeasureArgs),
    /// Merge several runs of one scenario into one recording
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Merge(MergeArgs),
    /// Rank what made activations late in a recording
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Explain(ExplainArgs),
    /// Observe a running program: its periodic threads, what is in their cycles, how they are set up
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Inspect(InspectArgs),
    /// Measure for months while other work runs, into a folder of bounded size
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Watch(Box<WatchArgs>),
    /// Write a recording, or another program's result, in another program's format
    #[cfg_attr(not(feature = "every-verb"), command(about = "Write a recording in another program's format"))]
    Export(ExportArgs),
    /// Show the report of a recording, or of another program's result
    #[cfg_attr(not(feature = "every-verb"), command(about = "Show the report of a recording"))]
    Report(ReportArgs),
    /// Compare recordings with a first one: better or worse, and how certain that is
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Compare(Box<CompareArgs>),
    /// Find where a series of runs shifted or drifts, and what else changed there
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Trend(TrendArgs),
    /// Try knobs one at a time, measure each, and tell which help here; everything is put back
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Optimize(Box<OptimizeArgs>),
    /// Run an experiment that is described in a file: measure its cells in turn, with reboots if necessary, and put all results on one page with published numbers
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Campaign(CampaignArgs),
    /// Write a result, with what the machine looks like, into one masked file that can be shown to anybody
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Share(ShareArgs),
    /// Write this machine into one readable file, to be audited elsewhere or shown in a bug report
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Snapshot(SnapshotArgs),
    /// Many machines: run a command on all of them, pack their results, and find out what the bad machines share
    #[cfg_attr(feature = "every-verb", command(subcommand))]
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Fleet(FleetCommand),
    /// Try to break the kernel's promises about registers, locks, memory and timers
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Torture(TortureArgs),
    /// Measure kernels in emulated machines, where time counts instructions and this machine has no influence on the numbers
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Lab(LabArgs),
    /// Install man pages where `man` finds them
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Man(InstallArgs),
    /// Install completions where bash, zsh and fish look for them
    #[cfg_attr(not(feature = "every-verb"), command(skip))]
    Completions(InstallArgs),
    /// (internal) run one load until standard input closes
    #[command(name = "__load", hide = true)]
    Load(LoadArgs),
    /// (internal) read files for another process of this program
    #[command(name = "__read", hide = true)]
    Read,
    /// (internal) set what a reboot has undone
    #[command(name = "__boot", hide = true)]
    Boot,
    /// (internal) put settings back if the process that made them is gone
    #[command(name = "__guard", hide = true)]
    Guard {
        /// The transaction to guard, and until when.
        words: Vec<String>,
    },
    /// (internal) limit how deeply the CPUs sleep as long as this runs
    #[command(name = "__hold-latency", hide = true)]
    HoldLatency { us: u32 },
    /// (internal) print the ids of all knobs, one a line, for completion
    #[command(name = "__knobs", hide = true)]
    Knobs,
    /// (internal) write man pages into a directory
    #[command(name = "__man", hide = true)]
    WriteMan { dir: PathBuf },
    /// (internal) write shell completions into a directory
    #[command(name = "__completions", hide = true)]
    WriteCompletions { dir: PathBuf },
}

#[derive(Args, Clone, Copy, Debug)]
pub struct InstallArgs {
    /// Write the files: for all users if run as root, otherwise for this user
    #[arg(long, required = true)]
    pub install: bool,
    #[command(flatten)]
    pub form: Quiet,
}

#[derive(Args, Clone, Debug)]
pub struct AuditArgs {
    #[command(flatten)]
    pub need: NeedArgs,
    /// CPUs for the real-time work, for example 2-3 [default: the isolated CPUs, or all if none is isolated]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// Time between releases, if it is known
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub period: Option<Nanos>,
    /// Largest latency you can live with; findings that matter only for smaller budgets are excused
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    #[command(flatten)]
    pub form: AuditForm,
    /// Explain one knob
    #[arg(long, value_name = "KNOB", conflicts_with = "AuditForm")]
    pub explain: Option<String>,
    /// Also list what is good or does not apply; with --sarif, also what is not bad
    #[arg(long, conflicts_with_all = ["explain", "diff"])]
    pub all: bool,
    /// Exit with 2 if a finding is at least this bad; with --diff, only findings that became worse count
    #[arg(long, value_name = "LEVEL", value_parser = one_of(FINDING_LEVELS))]
    pub fail_on: Option<Severity>,
    #[command(flatten)]
    pub which: MachineArgs,
    /// Show the differences between two captured machines, or between one and this machine; prints nothing if nothing differs
    #[arg(
        long,
        value_names = ["A", "B"],
        num_args = 1..=2,
        conflicts_with_all = ["MachineArgs", "explain", "sarif", "junit"]
    )]
    pub diff: Option<Vec<PathBuf>>,
}

/// Options that name a machine other than this one.
#[derive(Args, Clone, Debug)]
#[group(multiple = false)]
pub struct MachineArgs {
    /// Take a captured machine instead of this one: a file written by punctual snapshot
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Take an unpacked system instead of this machine: the folder of a disk image, an initramfs or a sos report
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

impl MachineArgs {
    pub fn is_this_machine(&self) -> bool {
        self.machine.is_none() && self.root.is_none()
    }
}

/// Forms in which an audit is printed, other than the list for people.
#[derive(Args, Clone, Copy, Debug)]
#[group(multiple = false)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own; clap lets one of them through")]
pub struct AuditForm {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print Markdown, for an issue or a merge request
    #[arg(long)]
    pub markdown: bool,
    /// Print SARIF 2.1.0, for code-review tools
    #[arg(long)]
    pub sarif: bool,
    /// Print JUnit XML, for CI
    #[arg(long)]
    pub junit: bool,
    /// Print one line, for scripts and CI logs
    #[arg(long, short = 'q', visible_alias = "quiet", conflicts_with_all = ["all", "diff"])]
    pub brief: bool,
}

#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// Command line to judge, or - to read it from standard input [default: that of this machine]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub cmdline: Option<OsString>,
    /// Version of the kernel that reads the line, for example 6.12 [default: this machine's]
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    pub kernel: Option<Version>,
    /// Kind of the kernel that reads the line [default: this machine's]
    #[arg(long, value_parser = one_of(FLAVOURS))]
    pub flavour: Option<Flavour>,
    /// Architecture of the kernel that reads the line [default: this machine's]
    #[arg(long, value_parser = one_of(ARCHES))]
    pub arch: Option<Arch>,
    /// Number of CPUs of the machine that boots with the line [default: that of this machine, or unknown for the line of another machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(CPU_LIMIT)))]
    pub cpus: Option<u32>,
    #[command(flatten)]
    pub which: MachineArgs,
    /// Judge the line in a file that contains only the line (cmdline.txt), or in a boot loader's file (default/grub, extlinux.conf)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cmdline", "MachineArgs"])]
    pub file: Option<PathBuf>,
    /// Judge for the kernel in this boot image (vmlinuz): the list of the parameters that it accepts is read from the image
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print SARIF, for code-review tools
    #[arg(long, conflicts_with_all = ["json", "brief"])]
    pub sarif: bool,
    #[command(flatten)]
    pub form: Brief,
    /// Exit with 2 when a word is at least this bad
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub fail_on: Option<LintLevel>,
}

/// From which verdict of the linter on the exit code is 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LintLevel {
    /// Words that are harmful, unknown or have a value that is refused
    Fail,
    /// Also words that have no effect, have another value than was written, or do something else than commonly believed
    Warn,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub need: NeedArgs,
    /// Time between releases, for example 1ms or 250us [default: the profile's, or 1ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub period: Option<Nanos>,
    /// Largest latency you can live with [default: the profile's, or 50us]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// CPUs to check, for example 2-3 [default: the isolated ones, or all but the first core]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// SCHED_FIFO priority, 1 to 95 [default: the profile's, or 90]
    #[arg(long, value_name = "N")]
    pub priority: Option<u8>,
    /// How long to measure; looking for causes takes a quarter of it in addition [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Nanos>,
    /// Do not measure: say which functions of punctual work here, and what to install or to grant for those that do not
    #[arg(long, conflicts_with_all = ["period", "budget", "cpus", "priority", "duration", "load", "wait_quiet", "out", "junit", "fail_on"])]
    pub why_not: bool,
    /// Do not look for causes in a second, traced pass
    #[arg(long)]
    pub no_explain: bool,
    /// Load phases in turn, loads of a phase joined by +; `none` for no load [default: the profile's, or
    /// idle:1,cpu+memory+io-write+switch+net:2]
    #[arg(long, value_name = "NAMES", value_parser = parse_loads)]
    pub load: Option<Loads>,
    /// Wait up to this time until other programs are idle before an idle phase is measured
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub wait_quiet: Option<Nanos>,
    /// Recording to write; the HTML report is written next to it [default: punctual-DATE-TIME.punctual]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Write JUnit XML to this file, for CI: one case for each CPU
    #[arg(long, value_name = "PATH")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
    /// Exit with 2 when a finding is at least this bad
    #[arg(long, value_name = "LEVEL", value_parser = one_of(FINDING_LEVELS))]
    pub fail_on: Option<Severity>,
}

/// Whether one line is printed instead of the text.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Brief {
    /// Print one line and no progress, for scripts and CI logs
    #[arg(long, short = 'q', visible_alias = "quiet", conflicts_with = "json")]
    pub brief: bool,
}

/// Whether messages beside the result are left out.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Quiet {
    /// Print no messages but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// How much of a result is printed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Form {
    /// Print the whole report, with the answer last
    #[arg(long, conflicts_with_all = ["brief", "json"])]
    pub full: bool,
    /// Print one line and no progress, for scripts and CI logs
    #[arg(long, short = 'q', visible_alias = "quiet", conflicts_with = "json")]
    pub brief: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct MeasureArgs {
    #[command(flatten)]
    pub need: NeedArgs,
    /// CPUs to measure; leave one out for punctual's own helper threads, or the run is not trusted [default: every CPU this process may use]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// Time between releases: one for all, or by CPU as in 0=1ms,1=500us [default: 1ms; 50ms with nanosleep]
    #[arg(long, value_name = "TIME", value_parser = parse_period)]
    pub period: Option<Period>,
    /// Scheduling policy
    #[arg(long, value_enum, default_value_t = PolicyName::Fifo)]
    pub policy: PolicyName,
    /// Priority for fifo and rr, 1 to 95 [default: the profile's, or 90]
    #[arg(long, value_name = "N")]
    pub priority: Option<u8>,
    /// Run time per period for deadline [default: a fifth of the shortest period]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub runtime: Option<Nanos>,
    /// How the threads wait; on EVL absolute, on Cobalt absolute or timerfd (a timer file of its own)
    #[arg(long, default_value = "absolute", value_parser = one_of(MECHANISMS))]
    pub mechanism: Mechanism,
    /// With rpmsg and shm: device file or memory of the other side, such as /dev/rpmsg0, or PATH@OFFSET in bytes for memory
    #[arg(long, value_name = "PATH", conflicts_with = "suite")]
    pub endpoint: Option<Endpoint>,
    /// The clock that sets the times of the releases and measures the latency: realtime, tai, aux:0 to aux:7, or a PTP device
    /// such as /dev/ptp0
    #[arg(long, value_name = "CLOCK", default_value = "monotonic", value_parser = parse_clock, conflicts_with = "suite")]
    pub clock: ClockWish,
    /// The kernel that wakes the threads: Linux, or a real-time core beside it; two of them, as in linux,evl, are measured in
    /// turn, half of the duration each, and compared; --out then names a folder
    #[arg(
        long,
        value_name = "KERNEL",
        default_value = "linux",
        value_delimiter = ',',
        value_parser = one_of(KERNELS),
        conflicts_with = "suite"
    )]
    pub kernel: Vec<CoreOrLinux>,
    /// With one real-time core: what reads the clock after a release
    #[arg(long, value_name = "CONTEXT", default_value = "user", value_parser = one_of(CONTEXTS))]
    pub context: CoreContext,
    /// With a real-time core: by how much its timers fire early, to compensate for the time from the timer to the thread
    #[arg(long, value_name = "HOW", default_value = "leave", value_parser = one_of(GRAVITIES))]
    pub gravity: GravityWish,
    /// With two kernels: number of rounds; each kernel is measured once in each round
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub rounds: u32,
    /// Phase of the releases on the clock
    #[arg(long, value_enum, default_value_t = PhaseName::Auto)]
    pub phase: PhaseName,
    /// Seed of --phase random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Warm-up before statistics begin: a time, or a number of activations
    #[arg(long, value_name = "AMOUNT", default_value = "500ms", value_parser = parse_amount)]
    pub warm_up: Amount,
    /// How long to measure [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "activations")]
    pub duration: Option<Nanos>,
    /// Measure this number of activations of each thread instead
    #[arg(long, value_name = "N")]
    pub activations: Option<u64>,
    /// Largest latency you can live with: activations beyond it are counted
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// Stop at the first activation later than this, and exit with 2
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub limit: Option<Nanos>,
    /// Hold /dev/cpu_dma_latency at this number of microseconds during the run; it is not touched otherwise
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(..=2_147_483_647))]
    pub dma_latency: Option<u32>,
    /// Load phases in turn, each with an optional weight: idle:1,cpu+memory:2 [default: the profile's, or none]
    #[arg(long, value_name = "NAMES", value_parser = parse_loads)]
    pub load: Option<Loads>,
    /// CPUs the loads run on [default: every CPU that is not isolated]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub load_cpus: Option<CpuSet>,
    /// Directory for the files of I/O loads [default: the folder of the recording]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,
    /// List the available loads
    #[arg(long)]
    pub list_loads: bool,
    /// Run a published suite instead of a scenario of your own
    #[arg(long, value_enum, conflicts_with_all = ["load", "mechanism", "period", "duration", "activations", "warm_up"])]
    pub suite: Option<SuiteName>,
    #[command(flatten)]
    pub explain: TraceArgs,
    #[command(flatten)]
    pub resume: ResumeArgs,
    /// Wait up to this time until other programs are idle before an idle phase is measured
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub wait_quiet: Option<Nanos>,
    /// Recording to write [default: punctual-DATE-TIME.punctual]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Also write an HTML report to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
    /// Show the running measurement on the terminal, with keys to pause the view, reset it, mark a moment, quit
    #[arg(long, conflicts_with_all = ["brief", "list_loads"])]
    pub live: bool,
}

/// A real-time core, or `None` for Linux. The command-line parser would take an `Option` for an optional value.
type CoreOrLinux = Option<Core>;

impl MeasureArgs {
    pub fn priority(&self) -> u8 {
        self.priority.unwrap_or(PRIORITY)
    }

    pub fn phases(&self) -> Vec<LoadPhase> {
        Loads::or_idle(self.load.as_ref())
    }
}

/// Options of `punctual measure` for the search for causes.
#[derive(Args, Clone, Debug)]
pub struct TraceArgs {
    /// Look for causes of late activations during the run; punctual explain shows them
    #[arg(long)]
    pub explain: bool,
    /// Activations with more latency than this are late [default: the latency that 99.9 % of the run so far did not exceed]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "explain")]
    pub explain_threshold: Option<Nanos>,
    /// Keep what the kernel did around late activations, but for at most this number of them
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(16..=100_000), requires = "explain")]
    pub windows: u32,
    /// Size of the kernel's trace buffer for each measured CPU, as in 16M [default: 32M, less if memory is short]
    #[arg(long, value_name = "SIZE", value_parser = parse_trace_buffer, requires = "explain")]
    pub trace_buffer: Option<u64>,
    /// How to look for causes: by the kernel's trace, alone or together with the kernel's noise tracer, or by a BPF
    /// program if this build has it
    #[arg(long, value_name = "ENGINE", requires = "explain", value_parser = one_of(ENGINES))]
    pub explain_engine: Option<EngineChoice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// SCHED_FIFO
    Fifo,
    /// SCHED_RR
    Rr,
    /// SCHED_DEADLINE: threads are not pinned
    Deadline,
    /// SCHED_OTHER
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PhaseName {
    /// Same instant on all CPUs, as far from the tick as possible
    Auto,
    /// Same instant on all CPUs, at multiples of the period
    Aligned,
    /// Spread evenly over the period, CPU by CPU
    Staggered,
    /// At random
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SuiteName {
    /// Idle, copy, read, write, /proc and graphics; 50 ms sleeps, 1000 samples each, the first two dropped
    #[value(name = "classic-2002")]
    Classic2002,
}

#[derive(Debug, Args)]
pub struct SnapshotArgs {
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Mask nothing: keep host and user names, addresses, serial numbers and the whole command line
    #[arg(long)]
    pub raw: bool,
    #[command(flatten)]
    pub form: Quiet,
}

#[derive(Debug, Args)]
pub struct LoadArgs {
    pub name: String,
    #[arg(long, value_parser = parse_cpus)]
    pub on: CpuSet,
    #[arg(long)]
    pub dir: PathBuf,
    /// Number of seconds after which the load ends by itself.
    #[arg(long)]
    pub seconds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_verb_can_be_quiet() {
        let program = Cli::command();
        let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
        // The options of a verb with verbs of its own are theirs.
        let own =
            |verb| if clap::Command::has_subcommands(verb) { verb.get_subcommands().collect() } else { vec![verb] };
        let loud: Vec<&str> = verbs
            .flat_map(own)
            .filter(|verb| !verb.get_arguments().any(|arg| arg.get_short() == Some('q')))
            .map(clap::Command::get_name)
            .collect();
        assert!(loud.is_empty(), "without -q: {loud:?}");
    }
}
