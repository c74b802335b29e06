//! `punctual audit`: what on this machine stands between it and real time.
//!
//! Tree -> Machine -> Findings -> text or JSON. Reads only, and works the same on a captured machine.

use crate::render;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use punctual_core::audit::{audit, worst};
use punctual_core::cpu_set::CpuSet;
use punctual_core::finding::Severity;
use punctual_core::knobs::{self, Case, Knob};
use punctual_core::machine::Machine;
use punctual_core::profile::{Kind, Need};
use punctual_core::tree::{MemTree, Tree};
use punctual_linux::live::LiveTree;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What can be asked of the audit.
#[derive(Args, Clone, Debug)]
pub struct AuditArgs {
    /// Kind of work the machine is for
    #[arg(long, value_enum, default_value_t = Profile::Periodic)]
    pub profile: Profile,
    /// CPUs for the real-time work, like 2-3,6; by default the isolated ones, or else all
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Tell all about one knob
    #[arg(long, value_name = "KNOB", conflicts_with = "json")]
    pub explain: Option<String>,
    /// Exit with 2 when something at least this bad is found
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub fail_on: Option<FailOn>,
    /// Audit a captured machine instead of this one
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
}

/// Kinds of work, as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// A loop that blocks until its next release: control, field buses
    Periodic,
    /// A thread that never gives its CPU up: packet processing
    Poll,
    /// Audio and the like on a shared desktop
    Audio,
}

impl From<Profile> for Kind {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Periodic => Self::Periodic,
            Profile::Poll => Self::Poll,
            Profile::Audio => Self::Audio,
        }
    }
}

/// What counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A finding of severity high or fatal
    Fail,
    /// A finding of severity medium or above
    Warn,
}

impl FailOn {
    /// The least severity that counts.
    pub fn least(self) -> Severity {
        match self {
            Self::Fail => Severity::High,
            Self::Warn => Severity::Medium,
        }
    }
}

fn cpu_list(text: &str) -> Result<CpuSet, String> {
    let cpus = CpuSet::parse_list(text).map_err(|e| e.to_string())?;
    if cpus.is_empty() { Err("the list is empty; give CPUs like 2-3,6".to_owned()) } else { Ok(cpus) }
}

/// Audits and prints; returns the exit code.
pub fn run(args: &AuditArgs) -> anyhow::Result<u8> {
    let knob = args.explain.as_deref().map(named).transpose()?;
    let tree = tree(args.machine.as_deref())?;
    let machine = Machine::read(tree.as_ref());
    let need = Need { kind: args.profile.into(), cpus: args.cpus.clone().unwrap_or_default(), ..Need::default() };
    refuse_offline(&machine, &need.cpus)?;
    let findings = audit(tree.as_ref(), &machine, &need);
    let case = Case::new(tree.as_ref(), &machine, &need);

    let mut out = anstream::stdout().lock();
    let printed = match knob {
        Some(knob) => render::audit::explain(&mut out, &case, knob, &findings),
        None if args.json => render::audit::json(&mut out, &case, &findings),
        None => render::audit::text(&mut out, &case, &findings),
    };
    finish(printed.and_then(|()| out.flush()))?;

    let fails = |least: FailOn| worst(&findings).is_some_and(|severity| severity >= least.least());
    Ok(if args.fail_on.is_some_and(fails) { 2 } else { 0 })
}

/// A reader that has seen enough (`| head`) is no failure of ours.
fn finish(printed: io::Result<()>) -> anyhow::Result<()> {
    match printed {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

fn named(id: &str) -> anyhow::Result<&'static Knob> {
    let Some(knob) = knobs::find(id) else {
        let near = knobs::near(id);
        let hint = if near.is_empty() { "punctual audit lists all of them".to_owned() } else { near.join(", ") };
        bail!("there is no knob '{id}'; did you mean: {hint}");
    };
    Ok(knob)
}

fn tree(captured: Option<&Path>) -> anyhow::Result<Box<dyn Tree>> {
    let Some(path) = captured else { return Ok(Box::new(LiveTree::new("/"))) };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the captured machine {}; is the path right?", path.display()))?;
    let tree = MemTree::parse(&text)
        .with_context(|| format!("{} is not a captured machine this program understands", path.display()))?;
    Ok(Box::new(tree))
}

fn refuse_offline(machine: &Machine, cpus: &CpuSet) -> anyhow::Result<()> {
    let Some(online) = machine.topology.online.known() else { return Ok(()) };
    let missing = cpus.difference(online);
    if !missing.is_empty() {
        bail!("--cpus {cpus}: CPU {missing} is not online on this machine; online are {online}");
    }
    Ok(())
}
