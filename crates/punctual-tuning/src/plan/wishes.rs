//! The user's wishes for a plan: the need of the work, and which changes are allowed.

use super::Keep;
use super::remedies::Preferences;
use crate::knobs::Blast;
use punctual_facts::profile::Need;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// What the real-time work needs of the machine. If the need names no CPUs, the plan chooses them.
    pub need: Need,
    /// The only knobs to change; if empty, every bad knob is changed.
    pub only: Vec<String>,
    pub except: Vec<String>,
    /// The largest blast radius that a change may have.
    pub blast: Blast,
    pub preferences: Preferences,
    /// Whether any change may outlive the next boot.
    pub lasting: bool,
    /// Whether a process of this program lives until the changes are undone, so that it can hold a latency limit.
    pub holds: bool,
    /// Settings of earlier tunings that are still kept for later boots.
    pub standing: Vec<Keep>,
    /// The path at which this program is run at boot. The error says why services must not run the program as root from
    /// its present place.
    pub exe: Result<String, String>,
}
