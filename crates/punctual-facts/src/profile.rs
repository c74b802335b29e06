//! What the user needs of the machine, and on which CPUs. Advice depends on this need, and not on a fixed ideal.

use crate::cpu_set::CpuSet;
use punctual_hist::Nanos;
use serde::Serialize;

crate::named! {
    /// The kind of work that has to be punctual.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Kind {
        /// A loop that blocks in the kernel until its next release, as in control or with field buses.
        #[default]
        Periodic = "periodic",
        /// A thread that never gives up its CPU and stays out of the kernel, as in packet processing.
        Poll = "poll",
        /// Audio and similar work on a desktop shared with other programs.
        Audio = "audio",
    }
}

/// The real-time work that the machine has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    pub kind: Kind,
    /// Time between releases, if it is known.
    pub period: Option<Nanos>,
    /// Largest latency that the work tolerates, if it is known.
    pub budget: Option<Nanos>,
    /// CPUs for the work. If the set is empty, the isolated CPUs of the machine are taken or, if there are none, all
    /// CPUs.
    pub cpus: CpuSet,
    /// Ids of the knobs whose severity is one level higher for this work than for other work of its kind.
    pub weighs_more: &'static [&'static str],
}
