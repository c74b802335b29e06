//! Options of `tune`, `status` and `revert`.

use super::names::{ARCHES, ARTEFACTS, FLAVOURS, Printed, RADII, one_of};
use super::need::NeedArgs;
use super::value::{parse_cpus, parse_duration, parse_version};
use super::{Brief, MachineArgs};
use clap::Args;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::{Arch, Flavour, Version};
use punctual_hist::Nanos;
use punctual_tuning::knobs::Blast;
use std::ffi::OsString;

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct TuneArgs {
    /// CPUs for the real-time work, for example 2-3 [default: chosen, and the choice explained]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    #[command(flatten)]
    pub need: NeedArgs,
    /// Time between releases, if it is known
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub period: Option<Nanos>,
    /// Largest latency you can live with
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// Knobs to change, and no others, for example irq.affinity,iso.domain
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Knobs to leave alone
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub except: Vec<String>,
    /// How much a change may disturb the running machine; changes that disturb it more are listed and not made
    #[arg(long, value_name = "RADIUS", default_value = "disturbing", value_parser = one_of(RADII))]
    pub blast: Blast,
    /// Network device that carries the real-time traffic
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Interrupts that are not moved: numbers, or names as in /proc/interrupts
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub keep_irqs: Vec<String>,
    /// Priority of the real-time work, with which the priorities of the kernel's threads are compared
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=95))]
    pub priority: Option<u8>,
    /// Isolate by a cpuset partition at run time instead of isolcpus= at boot
    #[arg(long)]
    pub partition: bool,
    /// Reserve this number of huge pages of 2 MiB
    #[arg(long, value_name = "N")]
    pub hugepages: Option<u64>,
    /// Show the plan, change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// A plan for another machine changes nothing.
    #[command(flatten)]
    pub which: MachineArgs,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// Make only changes that last until the next boot: no files, no boot loader
    #[arg(long)]
    pub until_reboot: bool,
    /// Put everything back unless `punctual status --confirm` comes within this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["dry_run", "command", "MachineArgs"])]
    pub confirm_within: Option<Nanos>,
    /// Let the check at boot make the new boot entry the default if everything is in force
    #[arg(long)]
    pub confirm_at_boot: bool,
    /// Print one artefact alone, for people who build images
    #[arg(long, value_name = "WHAT", value_parser = one_of(ARTEFACTS), conflicts_with_all = ["command", "confirm_within"])]
    pub print: Option<Printed>,
    /// With --print: version of the kernel it is for [default: this machine's]
    #[arg(long, value_name = "VERSION", value_parser = parse_version, requires = "print")]
    pub kernel: Option<Version>,
    /// With --print: kind of the kernel it is for [default: this machine's]
    #[arg(long, value_parser = one_of(FLAVOURS), requires = "print")]
    pub flavour: Option<Flavour>,
    /// With --print: architecture it is for [default: this machine's]
    #[arg(long, value_parser = one_of(ARCHES), requires = "print")]
    pub arch: Option<Arch>,
    /// With --print cmdline: version of Xenomai 3 it is for [default: 3.3]
    #[arg(long, value_name = "VERSION", value_parser = parse_version, requires = "print")]
    pub xenomai: Option<Version>,
    /// With --print rk3568-l3: which CPUs own which quarters of the L3 cache, for example '0-2=0-1;3=2-3', or a word to decode, for example 0xc333
    #[arg(long, value_name = "SPEC", requires = "print")]
    pub owners: Option<String>,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Apply, run this command, and put everything back when it ends
    #[arg(long = "for", value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true, conflicts_with_all = ["dry_run", "MachineArgs"])]
    pub command: Vec<OsString>,
}

#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// Keep what was applied, and make the new boot entry the default
    #[arg(long)]
    pub confirm: bool,
    /// Make the new command line the default although this boot loader cannot try it first
    #[arg(long)]
    pub adopt_untried: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub form: Brief,
}

#[derive(Args, Clone, Debug)]
pub struct RevertArgs {
    /// Put back all transactions after transaction N, which is kept [default: everything]
    #[arg(long, value_name = "N")]
    pub to: Option<u32>,
    /// Leave settings that another program or person has changed since as they are, and forget them
    #[arg(long)]
    pub leave_conflicts: bool,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
