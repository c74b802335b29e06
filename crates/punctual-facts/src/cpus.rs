//! The CPUs of a machine, for code that places threads on them.

use crate::cpu_set::CpuSet;
use crate::machine::Machine;
use crate::tree::{Tree, text};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    pub online: CpuSet,
    pub allowed: CpuSet,
    pub isolated: CpuSet,
    /// SMT siblings of each CPU, including the CPU itself. A CPU that has no entry has no siblings.
    pub siblings: BTreeMap<u32, CpuSet>,
}

impl Cpus {
    /// Reads the CPUs. If the list of online CPUs is not known, the CPUs that this process may use count as online. If
    /// the topology is not known, no CPU has siblings.
    pub fn read(tree: &dyn Tree, machine: &Machine) -> Self {
        let allowed = allowed(tree).unwrap_or_default();
        let online = machine.topology.online.known().cloned().unwrap_or_else(|| allowed.clone());
        let allowed = first_nonempty([allowed.intersection(&online), online.clone()]);
        let sibling = |cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            Some((cpu, CpuSet::parse_list(text(tree, &path).known()?).ok()?))
        };
        let isolated = machine.isolated.known().cloned().unwrap_or_default();
        Self { siblings: online.iter().filter_map(sibling).collect(), online, allowed, isolated }
    }

    /// CPUs on which the scheduler may put an ordinary task: all CPUs that are not isolated or, if every CPU is
    /// isolated, all CPUs.
    pub fn ordinary(&self) -> CpuSet {
        first_nonempty([self.allowed.difference(&self.isolated), self.allowed.clone()])
    }
    pub fn siblings_of(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter_map(|cpu| self.siblings.get(&cpu)).fold(CpuSet::new(), |all, more| all.union(more))
    }
}

/// The CPUs that the calling process may use; `None` if they are not known.
pub fn allowed(tree: &dyn Tree) -> Option<CpuSet> {
    allowed_by(text(tree, "/proc/self/status").known()?)
}

/// The CPUs that a process may use, read from the text of its `status` file.
pub fn allowed_by(status: &str) -> Option<CpuSet> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CpuSet::parse_list(list).ok()
}

fn first_nonempty<const N: usize>(sets: [CpuSet; N]) -> CpuSet {
    sets.into_iter().find(|set| !set.is_empty()).unwrap_or_default()
}
