//! Who shares the caches with the real-time work.

use super::clocks::cpu_flags;
use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::cpu_set::CpuSet;
use crate::finding::Confidence;
use crate::finding::Severity::{Info, Medium};
use crate::machine::Arch;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "cache.l2",
        title: "Second-level cache not shared with other work",
        family: Family::Caches,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(l2),
        why: "A neighbour on the same second-level cache evicts the loop's code and data while it sleeps, so that \
            every activation starts cold.",
        fix: "Choose real-time CPUs that share no second-level cache with the others, or give the whole cluster to \
            real-time work.",
        persist: &[Lasting::Other("The same choice in isolcpus= or the cpuset.")],
        undo: "Choose as before.",
        cost: "CPUs.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["kernel ABI testing/sysfs-devices-system-cpu: cache/indexN", "unverified: size of the effect"],
    },
    Knob {
        id: "cat.l3",
        title: "A part of the last-level cache of one's own",
        family: Family::Caches,
        severity: Weight::all(Info),
        probe: Probe::Effective(l3),
        why: "Where the CPU can partition its last-level cache, an exclusive part keeps others from evicting the loop.",
        fix: "mount -t resctrl resctrl /sys/fs/resctrl; mkdir a group; write cpus_list <I> and a schemata line \
            whose ways do not overlap shareable_bits; echo exclusive > mode.",
        persist: &[Lasting::Other("A unit that does so at boot.")],
        undo: "rmdir the group and write the old schemata back.",
        cost: "Less cache for the rest.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["kernel filesystems/resctrl.rst", "intel-cmt-cat README"],
    },
];

fn l2(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let unseen = Missing::TellsNothing("which CPUs share a second-level cache is not shown");
    let levels = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cache/index2/level", &case.rt, unseen)?;
    if levels.iter().any(|(_, level)| level != "2") {
        return Doubt::unknown("the third cache the kernel lists is not the second-level one");
    }
    case.take_evidence();
    let shares = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cache/index2/shared_cpu_list", &case.rt, unseen)?;
    for (_, share) in &shares {
        match CpuSet::parse_list(share) {
            Ok(cpus) if cpus.is_subset(&case.rt) => {}
            Ok(_) => return Ok(false),
            Err(e) => return Doubt::unknown(e.to_string()),
        }
    }
    Ok(true)
}

fn l3(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let can_partition = || cpu_flags(case).map(|flags| flags.split_whitespace().any(|flag| flag == "cat_l3"));
    if case.machine.kernel.arch.known() == Some(&Arch::X86) && !can_partition()? {
        return Doubt::not_applicable("this CPU cannot partition its last-level cache (no flag cat_l3)");
    }
    let folder = "/sys/fs/resctrl";
    let because = "resctrl is not mounted; a partition set through MSRs would not show either";
    let names = case.known(folder, case.list(folder), Missing::TellsNothing(because))?;
    if !names.iter().any(|name| name == "schemata") {
        return Doubt::unknown(because);
    }
    let mut exclusive = CpuSet::new();
    for group in names.iter().filter(|name| !["info", "mon_data", "mon_groups"].contains(&name.as_str())) {
        let is_exclusive = case.peek(&format!("{folder}/{group}/mode")).known().is_some_and(|mode| mode == "exclusive");
        let cpus = case.peek(&format!("{folder}/{group}/cpus_list"));
        let cpus = cpus.known().and_then(|list| CpuSet::parse_list(list).ok());
        if let Some(cpus) = cpus.filter(|_| is_exclusive) {
            exclusive = exclusive.union(&cpus);
        }
    }
    case.note(
        format!("{folder}/*/mode"),
        if exclusive.is_empty() { "no exclusive group".to_owned() } else { format!("exclusive for CPUs {exclusive}") },
    );
    Ok(!case.rt.is_empty() && case.rt.is_subset(&exclusive))
}
