//! Knobs that compare the choice of real-time CPUs with the hardware that CPUs share: cores, caches and memory nodes.

use crate::knobs::prelude::*;
use punctual_facts::machine::{BOOT_CPU, NODES};

const KNOB: Knob = Knob {
    persist: &[Lasting::other("The same choice in isolcpus= or the cpuset.")],
    severity: Weight::of(Medium, Medium, Info),
    ..Knob::of(Family::Agreement)
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.all_cpus",
        title: "Some CPU remains for everything else",
        severity: Weight::of(High, High, Medium),
        check: Check::Probe(all_cpus),
        why: "Interrupts, kernel threads and every ordinary process need a CPU; if all CPUs are meant for real-time \
            work, everything shares them, and one busy real-time thread locks the machine up.",
        fix: Fix::prose("Choose fewer CPUs for the real-time work, or make the cpuset partition smaller."),
        persist: &[Lasting::boot("Kernel command line: isolcpus= with at least one CPU left out, the boot CPU first.")],
        cost: "One CPU.",
        resort: Some(Resort::ChooseCpus),
        sources: &["kernel 6.12 kernel/sched/isolation.c: must include one present CPU"],
        ..KNOB
    },
    Knob {
        id: "agree.siblings",
        title: "No core is split between real-time and other work",
        severity: Weight::of(High, High, Info),
        check: Check::Probe(siblings),
        why: "If only one of the two hardware threads of a core is isolated, the other one runs everything else and \
            slows the isolated one down by up to half.",
        fix: Fix::prose(
            "Choose whole cores, or take the siblings offline: echo 0 > /sys/devices/system/cpu/cpuN/online",
        ),
        persist: &[Lasting::other("The same choice in isolcpus= or the cpuset; or nosmt on the command line.")],
        undo: Fix::prose("Choose the former CPUs again; echo 1 > online."),
        cost: "Fewer usable CPUs, or less throughput.",
        blast: Blast::Disturbing,
        sources: &["kernel ABI stable/sysfs-devices-system-cpu: thread_siblings_list", "openshift-docs#36355"],
        ..KNOB
    },
    Knob {
        id: "agree.numa",
        title: "Each memory node in use keeps a CPU for other work",
        check: Check::Probe(numa),
        why: "If all CPUs of a memory node are set apart, the node's interrupts, memory reclaim and kernel threads run \
            either far from its memory and devices or on the real-time CPUs.",
        fix: Fix::prose("Leave out at least one CPU of each node that has real-time CPUs."),
        cost: "One CPU per node.",
        confidence: Confidence::Medium,
        sources: &["kernel ABI stable/sysfs-devices-node: cpulist", "unverified: size of the effect"],
        ..KNOB
    },
    Knob {
        id: "agree.kinds",
        title: "Real-time CPUs are of one kind",
        check: Check::Probe(kinds),
        why: "On fast and slow cores the same loop takes different times, and their caches, idle states and clocks \
            differ too: a measurement on one kind of core says nothing about the other.",
        fix: Fix::prose("Choose CPUs of one kind."),
        cost: "Fewer usable CPUs.",
        confidence: Confidence::Medium,
        sources: &[
            "kernel ABI testing/sysfs-devices-system-cpu: cpu_capacity",
            "perf: /sys/devices/cpu_core, cpu_atom",
        ],
        ..KNOB
    },
    Knob {
        id: "agree.boot_cpu",
        title: "The boot CPU does other work",
        check: Check::Probe(|case| {
            case.has_housekeeping()?;
            case.note("real-time CPUs", case.rt().to_string());
            Ok(!case.rt().contains(BOOT_CPU))
        }),
        why: "The kernel falls back to the boot CPU: for early interrupts, for timekeeping when no other CPU does it, \
            after a parse error in irqaffinity=, and for devices whose interrupt cannot move.",
        fix: Fix::prose("Choose another CPU for the real-time work."),
        cost: "None, as long as there is another CPU.",
        sources: &["kernel 6.12 kernel/irq/irqdesc.c", "kernel 6.12, 7.3 kernel/time/tick-sched.c"],
        ..KNOB
    },
];

