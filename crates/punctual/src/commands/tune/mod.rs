//! `punctual tune`: a plan, and what becomes of it.
//!
//! Tree -> Machine -> Plan -> (asked) applied, step by step, by the engine. Everything up to the question reads only.

mod wishes;

use super::source::Source;
use crate::cli::TuneArgs;
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result, bail};
use punctual_core::machine::Machine;
use punctual_core::plan::{Plan, Wishes, plan};

/// Plans, shows, asks, applies.
pub fn run(args: &TuneArgs) -> Result<Exit> {
    let source = Source::open(args.machine.as_deref())?;
    let machine = Machine::read(source.tree.as_ref());
    let wishes = wishes::wishes(args)?;
    let plan = plan(source.tree.as_ref(), &machine, &wishes)
        .map_err(|refusal| anyhow::anyhow!("no plan for these CPUs: {refusal}; {}", refusal.remedy()))?;
    show(&plan, &wishes, args)?;
    if args.dry_run || args.machine.is_some() || plan.changes.is_empty() {
        return Ok(Exit::Fine);
    }
    bail!("not yet")
}

fn show(plan: &Plan, wishes: &Wishes, args: &TuneArgs) -> Result<()> {
    let text = if args.json {
        render::tune::plan_json(plan, wishes)?
    } else {
        render::tune::plan(plan, wishes, render::style())
    };
    render::print(&text).context("cannot write to standard output")
}
