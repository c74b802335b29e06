//! Reports the state of a campaign: on the terminal, in files if no user may be present, and as an exit code.

use super::candidates::Selection;
use super::kept::{Folder, InUse};
use super::ours::abandon;
use crate::cli::OptimizeArgs;
use crate::commands::files::write_new;
use crate::exit::Exit;
use crate::render::{self, optimize as shown};
use anyhow::{Result, bail};
use punctual_hist::Nanos;
use punctual_linux::apply::Hand;
use punctual_numbers::scenario::LoadPhase;
use punctual_optimize::across::Ending;
use punctual_optimize::format::{Doubts, Kept};
use punctual_optimize::{Campaign, CampaignState, CandidateVerdict};
use std::path::Path;

/// Resumes a campaign at boot, without a user. If that is impossible, its boot entry and unit are removed, and the reason
/// is written to its folder. The exit code reports errors only: systemd reads it, and would keep our unit in memory as
/// failed, because a campaign that has ended has removed the unit's file.
/// `verb` is the command that resumes it.
pub fn unattended(
    hand: &dyn Hand,
    path: &Path,
    verb: &str,
    resume: impl FnOnce(&Folder) -> Result<Exit>,
) -> Result<Exit> {
    match Folder::open(path) {
        // Another process has resumed the campaign already.
        Err(error) if error.is::<InUse>() => Err(error),
        Err(error) => Err(abandoned(hand, path, None, verb, error)),
        Ok(folder) => match resume(&folder) {
            Ok(_) => Ok(Exit::Fine),
            Err(error) => Err(abandoned(hand, path, Some(&folder), verb, error)),
        },
    }
}

/// Removes the boot entry and unit of a campaign that cannot be resumed at boot, and writes the reason to its folder.
/// Returns the error to report.
fn abandoned(hand: &dyn Hand, path: &Path, folder: Option<&Folder>, verb: &str, error: anyhow::Error) -> anyhow::Error {
    let (error, what) = match abandon(hand, path) {
        Ok(()) => (error, "Its boot entry and its unit are taken away.".to_owned()),
        Err(second) => {
            let what = format!("Not everything is put back: {second:#}. See punctual status, then punctual revert.");
            (error.context(what.clone()), what)
        }
    };
    let Some(folder) = folder else { return error };
    let ended = render::words::told(&error);
    let text =
        format!("The campaign ended: {ended}.\n{what}\nTo go on: punctual {verb} --resume {}\n", folder.display());
    match folder.write_result("result.txt", &text) {
        Ok(()) => error,
        Err(second) => error.context(format!("the reason could not be written down ({second:#})")),
    }
}

pub fn goes_on(folder: &Folder) -> String {
    format!("ended; punctual optimize --resume {} goes on, once this is mended", folder.display())
}

/// Reports the state of a campaign across boots. If it has ended, the report is also written to files, because no user
/// may be present.
pub fn tell_of_boots(
    args: &OptimizeArgs,
    folder: &Folder,
    kept: &Kept,
    found: &Selection,
    ending: &Ending,
) -> Result<Exit> {
    let is_given_up = kept.across.as_ref().is_some_and(|across| across.gave_up.is_some());
    let resume = format!("punctual optimize --resume {}", folder.display());
    if let Some(exit) = between_boots(ending, args.at_boot, &resume)? {
        return Ok(exit);
    }
    if matches!(ending, Ending::Interrupted | Ending::PutBack) {
        return tell(args, folder, kept, found, &Stand { stopped: true, is_home: false });
    }
    let is_home = *ending == Ending::Ended { is_home: true };
    tell(args, folder, kept, found, &Stand { stopped: is_given_up, is_home })
}

/// Says how a campaign goes on that needs another boot. `None` if it has ended, or was interrupted by the user. `resume`
/// is the command that resumes it.
pub fn between_boots(ending: &Ending, is_at_boot: bool, resume: &str) -> Result<Option<Exit>> {
    let told = match ending {
        Ending::Rebooting => return Ok(Some(Exit::Fine)),
        Ending::RebootByHand => {
            format!("Start the machine again, then: {resume}. To end the campaign: punctual revert")
        }
        Ending::Stuck(act) => bail!("what was done had no effect ({act:?}), and was put back; look at punctual status"),
        Ending::Interrupted if is_at_boot => {
            "Ended from outside; it goes on by itself after the next boot. To end it: punctual revert".to_owned()
        }
        Ending::Interrupted | Ending::PutBack | Ending::Ended { .. } => return Ok(None),
    };
    render::say(&told);
    Ok(Some(Exit::Doubtful))
}

pub struct Stand {
    pub stopped: bool,
    /// Whether the machine is known to run as it did before the campaign.
    pub is_home: bool,
}

/// The JSON document of a campaign before its first measurement.
pub fn intended(args: &OptimizeArgs, campaign: &Campaign, found: &Selection) -> serde_json::Result<String> {
    shown::json(&result(args, campaign, &campaign.standing(), &Doubts::default(), found))
}

/// The result of a campaign before its first measurement. The caller adds measured values if there are any.
fn result<'a>(
    args: &'a OptimizeArgs,
    campaign: &'a Campaign,
    standing: &'a CampaignState,
    doubts: &'a Doubts,
    found: &'a Selection,
) -> shown::Result<'a> {
    shown::Result {
        campaign,
        standing,
        not_tried: &found.not_tried,
        doubts,
        cpus: &found.cpus,
        load: args.phases().iter().map(LoadPhase::name).collect::<Vec<_>>().join(", "),
        run: args.run,
        late: args.budget,
        spent: Nanos::ZERO,
        folder: args.out.as_deref().unwrap_or(Path::new("")),
        stopped: true,
        gave_up: None,
        is_home: true,
        boots: None,
    }
}

pub fn tell(args: &OptimizeArgs, folder: &Folder, kept: &Kept, found: &Selection, stand: &Stand) -> Result<Exit> {
    let Stand { stopped, is_home } = *stand;
    let gave_up = kept.across.as_ref().and_then(|across| across.gave_up.clone());
    let is_given_up = gave_up.is_some();
    let standing = kept.campaign.standing();
    let boots = kept.across.as_ref().map(|across| across.boots);
    let before = result(args, &kept.campaign, &standing, &kept.doubts, found);
    let result = shown::Result { spent: kept.spent, folder: folder.path(), stopped, gave_up, is_home, boots, ..before };
    if let (Some(path), false) = (&args.html, stopped) {
        let page = shown::html(&result)?;
        write_new(path, &page)?;
    }
    if kept.across.is_some() && (!stopped || is_given_up) {
        let plain = render::sheet::Style::default();
        folder.write_result("result.txt", &shown::text(&result, plain))?;
        folder.write_result("result.json", &shown::json(&result)?)?;
        folder.write_result("result.html", &shown::html(&result)?)?;
    }
    render::print(&match (args.json, args.form.brief) {
        (true, _) => shown::json(&result)?,
        (_, true) => render::brief::optimize(&result),
        _ => render::for_people(|| shown::text(&result, render::style())),
    })?;
    let unclear = standing
        .judged
        .iter()
        .any(|judged| matches!(judged.verdict, CandidateVerdict::NotEnoughData | CandidateVerdict::Refused(_)));
    Ok(Exit::doubtful_if(stopped || unclear))
}
