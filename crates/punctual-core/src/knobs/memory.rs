//! What can make memory slow to reach: pages that are moved, merged, split or given away under a running thread.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::fact::Fact;
use crate::finding::Confidence;
use crate::finding::Severity::{self, Info, Medium};
use crate::machine::Version;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "mem.swap",
        title: "No swap",
        family: Family::Memory,
        severity: Weight::all(Medium),
        probe: Probe::Effective(swap),
        why: "Memory that is not locked can be written out, and coming back takes a disk's time; writing out also \
            loads the disk and the memory bus.",
        fix: "swapoff -a, after looking whether the memory suffices; locked memory is never swapped.",
        persist: &[Lasting::Other("Remove the swap lines from /etc/fstab; disable zram units.")],
        undo: "swapon -a",
        cost: "The memory ends sooner.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["mlockall(2)", "proc_swaps(5)", "unverified: usual advice"],
    },
    Knob {
        id: "mem.thp",
        title: "No transparent huge pages behind one's back",
        family: Family::Memory,
        severity: Weight::all(Medium),
        probe: Probe::Effective(thp),
        why: "khugepaged collapses pages under a running program, and making room for huge pages moves others.",
        fix: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        persist: &[Lasting::Other("A tmpfiles.d line, or transparent_hugepage=madvise on the command line.")],
        undo: "Write back the word that stood in brackets.",
        cost: "More TLB misses in programs that do not ask for huge pages.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel admin-guide/mm/transhuge.rst", "kernel 6.1, 6.12, 7.3 mm/Kconfig"],
    },
    Knob {
        id: "mem.ksm",
        title: "No merging of equal pages",
        family: Family::Memory,
        severity: Weight::all(Medium),
        probe: Probe::Effective(ksm),
        why: "ksmd scans memory all the time, and the first write to a merged page faults.",
        fix: "echo 0 > /sys/kernel/mm/ksm/run",
        persist: &[Lasting::Other("A tmpfiles.d line; mask ksm and ksmtuned.")],
        undo: "echo 1 > /sys/kernel/mm/ksm/run",
        cost: "More memory on hosts of many alike guests.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel admin-guide/mm/ksm.rst"],
    },
    Knob {
        id: "mem.compact",
        title: "Memory not compacted unasked",
        family: Family::Memory,
        severity: Weight::all(Medium).adjusted(compact_severity),
        probe: Probe::Effective(compact),
        why: "Compaction moves pages, and a thread that touches one meanwhile waits in a fault. Where \
            compact_unevictable_allowed is 1 that goes for locked pages, too.",
        fix: "sysctl vm.compact_unevictable_allowed=0 vm.compaction_proactiveness=0",
        persist: &[Lasting::Other("The same lines in /etc/sysctl.d/.")],
        undo: "sysctl with the values that were there (usually 1 and 20).",
        cost: "Fragmentation; huge pages get rarer.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel admin-guide/sysctl/vm.rst", "kernel 7.3 mm/Kconfig"],
    },
    Knob {
        id: "sched.numa_balancing",
        title: "No automatic NUMA balancing",
        family: Family::Memory,
        severity: Weight::all(Medium),
        probe: Probe::Effective(numa_balancing),
        why: "It unmaps pages to see who touches them, so that running threads fault, and then moves the pages.",
        fix: "sysctl kernel.numa_balancing=0",
        persist: &[Lasting::Other("The same line in /etc/sysctl.d/, or numa_balancing=disable on the command line.")],
        undo: "sysctl kernel.numa_balancing=1",
        cost: "Programs must place their memory themselves.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel admin-guide/sysctl/kernel.rst: numa_balancing", "kernel 6.1, 6.12, 7.3 init/Kconfig"],
    },
    Knob {
        id: "mem.overcommit",
        title: "Memory overcommit not forbidden",
        family: Family::Memory,
        severity: Weight::all(Info),
        probe: Probe::Effective(overcommit),
        why: "Guides advise mode 2 against the out-of-memory killer; it breaks thread stacks, locked future \
            mappings and several run-time systems first.",
        fix: "sysctl vm.overcommit_memory=0, and lock what must not fault.",
        persist: &[Lasting::Other("The same line in /etc/sysctl.d/.")],
        undo: "sysctl vm.overcommit_memory=2",
        cost: "The out-of-memory killer stays possible.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["kernel mm/overcommit-accounting.rst", "proc_sys_vm(5)"],
    },
    Knob {
        id: "mem.stat_interval",
        title: "Memory statistics collected rarely",
        family: Family::Memory,
        severity: Weight::all(Info),
        probe: Probe::Effective(stat_interval),
        why: "Kernel work folds the statistics of every CPU at this interval, on that CPU.",
        fix: "sysctl vm.stat_interval=10",
        persist: &[Lasting::Other("The same line in /etc/sysctl.d/.")],
        undo: "sysctl vm.stat_interval=1",
        cost: "Staler numbers in /proc/vmstat.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel 6.12, 7.3 mm/vmstat.c", "kernel admin-guide/kernel-per-CPU-kthreads.rst"],
    },
];

