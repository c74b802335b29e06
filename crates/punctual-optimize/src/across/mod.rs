//! A campaign across boots: the next act follows from the saved state and from what this boot shows.
//!
//! ```text
//! Campaign, Across (saved), BootSeen (this boot) -> Act -> Hands -> saved again -> ...
//! ```
//! Every measurement, also that of the baseline, has a boot of its own. Words of the kernel command line are tried
//! through a boot entry that the loader uses once, so that the next boot is the old system however the trial ends.
//! Before a boot is asked for, the request is saved. A measurement gets no more boots than [`Tries`] allows, so there
//! is no endless loop of boots. Only boot id, kernel release and command line decide whether a boot is the one that was
//! asked for.
//!
//! Must not know how acts are performed: implementations of [`Hands`] perform them.

mod hands;
#[cfg(test)]
mod tests;
mod tries;

pub use hands::{Ending, Hands, go_on};
pub use tries::Tries;

use super::{Arm, Campaign, Next, RunOutcome};
use punctual_tuning::plan::lasting::merge;
use punctual_tuning::plan::{Keep, wanted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Words that are left out when command lines are compared: the boot loader adds the first two, and every trial gets
/// `panic` so that a kernel that panics restarts.
const LOADERS: [&str; 3] = ["BOOT_IMAGE", "initrd", "panic"];

/// A sequence of measurements that [`go_on`] carries across boots.
pub trait Course {
    /// What a measurement comes to.
    type Outcome;
    /// The arm of the next measurement; `None` if all measurements are made.
    fn due(&self) -> Option<Arm>;
    /// The words that the measurement of an arm needs in the kernel command line.
    fn words(&self, arm: &[usize]) -> Vec<Keep>;
    /// Whether the next measurement may be made in the boot of the last one, if that has the right words.
    fn may_stay(&self) -> bool;
    /// Whether the arm is the machine as it was. If that cannot be measured, there is nothing to compare with.
    fn is_plain(&self, arm: &[usize]) -> bool;
    /// Number of outcomes so far.
    fn made(&self) -> usize;
    /// Adds the outcome of the measurement that is due.
    fn take(&mut self, arm: &[usize], outcome: Self::Outcome);
    /// Notes that the measurement that is due cannot be made, for this reason.
    fn refuse(&mut self, arm: &[usize], why: String);
    /// Ends the sequence as soon as that makes sense, because the time is up.
    fn close(&mut self);
    /// Begins anew what a pause has spoilt.
    fn begin_anew(&mut self);
}

impl Course for Campaign {
    type Outcome = RunOutcome;

    fn due(&self) -> Option<Arm> {
        match self.next() {
            Next::Measure { arm, .. } => Some(arm),
            Next::Done => None,
        }
    }

    fn words(&self, arm: &[usize]) -> Vec<Keep> {
        kept(self, arm)
    }

    fn may_stay(&self) -> bool {
        false
    }

    fn is_plain(&self, arm: &[usize]) -> bool {
        arm.is_empty()
    }

    fn made(&self) -> usize {
        self.runs.len()
    }

    fn take(&mut self, arm: &[usize], outcome: RunOutcome) {
        Campaign::take(self, arm, outcome);
    }

    fn refuse(&mut self, arm: &[usize], why: String) {
        Campaign::take(self, arm, RunOutcome::Refused(why));
    }

    fn close(&mut self) {
        Campaign::close(self);
    }

    fn begin_anew(&mut self) {
        Campaign::begin_anew(self);
    }
}

/// The state of a campaign across boots, which is saved beside the campaign. Boots are identified by their boot ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Across {
    /// Command line of the boot in which the campaign was begun.
    pub line: String,
    /// Kernel release of the boot in which the campaign was begun.
    pub release: String,
    /// The boot of the last measurement or, before the first one, the boot in which the campaign was begun. No further
    /// measurement is made in this boot.
    pub used: String,
    /// The boot in which the campaign asked for another boot. The next process sets it to `None` once it has compared
    /// its boot with the request.
    pub asked: Option<String>,
    /// The boot in which a measurement was begun that has not ended.
    pub measuring: Option<String>,
    /// Failed boots, by the candidates that were to be measured. An entry is removed once its measurement is made.
    #[serde(default, with = "crate::format::tries")]
    pub tries: BTreeMap<Arm, Tries>,
    /// Number of boots that the campaign has asked for.
    pub boots: u32,
    /// Why the campaign was given up; `None` if it was not.
    pub gave_up: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct BootSeen {
    /// Identity of the boot.
    pub boot: String,
    pub line: String,
    pub release: String,
    pub entry: Option<BootEntry>,
    /// Whether something is installed that resumes the campaign after a boot.
    pub hooked: bool,
    pub can_hook: bool,
    /// Whether the time for the campaign is up.
    pub is_late: bool,
    /// Whether the last measurement is too long ago to be compared with the next one.
    pub is_after_a_pause: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootEntry {
    pub keeps: Vec<Keep>,
    /// The boot in which the entry was made. Only the boot after that one may use the entry.
    pub made_in: String,
}

/// The next act. Most variants are named after the operation of [`Hands`] that performs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Hook,
    Unhook,
    /// Make a boot entry with these words, for the next boot only.
    Enter(Vec<Keep>),
    Leave,
    Reboot,
    /// Measure with these candidates set. Candidates that need no boot are set before the measurement.
    Measure(Vec<usize>),
    /// These candidates cannot be measured, for this reason.
    Refuse(Vec<usize>, String),
    /// The campaign cannot go on, for this reason.
    GiveUp(String),
    End,
}

impl Across {
    /// The state of a campaign that begins in this boot.
    pub fn begun(line: String, release: String, boot: String) -> Self {
        Self { line, release, used: boot, ..Self::default() }
    }

    /// The next act. Nothing is changed here; [`go_on`] records what was done.
    pub fn next(&self, course: &impl Course, seen: &BootSeen) -> Act {
        match course.due() {
            Some(arm) if self.gave_up.is_none() => self.towards(course, &arm, seen),
            _ => self.home(seen),
        }
    }

    /// Compares this boot with the requested one. Counts a boot that failed, or a measurement during which a boot
    /// ended. Returns whether a count changed: it must be saved before any other step, because later steps change what
    /// the count was derived from.
    fn arrived(&mut self, course: &impl Course, seen: &BootSeen) -> bool {
        let arm = course.due().unwrap_or_default();
        let keeps = course.words(&arm);
        let is_other = |boot: &mut String| *boot != seen.boot;
        let was_measuring = self.measuring.take_if(is_other).is_some();
        let was_asked = self.asked.take_if(is_other).is_some();
        let fits = self.fits(&keeps, seen);
        if !was_measuring && (!was_asked || fits) {
            return false;
        }
        let tries = self.tries.entry(arm).or_default();
        if was_measuring {
            tries.cut = tries.cut.saturating_add(1);
        } else if !keeps.is_empty() && seen.entry.is_none() {
            tries.taken_away = tries.taken_away.saturating_add(1);
        } else {
            tries.absent = tries.absent.saturating_add(1);
            tries.instead = format!("kernel {} and '{}'", seen.release, seen.line);
        }
        true
    }

    /// The next act towards a boot in which these candidates can be measured.
    fn towards(&self, course: &impl Course, arm: &[usize], seen: &BootSeen) -> Act {
        let keeps = course.words(arm);
        let tries = self.tries.get(arm).cloned().unwrap_or_default();
        let is_fresh = seen.boot != self.used || course.may_stay();
        if self.fits(&keeps, seen) && is_fresh && !tries.is_cut_off() {
            return Act::Measure(arm.to_vec());
        }
        if tries.is_over() {
            // The baseline, and candidates without words, use the machine's own command line, so their failure cannot
            // be due to words.
            let is_theirs = !course.is_plain(arm) && (tries.is_cut_off() || !keeps.is_empty());
            let is_refused = is_theirs && tries.are_its_own_fault();
            return if is_refused { Act::Refuse(arm.to_vec(), tries.told()) } else { Act::GiveUp(tries.told()) };
        }
        boot_of(&keeps, seen)
    }

    /// The next act towards a machine that runs as it did before the campaign, with everything put back.
    fn home(&self, seen: &BootSeen) -> Act {
        if seen.entry.is_some() {
            return Act::Leave;
        }
        let may_boot = !self.tries.get(&Arm::new()).is_some_and(Tries::is_over);
        if !self.fits(&[], seen) && self.gave_up.is_none() && seen.can_hook && may_boot {
            return boot_of(&[], seen);
        }
        if seen.hooked { Act::Unhook } else { Act::End }
    }

    /// Whether this boot runs the original kernel, with the original command line changed by exactly these words.
    pub fn fits(&self, keeps: &[Keep], seen: &BootSeen) -> bool {
        let asked = merge(&self.line, &wanted(keeps, ""));
        self.release == seen.release && asked.is_ok_and(|asked| own_words(&asked) == own_words(&seen.line))
    }

    fn asking(&mut self, boot: &str) {
        if self.asked.as_deref() != Some(boot) {
            self.boots = self.boots.saturating_add(1);
        }
        self.asked = Some(boot.to_owned());
        self.measuring = None;
    }

    fn beginning(&mut self, boot: &str) {
        self.measuring = Some(boot.to_owned());
    }

    /// Notes that a measurement needs no more boots, because it was made in `boot` or, if `boot` is `None`, refused.
    fn done_with(&mut self, arm: &[usize], boot: Option<&str>) {
        if let Some(boot) = boot {
            boot.clone_into(&mut self.used);
        }
        (self.asked, self.measuring) = (None, None);
        self.tries.remove(arm);
    }

    /// Lets a campaign that was given up try again, because the user resumed it.
    pub fn take_up(&mut self) {
        if self.gave_up.take().is_some() {
            self.tries.clear();
        }
    }
}

/// The words that these candidates need in the kernel command line. If two candidates set the same parameter, the later
/// one counts.
pub fn kept(campaign: &Campaign, arm: &[usize]) -> Vec<Keep> {
    let keeps = arm.iter().filter_map(|place| campaign.design.candidates.get(*place));
    let keeps = punctual_tuning::plan::last_of_each(keeps.flat_map(|candidate| &candidate.boot));
    keeps.into_iter().cloned().collect()
}

/// The next act towards a boot with these words in the command line.
fn boot_of(keeps: &[Keep], seen: &BootSeen) -> Act {
    if seen.can_hook && !seen.hooked {
        return Act::Hook;
    }
    match &seen.entry {
        Some(entry) if !keeps.is_empty() && entry.keeps == keeps && entry.made_in == seen.boot => Act::Reboot,
        Some(_) => Act::Leave,
        None if keeps.is_empty() => Act::Reboot,
        None => Act::Enter(keeps.to_vec()),
    }
}

/// The words of a command line without [`LOADERS`]. They are sorted, because a loader may add its own words anywhere.
fn own_words(line: &str) -> Vec<&str> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let mut words: Vec<&str> = line.split_whitespace().filter(|word| !LOADERS.contains(&name(word).as_str())).collect();
    words.sort_unstable();
    words
}
