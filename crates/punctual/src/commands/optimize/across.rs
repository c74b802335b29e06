//! Runs a campaign across boots. Its boot entry, and the systemd unit that resumes the campaign, are transactions of
//! the journal, so that `punctual revert` removes them at any time. `punctual_optimize::across` decides what to do
//! next.

use super::bench::Bench;
use super::kept::Folder;
use super::ours::{also, both};
use super::time;
use super::trip::Trip;
use crate::cli::OptimizeArgs;
use crate::render::{self, optimize as shown};
use anyhow::{Result, bail};
use punctual_linux::apply;
use punctual_optimize::across::{Across, BootSeen, Ending, Hands, go_on};
use punctual_optimize::format::Kept;
use punctual_optimize::{Campaign, Next, RunOutcome};
use punctual_tuning::plan::Keep;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Resumes the campaign until it needs another boot or is complete.
pub fn drive(
    args: &OptimizeArgs,
    folder: &Folder,
    kept: &mut Kept,
    bench: &mut Bench<'_>,
    interrupted: &Arc<AtomicBool>,
) -> Result<Ending> {
    let Some(mut across) = kept.across.clone() else { bail!("{}: it is no campaign across boots", folder.display()) };
    let mut campaign = kept.campaign.clone();
    let hand = apply::Machine::here();
    kept.spent = kept.spent.plus(time::of_boot(&across, &time::present(&hand)?, args.at_boot));
    let mut boots = Boots { args, folder, kept, bench, interrupted, hand, counted: Instant::now() };
    let ending = go_on(&mut boots, &mut campaign, &mut across, args.at_boot);
    let goes_on = match &ending {
        Ok(Ending::Stuck(_)) | Err(_) => false,
        // A user who interrupts the campaign wants it to end. At boot the interruption is a shutdown, and the campaign
        // resumes at the next boot.
        Ok(Ending::Interrupted) => args.at_boot,
        Ok(_) => true,
    };
    let put_back = if goes_on { Ok(()) } else { both(boots.leave(), boots.unhook()) };
    let ending = match (ending, put_back) {
        (Ok(ending), put_back) => put_back.map(|()| ending)?,
        (Err(error), Ok(())) => return Err(error),
        (Err(error), Err(second)) => return Err(also(error, &second)),
    };
    (kept.campaign, kept.across) = (campaign, Some(across));
    Ok(ending)
}

struct Boots<'a, 'b> {
    args: &'a OptimizeArgs,
    folder: &'a Folder,
    kept: &'a mut Kept,
    bench: &'a mut Bench<'b>,
    interrupted: &'a Arc<AtomicBool>,
    hand: apply::Machine,
    /// The time since this instant has not been counted against the budget yet.
    counted: Instant,
}

impl Boots<'_, '_> {
    fn trip(&self) -> Trip<'_> {
        Trip {
            hand: &self.hand,
            folder: self.folder,
            asked: self.bench.asked(),
            settle: self.args.settle,
            interrupted: self.interrupted,
            verb: "optimize",
        }
    }
}

impl Hands for Boots<'_, '_> {
    type Error = anyhow::Error;
    type Course = Campaign;

    fn look(&mut self) -> Result<BootSeen> {
        let present = time::present(&self.hand)?;
        let is_after_a_pause = time::is_after_a_pause(self.args, self.kept, &present);
        if is_after_a_pause {
            // The restarted sequence and this moment are saved in one write, so that a crash in between cannot leave
            // one without the other.
            self.kept.last = Some(present.clone());
        }
        self.trip().seen(present.boot, self.kept.spent > self.args.time, is_after_a_pause)
    }

    fn keep(&mut self, campaign: &Campaign, across: &Across) -> Result<()> {
        self.kept.campaign = campaign.clone();
        self.kept.across = Some(across.clone());
        (self.kept.spent, self.counted) = (self.kept.spent.plus(time::since(self.counted)), Instant::now());
        self.folder.write(self.kept)
    }

    fn hook(&mut self) -> Result<()> {
        self.trip().hook()
    }

    fn unhook(&mut self) -> Result<()> {
        self.trip().unhook()
    }

    fn enter(&mut self, keeps: &[Keep]) -> Result<Option<String>> {
        self.trip().enter(keeps)
    }

    fn leave(&mut self) -> Result<()> {
        self.trip().leave()
    }

    fn reboot(&mut self) -> Result<bool> {
        self.trip().reboot()
    }

    fn measure(&mut self, campaign: &Campaign, arm: &[usize]) -> Result<Option<RunOutcome>> {
        let Next::Measure { stage, round, .. } = campaign.next() else { return Ok(None) };
        if !self.trip().settled()? {
            return Ok(None);
        }
        if !self.args.form.brief {
            render::say(&render::for_people(|| shown::step(&self.kept.campaign, arm, stage, round)));
        }
        let number = self.kept.campaign.runs.len() + 1;
        let candidates = &self.kept.campaign.design.candidates;
        let is_at_once = |place: &&usize| candidates.get(**place).is_some_and(|candidate| candidate.boot.is_empty());
        let at_once: Vec<usize> = arm.iter().filter(is_at_once).copied().collect();
        let outcome = self.bench.run(arm, &at_once, &self.folder.recording(number))?;
        self.kept.doubts = self.bench.doubts.clone();
        if outcome.is_some() {
            self.kept.last = Some(time::present(&self.hand)?);
        }
        Ok(outcome)
    }
}