fn all_cpus(case: &Case<'_>) -> Judged {
    let online = case.online();
    let Some(online) = online.filter(|online| !online.is_empty()) else {
        return Doubt::unknown("which CPUs are online is not known");
    };
    Doubt::not_applicable_if(online.len() == 1, "there is one CPU, and it has to do everything")?;
    let isolated = case.isolated()?;
    let is_unchosen = case.need.cpus.is_empty() && isolated.is_empty();
    Doubt::not_applicable_if(is_unchosen, "no CPUs were chosen, neither for this work nor by isolation")?;
    case.note("real-time CPUs", case.rt().to_string());
    case.note("online", online.to_string());
    Ok(!online.is_subset(case.rt()) && !online.is_subset(&isolated))
}

/// Reads, for each real-time CPU, a file that holds a list of CPUs. Real-time CPUs with equal lists are returned
/// together, with that list.
fn shares(case: &Case<'_>, path: &str, unseen: &'static str) -> Result<Vec<(CpuSet, CpuSet)>, Doubt> {
    let each = case.per_cpu(path, case.rt(), TellsNothing(unseen))?;
    let set = |OfCpus { cpus, value }| match CpuSet::parse_list(&value) {
        Ok(set) => Ok((cpus, set)),
        Err(e) => Doubt::unknown(format!("{path}: {e}")),
    };
    each.into_iter().map(set).collect()
}

fn siblings(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let path = "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list";
    let shares = shares(case, path, "which CPUs share a core is not shown")?;
    let is_whole = shares.iter().all(|(_, siblings)| siblings.intersection(case.housekeeping()).is_empty());
    let is_guest = case.virtualisation().is_none_or(|v| v.hypervisor.is_some());
    let may_hide_siblings = is_whole && is_guest && shares.iter().all(|(_, siblings)| siblings.len() == 1);
    Doubt::unknown_if(may_hide_siblings, "the topology shows no siblings, but a host may hide them from its guests")?;
    Ok(is_whole)
}

fn numa(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    case.names(NODES, CannotBe("this kernel has no support for memory nodes"))?;
    let nodes: Vec<_> = case.nodes().iter().filter(|node| !node.cpus.is_empty()).collect();
    Doubt::unknown_if(nodes.is_empty(), "which CPUs belong to which memory node is not shown")?;
    Doubt::not_applicable_if(nodes.len() == 1, "all CPUs are near to the same memory")?;
    let mut is_served = true;
    for node in nodes.iter().filter(|node| !node.cpus.intersection(case.rt()).is_empty()) {
        let others = node.cpus.intersection(case.housekeeping());
        let shown = if others.is_empty() {
            format!("{}, none of them for other work", node.cpus)
        } else {
            format!("{}, of which {others} for other work", node.cpus)
        };
        case.note(format!("{NODES}/node{}/cpulist", node.number), shown);
        is_served &= !others.is_empty();
    }
    Ok(is_served)
}

fn kinds(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let kinds = case.kinds();
    if !kinds.is_empty() {
        let hit: Vec<_> = kinds.iter().filter(|kind| !kind.cpus.intersection(case.rt()).is_empty()).collect();
        for kind in kinds {
            case.note(format!("/sys/devices/{}/cpus", kind.name), kind.cpus.to_string());
        }
        return Ok(hit.len() <= 1);
    }
    Doubt::not_applicable_if(case.arch() == Some(&Arch::X86), "this machine has one kind of core")?;
    let path = "/sys/devices/system/cpu/cpu{cpu}/cpu_capacity";
    let capacities = case.per_cpu(path, case.rt(), TellsNothing("how fast each CPU is, is not shown"))?;
    Ok(capacities.len() == 1)
}
