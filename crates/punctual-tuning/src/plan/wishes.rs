//! What the user asks of a plan.

use super::Keep;
use super::remedies::Preferences;
use crate::knobs::Blast;
use punctual_facts::profile::Need;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// What the machine has to do; without CPUs the plan chooses them.
    pub need: Need,
    /// The only knobs to change; if empty, all that are bad.
    pub only: Vec<String>,
    pub except: Vec<String>,
    /// The largest blast radius that a change may have.
    pub blast: Blast,
    pub preferences: Preferences,
    /// Whether anything is to outlive the next boot.
    pub lasting: bool,
    /// Whether a process of ours lives as long as the changes do, so that it can hold a latency limit.
    pub holds: bool,
    /// What earlier tunings that still count keep for the boots to come.
    pub standing: Vec<Keep>,
    /// The path of this program at boot, or why services of root must not run it from where it is.
    pub exe: Result<String, String>,
}
