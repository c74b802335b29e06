//! The work of punctual's own service, once in each boot: settings that contain numbers of interrupts or threads are
//! planned and applied again, and a new command line that proved good becomes the default if the user asked for that.

use super::preconditions::{allowed_to_change, put_back_abandoned};
use super::source::Source;
use super::tune::{outcome, planned, wishes};
use crate::cli::{Cli, Command, TuneArgs};
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result, bail};
use clap::Parser;
use punctual_linux::apply::{self, Extent, Request, Transaction, revert};
use punctual_linux::journal::{self, Contents, KeptSetting, Purpose, Session, SessionStage};
use punctual_tuning::plan::{self, Keep, Standing};

pub fn run() -> Result<Exit> {
    allowed_to_change()?;
    let hand = apply::Machine::here();
    let boot = apply::now(&hand)?.boot;
    if journal::read(&hand)?.is_some_and(|contents| ended_in_the_middle(&contents, &boot)) {
        // Setting values may have ended that boot, so nothing is set until a person has looked.
        render::say(
            "an earlier boot ended while this service set values, so it sets none now; punctual status clears that",
        );
        return Ok(Exit::Doubtful);
    }
    for sentence in put_back_abandoned()? {
        render::say(&sentence.text);
    }
    let Some(contents) = journal::read(&hand)? else { return Ok(Exit::Fine) };
    forget_earlier(&hand, &contents)?;
    let mut exit = Exit::Fine;
    for session in contents.standing().filter(|session| session.keeps().any(|kept| kept.keep == Keep::Anew)) {
        exit = exit.and(set_anew(&hand, session)?);
    }
    let asked: Vec<KeptSetting> = contents.standing().flat_map(Session::keeps).cloned().collect();
    match contents.standing().rev().find(|session| session.keeps().next().is_some()) {
        Some(last) if arguments(last)?.confirm_at_boot => Ok(exit.and(keep_if_good(&contents, last, &asked)?)),
        _ => Ok(exit),
    }
}

/// Plans and applies, in this boot, the settings that a transaction of an earlier boot asked for.
fn set_anew(hand: &apply::Machine, session: &Session) -> Result<Exit> {
    let source = Source::here();
    let mut wishes = wishes(&arguments(session)?)?;
    wishes.lasting = false;
    wishes.preferences.for_good = false;
    let plan = planned(&source, &wishes)?;
    let mut asked = session.begun.as_ref().map(|begun| begun.asked.clone()).unwrap_or_default();
    asked.keeps.clear();
    let transaction = Transaction::begin(hand, &Request { kind: Purpose::Boot, asked, confirm_within: None })?;
    let applied = transaction.apply(&plan.changes, wishes.blast)?;
    render::print(&render::tune::results(&plan, &applied, &[], render::style()))?;
    Ok(outcome(&applied))
}

/// Whether an earlier boot ended while this command was setting values.
fn ended_in_the_middle(contents: &Contents, boot: &str) -> bool {
    contents.standing().any(|session| {
        let begun = session.begun.as_ref();
        session.stage == SessionStage::Applying
            && begun.is_some_and(|begun| begun.kind == Purpose::Boot && begun.boot != boot)
    })
}

fn arguments(session: &Session) -> Result<TuneArgs> {
    let words = session.begun.iter().flat_map(|begun| begun.asked.arguments.clone());
    let cli = Cli::try_parse_from(std::iter::once("punctual".to_owned()).chain(words))
        .context("the journal holds options that this version does not understand")?;
    match cli.command {
        Command::Tune(args) => Ok(args),
        _ => bail!("the journal's last transaction was not made by tune"),
    }
}

/// Closes transactions that set values at an earlier boot: a reboot has undone them.
fn forget_earlier(hand: &apply::Machine, contents: &Contents) -> Result<()> {
    for session in contents.standing() {
        if session.begun.as_ref().is_some_and(|begun| begun.kind == Purpose::Boot) {
            revert(hand, Extent::Only(session.transaction), false)?;
        }
    }
    Ok(())
}

/// Makes the new command line the default if the kernel of this boot was given it and all its words are in force.
fn keep_if_good(contents: &Contents, session: &Session, keeps: &[KeptSetting]) -> Result<Exit> {
    let source = Source::here();
    if super::adopt::new_cmdline(contents, &source.machine).is_none_or(|trial| !trial.is_booted || trial.is_adopted) {
        return Ok(Exit::Fine);
    }
    let asked: Vec<plan::Requested> =
        keeps.iter().filter_map(|kept| plan::Requested::of_word(&kept.knob, &kept.keep)).collect();
    let need = super::status::need_of(session)?;
    let rows = plan::standing(source.tree(), &source.machine, &need, &asked);
    if let Some(row) = rows.iter().find(|row| row.standing != Standing::InForce) {
        render::say(&format!("The new command line is not kept, because {} is {}.", row.what, row.standing.name()));
        return Ok(Exit::Doubtful);
    }
    let sentences = super::adopt::adopt(contents, &source, false)?.unwrap_or_default();
    for sentence in sentences {
        render::say(&sentence.text);
    }
    Ok(Exit::Fine)
}
