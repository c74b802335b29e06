//! A campaign across boots: which act is next, from what was written down and what this boot shows.
//!
//! ```text
//! Campaign, Across (written down), Seen (this boot) -> Act -> Hands -> written down again -> ...
//! ```
//! Every measurement has a boot of its own, also that of the machine as it was. What a boot has to be is tried through a
//! boot entry that the loader takes once; so whoever ends a boot, the one after it is the old one. A boot is asked for
//! only after that is written down, and a run gets no more boots than [`Tries`] allows: there is no loop of boots.
//! Whether a boot is the one that was asked for is told by its identity and by its command line, and by nothing else.
//!
//! Must not know how anything is done: [`Hands`] do it.

mod hands;
#[cfg(test)]
mod tests;
mod tries;

pub use hands::{Ending, Hands, go_on};
pub use tries::Tries;

use super::{Arm, Campaign, Next};
use punctual_tuning::plan::lasting::merge;
use punctual_tuning::plan::{Keep, wanted};
use std::collections::BTreeMap;

/// Words that the boot loader adds, and one that every trial is given so that a kernel that panics starts again.
const LOADERS: [&str; 3] = ["BOOT_IMAGE", "initrd", "panic"];

/// What is written down beside the campaign itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Across {
    /// Command line of the boot it was begun in.
    pub line: String,
    /// Release of the kernel of that boot.
    pub release: String,
    /// The boot in which the last measurement was made, or in which it was begun: it is measured in no more.
    pub used: String,
    /// Another boot was asked for in this one, and nobody has seen yet what came of it.
    pub asked: Option<String>,
    /// A measurement was begun in this boot, and is not ended.
    pub measuring: Option<String>,
    /// Boots that measurements had in vain, by what was to be set; none of those that were measured in the end.
    pub tries: BTreeMap<Arm, Tries>,
    /// Boots that were asked for in all.
    pub boots: u32,
    /// Why it was given up.
    pub gave_up: Option<String>,
}

/// What this boot shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Seen {
    /// Its identity.
    pub boot: String,
    /// Its command line.
    pub line: String,
    /// The release of its kernel.
    pub release: String,
    /// A boot entry of ours that stands.
    pub entry: Option<Entry>,
    /// Whether something goes on by itself after a boot.
    pub hooked: bool,
    /// Whether there can be such a thing.
    pub can_hook: bool,
    /// The time for the campaign is up.
    pub is_late: bool,
    /// Nobody measured for so long that what comes now is not held against what was before.
    pub is_after_a_pause: bool,
}

/// A boot entry of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it keeps.
    pub keeps: Vec<Keep>,
    /// The boot in which it was made: it is for the next one alone.
    pub made_in: String,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// See to it that somebody goes on after a boot.
    Hook,
    /// Take that away.
    Unhook,
    /// Make a boot entry that keeps this, for the next boot alone.
    Enter(Vec<Keep>),
    /// Take it away.
    Leave,
    /// Start the machine again.
    Reboot,
    /// Measure with these candidates, as far as they are set in a boot that runs.
    Measure(Vec<usize>),
    /// These candidates cannot be measured, for this reason.
    Refuse(Vec<usize>, String),
    /// It cannot go on, for this reason.
    GiveUp(String),
    /// Nothing.
    End,
}

impl Across {
    /// Of a campaign that begins in this boot.
    pub fn begun(line: String, release: String, boot: String) -> Self {
        Self { line, release, used: boot, ..Self::default() }
    }

    /// What is next. Nothing of it is remembered but by [`go_on`].
    pub fn next(&self, campaign: &Campaign, seen: &Seen) -> Act {
        match campaign.next() {
            Next::Measure { arm, .. } if self.gave_up.is_none() => self.towards(campaign, &arm, seen),
            _ => self.home(seen),
        }
    }

