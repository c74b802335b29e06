//! The transactions of a campaign across boots in the journal (its boot entry and its unit), and their removal.

use anyhow::{Context, Result, bail};
use punctual_linux::apply::guard::revert_patiently;
use punctual_linux::apply::{Extent, Hand};
use punctual_linux::journal::{self, Purpose, Session};
use punctual_tuning::plan::Keep;
use std::path::Path;

pub fn standing(hand: &dyn Hand, folder: &str) -> Result<Vec<Session>> {
    let kind = Purpose::Campaign { folder: folder.to_owned() };
    let contents = journal::read(hand)?.unwrap_or_default();
    let is_ours = |session: &&Session| session.begun.as_ref().is_some_and(|begun| begun.kind == kind);
    Ok(contents.standing().filter(is_ours).cloned().collect())
}

/// Whether the transaction is the campaign's boot entry; otherwise it is the unit that resumes the campaign.
pub fn is_entry(session: &Session) -> bool {
    session.begun.as_ref().is_some_and(|begun| !begun.asked.keeps.is_empty())
}

pub fn keeps(session: &Session) -> Vec<Keep> {
    session.begun.iter().flat_map(|begun| &begun.asked.keeps).map(|kept| kept.keep.clone()).collect()
}

/// Removes the boot entry and the unit of the campaign in this folder, so that no further boot is tried.
pub fn abandon(hand: &dyn Hand, folder: &Path) -> Result<()> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let name = folder.to_str().context("the name of the campaign's folder is not text")?;
    let standing = standing(hand, name)?;
    let (entries, units): (Vec<&Session>, Vec<&Session>) = standing.iter().partition(|session| is_entry(session));
    both(take_away(hand, entries), take_away(hand, units))
}

pub fn revert(hand: &dyn Hand, number: u32) -> Result<()> {
    let reverted = revert_patiently(hand, Extent::Only(number))?;
    match reverted.trouble.first() {
        Some(trouble) => bail!("not put back: {}; see `punctual status`, then `punctual revert`", trouble.why),
        None => Ok(()),
    }
}

/// Reverts all these transactions, even if one of them fails.
pub fn take_away<'a>(hand: &dyn Hand, sessions: impl IntoIterator<Item = &'a Session>) -> Result<()> {
    let reverted = sessions.into_iter().map(|session| revert(hand, session.transaction));
    reverted.fold(Ok(()), both)
}

/// The first error, with the second one added if both failed.
pub fn both(first: Result<()>, second: Result<()>) -> Result<()> {
    match (first, second) {
        (Err(first), Err(second)) => Err(also(first, &second)),
        (first, second) => first.and(second),
    }
}

/// The first error, with a second one named in its context.
pub fn also(first: anyhow::Error, second: &anyhow::Error) -> anyhow::Error {
    first.context(format!("two things went wrong: {second:#}; and, first"))
}

#[cfg(test)]
mod tests {
    use super::super::simulated::{self, ENTRY, FOLDER, UNIT};
    use super::*;
    use std::fs;

    #[test]
    fn what_is_abandoned_leaves_no_entry_and_no_unit_and_nothing_else_is_touched() {
        let (dir, hand) = simulated::machine();
        simulated::under_way(&hand, FOLDER);
        simulated::under_way_as(&hand, "/srv/another", "/boot/another-entry", "/boot/another-unit");
        assert!(dir.path().join(ENTRY).exists() && dir.path().join(UNIT).exists());
        abandon(&hand, Path::new(FOLDER)).unwrap();
        assert!(!dir.path().join(ENTRY).exists() && !dir.path().join(UNIT).exists());
        assert!(standing(&hand, FOLDER).unwrap().is_empty());
        assert_eq!(standing(&hand, "/srv/another").unwrap().len(), 2);
        assert!(dir.path().join("boot/another-entry").exists());
    }

    #[test]
    fn an_entry_that_does_not_go_is_told_and_the_unit_goes_all_the_same() {
        let (dir, hand) = simulated::machine();
        simulated::under_way(&hand, FOLDER);
        fs::write(dir.path().join(ENTRY), "somebody else's by now").unwrap();
        let why = format!("{:#}", abandon(&hand, Path::new(FOLDER)).unwrap_err());
        assert!(why.contains("not put back") && why.contains("punctual revert"), "{why}");
        assert!(!dir.path().join(UNIT).exists());
        assert_eq!(fs::read_to_string(dir.path().join(ENTRY)).unwrap(), "somebody else's by now");
    }
}
