//! Reasons to refuse a choice of CPUs, and doubts about a choice, each with a sentence and a remedy.

use super::layout::KindOfCore;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::Node;
use std::fmt;

/// The reason why CPUs cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceRefusal {
    #[error("which CPUs run is not known: neither /sys nor /proc says so")]
    Unknown,
    /// The request names CPUs that do not exist. `present` holds the CPUs that exist or, if they are not known, the
    /// online CPUs.
    #[error("{}", missing(.cpus, .present))]
    Missing { cpus: CpuSet, present: CpuSet },
    #[error("{}", offline(.cpus))]
    Offline { cpus: CpuSet },
    /// The request names CPUs that the container was not given.
    #[error("{}", not_given(.cpus, .given))]
    NotGiven { cpus: CpuSet, given: CpuSet },
    /// The request leaves no CPU for housekeeping.
    #[error(
        "CPUs {cpus} are all the CPUs there are ({usable}): none is left for interrupts, kernel threads and everything \
        else"
    )]
    NoHousekeeping { cpus: CpuSet, usable: CpuSet },
    #[error("there is one CPU ({cpu}), and it has to do everything")]
    OneCpu { cpu: u32 },
    /// All CPUs are threads of one core, so this program chooses none of them unless the user names it.
    #[error(
        "{} are threads of one core: if one of them does real-time work, the others take up to half of the core away \
        from it",
        named(.cpus)
    )]
    OneCore { cpus: CpuSet },
}

/// The CPUs as words: `CPU 3` or `CPUs 2-3`.
pub(super) fn named(cpus: &CpuSet) -> String {
    format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
}

/// Returns the sentence about `one` CPU, or the one about `more`. Both stand whole in the code, because a translation is
/// found by the whole English sentence.
pub(super) fn worded(cpus: &CpuSet, one: String, more: String) -> String {
    if cpus.len() == 1 { one } else { more }
}

fn missing(cpus: &CpuSet, present: &CpuSet) -> String {
    worded(
        cpus,
        format!("CPU {cpus} does not exist; the CPUs here are {present}"),
        format!("CPUs {cpus} do not exist; the CPUs here are {present}"),
    )
}

fn offline(cpus: &CpuSet) -> String {
    worded(cpus, format!("CPU {cpus} is offline"), format!("CPUs {cpus} are offline"))
}

fn not_given(cpus: &CpuSet, given: &CpuSet) -> String {
    worded(
        cpus,
        format!("CPU {cpus} does not belong to this container, which has CPUs {given}"),
        format!("CPUs {cpus} do not belong to this container, which has CPUs {given}"),
    )
}

impl ChoiceRefusal {
    /// What the user can do about the refusal.
    pub fn remedy(&self) -> String {
        match self {
            Self::Unknown => "Mount /sys, or run where it can be seen.".to_owned(),
            Self::Missing { present, .. } => format!("Choose among CPUs {present}."),
            Self::Offline { cpus } => {
                let first = cpus.first().unwrap_or_default();
                format!("Choose others, or bring them up: echo 1 > /sys/devices/system/cpu/cpu{first}/online")
            }
            Self::NotGiven { given, .. } => {
                format!("Choose among CPUs {given}, or start the container with more CPUs (--cpuset-cpus).")
            }
            Self::NoHousekeeping { .. } => "Leave out at least one, the boot CPU first.".to_owned(),
            Self::OneCpu { .. } => "Choose none: give real-time threads a priority instead, and measure.".to_owned(),
            Self::OneCore { cpus } => {
                format!("Name CPU {} to use it for real-time work anyway.", cpus.iter().last().unwrap_or_default())
            }
        }
    }
}

/// A doubt about a choice of CPUs that is nevertheless made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub enum Warning {
    /// Only some threads of a core are chosen. `siblings` holds its other threads, and `offline` the siblings that can
    /// be taken offline.
    SplitCore {
        cpus: CpuSet,
        siblings: CpuSet,
        offline: CpuSet,
    },
    /// The machine does not show which CPUs share a core.
    CoresUnknown,
    /// The chosen CPUs are of several kinds. Each kind lists its chosen CPUs.
    MixedKinds {
        kinds: Vec<KindOfCore>,
    },
    BootCpu {
        cpu: u32,
    },
    /// A memory node is left without a housekeeping CPU.
    NodeWithoutHousekeeping {
        node: u32,
        cpus: CpuSet,
    },
    /// The chosen CPUs belong to several memory nodes. Each node lists its chosen CPUs.
    SeveralNodes {
        nodes: Vec<Node>,
    },
    /// The chosen CPUs `cpus` share a second-level cache with the housekeeping CPUs `with`.
    SharedL2 {
        cpus: CpuSet,
        with: CpuSet,
    },
    /// CPUs that were not chosen are isolated from the scheduler, by the setting `by`.
    IsolatedBeside {
        cpus: CpuSet,
        by: &'static str,
    },
}

