//! The command line that was tried becomes the default.

use anyhow::{Result, bail};
use punctual_core::knobs::Blast;
use punctual_core::machine::Machine;
use punctual_core::plan::{ENTRY, Keep, adoption, is_given, wanted};
use punctual_core::tree::Tree;
use punctual_linux::apply::{self, Fate, Request, Transaction};
use punctual_linux::journal::{Contents, Kind, Session};

/// A command line that was asked for, and how far it came.
pub struct Trial<'a> {
    /// The transaction that asks for it.
    pub session: &'a Session,
    /// Words asked for, and words to be gone.
    pub keeps: Vec<&'a Keep>,
    /// It has a boot entry of its own, so it can be tried.
    pub has_entry: bool,
    /// This boot was given it.
    pub is_booted: bool,
    /// It is the default already.
    pub is_adopted: bool,
}

/// The last command line that was asked for.
pub fn trial<'a>(contents: &'a Contents, machine: &Machine) -> Option<Trial<'a>> {
    let is_tuned = |session: &&Session| session.begun.as_ref().is_some_and(|begun| begun.kind == Kind::Tuned);
    let session = contents.standing().rev().filter(is_tuned).find(|session| !words(session).is_empty())?;
    let keeps = words(session);
    let line = machine.cmdline.known();
    let of = |session: &Session| match session.begun.as_ref().map(|begun| &begun.kind) {
        Some(Kind::Adopted { of }) => Some(*of),
        _ => None,
    };
    Some(Trial {
        session,
        has_entry: session.entries.iter().any(|entry| entry.intent.change == ENTRY && entry.undone.is_none()),
        is_booted: line.is_some_and(|line| is_given(&line.for_the_kernel(), keeps.iter().copied())),
        is_adopted: contents.standing().any(|other| of(other) == Some(session.transaction)),
        keeps,
    })
}

fn words(session: &Session) -> Vec<&Keep> {
    let keeps = session.begun.iter().flat_map(|begun| &begun.asked.keeps).map(|(_, keep)| keep);
    keeps.filter(|keep| matches!(keep, Keep::Word(_) | Keep::NoWord(_))).collect()
}

/// Makes it the default; sentences on what became of it, none where nothing waits for that.
pub fn adopt(contents: &Contents, tree: &dyn Tree, machine: &Machine) -> Result<Option<Vec<(bool, String)>>> {
    let Some(trial) = trial(contents, machine).filter(|trial| !trial.is_adopted) else { return Ok(None) };
    if trial.has_entry && !trial.is_booted {
        bail!(
            "this boot was not given the new command line, so nobody knows whether it is good; boot it first \
             (punctual status tells how), or take it back with punctual revert"
        );
    }
    let wanted = wanted(trial.keeps.iter().copied(), "");
    let (change, limits) = match adoption(tree, machine, &wanted) {
        Ok(adoption) => adoption,
        Err(why) => bail!("the new command line cannot be made the default: {why}"),
    };
    let mut sentences: Vec<(bool, String)> = limits.into_iter().map(|limit| (false, limit)).collect();
    let Some(change) = change else {
        sentences.push((true, "The new command line is the default already.".to_owned()));
        return Ok(Some(sentences));
    };
    let hand = apply::Machine::here();
    let asked = trial.session.begun.as_ref().map(|begun| begun.asked.clone()).unwrap_or_default();
    let asked = punctual_linux::journal::Asked { keeps: Vec::new(), ..asked };
    let kind = Kind::Adopted { of: trial.session.transaction };
    let transaction = Transaction::begin(&hand, &Request { kind, asked, confirm_within: None })?;
    let applied = transaction.apply(&[change], Blast::Harmless)?;
    for tried in applied.changes {
        match tried.fate {
            Fate::TakenBack { why } | Fate::Stuck { why, .. } => {
                bail!("the new command line could not be made the default: {why}")
            }
            _ => sentences.push((true, "The new command line is the default from now on.".to_owned())),
        }
    }
    Ok(Some(sentences))
}
