//! Options that state the need: the kind of work, and the project file.

use clap::Args;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use punctual_tuning::presets;
use std::ffi::OsStr;
use std::path::PathBuf;

#[derive(Args, Clone, Debug, Default)]
pub struct NeedArgs {
    /// Kind of work the machine is for: a preset, a profile of the project file, or just periodic, poll or audio
    #[arg(long, value_name = "NAME", value_parser = ProfileName { with_kinds: true })]
    pub profile: Option<String>,
    /// Project file that states the need [default: punctual.toml in this folder, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Accepts any name, because a project file may define its own, and completes the presets and, `with_kinds`, the kinds of
/// work without a preset.
#[derive(Clone)]
struct ProfileName {
    with_kinds: bool,
}

impl TypedValueParser for ProfileName {
    type Value = String;

    fn parse_ref(&self, cmd: &clap::Command, arg: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let presets = presets::ALL.iter().map(|preset| PossibleValue::new(preset.name).help(preset.about));
        let kinds = [
            PossibleValue::new("periodic").help("A loop that blocks until its next release"),
            PossibleValue::new("poll").help("A thread that polls and never gives up its CPU"),
        ];
        Some(Box::new(presets.chain(kinds.into_iter().filter(|_| self.with_kinds))))
    }
}

#[derive(Args, Debug)]
pub struct InitArgs {
    /// Kind of work, which fills in what is not given
    #[arg(long, value_name = "NAME", value_parser = ProfileName { with_kinds: false })]
    pub profile: Option<String>,
    /// Time between releases, for example 1ms
    #[arg(long, value_name = "TIME", value_parser = super::value::parse_duration)]
    pub period: Option<punctual_hist::Nanos>,
    /// Largest latency you can live with, for example 50us
    #[arg(long, value_name = "TIME", value_parser = super::value::parse_duration)]
    pub budget: Option<punctual_hist::Nanos>,
    /// CPUs for the real-time work, for example 2-3
    #[arg(long, value_name = "LIST", value_parser = super::value::parse_cpus)]
    pub cpus: Option<punctual_facts::cpu_set::CpuSet>,
    /// Ask no questions; values that are not given are left to the profile
    #[arg(long, short)]
    pub yes: bool,
    /// File to write
    #[arg(long, value_name = "FILE", default_value = "punctual.toml")]
    pub out: PathBuf,
    #[command(flatten)]
    pub form: super::Quiet,
    /// Replace the file if it exists
    #[arg(long)]
    pub replace: bool,
}