impl Warning {
    /// What the user can do about the doubt.
    pub fn remedy(&self) -> String {
        match self {
            Self::SplitCore { siblings, offline, .. } if siblings.is_subset(offline) => {
                format!("Choose CPU {siblings} too, or take CPU {siblings} offline.")
            }
            Self::SplitCore { cpus, .. } => {
                format!("Leave {cpus} out of the chosen CPUs; if that is not possible, measure what it costs.")
            }
            Self::CoresUnknown => "Look up whether the cores of this machine have two threads: if so, choose both \
                threads of a core or neither."
                .to_owned(),
            Self::MixedKinds { .. } => "Choose CPUs of one kind.".to_owned(),
            Self::BootCpu { .. } => "Choose another CPU.".to_owned(),
            Self::NodeWithoutHousekeeping { cpus, .. } if cpus.len() == 1 => {
                "Choose CPUs of a node that has several.".to_owned()
            }
            Self::NodeWithoutHousekeeping { cpus, .. } => format!("Choose one CPU fewer of {cpus}."),
            Self::SeveralNodes { .. } => "Choose CPUs of one node: the one whose devices the work uses.".to_owned(),
            Self::SharedL2 { .. } => {
                "If the machine has such CPUs, choose CPUs with a second-level cache of their own; some CPUs can \
                partition a shared one (cat.l2)."
                    .to_owned()
            }
            Self::IsolatedBeside { cpus, .. } => {
                format!("Add {cpus} to the chosen CPUs, or take {cpus} out of the isolated ones.")
            }
        }
    }
}

impl serde::Serialize for Warning {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |f: &mut fmt::Formatter<'_>, parts: &mut dyn Iterator<Item = String>| {
            parts.enumerate().try_for_each(|(n, part)| write!(f, "{}{part}", if n > 0 { ", " } else { "" }))
        };
        match self {
            Self::SplitCore { cpus, siblings, .. } => f.write_str(&worded(
                cpus,
                format!(
                    "CPU {cpus} shares a core with CPU {siblings}, which the choice leaves out: what runs there slows \
                    the real-time work by up to half"
                ),
                format!(
                    "CPUs {cpus} share cores with CPUs {siblings}, which the choice leaves out: what runs there slows \
                    the real-time work by up to half"
                ),
            )),
            Self::CoresUnknown => f.write_str("the machine does not show which CPUs share a core"),
            Self::MixedKinds { kinds } => {
                f.write_str("the chosen CPUs are of several kinds, and the same loop takes different times on them: ")?;
                each(f, &mut kinds.iter().map(|kind| format!("{} ({})", kind.cpus, kind.name)))
            }
            Self::BootCpu { cpu } => write!(
                f,
                "CPU {cpu} booted the machine: the kernel falls back to it for interrupts and timekeeping, and never \
                 stops its tick"
            ),
            Self::NodeWithoutHousekeeping { node, cpus } => write!(
                f,
                "memory node {node} ({}) keeps no housekeeping CPU: its reclaim and the interrupts of its devices run \
                on CPUs of another node or on the chosen CPUs",
                named(cpus)
            ),
            Self::SeveralNodes { nodes } => {
                f.write_str("the chosen CPUs belong to several memory nodes: ")?;
                each(f, &mut nodes.iter().map(|node| format!("{} (node {})", node.cpus, node.number)))
            }
            Self::SharedL2 { cpus, with } => f.write_str(&worded(
                cpus,
                format!(
                    "CPU {cpus} shares a second-level cache with housekeeping CPUs ({with}): the loop's data is evicted \
                     while the loop sleeps"
                ),
                format!(
                    "CPUs {cpus} share a second-level cache with housekeeping CPUs ({with}): the loop's data is evicted \
                     while the loop sleeps"
                ),
            )),
            Self::IsolatedBeside { cpus, by } => f.write_str(&worded(
                cpus,
                format!(
                    "CPU {cpus} is isolated ({by}) but not chosen: neither real-time work nor ordinary tasks use it \
                    fully"
                ),
                format!(
                    "CPUs {cpus} are isolated ({by}) but not chosen: neither real-time work nor ordinary tasks use \
                    them fully"
                ),
            )),
        }
    }
}
