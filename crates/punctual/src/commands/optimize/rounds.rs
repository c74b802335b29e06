//! Runs a campaign within one boot. Each measurement is saved before the next begins.

use super::bench::Bench;
use super::kept::Folder;
use super::time;
use super::told::goes_on;
use crate::cli::OptimizeArgs;
use crate::render::{self, optimize as shown};
use anyhow::{Context, Result};
use punctual_linux::apply::Machine;
use punctual_optimize::format::Kept;
use punctual_optimize::{CampaignStage, Next, RunOutcome};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Measures until the campaign is complete. Returns false if interrupted.
pub fn drive(
    args: &OptimizeArgs,
    folder: &Folder,
    kept: &mut Kept,
    bench: &mut Bench<'_>,
    interrupted: &AtomicBool,
) -> Result<bool> {
    let hand = Machine::here();
    loop {
        // After a pause, for example because the machine was suspended, earlier measurements of the block cannot be
        // compared with later ones, so the block is measured again.
        if time::is_after_a_pause(args, kept, &time::present(&hand)?) {
            kept.campaign.begin_anew();
        }
        let Next::Measure { arm, stage, round, place } = kept.campaign.next() else { return Ok(true) };
        if interrupted.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if kept.spent > args.time && place == 0 && stage == CampaignStage::Rounds {
            kept.campaign.close();
            folder.write(kept)?;
            continue;
        }
        if !args.form.brief {
            render::say(&render::for_people(|| shown::step(&kept.campaign, &arm, stage, round)));
        }
        let begun = Instant::now();
        let number = kept.campaign.runs.len() + 1;
        let outcome = bench.run(&arm, &arm, &folder.recording(number)).with_context(|| goes_on(folder))?;
        let Some(outcome) = outcome else { return Ok(false) };
        if let RunOutcome::Refused(why) = &outcome {
            render::say(&format!("not set: {why}"));
        }
        kept.campaign.take(&arm, outcome);
        kept.spent = kept.spent.plus(time::since(begun));
        kept.last = Some(time::present(&hand)?);
        kept.doubts = bench.doubts.clone();
        folder.write(kept)?;
    }
}