    /// What became of the boot that was asked for, and of a measurement that was begun: the boot after it tells. Whether a
    /// try was in vain: that has to be written down before anything changes what tells why.
    fn arrived(&mut self, campaign: &Campaign, seen: &Seen) -> bool {
        let arm = due(campaign);
        let keeps = kept(campaign, &arm);
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

    /// Towards a boot in which these candidates can be measured.
    fn towards(&self, campaign: &Campaign, arm: &[usize], seen: &Seen) -> Act {
        let keeps = kept(campaign, arm);
        let tries = self.tries.get(arm).cloned().unwrap_or_default();
        if self.fits(&keeps, seen) && seen.boot != self.used && !tries.is_cut_off() {
            return Act::Measure(arm.to_vec());
        }
        if tries.is_over() {
            // Without candidates, or without words of theirs, it is the machine itself that cannot be measured.
            let is_theirs = !arm.is_empty() && (tries.is_cut_off() || !keeps.is_empty());
            let is_refused = is_theirs && tries.are_its_own_fault();
            return if is_refused { Act::Refuse(arm.to_vec(), tries.told()) } else { Act::GiveUp(tries.told()) };
        }
        boot_of(&keeps, seen)
    }

    /// Everything is put back, and the machine runs as it did.
    fn home(&self, seen: &Seen) -> Act {
        if seen.entry.is_some() {
            return Act::Leave;
        }
        let may_boot = !self.tries.get(&Arm::new()).is_some_and(Tries::is_over);
        if !self.fits(&[], seen) && self.gave_up.is_none() && seen.can_hook && may_boot {
            return boot_of(&[], seen);
        }
        if seen.hooked { Act::Unhook } else { Act::End }
    }

    /// Whether this boot is one that keeps this, and nothing else of ours.
    pub fn fits(&self, keeps: &[Keep], seen: &Seen) -> bool {
        let asked = merge(&self.line, &wanted(keeps, ""));
        self.release == seen.release && asked.is_ok_and(|asked| own_words(&asked) == own_words(&seen.line))
    }

    /// Another boot is about to be asked for.
    fn asking(&mut self, boot: &str) {
        if self.asked.as_deref() != Some(boot) {
            self.boots = self.boots.saturating_add(1);
        }
        self.asked = Some(boot.to_owned());
        self.measuring = None;
    }

    /// A measurement is about to begin.
    fn beginning(&mut self, boot: &str) {
        self.measuring = Some(boot.to_owned());
    }

    /// A measurement is done with; in this boot, if it was made.
    fn done_with(&mut self, arm: &[usize], boot: Option<&str>) {
        if let Some(boot) = boot {
            boot.clone_into(&mut self.used);
        }
        (self.asked, self.measuring) = (None, None);
        self.tries.remove(arm);
    }

    /// Somebody asked to go on: what was given up is tried again.
    pub fn take_up(&mut self) {
        if self.gave_up.take().is_some() {
            self.tries.clear();
        }
    }
}

/// What is to be measured next; the machine as it was where nothing is.
fn due(campaign: &Campaign) -> Arm {
    match campaign.next() {
        Next::Measure { arm, .. } => arm,
        Next::Done => Arm::new(),
    }
}

/// What candidates keep for a boot, of two that decide the same the last.
pub fn kept(campaign: &Campaign, arm: &[usize]) -> Vec<Keep> {
    let keeps = arm.iter().filter_map(|place| campaign.design.candidates.get(*place));
    let keeps = punctual_tuning::plan::last_of_each(keeps.flat_map(|candidate| &candidate.boot));
    keeps.into_iter().cloned().collect()
}

/// What leads to another boot, which keeps this.
fn boot_of(keeps: &[Keep], seen: &Seen) -> Act {
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

/// Words but for those of the boot loader, sorted: a loader may put its own in another place.
fn own_words(line: &str) -> Vec<&str> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let mut words: Vec<&str> = line.split_whitespace().filter(|word| !LOADERS.contains(&name(word).as_str())).collect();
    words.sort_unstable();
    words
}
