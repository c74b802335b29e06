//! A campaign within one boot, done: measurement by measurement, each written down before the next.

use super::bench::Bench;
use super::kept::Folder;
use super::time;
use super::told::goes_on;
use crate::cli::OptimizeArgs;
use crate::render::{self, optimize as shown};
use anyhow::{Context, Result};
use punctual_hist::Nanos;
use punctual_linux::apply::Machine;
use punctual_optimize::format::Kept;
use punctual_optimize::{CampaignStage, Next, RunOutcome};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Goes on until nothing is left to be measured. False: somebody ended it before.
pub fn drive(
    args: &OptimizeArgs,
    folder: &Folder,
    kept: &mut Kept,
    bench: &mut Bench<'_>,
    interrupted: &AtomicBool,
) -> Result<bool> {
    let hand = Machine::here();
    loop {
        // A machine that slept meanwhile was not measured either.
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
            render::say(&shown::step(&kept.campaign, &arm, stage, round));
        }
        let begun = Instant::now();
        let number = kept.campaign.runs.len() + 1;
        let outcome = bench.run(&arm, &arm, &folder.recording(number)).with_context(|| goes_on(folder))?;
        let Some(outcome) = outcome else { return Ok(false) };
        if let RunOutcome::Refused(why) = &outcome {
            render::say(&format!("not set: {why}"));
        }
        kept.campaign.take(&arm, outcome);
        let took = Nanos::from_ns(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        kept.spent = kept.spent.plus(took);
        kept.last = Some(time::present(&hand)?);
        kept.doubts = bench.doubts.clone();
        folder.write(kept)?;
    }
}
