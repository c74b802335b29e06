//! `punctual optimize`.

use super::Brief;
use super::names::{RADII, STRATEGIES, one_of};
use super::need::NeedArgs;
use super::value::{Loads, PRIORITY, parse_cpus, parse_duration, parse_loads, parse_percent};
use clap::Args;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::profile::Kind;
use punctual_hist::Nanos;
use punctual_numbers::scenario::LoadPhase;
use punctual_optimize::Strategy;
use punctual_tuning::knobs::Blast;
use std::path::PathBuf;

impl OptimizeArgs {
    /// The kind of work, as a campaign keeps it.
    pub fn kind(&self) -> Kind {
        let named = |kind: &Kind| self.need.profile.as_deref() == Some(kind.name());
        Kind::ALL.into_iter().find(named).unwrap_or_default()
    }

    pub fn period(&self) -> Nanos {
        self.period.unwrap_or(Nanos::from_ms(1))
    }

    pub fn priority(&self) -> u8 {
        self.priority.unwrap_or(PRIORITY)
    }

    pub fn phases(&self) -> Vec<LoadPhase> {
        Loads::or_idle(self.load.as_ref())
    }
}

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct OptimizeArgs {
    /// CPUs of the real-time work, which are measured [default: chosen as tune does]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// Time for the whole campaign
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    pub time: Nanos,
    /// Knobs to try; script:/PATH is your own program, which is called with `on` and `off` [default: those that tune would change now]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub knobs: Vec<String>,
    /// How the knobs are tried
    #[arg(long, default_value = "one-at-a-time", value_parser = one_of(STRATEGIES))]
    pub strategy: Strategy,
    /// Try knobs that need a reboot: the machine is rebooted for each measurement, and the campaign then continues by itself
    #[arg(long)]
    pub boots: bool,
    /// With --boots: the time a machine must have been up before a boot is measured
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub settle: Nanos,
    /// Length of one measurement; many short measurements are better than few long ones
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub run: Nanos,
    /// Load to measure under, loads joined by +, phases by commas [default: the profile's, or none]
    #[arg(long, value_name = "NAMES", value_parser = parse_loads)]
    pub load: Option<Loads>,
    /// Directory for the files of I/O loads [default: the campaign's folder]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,
    /// Time between releases [default: the profile's, or 1ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub period: Option<Nanos>,
    /// Largest latency you can live with: what is later is a miss [default: the profile's; without one, only skipped releases are misses]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// SCHED_FIFO priority, 1 to 95 [default: the profile's, or 90]
    #[arg(long, value_name = "N")]
    pub priority: Option<u8>,
    /// Hold /dev/cpu_dma_latency at this number of microseconds in every measurement, as the application does
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(..=2_147_483_647))]
    pub dma_latency: Option<u32>,
    #[command(flatten)]
    pub need: NeedArgs,
    /// How much a change may disturb the running machine; changes that disturb it more are left out
    #[arg(long, value_name = "RADIUS", default_value = "disturbing", value_parser = one_of(RADII))]
    pub blast: Blast,
    /// Changes smaller than this share count as neither better nor worse
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub margin: f64,
    /// Seed of the order [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Folder to make for the campaign and its recordings [default: punctual-optimize-DATE-TIME, with --boots below /var/lib]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the campaign in this folder, with the options it was started with
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cpus", "knobs", "out", "dry_run", "boots"])]
    pub resume: Option<PathBuf>,
    /// Continues unattended after a boot
    #[arg(long, hide = true, requires = "resume")]
    pub at_boot: bool,
    /// Show what would be tried and how long it takes; change nothing
    #[arg(long, conflicts_with = "html")]
    pub dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with a chart of the effects to this file
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: Brief,
}
