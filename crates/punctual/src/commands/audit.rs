//! `punctual audit`: what on this machine stands between it and real time.
//!
//! Tree -> Machine -> Findings -> text or JSON. Reads only, and works the same on a captured machine.

use super::captured;
use crate::cli::{AuditArgs, FailOn, Profile};
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, bail};
use punctual_core::audit::{audit, worst};
use punctual_core::cpu_set::CpuSet;
use punctual_core::knobs::{self, Case, Knob};
use punctual_core::machine::Machine;
use punctual_core::profile::{Kind, Need};
use punctual_core::tree::Tree;
use punctual_linux::live::LiveTree;
use std::io::{self, Write};
use std::path::Path;

impl From<Profile> for Kind {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Periodic => Self::Periodic,
            Profile::Poll => Self::Poll,
            Profile::Audio => Self::Audio,
        }
    }
}

/// Audits and prints; returns the exit code.
pub fn run(args: &AuditArgs) -> anyhow::Result<Exit> {
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

    let fails = |level: FailOn| worst(&findings).is_some_and(|severity| severity >= level.least());
    Ok(Exit::exceeded_if(args.fail_on.is_some_and(fails)))
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
    Ok(Box::new(captured::read(path)?))
}

fn refuse_offline(machine: &Machine, cpus: &CpuSet) -> anyhow::Result<()> {
    let Some(online) = machine.topology.online.known() else { return Ok(()) };
    let missing = cpus.difference(online);
    if !missing.is_empty() {
        bail!("--cpus {cpus}: CPU {missing} is not online on this machine; online are {online}");
    }
    Ok(())
}
