//! `punctual tune`: a plan, and what becomes of it.
//!
//! Tree -> Machine -> Plan -> (asked) applied, step by step, by the engine. Everything up to the question reads only.

mod apply;
mod artefact;
mod wishes;

pub use apply::allowed_to_change;
pub use wishes::wishes;

use super::source::Source;
use crate::cli::TuneArgs;
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result, anyhow, bail};
use punctual_core::machine::Machine;
use punctual_core::plan::{Plan, Wishes, plan};
use punctual_core::tree::Tree;
use std::io::{self, IsTerminal};

/// Plans, shows, asks, applies.
pub fn run(args: &TuneArgs) -> Result<Exit> {
    let source = Source::open(args.machine.as_deref())?;
    let machine = Machine::read(source.tree.as_ref());
    if let Some(what) = args.print {
        return artefact::print(what, args, source.tree.as_ref(), &machine);
    }
    let wishes = wishes(args)?;
    let plan = planned(source.tree.as_ref(), &machine, &wishes)?;
    let is_for_show = args.dry_run || args.machine.is_some();
    let is_idle = plan.changes.is_empty() && args.command.is_empty();
    if is_for_show || is_idle || !args.json {
        show(&plan, &wishes, args)?;
    }
    if is_for_show || is_idle {
        return Ok(Exit::Fine);
    }
    allowed_to_change()?;
    if !args.yes && !is_agreed()? {
        render::say("Nothing was changed.");
        return Ok(Exit::Fine);
    }
    apply::apply(args, &plan, &wishes)
}

/// The plan for a machine.
pub fn planned(tree: &dyn Tree, machine: &Machine, wishes: &Wishes) -> Result<Plan> {
    plan(tree, machine, wishes).map_err(|refusal| anyhow!("no plan for these CPUs: {refusal}. {}", refusal.remedy()))
}

fn show(plan: &Plan, wishes: &Wishes, args: &TuneArgs) -> Result<()> {
    let text = if args.json {
        render::tune::plan_json(plan, wishes)?
    } else {
        render::tune::plan(plan, wishes, render::style())
    };
    if args.command.is_empty() {
        return render::print(&text).context("cannot write to standard output");
    }
    // Standard output is the command's.
    render::say(text.trim_end());
    Ok(())
}

/// Asks whoever sits there.
fn is_agreed() -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody can be asked here, so nothing was changed; --yes applies the plan without asking");
    }
    render::ask("Apply this? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
