//! Makes a kernel command line that was tried in a boot the default of the boot loader.

use super::source::Source;
use crate::render::tune::Sentence;
use anyhow::{Result, bail};
use punctual_facts::machine::Machine;
use punctual_linux::apply::{self, Fate, Request, Transaction};
use punctual_linux::journal::{Contents, Entry, Purpose, Session, SessionStage, StepOutcome};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::{BootChange, ENTRY, Keep, adoption, is_given, last_of_each, wanted};

/// The kernel command line that transactions ask for, and how far it has been put into use.
pub struct NewCmdline<'a> {
    /// The last transaction that asks for any word of this command line.
    pub session: &'a Session,
    /// Words to add and words to remove, from all standing transactions. If two of them set the same parameter, the
    /// later one is kept.
    pub keeps: Vec<&'a Keep>,
    /// Whether the command line has a boot entry of its own, so that it can be tried.
    pub has_entry: bool,
    /// Whether the kernel of this boot was given the command line.
    pub is_booted: bool,
    /// Whether the command line is already the default of the boot loader.
    pub is_adopted: bool,
}

pub fn new_cmdline<'a>(contents: &'a Contents, machine: &Machine) -> Option<NewCmdline<'a>> {
    let is_whole = |session: &&Session| session.stage == SessionStage::Applied;
    let session = contents.standing().rev().filter(is_whole).find(|session| words(session).next().is_some())?;
    let keeps = last_of_each(contents.standing().filter(is_whole).flat_map(words));
    let line = machine.cmdline.known();
    let is_done = |entry: &Entry| entry.undone.is_none() && entry.outcome == Some(StepOutcome::Effective);
    let of = |session: &Session| match session.begun.as_ref().map(|begun| &begun.kind) {
        Some(Purpose::Adopted { of }) if !session.entries.is_empty() && session.entries.iter().all(is_done) => {
            Some(*of)
        }
        _ => None,
    };
    Some(NewCmdline {
        session,
        has_entry: session.entries.iter().any(|entry| entry.intent.change == ENTRY && entry.undone.is_none()),
        is_booted: line.is_some_and(|line| is_given(&line.for_the_kernel(), keeps.iter().copied())),
        is_adopted: contents.standing().any(|other| of(other) == Some(session.transaction)),
        keeps,
    })
}

fn words(session: &Session) -> impl Iterator<Item = &Keep> {
    session.keeps().map(|kept| &kept.keep).filter(|keep| matches!(keep, Keep::Word(_) | Keep::NoWord(_)))
}

/// Makes the new command line the default and returns sentences about that; `None` if no new command line waits. If the
/// kernel of this boot was not given the command line, it becomes the default only if it cannot be tried and the user
/// vouches for it (`is_untried_good`).
pub fn adopt(contents: &Contents, source: &Source, is_untried_good: bool) -> Result<Option<Vec<Sentence>>> {
    let Some(trial) = new_cmdline(contents, &source.machine).filter(|trial| !trial.is_adopted) else { return Ok(None) };
    let is_good_enough = trial.is_booted || (is_untried_good && !trial.has_entry);
    if !is_good_enough {
        let how = if trial.has_entry {
            "boot the machine first: the next boot tries the new command line once"
        } else {
            "it cannot be tried here; punctual status --adopt-untried makes it the default all the same, where somebody \
             can reach the console"
        };
        let sentence =
            format!("The new command line was not made the default, because this boot does not use it; {how}.");
        return Ok(Some(vec![Sentence::doubt(sentence)]));
    }
    let wanted = wanted(trial.keeps.iter().copied(), "");
    let BootChange { change, limits, .. } = match adoption(source.tree(), &source.machine, &wanted) {
        Ok(adoption) => adoption,
        Err(why) => bail!("the new command line cannot be made the default: {why}"),
    };
    let mut sentences: Vec<Sentence> = limits.into_iter().map(Sentence::doubt).collect();
    let Some(change) = change else {
        sentences.push(Sentence::good("The new command line is the default already."));
        return Ok(Some(sentences));
    };
    let hand = apply::Machine::here();
    let asked = trial.session.begun.as_ref().map(|begun| begun.asked.clone()).unwrap_or_default();
    let asked = punctual_linux::journal::TuningRequest { keeps: Vec::new(), ..asked };
    let kind = Purpose::Adopted { of: trial.session.transaction };
    let transaction = Transaction::begin(&hand, &Request { kind, asked, confirm_within: None })?;
    let applied = transaction.apply(&[change], Blast::Harmless)?;
    for tried in applied.changes {
        match tried.fate {
            Fate::TakenBack { why } | Fate::Stuck { why, .. } => {
                bail!("the new command line could not be made the default: {why}")
            }
            _ => sentences.push(Sentence::good("The new command line is the default from now on.")),
        }
    }
    Ok(Some(sentences))
}
