//! The CPUs of a machine as far as placing threads on them is concerned.

use crate::cpu_set::CpuSet;
use crate::machine::Machine;
use crate::tree::{Tree, text};
use std::collections::BTreeMap;

/// The CPUs of a machine as far as placing threads is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    pub online: CpuSet,
    /// This process may use.
    pub allowed: CpuSet,
    /// Kept from the scheduler at boot.
    pub isolated: CpuSet,
    /// SMT siblings of each CPU, itself included; a CPU that is missing has none.
    pub siblings: BTreeMap<u32, CpuSet>,
}

impl Cpus {
    /// Reads them. What cannot be read narrows nothing: without a list of on-line CPUs those that this process may use
    /// count, and without topology no CPU has a sibling.
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

    /// CPUs an ordinary task may end up on: allowed and not isolated; all allowed ones when all are isolated.
    pub fn ordinary(&self) -> CpuSet {
        first_nonempty([self.allowed.difference(&self.isolated), self.allowed.clone()])
    }

    /// Those CPUs and every SMT sibling of them.
    pub fn siblings_of(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter_map(|cpu| self.siblings.get(&cpu)).fold(CpuSet::new(), |all, more| all.union(more))
    }
}

/// The CPUs the calling process may use.
pub fn allowed(tree: &dyn Tree) -> Option<CpuSet> {
    allowed_by(text(tree, "/proc/self/status").known()?)
}

/// The CPUs that the `status` of a process says it may use.
pub fn allowed_by(status: &str) -> Option<CpuSet> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CpuSet::parse_list(list).ok()
}

fn first_nonempty<const N: usize>(sets: [CpuSet; N]) -> CpuSet {
    sets.into_iter().find(|set| !set.is_empty()).unwrap_or_default()
}
