//! `punctual tune`: makes a plan, shows it and applies it.
//!
//! Tree -> Machine -> Plan -> question to the user -> applied, step by step, by the engine. Everything before the
//! question only reads.

mod artefact;
mod carry_out;
mod wishes;

pub use carry_out::{GUARD, outcome};
pub use wishes::{is_roots_alone, place, wishes};

use super::preconditions::{allowed_to_change, no_campaign_but, none_measures, nothing_waits, put_back_abandoned};
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

/// File system types of tmpfs and ramfs, as `statfs` reports them.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

pub fn run(args: &TuneArgs) -> Result<Exit> {
    let is_for_show = args.dry_run || !args.which.is_this_machine() || args.print.is_some();
    if !is_for_show && rustix::process::geteuid().is_root() {
        // Abandoned transactions are put back first, because otherwise their settings would be recorded as the
        // machine's original state.
        for sentence in put_back_abandoned()? {
            render::say(&sentence.text);
        }
    }
    let source = Source::open(&args.which)?;
    if let Some(what) = args.print {
        return artefact::print(what, args, &source);
    }
    let mut wishes = wishes(args)?;
    if let Some(device) = args.device.as_ref().filter(|device| !has_network_device(source.tree(), device)) {
        bail!("there is no network device '{device}'; `ip link` lists them");
    }
    if args.which.is_this_machine() {
        wishes.standing = standing();
    }
    if args.which.is_this_machine() && wishes.lasting && is_forgotten_at_boot() {
        render::say(
            "/var/lib is kept in memory here, so a reboot would lose the journal: changes only last until the next \
            boot.",
        );
        wishes.lasting = false;
        wishes.preferences.for_good = false;
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

/// Whether a boot empties the journal's folder but keeps the files that configure later boots, as on a live image.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the types are numbers of 32 bits")]
fn is_forgotten_at_boot() -> bool {
    let is_in_memory = |path: &str| statfs(path).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u32)));
    is_in_memory("/var/lib") && !(is_in_memory("/etc") && is_in_memory("/boot"))
}

/// The lasting settings of earlier transactions. Users who may not read the journal get none, because they may not
/// change anything either.
fn standing() -> Vec<Keep> {
    let contents = journal::read(&apply::Machine::here()).ok().flatten().unwrap_or_default();
    contents.standing().flat_map(Session::keeps).map(|kept| kept.keep.clone()).collect()
}

pub fn planned(source: &Source, wishes: &Wishes) -> Result<Plan> {
    plan(source.tree(), &source.machine, wishes)
        .map_err(|refusal| anyhow!("no plan for these CPUs: {refusal}. {}", refusal.remedy()))
}

fn show(plan: &Plan, wishes: &Wishes, args: &TuneArgs) -> Result<()> {
    let text = if args.json {
        render::document(&TuneDocument::of(wishes.need.kind, plan, None))?
    } else if args.form.brief {
        render::brief::plan(plan)
    } else {
        render::for_people(|| render::tune::plan(plan, wishes, render::style()))
    };
    if args.command.is_empty() {
        return render::print(&text);
    }
    // Standard output belongs to the command that is run.
    render::say(text.trim_end());
    Ok(())
}

pub fn is_agreed(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!(
            "there is no terminal for the question, so nothing was changed; use --yes to continue without being asked"
        );
    }
    render::ask(question);
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::commands::optimize::simulated;
    use crate::render::document::schema::assert_valid;
    use crate::render::tune::{Sentence, Status};
    use clap::Parser;
    use punctual_linux::apply::{Extent, Request, Transaction, revert};
    use punctual_linux::journal::{Purpose, TuningRequest};
    use punctual_tuning::plan::{self, Step};

    /// The test applies steps on files only, because other steps would change the machine that runs it.
    #[test]
    fn what_is_published_of_a_plan_and_what_became_of_it_fits_its_schemas() {
        let words = ["punctual", "tune", "--cpus", "1-3", "--blast", "any"];
        let Command::Tune(args) = Cli::try_parse_from(words).unwrap().command else { panic!("another command") };
        let fixture = fixtures::repository("fixtures/machines/debian-13-rt-plain.machine");
        let source = Source::captured_in(&fixture).unwrap();
        let plan = planned(&source, &wishes(&args).unwrap()).unwrap();
        let is_file = |step: &Step| matches!(step, Step::Write { .. } | Step::Own { .. });
        let changes: Vec<_> = plan.changes.iter().filter(|change| change.steps.iter().all(is_file)).cloned().collect();
        let (dir, hand) = simulated::machine();
        let request = Request { kind: Purpose::Tuned, asked: TuningRequest::default(), confirm_within: None };
        let applied = Transaction::begin(&hand, &request).unwrap().apply(&changes, args.blast).unwrap();
        assert!(applied.changes.len() > 5, "{applied:?}");
        assert_valid(&TuneDocument::of(punctual_facts::profile::Kind::Periodic, &plan, Some(&applied)));
        simulated::under_way(&hand, simulated::FOLDER);
        std::fs::write(dir.path().join(simulated::UNIT), "somebody else's by now").unwrap();
        let line = render::brief::applied(&applied, true);
        let counted: Vec<usize> = line.split(' ').filter_map(|pair| pair.split_once('=')?.1.parse().ok()).collect();
        assert!(line.starts_with("APPLIED transaction=1 done=") && line.lines().count() == 1, "{line}");
        assert_eq!(counted.iter().skip(1).sum::<usize>(), applied.changes.len(), "{line}");
        let reverted = revert(&hand, Extent::All, true).unwrap();
        let line = render::brief::reverted(&reverted);
        assert!(line.starts_with("REVERTED undone=") && line.contains(" left=1 failed=0 damaged=0"), "{line}");
        let document = assert_valid(&reverted);
        let left = document["undone"].as_array().unwrap().iter().find(|step| step["how"] == "left").unwrap();
        assert!(left["what"].as_str().unwrap().starts_with('/') && left["why"].is_string(), "{left}");
        let done = |change: &plan::Change| {
            let id = change.id.clone();
            change
                .steps
                .iter()
                .map(move |step| plan::Requested::Done { id: id.clone(), step: step.clone(), is_this_boot: true })
                .collect::<Vec<_>>()
        };
        let asked: Vec<plan::Requested> = plan.changes.iter().flat_map(done).collect();
        let rows = plan::standing(source.tree(), &source.machine, &wishes(&args).unwrap().need, &asked);
        let document = assert_valid(&Status { sentences: vec![Sentence::good("It stands.")], rows });
        assert_eq!(document["rows"].as_array().unwrap().len(), asked.len());
    }
}
