//! Campaigns of `optimize` as all other commands meet them: what would disturb one is refused, and what to do is said.

use anyhow::{Result, bail};
use punctual_linux::apply::{Hand, Machine};
use punctual_linux::journal::{self, Kind};
use punctual_linux::under_way::{UnderWay, under_way};
use std::path::Path;

/// Whoever would measure or change the machine while a campaign measures it is refused: each would disturb the other.
pub fn none_measures() -> Result<()> {
    refuse(under_way())
}

/// The same for whoever measures by himself; also between two boots of a campaign, since the machine may be started again
/// at any moment. Only whoever may read the journal can know of that.
pub fn none_under_way() -> Result<()> {
    none_measures()?;
    match journal::read(&Machine::here()) {
        Err(_) => Ok(()),
        Ok(_) => no_campaign_but(&Machine::here(), None),
    }
}

fn refuse(measuring: Option<UnderWay>) -> Result<()> {
    let Some(UnderWay { pid, folder }) = measuring else { return Ok(()) };
    bail!(
        "a campaign of punctual optimize measures this machine (process {pid}, {folder}), and each would disturb the \
         other: wait until it has ended, or end it with kill -INT {pid}; punctual optimize --resume {folder} goes on later"
    )
}

/// What a campaign across boots measures is not to be changed meanwhile, nor is its boot entry, but by the one in this
/// folder itself.
pub fn no_campaign_but(hand: &dyn Hand, own: Option<&Path>) -> Result<()> {
    let contents = journal::read(hand)?.unwrap_or_default();
    let folder = contents.standing().find_map(|session| match &session.begun.as_ref()?.kind {
        Kind::Campaign { folder } if own != Some(Path::new(folder)) => Some(folder.clone()),
        _ => None,
    });
    match folder {
        Some(folder) => {
            bail!(
                "a campaign across boots is under way: punctual optimize --resume {folder}, or punctual revert ends it"
            )
        }
        None => Ok(()),
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
