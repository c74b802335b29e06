//! `punctual tune`: a plan, and what becomes of it.
//!
//! Tree -> Machine -> Plan -> (asked) applied, step by step, by the engine. Everything up to the question reads only.

mod artefact;
mod carry_out;
mod wishes;

pub use carry_out::{GUARD, allowed_to_change, outcome};
pub use wishes::{is_roots_alone, place, wishes};

use super::campaign::{no_campaign_but, none_measures};
use super::source::Source;
use crate::cli::TuneArgs;
use crate::exit::Exit;
use crate::render;
use crate::render::tune::TuneDocument;
use anyhow::{Context, Result, anyhow, bail};
use punctual_linux::apply;
use punctual_linux::journal::{self, Session};
use punctual_tuning::plan::{Keep, Plan, Wishes, has_network_device, plan};
use rustix::fs::statfs;
use std::io::{self, IsTerminal};

/// What `statfs` says of tmpfs and ramfs.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// Plans, shows, asks, applies.
pub fn run(args: &TuneArgs) -> Result<Exit> {
    let is_for_show = args.dry_run || args.machine.is_some() || args.print.is_some();
    if !is_for_show && rustix::process::geteuid().is_root() {
        // What nobody is left to put back would be taken for how the machine was.
        for sentence in super::status::put_back_abandoned()? {
            render::say(&sentence.text);
        }
    }
    let source = Source::open(args.machine.as_deref())?;
    if let Some(what) = args.print {
        return artefact::print(what, args, &source);
    }
    let mut wishes = wishes(args)?;
    if let Some(device) = args.device.as_ref().filter(|device| !has_network_device(source.tree(), device)) {
        bail!("there is no network device '{device}'; `ip link` lists them");
    }
    if args.machine.is_none() {
        wishes.standing = standing();
    }
    if args.machine.is_none() && wishes.lasting && is_forgotten_at_boot() {
        render::say(
            "/var/lib is kept in memory here, so nobody could put back what outlives a boot: until the next boot only.",
        );
        wishes.lasting = false;
        wishes.needs.for_good = false;
    }
    let plan = planned(&source, &wishes)?;
    let is_idle = plan.changes.is_empty() && args.command.is_empty();
    if is_for_show || is_idle || !args.json {
        show(&plan, &wishes, args)?;
    }
    if is_for_show || is_idle {
        return Ok(Exit::Fine);
    }
    allowed_to_change()?;
    none_measures()?;
    nothing_waits()?;
    no_campaign_but(&apply::Machine::here(), None)?;
    if !args.yes && !is_agreed("Apply this? [y/N] ")? {
        render::say("Nothing was changed.");
        return Ok(Exit::Fine);
    }
    carry_out::apply(args, &plan, &wishes)
}

/// Whether a boot empties the journal's folder, and not what is written for the boots to come.
fn is_forgotten_at_boot() -> bool {
    let is_in_memory = |path: &str| statfs(path).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type & 0xffff_ffff)));
    is_in_memory("/var/lib") && !(is_in_memory("/etc") && is_in_memory("/boot"))
}

/// On top of what may go back at any moment nothing is built.
pub fn nothing_waits() -> Result<()> {
    let contents = journal::read(&apply::Machine::here())?.unwrap_or_default();
    let waits = contents.standing().find(|session| {
        let begun = session.begun.as_ref();
        !session.confirmed && begun.is_some_and(|begun| begun.confirm_by_ns.is_some())
    });
    match waits {
        Some(session) => bail!(
            "transaction {} waits to be confirmed; say punctual status --confirm or punctual revert first",
            session.transaction
        ),
        None => Ok(()),
    }
}

/// What earlier tunings keep, as far as the journal may be read; whoever may not read it changes nothing either.
fn standing() -> Vec<Keep> {
    let contents = journal::read(&apply::Machine::here()).ok().flatten().unwrap_or_default();
    contents.standing().flat_map(Session::keeps).map(|(_, keep)| keep.clone()).collect()
}

/// The plan for a machine.
pub fn planned(source: &Source, wishes: &Wishes) -> Result<Plan> {
    plan(source.tree(), &source.machine, wishes)
        .map_err(|refusal| anyhow!("no plan for these CPUs: {refusal}. {}", refusal.remedy()))
}

fn show(plan: &Plan, wishes: &Wishes, args: &TuneArgs) -> Result<()> {
    let text = if args.json {
        render::document(&TuneDocument { profile: args.profile, plan, applied: None })
    } else {
        render::tune::plan(plan, wishes, render::style())
    };
    if args.command.is_empty() {
        return render::print(&text);
    }
    // Standard output is the command's.
    render::say(text.trim_end());
    Ok(())
}

/// Asks whoever sits there.
pub fn is_agreed(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody can be asked here, so nothing was changed; --yes goes on without asking");
    }
    render::ask(question);
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
