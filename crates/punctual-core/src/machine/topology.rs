//! Which CPUs there are and which of them share a core.

use super::cpus;
use crate::cpu_set::CpuSet;
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
    pub(super) fn read(tree: &dyn Tree) -> Self {
        // Without /sys there is still what this process may use: fewer perhaps, but certainly there.
        let online = cpus(tree, "/sys/devices/system/cpu/online").or_else(|| allowed(tree));
        let smt_active = text(tree, "/sys/devices/system/cpu/smt/active").and_then(|value| match value.as_str() {
            "0" => Fact::Known(false),
            "1" => Fact::Known(true),
            other => Fact::Garbled(format!("'{other}' is neither 0 nor 1")),
        });
        Self { possible: cpus(tree, "/sys/devices/system/cpu/possible"), online, smt_active }
    }
}

/// The CPUs the calling process may use.
fn allowed(tree: &dyn Tree) -> Fact<CpuSet> {
    text(tree, "/proc/self/status").and_then(|status| {
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.map_or(Fact::Absent, |list| {
            CpuSet::parse_list(list).map_or_else(|e| Fact::Garbled(e.to_string()), Fact::Known)
        })
    })
}
