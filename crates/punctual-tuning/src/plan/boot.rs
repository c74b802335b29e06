//! Changes that take effect at the next boot: files and boot entries.

use super::lasting::{self, Lasted, Obstacle, Starts, Trial, Wanted};
use super::wanted::wanted;
use super::{Change, Keep, Lasts, Step, Takes};
use crate::knobs::Blast;
use punctual_facts::machine::Machine;
use punctual_facts::tree::Tree;

/// Ids of changes. `FILES` stands for files for the init, `ENTRY` for a boot entry with the new command line, `HOOK`
/// for a unit that continues a campaign after a boot, `WATCH` for the unit of a watch, and `DEFAULT` for the new command
/// line as the default.
pub const FILES: &str = "boot.files";
pub const ENTRY: &str = "boot.entry";
pub const HOOK: &str = "boot.campaign";
pub const WATCH: &str = "boot.watch";
pub const DEFAULT: &str = "boot.default";

/// A change of the command line for the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootChange {
    /// The change; `None` if the command line has the wanted words already.
    pub change: Option<Change>,
    /// How the new command line is booted.
    pub starts: Starts,
    /// Restrictions that the user must know, one sentence each.
    pub limits: Vec<String>,
}

impl BootChange {
    fn of(id: &str, title: &str, trial: Trial) -> Self {
        let Trial { steps, limits, starts } = trial;
        let change = (!steps.is_empty()).then(|| lasting_change(id, title, Takes::NextBoot, steps));
        Self { change, starts, limits }
    }
}

/// The change that makes the new command line the default for all boots.
pub fn adoption(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<BootChange, Obstacle> {
    let Lasted { steps, limits, .. } = lasting::adopt(tree, machine, wanted)?;
    let adopted = Trial { steps, limits, starts: Starts::NextBoot };
    Ok(BootChange::of(DEFAULT, "The new command line is the default", adopted))
}

/// The change that adds these words to the command line of the next boot only.
pub fn trial(tree: &dyn Tree, machine: &Machine, keeps: &[Keep]) -> Result<BootChange, Obstacle> {
    let trial = lasting::trial(tree, machine, &wanted(keeps, ""))?;
    Ok(BootChange::of(ENTRY, "The command line of a measurement has a boot entry, booted once", trial))
}

/// The change that makes this program go on with a campaign after each boot.
pub fn hook(machine: &Machine, exe: &str, verb: &str, folder: &str) -> Result<Change, Obstacle> {
    let steps = lasting::hook(machine, exe, verb, folder)?;
    Ok(lasting_change(HOOK, "A campaign continues by itself after a boot", Takes::NextBoot, steps))
}

/// The change that makes this program watch from now on, also after each boot.
pub fn watch(machine: &Machine, exe: &str, store: &str, words: &[String]) -> Result<Change, Obstacle> {
    let steps = lasting::watch(machine, exe, store, words)?;
    Ok(lasting_change(WATCH, "A watch runs from now on", Takes::Now, steps))
}

pub(super) fn lasting_change(id: &str, title: &str, takes: Takes, steps: Vec<Step>) -> Change {
    let places: Vec<String> = steps.iter().filter_map(place).collect();
    let places = places.join(", ");
    Change {
        id: id.to_owned(),
        title: title.to_owned(),
        before: "as it was".to_owned(),
        after: places.clone(),
        why: "What is written to a running kernel is lost at the next boot.".to_owned(),
        cost: "none".to_owned(),
        risk: "the next boot uses the changed settings; the former ones are kept, and punctual revert puts them back"
            .to_owned(),
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

/// The path of the file that a step writes, or the program that it runs.
fn place(step: &Step) -> Option<String> {
    match step {
        Step::Own { path, .. } | Step::Edit { path, .. } | Step::Remove { path } => Some(path.clone()),
        Step::Run { doing, .. } => doing.as_ref().map(|run| run.program.clone()),
        Step::Write { .. }
        | Step::Folder { .. }
        | Step::Affinity { .. }
        | Step::Policy { .. }
        | Step::Nic { .. }
        | Step::Silence { .. } => None,
    }
}