fn swap(case: &Case<'_>) -> Judged {
    let path = "/proc/swaps";
    let fact = case.peek(path);
    let table = case.known(path, fact, Missing::CannotBe("this kernel cannot swap"))?;
    let areas: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    case.note(path, if areas.is_empty() { "none".to_owned() } else { areas.join(", ") });
    Ok(areas.is_empty())
}

fn thp(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this kernel has none (they cannot be built with PREEMPT_RT)");
    Ok(case.marked("/sys/kernel/mm/transparent_hugepage/enabled", none)? != "always")
}

fn ksm(case: &Case<'_>) -> Judged {
    Ok(case.number("/sys/kernel/mm/ksm/run", Missing::CannotBe("this kernel cannot merge pages"))? != 1)
}

fn compact(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this kernel does not compact memory");
    let moves_locked = case.number("/proc/sys/vm/compact_unevictable_allowed", none)? != 0;
    match case.number("/proc/sys/vm/compaction_proactiveness", none) {
        Ok(proactiveness) => Ok(!moves_locked && proactiveness == 0),
        // Kernels before 5.9 compact only when asked.
        Err(Doubt::NotApplicable(_)) => Ok(!moves_locked),
        Err(doubt) => Err(doubt),
    }
}

/// Pages that are locked stay where they are: what remains is work in the background.
fn compact_severity(case: &Case<'_>, severity: Severity) -> Severity {
    let keeps_locked = case.peek("/proc/sys/vm/compact_unevictable_allowed") == Fact::Known("0".to_owned());
    if keeps_locked { severity.min(Info) } else { severity }
}

fn numa_balancing(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this kernel has none (it cannot be built with PREEMPT_RT)");
    let is_on = case.number("/proc/sys/kernel/numa_balancing", none)? != 0;
    let nodes = case.peek("/sys/devices/system/node/online");
    if is_on && nodes.known().is_some_and(|nodes| nodes == "0") {
        return Doubt::not_applicable("there is one memory node");
    }
    Ok(!is_on)
}

fn overcommit(case: &Case<'_>) -> Judged {
    Ok(case.number("/proc/sys/vm/overcommit_memory", Missing::TellsNothing("the mode is not shown"))? != 2)
}

fn stat_interval(case: &Case<'_>) -> Judged {
    let interval_s = case.number("/proc/sys/vm/stat_interval", Missing::TellsNothing("the interval is not shown"))?;
    let isolated = case.machine.isolated.known().cloned().unwrap_or_default();
    if case.version().is_ok_and(|v| v >= Version::new(6, 12)) && !case.rt.is_empty() && case.rt.is_subset(&isolated) {
        return Doubt::not_applicable("from 6.12 isolated CPUs are left out");
    }
    Ok(interval_s >= 10)
}
