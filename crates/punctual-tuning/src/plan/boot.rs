//! Changes that count from the next boot on: the files and boot entries in which what is kept is put.

use super::lasting::{self, Lasted, Obstacle, Starts, Trial, Wanted};
use super::wanted::wanted;
use super::{Change, Keep, Lasts, Step, Takes};
use crate::knobs::Blast;
use punctual_facts::machine::Machine;
use punctual_facts::tree::Tree;

/// The change that writes files for the init.
pub const FILES: &str = "boot.files";
/// The change that puts the new command line on a boot entry.
pub const ENTRY: &str = "boot.entry";
/// The change that has a campaign go on after a boot.
pub const HOOK: &str = "boot.campaign";
/// The change that makes the new command line the default.
pub const DEFAULT: &str = "boot.default";

/// A change of the command line for the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootChange {
    /// None where the line is so already.
    pub change: Option<Change>,
    /// How the next boot comes to take the line.
    pub starts: Starts,
    /// What somebody who relies on it has to know, one sentence each.
    pub limits: Vec<String>,
}

impl BootChange {
    fn of(id: &str, title: &str, trial: Trial) -> Self {
        let Trial { steps, limits, starts } = trial;
        let change = (!steps.is_empty()).then(|| lasting_change(id, title, Takes::NextBoot, steps));
        Self { change, starts, limits }
    }
}

/// The change that makes the command line of a trial the default.
pub fn adoption(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<BootChange, Obstacle> {
    let Lasted { steps, limits, .. } = lasting::adopt(tree, machine, wanted)?;
    let adopted = Trial { steps, limits, starts: Starts::NextBoot };
    Ok(BootChange::of(DEFAULT, "The new command line is the default", adopted))
}

/// The change that gives these words to the next boot alone.
///
/// # Errors
/// When this boot loader cannot try a command line, or these words are not to be written.
pub fn trial(tree: &dyn Tree, machine: &Machine, keeps: &[Keep]) -> Result<BootChange, Obstacle> {
    let trial = lasting::trial(tree, machine, &wanted(keeps, ""))?;
    Ok(BootChange::of(ENTRY, "The command line of a measurement has a boot entry, booted once", trial))
}

/// The change that has this program go on with a campaign after each boot.
///
/// # Errors
/// When nothing here starts programs at boot that we know of.
pub fn hook(machine: &Machine, exe: &str, folder: &str) -> Result<Change, Obstacle> {
    let steps = lasting::hook(machine, exe, folder)?;
    Ok(lasting_change(HOOK, "A campaign goes on by itself after a boot", Takes::NextBoot, steps))
}

pub(super) fn lasting_change(id: &str, title: &str, takes: Takes, steps: Vec<Step>) -> Change {
    let places: Vec<String> = steps.iter().filter_map(place).collect();
    let places = places.join(", ");
    Change {
        id: id.to_owned(),
        title: title.to_owned(),
        before: "as it was".to_owned(),
        after: places.clone(),
        why: "What is written to a running kernel is gone with it.".to_owned(),
        cost: "none".to_owned(),
        risk: "the next boot is another one; what was there is kept and put back by revert".to_owned(),
        blast: Blast::Harmless,
        lasts: Lasts::ForGood,
        takes,
        undo: "The files are taken away or put back as they were.".to_owned(),
        proof: places,
        steps,
        keeps: Vec::new(),
        also: Vec::new(),
        is_apart: false,
    }
}

/// The file a step is about, or the program it runs.
fn place(step: &Step) -> Option<String> {
    match step {
        Step::Own { path, .. } | Step::Edit { path, .. } | Step::Remove { path } => Some(path.clone()),
        Step::Run { doing, .. } => doing.as_ref().map(|run| run.program.clone()),
        _ => None,
    }
}
