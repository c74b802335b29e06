//! Settings that contradict each other, or that were asked for and are not in force.
//!
//! Each knob here compares two sides and names the files of both; which of them is right, it cannot know. Where the
//! real-time CPUs matter, those the machine sets apart are meant, whatever the need says: a machine can agree with
//! itself and still be wrong for the work.

pub(super) mod choice;
pub(super) mod effects;
pub(super) mod masks;
pub(super) mod owners;
pub(super) mod placement;
pub(super) mod requests;
pub(super) mod sysctls;

use crate::knobs::prelude::*;

/// The CPUs this machine keeps free of other work, and by which of its ways.
struct Apart {
    /// Not balanced onto: since boot, or by a cpuset partition.
    domain: CpuSet,
    /// Allowed to stop their tick.
    tick_free: CpuSet,
}

impl Apart {
    fn all(&self) -> CpuSet {
        self.domain.union(&self.tick_free)
    }
}

/// A list of the command line, as the kernel reads it there; `possible` are the CPUs there can be.
fn listed(text: &str, possible: &CpuSet) -> Result<CpuSet, String> {
    let Some(last) = possible.iter().last() else { return Err("how many CPUs there can be is not known".to_owned()) };
    CpuSet::parse_kernel(text, last + 1).map_err(|e| e.to_string())
}

/// Where the kernel says which CPUs partitions keep free.
const PARTITIONS: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";

/// Fails where the same bad state is told by a knob of its own, which looks at the real-time CPUs alone: one state is one
/// finding.
fn not_told_by(knob: &str, is_good: bool) -> Result<(), Doubt> {
    Doubt::not_applicable_if(!is_good, format!("{knob} tells it already"))
}

/// What is set apart, with the files as evidence.
fn set_apart(case: &Case<'_>) -> Result<Apart, Doubt> {
    let boot = case.cpu_list(ISOLATED, TellsNothing("the kernel does not say which CPUs are isolated"))?;
    let optional = |path| {
        if case.peek(path).known().is_none() {
            return Ok(CpuSet::new());
        }
        case.cpu_list(path, TellsNothing("not there"))
    };
    let (tick_free, partitions) = (optional(NOHZ_FULL)?, optional(PARTITIONS)?);
    let apart = Apart { domain: boot.union(&partitions), tick_free };
    if apart.all().is_empty() {
        return Doubt::not_applicable("this machine sets no CPU apart, so there is nothing to agree with");
    }
    Ok(apart)
}
