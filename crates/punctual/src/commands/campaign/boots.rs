//! Carries a campaign across boots, with the engine of `optimize --boots`.

use super::cell::Bed;
use super::file::Plan;
use super::{recording, save};
use crate::cli::CampaignArgs;
use crate::commands::optimize::kept::Folder;
use crate::commands::optimize::ours::{also, both};
use crate::commands::optimize::time::present;
use crate::commands::optimize::trip::Trip;
use crate::render::{self, campaign as shown};
use anyhow::{Result, bail};
use punctual_facts::profile::Kind;
use punctual_linux::apply;
use punctual_linux::journal::TuningRequest;
use punctual_optimize::across::{Across, BootSeen, Ending, Hands, go_on};
use punctual_optimize::experiment::{Experiment, Kept, Outcome};
use punctual_tuning::plan::Keep;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Resumes the campaign until it needs another boot or is complete.
pub fn drive(
    args: &CampaignArgs,
    folder: &Folder,
    kept: &mut Kept,
    plan: &Plan,
    bed: &Bed,
    interrupted: &Arc<AtomicBool>,
) -> Result<Ending> {
    let Some(mut across) = kept.across.clone() else { bail!("{}: it is no campaign across boots", folder.display()) };
    let mut experiment = kept.experiment.clone();
    let asked = TuningRequest {
        cpus: String::new(),
        profile: Kind::default().name().to_owned(),
        arguments: vec!["campaign".to_owned(), kept.file.clone()],
        keeps: Vec::new(),
    };
    let hand = apply::Machine::here();
    let mut voyage = Voyage { args, folder, kept, plan, bed, interrupted, hand, asked };
    let ending = go_on(&mut voyage, &mut experiment, &mut across, args.at_boot);
    let goes_on = match &ending {
        Ok(Ending::Stuck(_)) | Err(_) => false,
        // At boot the interruption is a shutdown, and the campaign resumes at the next boot.
        Ok(Ending::Interrupted) => args.at_boot,
        Ok(_) => true,
    };
    let put_back = if goes_on { Ok(()) } else { both(voyage.leave(), voyage.unhook()) };
    let ending = match (ending, put_back) {
        (Ok(ending), put_back) => put_back.map(|()| ending)?,
        (Err(error), Ok(())) => return Err(error),
        (Err(error), Err(second)) => return Err(also(error, &second)),
    };
    (kept.experiment, kept.across) = (experiment, Some(across));
    Ok(ending)
}

struct Voyage<'a> {
    args: &'a CampaignArgs,
    folder: &'a Folder,
    kept: &'a mut Kept,
    plan: &'a Plan,
    bed: &'a Bed,
    interrupted: &'a Arc<AtomicBool>,
    hand: apply::Machine,
    asked: TuningRequest,
}

impl Voyage<'_> {
    fn trip(&self) -> Trip<'_> {
        Trip {
            hand: &self.hand,
            folder: self.folder,
            asked: &self.asked,
            settle: self.bed.shortened(self.plan.settle),
            interrupted: self.interrupted,
            verb: "campaign",
        }
    }
}

impl Hands for Voyage<'_> {
    type Error = anyhow::Error;
    type Course = Experiment;

    fn look(&mut self) -> Result<BootSeen> {
        self.trip().seen(present(&self.hand)?.boot, false, false)
    }

    fn keep(&mut self, experiment: &Experiment, across: &Across) -> Result<()> {
        self.kept.experiment = experiment.clone();
        self.kept.across = Some(across.clone());
        save(self.folder, self.kept)
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

    fn measure(&mut self, experiment: &Experiment, _: &[usize]) -> Result<Option<Outcome>> {
        let Some((place, repetition)) = experiment.next() else { return Ok(None) };
        if !self.trip().settled()? {
            return Ok(None);
        }
        if !self.args.form.brief {
            render::say(&shown::step(experiment, place, repetition));
        }
        let cell = &self.plan.cells[place];
        let path = recording(self.folder, &cell.name, repetition);
        self.bed.measured(cell, &path, self.folder.path(), self.interrupted)
    }
}
