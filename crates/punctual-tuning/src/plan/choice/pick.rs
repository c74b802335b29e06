//! Chooses CPUs if the user named none: whole cores of one kind on one node, near to each other and far from the rest.
//!
//! This module chooses half of the cores and at most four, or one core for audio on a desktop. A control program
//! consists of a loop or two and the tasks that wake them. A further core would not help it, and other work would lack
//! that core. A user who needs more names the CPUs.

use super::layout::{Layout, share};
use super::refusal::{ChoiceRefusal, named, worded};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::Node;
use punctual_facts::profile::Kind;
use std::cmp::Reverse;

/// The largest number of cores to choose if the user named no CPUs.
const MOST_CORES: usize = 4;

pub(super) struct Pick {
    pub cpus: CpuSet,
    pub reasons: Vec<String>,
}

/// Chooses CPUs among the usable ones, for this kind of work.
pub(super) fn pick(layout: &Layout, kind: Kind) -> Result<Pick, ChoiceRefusal> {
    let cores: Vec<CpuSet> =
        layout.cores.iter().filter(|core| !core.intersection(&layout.usable).is_empty()).cloned().collect();
    let keeper = layout.keeper();
    if layout.usable.len() < 2 {
        return Err(ChoiceRefusal::OneCpu { cpu: keeper });
    }
    if cores.len() < 2 {
        return Err(ChoiceRefusal::OneCore { cpus: layout.usable.clone() });
    }
    let mut reasons = vec![house(layout, keeper)];
    let most = if kind == Kind::Audio { 1 } else { (cores.len() / 2).clamp(1, MOST_CORES) };
    let others: Vec<CpuSet> = cores.iter().filter(|core| !core.contains(keeper)).cloned().collect();
    let is_whole = |core: &&CpuSet| core.is_subset(&layout.usable);
    let whole: Vec<CpuSet> = others.iter().filter(is_whole).cloned().collect();
    let others = if whole.is_empty() { others } else { whole };
    let others = of_one_kind(layout, others, &mut reasons);
    let (others, most) = of_one_node(layout, &cores, others, most, &mut reasons);
    let taken = by_caches(layout, &cores, &others, most, &mut reasons);
    let cpus = taken.iter().fold(CpuSet::new(), |all, core| all.union(&core.intersection(&layout.usable)));
    reasons.push(how_many(kind, cores.len(), taken.len()));
    if taken.iter().any(|core| core.len() > 1 && core.is_subset(&layout.usable)) {
        reasons.push(
            "Cores are taken whole, with all their hardware threads: run each loop on one hardware thread of a core, \
            and leave its siblings without work or take them offline."
                .to_owned(),
        );
    }
    Ok(Pick { cpus, reasons })
}

fn house(layout: &Layout, keeper: u32) -> String {
    let core = layout.core(keeper);
    let siblings = core.difference(&[keeper].into_iter().collect());
    let is_boot_cpu = keeper == punctual_facts::machine::BOOT_CPU;
    let why = if is_boot_cpu { "booted the machine" } else { "has the lowest number" };
    if siblings.is_empty() {
        return format!("CPU {keeper} {why} and does the housekeeping.");
    }
    format!("CPU {keeper} {why} and does the housekeeping, and so does the rest of its core, {}.", named(&siblings))
}

fn how_many(kind: Kind, cores: usize, taken: usize) -> String {
    let rule = if kind == Kind::Audio {
        "one is enough for audio, and the desktop needs the others"
    } else {
        "at most half of them and at most four, which is enough for a control job"
    };
    format!("{taken} of {cores} cores were chosen: {rule}.")
}

/// The cores among `cores` of one kind, which is the fastest kind that has a core there.
fn of_one_kind(layout: &Layout, cores: Vec<CpuSet>, reasons: &mut Vec<String>) -> Vec<CpuSet> {
    for kind in &layout.kinds {
        let found: Vec<CpuSet> = cores.iter().filter(|core| core.is_subset(&kind.cpus)).cloned().collect();
        if !found.is_empty() {
            reasons.push(format!(
                "Only {} (CPUs {}): on two kinds of cores the same loop takes different times.",
                kind.name, kind.cpus
            ));
            return found;
        }
    }
    cores
}

