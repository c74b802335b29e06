//! Knobs about settings that contradict each other, or that were requested and are not in force.
//!
//! Each knob compares two settings and names the files of both, because it cannot decide which one is right. These
//! knobs look at the CPUs that the machine isolates, and not at the CPUs that the user wants to use (`Need`): a machine
//! can be consistent and still wrong for the work.

pub(super) mod choice;
pub(super) mod effects;
pub(super) mod masks;
pub(super) mod owners;
pub(super) mod placement;
pub(super) mod requests;
pub(super) mod sysctls;

use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::PARTITIONS;

/// The CPUs that this machine keeps free of other work.
struct Apart {
    /// CPUs that the scheduler does not balance onto, isolated at boot or by a cpuset partition.
    domain: CpuSet,
    /// CPUs that may stop their tick.
    tick_free: CpuSet,
}

impl Apart {
    fn all(&self) -> CpuSet {
        self.domain.union(&self.tick_free)
    }
}

/// Parses a list of CPUs as the kernel does on the command line; `possible` holds the CPUs that can exist on this
/// machine.
fn listed(text: &str, possible: &CpuSet) -> Result<CpuSet, String> {
    let Some(last) = possible.iter().last() else { return Err("how many CPUs there can be is not known".to_owned()) };
    CpuSet::parse_kernel(text, last + 1).map_err(|e| e.to_string())
}

/// Fails as not applicable if `is_good` is false: `knob`, which looks at the real-time CPUs only, then reports the bad
/// state already, and one bad state is to appear as one finding.
fn not_told_by(knob: &str, is_good: bool) -> Result<(), Doubt> {
    Doubt::not_applicable_if(!is_good, format!("{knob} reports the same"))
}

fn set_apart(case: &Case<'_>) -> Result<Apart, Doubt> {
    let boot = case.cpu_list(ISOLATED, TellsNothing("the kernel does not say which CPUs are isolated"))?;
    let (tick_free, partitions) = (case.cpu_list_if_there(NOHZ_FULL)?, case.cpu_list_if_there(PARTITIONS)?);
    let apart = Apart { domain: boot.union(&partitions), tick_free };
    if apart.all().is_empty() {
        return Doubt::not_applicable("this machine sets no CPU apart, so there is nothing to agree with");
    }
    Ok(apart)
}
