//! Doubts about a choice of CPUs, whether the user or this program made it.

use super::layout::{Isolated, KindOfCore, Layout, share};
use super::refusal::Warning;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::{BOOT_CPU, Node};

/// Siblings of the chosen CPUs that were not chosen and can be taken offline: not the boot CPU, not from within a
/// container, and not if no housekeeping CPU would be left.
pub(super) fn offline(layout: &Layout, cpus: &CpuSet) -> CpuSet {
    let siblings = layout.whole_cores(cpus).difference(cpus).difference(&[BOOT_CPU].into_iter().collect());
    let rest = layout.usable.difference(cpus).difference(&siblings);
    if layout.is_contained || rest.is_empty() { CpuSet::new() } else { siblings }
}

pub(super) fn warnings(layout: &Layout, cpus: &CpuSet, housekeeping: &CpuSet, offline: &CpuSet) -> Vec<Warning> {
    let mut found = split_cores(layout, cpus, offline);
    if !layout.knows_cores {
        found.push(Warning::CoresUnknown);
    }
    let chosen = |kind: &KindOfCore| KindOfCore { name: kind.name.clone(), cpus: kind.cpus.intersection(cpus) };
    let kinds: Vec<_> = layout.kinds.iter().map(chosen).filter(|kind| !kind.cpus.is_empty()).collect();
    if kinds.len() > 1 {
        found.push(Warning::MixedKinds { kinds });
    }
    if cpus.contains(BOOT_CPU) {
        found.push(Warning::BootCpu { cpu: BOOT_CPU });
    }
    found.extend(nodes(layout, cpus, housekeeping));
    found.extend(shared_l2(layout, cpus, housekeeping));
    if let Some(Isolated { cpus: isolated, by }) = &layout.isolated {
        let beside = isolated.intersection(&layout.online).difference(cpus).difference(offline);
        if !beside.is_empty() {
            found.push(Warning::IsolatedBeside { cpus: beside, by });
        }
    }
    found
}

/// At most two warnings: one for all split cores whose siblings can be taken offline, and one for all other split
/// cores.
fn split_cores(layout: &Layout, cpus: &CpuSet, offline: &CpuSet) -> Vec<Warning> {
    let mut ways: [(CpuSet, CpuSet); 2] = Default::default();
    for core in &layout.cores {
        let (mine, others) = (core.intersection(cpus), core.difference(cpus));
        if !mine.is_empty() && !others.is_empty() {
            let way = &mut ways[usize::from(!others.is_subset(offline))];
            *way = (way.0.union(&mine), way.1.union(&others));
        }
    }
    let warning = |(cpus, siblings): (CpuSet, CpuSet)| {
        let offline = siblings.intersection(offline);
        Warning::SplitCore { cpus, siblings, offline }
    };
    ways.into_iter().filter(|(cpus, _)| !cpus.is_empty()).map(warning).collect()
}

fn nodes(layout: &Layout, cpus: &CpuSet, housekeeping: &CpuSet) -> Vec<Warning> {
    if layout.nodes.len() < 2 {
        return Vec::new();
    }
    let used: Vec<_> = layout.nodes.iter().filter(|node| !node.cpus.intersection(cpus).is_empty()).collect();
    let is_bare = |node: &&&Node| node.cpus.intersection(housekeeping).is_empty();
    let bare = |node: &&Node| Warning::NodeWithoutHousekeeping {
        node: node.number,
        cpus: node.cpus.intersection(&layout.online),
    };
    let mut found: Vec<Warning> = used.iter().filter(is_bare).map(bare).collect();
    if used.len() > 1 {
        let nodes = used.iter().map(|node| Node { number: node.number, cpus: node.cpus.intersection(cpus) }).collect();
        found.push(Warning::SeveralNodes { nodes });
    }
    found
}

/// The warning about housekeeping CPUs that share a second-level cache with chosen CPUs. Siblings of chosen CPUs are
/// left out, since the warning about split cores names them.
fn shared_l2(layout: &Layout, cpus: &CpuSet, housekeeping: &CpuSet) -> Option<Warning> {
    let (mut mine, mut with) = (CpuSet::new(), CpuSet::new());
    for cpu in cpus.iter() {
        let others = share(&layout.l2, cpu).intersection(housekeeping).difference(&layout.core(cpu));
        if !others.is_empty() {
            mine.insert(cpu);
            with = with.union(&others);
        }
    }
    (!mine.is_empty()).then_some(Warning::SharedL2 { cpus: mine, with })
}
