//! The CPUs of a machine, their kinds, and the memory nodes.
//!
//! Only a few files are read here. Files that exist once per CPU are read by the code that needs them, for the CPUs
//! that matter there.

use super::cpus;
use crate::cpu_set::{CPU_LIMIT, CpuSet};
use crate::fact::Fact;
use crate::tree::{Tree, text};

#[derive(Clone, Debug)]
pub struct Topology {
    /// CPUs that the kernel can ever use.
    pub possible: Fact<CpuSet>,
    /// CPUs that are plugged in, online or not.
    pub present: Fact<CpuSet>,
    pub online: Fact<CpuSet>,
    /// Whether at least one core runs more than one thread.
    pub smt_active: Fact<bool>,
    pub nodes: Vec<Node>,
    /// CPUs by kind of core, if the machine has several kinds.
    pub kinds: Vec<CoreKind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreKind {
    /// The kernel's name for the kind of core.
    pub name: &'static str,
    pub cpus: CpuSet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub number: u32,
    /// The CPUs near to the node's memory. The set is empty if the node has memory only.
    pub cpus: CpuSet,
}

/// The CPU on which all supported architectures boot. The kernel itself relies on this number in several places.
pub const BOOT_CPU: u32 = 0;
pub const NODES: &str = "/sys/devices/system/node";
/// Kinds of cores of hybrid x86 machines: the names of their performance counters.
pub const KINDS: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

impl Topology {
    pub(super) fn read(tree: &dyn Tree, cpuinfo: &Fact<String>) -> Self {
        // The CPUs that this process may use do not replace this list: with isolcpus=, the CPUs that matter most are
        // missing among them.
        let online = match cpus(tree, "/sys/devices/system/cpu/online") {
            Fact::Absent => listed(cpuinfo),
            // If the list cannot be read, no other source replaces it, since another source may show fewer CPUs.
            told => told,
        };
        let smt_active = text(tree, "/sys/devices/system/cpu/smt/active").and_then(|value| match value.as_str() {
            "0" => Fact::Known(false),
            "1" => Fact::Known(true),
            other => Fact::Garbled(format!("'{other}' is neither 0 nor 1")),
        });
        let kind =
            |name| Some(CoreKind { name, cpus: cpus(tree, &format!("/sys/devices/{name}/cpus")).known()?.clone() });
        Self {
            possible: cpus(tree, "/sys/devices/system/cpu/possible"),
            present: cpus(tree, "/sys/devices/system/cpu/present"),
            online,
            smt_active,
            nodes: nodes(tree),
            kinds: KINDS.into_iter().filter_map(kind).filter(|kind| !kind.cpus.is_empty()).collect(),
        }
    }
}

fn nodes(tree: &dyn Tree) -> Vec<Node> {
    let names = tree.list(NODES).known().cloned().unwrap_or_default();
    let node = |name: &String| {
        let number = name.strip_prefix("node")?.parse().ok()?;
        let cpus = cpus(tree, &format!("{NODES}/{name}/cpulist")).known()?.clone();
        Some(Node { number, cpus })
    };
    let mut nodes: Vec<Node> = names.iter().filter_map(node).collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// The CPUs in `/proc/cpuinfo`, which lists only online CPUs.
fn listed(cpuinfo: &Fact<String>) -> Fact<CpuSet> {
    cpuinfo.as_ref().and_then(|info| {
        let fields = info.lines().filter_map(|line| line.split_once(':'));
        let numbers = fields.filter(|(name, _)| name.trim() == "processor").map(|(_, number)| number.trim());
        let cpus: CpuSet = numbers.filter_map(|number| number.parse().ok()).filter(|cpu| *cpu < CPU_LIMIT).collect();
        if cpus.is_empty() { Fact::Absent } else { Fact::Known(cpus) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemTree;

    #[test]
    fn machines_with_holes_are_read_as_they_are() {
        let text = "punctual-machine 1\n\
            /sys/devices/system/cpu/possible = 0-1535\n/sys/devices/system/cpu/present = 0-1023\n\
            /sys/devices/system/cpu/online = 0,2-1000,1023\n\
            /sys/devices/system/node/node0/cpulist = 0-511\n/sys/devices/system/node/node10/cpulist = \\e\n\
            /sys/devices/system/node/node2/cpulist = 512-1023\n/sys/devices/system/node/nodex/cpulist = 1\n\
            /sys/devices/cpu_core/cpus = 0-15\n/sys/devices/cpu_atom/cpus = 16-23\n/sys/devices/cpu_lowpower/cpus = \\e\n";
        let topology = Topology::read(&MemTree::parse(text).unwrap(), &Fact::Absent);
        let numbers: Vec<(u32, usize)> = topology.nodes.iter().map(|node| (node.number, node.cpus.len())).collect();
        assert_eq!(numbers, [(0, 512), (2, 512), (10, 0)]);
        assert_eq!(topology.online.known().map(CpuSet::len), Some(1001));
        assert_eq!(topology.present.known().map(CpuSet::len), Some(1024));
        let kinds: Vec<&str> = topology.kinds.iter().map(|kind| kind.name).collect();
        assert_eq!(kinds, ["cpu_core", "cpu_atom"]);
    }
}
