//! What the user asks of a plan.

use super::Keep;
use super::remedies::Preferences;
use crate::knobs::Blast;
use punctual_facts::profile::Need;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// What the machine has to do. If it names no CPUs, the plan chooses them.
    pub need: Need,
    /// The only knobs to change; if empty, every bad knob is changed.
    pub only: Vec<String>,
    pub except: Vec<String>,
    /// The largest blast radius that a change may have.
    pub blast: Blast,
    pub preferences: Preferences,
    /// Whether any change may outlive the next boot.
    pub lasting: bool,
    /// Whether a process of this program lives as long as the changes do, so that it can hold a latency limit.
    pub holds: bool,
    /// Settings of earlier tunings that are still kept for the boots to come.
    pub standing: Vec<Keep>,
    /// The path of this program at boot. The error says why services of root must not run the program from its present
    /// place.
    pub exe: Result<String, String>,
}
