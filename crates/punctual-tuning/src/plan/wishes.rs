//! What the user asks of a plan.

use super::Keep;
use super::remedies::Preferences;
use crate::knobs::Blast;
use punctual_facts::profile::Need;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// What the machine has to do; CPUs may be left to us.
    pub need: Need,
    /// Knobs to change, and no others; empty for those that matter.
    pub only: Vec<String>,
    pub except: Vec<String>,
    /// What a change may do to the machine at work.
    pub blast: Blast,
    /// What is wanted of the changes themselves.
    pub preferences: Preferences,
    /// Whether anything is to outlive the next boot.
    pub lasting: bool,
    /// Whether a process of ours lives as long as the changes do, and can hold what has to be held.
    pub holds: bool,
    /// What earlier tunings, which stand, keep for the boots to come.
    pub standing: Vec<Keep>,
    /// Where this program is found at boot, or why the superuser's services must not run it from where it is.
    pub exe: Result<String, String>,
}
