//! Which CPUs there are and which of them share a core.

use super::cpus;
use crate::cpu_set::{CPU_LIMIT, CpuSet};
use crate::fact::Fact;
use crate::tree::{Tree, text};

/// The machine's CPUs.
#[derive(Clone, Debug)]
pub struct Topology {
    /// CPUs that could exist.
    pub possible: Fact<CpuSet>,
    /// CPUs that run.
    pub online: Fact<CpuSet>,
    /// Whether some core runs more than one thread.
    pub smt_active: Fact<bool>,
}

impl Topology {
    pub(super) fn read(tree: &dyn Tree, cpuinfo: &Fact<String>) -> Self {
        // Not what this process may use: on a machine with isolcpus= that leaves out the CPUs which matter most.
        let online = cpus(tree, "/sys/devices/system/cpu/online").or_else(|| listed(cpuinfo));
        let smt_active = text(tree, "/sys/devices/system/cpu/smt/active").and_then(|value| match value.as_str() {
            "0" => Fact::Known(false),
            "1" => Fact::Known(true),
            other => Fact::Garbled(format!("'{other}' is neither 0 nor 1")),
        });
        Self { possible: cpus(tree, "/sys/devices/system/cpu/possible"), online, smt_active }
    }
}

/// The CPUs that `/proc/cpuinfo` tells of, which are those that run.
fn listed(cpuinfo: &Fact<String>) -> Fact<CpuSet> {
    cpuinfo.as_ref().and_then(|info| {
        let fields = info.lines().filter_map(|line| line.split_once(':'));
        let numbers = fields.filter(|(name, _)| name.trim() == "processor").map(|(_, number)| number.trim());
        let cpus: CpuSet = numbers.filter_map(|number| number.parse().ok()).filter(|cpu| *cpu < CPU_LIMIT).collect();
        if cpus.is_empty() { Fact::Absent } else { Fact::Known(cpus) }
    })
}
