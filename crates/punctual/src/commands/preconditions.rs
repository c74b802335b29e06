//! Preconditions of commands that change or measure the machine, and the abandoned transactions that are put back
//! first.

use crate::render::tune::Sentence;
use anyhow::{Context, Result, bail};
use punctual_linux::apply::guard::revert_pending_patiently;
use punctual_linux::apply::{Hand, Machine, is_alive, now};
use punctual_linux::journal::{self, Begun, Pending, Purpose};
use punctual_linux::under_way::{UnderWay, under_way};
use std::path::Path;

/// Refuses to go on while a campaign measures this machine, because the two would disturb each other.
pub fn none_measures() -> Result<()> {
    refuse(under_way())
}

/// Like [`none_measures`], but also refuses between two boots of a campaign, because the machine may restart at any
/// moment. A user who may not read the journal is not refused for that.
pub fn none_under_way() -> Result<()> {
    none_measures()?;
    // The program for boards begins no campaign.
    if !cfg!(feature = "every-verb") {
        return Ok(());
    }
    match journal::read(&Machine::here()) {
        Err(_) => Ok(()),
        Ok(_) => no_campaign_but(&Machine::here(), None),
    }
}

fn refuse(measuring: Option<UnderWay>) -> Result<()> {
    let Some(UnderWay { pid, folder }) = measuring else { return Ok(()) };
    bail!(
        "a campaign of punctual optimize, campaign or compare measures this machine (process {pid}, {folder}), and each would \
         disturb the other: wait until it has ended, or end it with kill -INT {pid}; the same command with \
         --resume {folder} goes on later"
    )
}

/// Refuses to change the machine or its boot entry while a campaign across boots is under way, unless it is the
/// campaign in the folder `own`.
pub fn no_campaign_but(hand: &dyn Hand, own: Option<&Path>) -> Result<()> {
    let contents = journal::read(hand)?.unwrap_or_default();
    let folder = contents.standing().find_map(|session| match &session.begun.as_ref()?.kind {
        Purpose::Campaign { folder } if own != Some(Path::new(folder)) => Some(folder.clone()),
        _ => None,
    });
    match folder {
        Some(folder) => {
            bail!(
                "a campaign across boots is under way: the command that began it (punctual optimize or punctual campaign) \
                 goes on with --resume {folder}, and punctual revert ends it"
            )
        }
        None => Ok(()),
    }
}

/// Refuses to go on without the privileges to change the machine.
pub fn allowed_to_change() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    bail!(
        "changing the machine needs root, because only root may write to /proc, /sys, /etc, the boot loader and the \
        journal in /var/lib/punctual; nothing was changed. Run it with sudo; --dry-run plans without root"
    )
}

/// Refuses to go on while a transaction waits to be confirmed, because it may be put back at any moment.
pub fn nothing_waits() -> Result<()> {
    let contents = journal::read(&Machine::here())?.unwrap_or_default();
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

/// Puts back transactions whose process has ended or whose deadline has passed. Returns sentences about them.
pub fn put_back_abandoned() -> Result<Vec<Sentence>> {
    let hand = Machine::here();
    // A journal that cannot be read is reported by the commands that need it.
    let Ok(Some(contents)) = journal::read(&hand) else { return Ok(Vec::new()) };
    let present = now(&hand).context("cannot tell the time since the machine was started")?;
    let pending: Vec<(Begun, Pending)> = contents
        .pending(&present, &is_alive)
        .filter_map(|(session, why)| Some((session.begun.clone()?, why)))
        .collect();
    let mut sentences = Vec::new();
    for (begun, why) in pending {
        // The transaction may have been confirmed or put back in the meantime.
        let Some(reverted) = revert_pending_patiently(&hand, &begun)? else { continue };
        let number = begun.transaction;
        let left: Vec<&str> = reverted.trouble.iter().map(|trouble| trouble.why.as_str()).collect();
        let left = if left.is_empty() { String::new() } else { format!("; not put back: {}", left.join("; ")) };
        let sentence = format!("Transaction {number} was put back now, because {}{left}.", because(why));
        sentences.push(Sentence { is_good: left.is_empty(), text: sentence });
    }
    Ok(sentences)
}

fn because(why: Pending) -> &'static str {
    match why {
        Pending::HalfApplied => "the program ended in the middle of applying it",
        Pending::HalfReverted => "putting it back was not finished",
        Pending::OwnerGone => "the command it was for has ended",
        Pending::NotConfirmed => "it was not confirmed in time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::optimize::simulated::{self, FOLDER};

    #[test]
    fn beside_a_campaign_across_boots_there_is_no_second_one() {
        let (_dir, hand) = simulated::machine();
        no_campaign_but(&hand, None).unwrap();
        simulated::under_way(&hand, FOLDER);
        no_campaign_but(&hand, Some(Path::new(FOLDER))).unwrap();
        for own in [None, Some(Path::new("/srv/another"))] {
            let why = no_campaign_but(&hand, own).unwrap_err().to_string();
            assert!(why.contains(FOLDER) && why.contains("--resume") && why.contains("punctual revert"), "{why}");
        }
    }

    #[test]
    fn who_measures_beside_a_campaign_is_told_how_to_wait_or_end_it() {
        refuse(None).unwrap();
        let why = refuse(Some(UnderWay { pid: 77, folder: FOLDER.to_owned() })).unwrap_err().to_string();
        for part in ["process 77", "wait", "kill -INT 77", &format!("--resume {FOLDER}")] {
            assert!(why.contains(part), "no '{part}' in {why}");
        }
    }
}