/// The cores among `cores` that are on the best memory node, and how many of these cores may be taken so that the node
/// keeps a housekeeping CPU.
fn of_one_node(
    layout: &Layout,
    all: &[CpuSet],
    cores: Vec<CpuSet>,
    most: usize,
    reasons: &mut Vec<String>,
) -> (Vec<CpuSet>, usize) {
    if layout.nodes.len() < 2 {
        let most = most.min(cores.len());
        return (cores, most);
    }
    let within = |node: &Node, cores: &[CpuSet]| -> Vec<CpuSet> {
        cores.iter().filter(|core| core.is_subset(&node.cpus)).cloned().collect()
    };
    let option = |node: &Node| {
        let mine = within(node, &cores);
        let there = all.iter().filter(|core| !core.intersection(&node.cpus).is_empty()).count();
        let most = if mine.len() == there { mine.len().saturating_sub(1) } else { mine.len() }.min(most);
        let has_own_cache =
            domains(&layout.l3, &mine).iter().any(|domain| is_free(domain, all) && domain.cores.len() <= most);
        (mine, most, has_own_cache, node.number)
    };
    let options = layout.nodes.iter().map(option).filter(|(_, most, ..)| *most > 0);
    match options.max_by_key(|(_, most, has_own_cache, number)| (*most, *has_own_cache, Reverse(*number))) {
        Some((mine, most, _, number)) => {
            reasons.push(format!(
                "All on memory node {number}, and every node keeps a core for its own housekeeping; if the devices of \
                the real-time work are attached to another node, choose CPUs of that node."
            ));
            (mine, most)
        }
        // On every node, taking one core would leave no housekeeping CPU.
        None => (cores, 1),
    }
}

/// A cache: all CPUs that share it, and the cores among them that can be chosen.
struct Domain {
    cores: Vec<CpuSet>,
    cpus: CpuSet,
}

/// Groups the cores by the cache that they share. If no caches are known, all cores are one group.
fn domains(caches: &[CpuSet], cores: &[CpuSet]) -> Vec<Domain> {
    let mut found: Vec<Domain> = Vec::new();
    for core in cores {
        let cpus = match core.first() {
            Some(cpu) if !caches.is_empty() => share(caches, cpu).union(core),
            _ => CpuSet::new(),
        };
        match found.iter_mut().find(|domain| domain.cpus == cpus) {
            Some(domain) => domain.cores.push(core.clone()),
            None => found.push(Domain { cores: vec![core.clone()], cpus }),
        }
    }
    found
}

/// Whether all cores that share the cache can be chosen.
fn is_free(domain: &Domain, all: &[CpuSet]) -> bool {
    let sharing = all.iter().filter(|core| !core.intersection(&domain.cpus).is_empty()).count();
    !domain.cpus.is_empty() && sharing == domain.cores.len()
}

/// The key by which cores are sorted, best first: cores with fewer threads come first, because the siblings of a loop's
/// CPU would stay idle. Among those, the highest numbers come first, because interrupts and daemons gather on the CPUs
/// with the lowest numbers.
fn preferred(core: &CpuSet) -> (usize, Reverse<Option<u32>>) {
    (core.len(), Reverse(core.first()))
}

/// Chooses up to `most` cores. If a group of cores with its own last-level cache fits, that group is chosen. Otherwise
/// the cores come from one last-level cache, in groups with a whole second-level cache if possible.
fn by_caches(layout: &Layout, all: &[CpuSet], cores: &[CpuSet], most: usize, reasons: &mut Vec<String>) -> Vec<CpuSet> {
    let keeper = layout.keeper();
    let l3 = domains(&layout.l3, cores);
    let fits = |domain: &&Domain| is_free(domain, all) && domain.cores.len() <= most;
    let nearest = |domain: &&Domain| domain.cores.iter().map(preferred).min().map(Reverse);
    if let Some(own) = l3.iter().filter(fits).max_by_key(|domain| (domain.cores.len(), nearest(domain))) {
        let cpus = &own.cpus;
        reasons.push(worded(
            cpus,
            format!("CPU {cpus} has a last-level cache that no other CPU uses."),
            format!("CPUs {cpus} have a last-level cache that no other CPU uses."),
        ));
        return own.cores.clone();
    }
    let is_far = |domain: &Domain| !domain.cpus.contains(keeper);
    let best = l3.iter().max_by_key(|domain| (domain.cores.len().min(most), is_far(domain), nearest(domain)));
    let mut cores = best.map_or_else(|| cores.to_vec(), |domain| domain.cores.clone());
    cores.sort_by_key(preferred);
    let mut taken: Vec<CpuSet> = Vec::new();
    for cluster in domains(&layout.l2, &cores).iter().filter(|cluster| is_free(cluster, all)) {
        if taken.len() + cluster.cores.len() <= most {
            taken.extend(cluster.cores.iter().cloned());
        }
    }
    if taken.is_empty() {
        return cores.into_iter().take(most).collect();
    }
    let cpus = taken.iter().fold(CpuSet::new(), |all, core| all.union(core)).intersection(&layout.usable);
    reasons.push(worded(
        &cpus,
        format!("CPU {cpus} shares no second-level cache with a housekeeping CPU."),
        format!("CPUs {cpus} share no second-level cache with a housekeeping CPU."),
    ));
    taken
}
