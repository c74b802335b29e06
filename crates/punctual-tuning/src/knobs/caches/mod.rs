//! Knobs about other work that shares the caches of the real-time CPUs.

mod resctrl;

use crate::knobs::prelude::*;
use crate::rk3568;
use resctrl::Partitions;

const KNOB: Knob = Knob { blast: Blast::Disturbing, confidence: Confidence::Medium, ..Knob::of(Family::Caches) };
/// Fields shared by the knobs that are good if only real-time CPUs use a cache.
const SHARED: Knob = Knob {
    persist: &[Lasting::word("isolcpus=managed_irq,domain,<I apart>"), Lasting::unit("AllowedCPUs=<I>")],
    cost: "Fewer usable CPUs.",
    confidence: Confidence::Low,
    blast: Blast::Harmless,
    sources: &["kernel ABI testing/sysfs-devices-system-cpu: cache/indexN", "unverified: size of the effect"],
    ..KNOB
};
/// Fields shared by the knobs that give the real-time work a part of a cache.
const PART: Knob = Knob {
    persist: &[Lasting::other(
        "A unit that mounts resctrl and writes the group at boot, because the group does not survive a boot",
    )],
    undo: Fix::prose("rmdir the group and write the old schemata back."),
    ..KNOB
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "cache.l2",
        title: "Second-level cache not shared with other work",
        severity: Weight::of(Medium, Medium, Info).at_most(Info, is_told_by_siblings),
        applies: |case| case.has_housekeeping(),
        check: Check::Probe(|case| is_own(case, 2, "2")),
        why: "A neighbour on the same second-level cache evicts the loop's code and data while it sleeps, so that \
            every activation starts cold.",
        fix: Fix::prose(
            "Choose real-time CPUs that share no second-level cache with other CPUs, or give the whole cluster to \
            real-time work.",
        ),
        ..SHARED
    },
    Knob {
        id: "cache.l3",
        title: "Last-level cache not shared with other work",
        check: Check::Probe(l3),
        why: "Programs that share the last-level cache evict data that the loop will need, and compete with it for \
            memory bandwidth.",
        fix: Fix::prose(
            "On machines with several last-level caches (chiplets, clusters, sockets), choose all CPUs of one; \
            elsewhere see cat.l3.",
        ),
        ..SHARED
    },
    Knob {
        id: "cat.l3",
        title: "An exclusive part of the last-level cache",
        applies: |case| has_flag(case, "cat_l3"),
        check: Check::Probe(|case| Partitions::read(case)?.is_exclusive(case, "L3")),
        why: "Where the CPU can partition its last-level cache, an exclusive part keeps other programs from evicting \
            the loop's data.",
        fix: Fix::prose(
            "mount -t resctrl resctrl /sys/fs/resctrl; mkdir a group; write cpus_list <I> and a schemata line \
            whose ways do not overlap shareable_bits; echo exclusive > mode.",
        ),
        cost: "Less cache for the rest.",
        sources: &["kernel filesystems/resctrl.rst", "intel-cmt-cat README"],
        ..PART
    },
    Knob {
        id: "cat.l2",
        title: "An exclusive part of the second-level cache",
        applies: |case| has_flag(case, "cat_l2"),
        check: Check::Probe(|case| Partitions::read(case)?.is_exclusive(case, "L2")),
        why: "On clusters of small cores, the second-level cache is the shared one; some of these CPUs can partition \
            it.",
        fix: Fix::prose("Follow cat.l3, but write an L2 line into schemata."),
        cost: "Less cache for the neighbours.",
        sources: &["kernel filesystems/resctrl.rst: L2", "intel-cmt-cat README"],
        ..PART
    },
    Knob {
        id: "cat.shareable",
        title: "The reserved part of the cache is not shared with devices",
        check: Check::Probe(|case| {
            has_flag(case, "cat_l3")?;
            let bits = resctrl::mask(case, "L3/shareable_bits")?;
            Ok(Partitions::read(case)?.own_ways(case, "L3")?.values().all(|ways| ways & bits == 0))
        }),
        why: "The ways in shareable_bits are used by graphics and devices, too: a part that overlaps them is not \
            exclusive.",
        fix: Fix::prose(
            "Write a schemata line for the group without the bits of /sys/fs/resctrl/info/L3/shareable_bits.",
        ),
        persist: &[Lasting::other("The same line in the unit that writes the group at boot")],
        undo: Fix::prose("Write the old schemata back."),
        cost: "Less cache.",
        sources: &["kernel filesystems/resctrl.rst: shareable_bits"],
        ..KNOB
    },
    Knob {
        id: "cat.ioalloc",
        title: "Device traffic keeps out of the reserved part of the cache",
        check: Check::Probe(ioalloc),
        why: "Devices may write straight into the last-level cache and evict what is there.",
        fix: Fix::prose(
            "echo 1 > /sys/fs/resctrl/info/L3/io_alloc; write io_alloc_cbm without the ways of the real-time group.",
        ),
        persist: &[Lasting::other("The same lines in the unit that writes the group at boot")],
        cost: "Throughput of the devices; one group less.",
        sources: &["kernel 7.3 filesystems/resctrl.rst: io_alloc", "kernel 7.3 fs/resctrl/rdtgroup.c"],
        ..KNOB
    },
    Knob {
        id: "cat.cdp",
        title: "Code and data are not partitioned separately by mistake",
        check: Check::Probe(|case| {
            has_flag(case, "cat_l3")?;
            Partitions::read(case)?;
            let kinds = case.known(resctrl::INFO, case.list(resctrl::INFO), resctrl::UNMOUNTED)?;
            case.note(resctrl::INFO, kinds.join(", "));
            Ok(!kinds.iter().any(|kind| kind == "L3CODE" || kind == "L2CODE"))
        }),
        why: "With code and data prioritisation, every group has two masks for one cache, there are half as many \
            groups, and no part of the cache can be locked.",
        fix: Fix::prose(
            "umount /sys/fs/resctrl; mount -t resctrl resctrl /sys/fs/resctrl (without -o cdp, cdpl2); or set both \
            masks of every group.",
        ),
        persist: &[Lasting::other("The unit that mounts resctrl: without -o cdp and cdpl2")],
        undo: Fix::prose("Mount with -o cdp again."),
        cost: "Unmounting removes all groups.",
        sources: &["kernel filesystems/resctrl.rst: cdp", "kernel 7.3 fs/resctrl/pseudo_lock.c"],
        ..KNOB
    },
    Knob {
        id: "cat.mba",
        title: "Memory bandwidth of the other CPUs is limited",
        check: Check::Probe(|case| {
            has_flag(case, "mba")?;
            Partitions::read(case)?;
            let limits = resctrl::domains(&Partitions::line(case, "", "MB")?, 10);
            Ok(!limits.is_empty() && limits.values().all(|percent| *percent < 100))
        }),
        why: "Where the CPU can throttle memory accesses, limiting the other CPUs keeps the path to memory free.",
        fix: Fix::prose(
            "Write MB:0=50 to /sys/fs/resctrl/schemata, and MB:0=100 to the schemata of the group that \
            has CPUs <I>.",
        ),
        persist: &[Lasting::other("The same lines in the unit that writes the group at boot")],
        undo: Fix::prose("Write MB:0=100 to /sys/fs/resctrl/schemata."),
        cost: "The other CPUs get slower; the control is coarse.",
        sources: &["kernel filesystems/resctrl.rst: MB"],
        ..KNOB
    },
    Knob {
        id: "cat.lock",
        title: "No unfinished cache lock",
        check: Check::Probe(|case| {
            has_flag(case, "cat_l3")?;
            Ok(!Partitions::read(case)?.modes(case).iter().any(|mode| mode == "pseudo-locksetup"))
        }),
        why: "A group in mode pseudo-locksetup holds ways of the cache that no CPU can use until the region is locked \
            or the group removed.",
        fix: Fix::prose(
            "rmdir the group, or finish the set-up by writing its schemata. Lock a region only if the CPU's maker \
            guarantees that locked lines stay in the cache.",
        ),
        persist: &[Lasting::other("Correct the unit that sets the region up, or remove it")],
        cost: "None.",
        confidence: Confidence::High,
        sources: &["kernel filesystems/resctrl.rst: Cache Pseudo-Locking"],
        ..KNOB
    },
    Knob {
        id: "cat.mpam",
        title: "Cache partitioned through MPAM",
        check: Check::Probe(mpam),
        why: "Arm systems with MPAM partition cache and bandwidth by resctrl, as other CPUs do.",
        fix: Fix::prose("Follow cat.l3, and boot without arm64.nompam on the command line."),
        persist: &[Lasting::NoWord("arm64.nompam")],
        undo: Fix::prose("rmdir the group and write the old schemata back."),
        cost: "Less cache for the rest.",
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 arch/arm64/Kconfig: ARM64_MPAM",
            "kernel 7.3 core-api/real-time/hardware.rst",
            "unverified: on hardware",
        ],
        ..KNOB
    },
    Knob {
        id: "cat.rk3568",
        title: "Third-level cache partitioned by the boot loader (RK356x)",
        applies: is_rk3568,
        check: Check::Told(|case| Ok(rk3568::counsel(case.rt()))),
        why: "The four cores share one third-level cache, and no driver can partition it later.",
        fix: Fix::NotAtRunTime(
            "rkbin RK3568MINIALL.ini, [BOOT1_PARAM] WORD_3: one hex digit per core (highest first), one bit per quarter; \
            0xc333 leaves half to core 3 alone. punctual tune --print rk3568-l3 computes such a word, and reads one back.",
        ),
        persist: &[Lasting::Firmware(
            "boot loader: rebuild and flash it with that parameter word (needs a BL31 that knows this word)",
        )],
        undo: Fix::prose("Flash the boot loader with the parameter word 0."),
        cost: "Less cache for the other cores.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["makers' guides for RK3568", "unverified: on hardware"],
        ..KNOB
    },
    Knob {
        id: "cat.ddio",
        title: "Direct cache access of devices known",
        applies: ddio,
        check: Check::advice(
            "cannot be seen from software: Intel servers let devices write into some ways of the last-level cache \
            (DDIO); a model-specific register holds which ways these are, and the firmware decides whether devices do \
            so, usually under PCI or IIO configuration",
        ),
        why: "Packets and blocks that devices write into these ways evict the loop's data, unless the loop uses other \
            ways.",
        fix: Fix::prose(
            "For cat.l3, choose ways that are not in shareable_bits (which usually holds the two highest).",
        ),
        persist: &[Lasting::Firmware("PCI or IIO configuration, DDIO")],
        cost: "Less cache.",
        confidence: Confidence::Low,
        sources: &["kernel filesystems/resctrl.rst: shareable_bits", "unverified: names of the setting"],
        ..KNOB
    },
];

/// Whether cache `index` in the kernel's list serves real-time CPUs only. Unknown if that cache is not of this level.
fn is_own(case: &Case<'_>, index: u32, level: &str) -> Judged {
    let unseen = TellsNothing("which CPUs share a cache is not shown");
    let folder = format!("/sys/devices/system/cpu/cpu{{cpu}}/cache/index{index}");
    let levels = case.per_cpu(&format!("{folder}/level"), case.rt(), unseen)?;
    if levels.iter().any(|found| found.value != level) {
        return Doubt::unknown(format!("the cache that the kernel lists as number {index} is not of level {level}"));
    }
    case.take_evidence();
    for OfCpus { value: share, .. } in &case.per_cpu(&format!("{folder}/shared_cpu_list"), case.rt(), unseen)? {
        match CpuSet::parse_list(share) {
            Ok(cpus) if cpus.is_subset(case.rt()) => {}
            Ok(_) => return Ok(false),
            Err(e) => return Doubt::unknown(e.to_string()),
        }
    }
    Ok(true)
}

/// Whether the second-level cache is shared by exactly the siblings of a core. `cpu.smt` then reports the same state.
fn is_told_by_siblings(case: &Case<'_>) -> bool {
    if case.has_housekeeping().is_err() {
        return false;
    }
    let unseen = TellsNothing("what CPUs share is not shown");
    let read = |file: &str| case.of_rt(file, unseen).ok();
    let siblings = read("topology/thread_siblings_list");
    siblings.is_some() && siblings == read("cache/index2/shared_cpu_list")
}

fn l3(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let folder = "/sys/devices/system/cpu";
    let cpu = case.rt().first().unwrap_or(0);
    if case.exists(&format!("{folder}/cpu{cpu}/cache/index2"))
        && !case.exists(&format!("{folder}/cpu{cpu}/cache/index3"))
    {
        return Doubt::not_applicable("the second-level cache is the last");
    }
    is_own(case, 3, "3")
}

/// Not applicable on an x86 CPU without this flag. On other architectures the mounted file system shows what the CPU
/// can do.
fn has_flag(case: &Case<'_>, flag: &str) -> Result<(), Doubt> {
    case.not_a_guest()?;
    if case.arch() == Some(&Arch::X86) && !case.has_flag(flag)? {
        return Doubt::not_applicable(format!("this CPU lacks the feature (no flag {flag})"));
    }
    Ok(())
}

fn ioalloc(case: &Case<'_>) -> Judged {
    has_flag(case, "cat_l3")?;
    let partitions = Partitions::read(case)?;
    let none = CannotBe("this kernel or CPU cannot limit which cache ways devices write to");
    match case.text(&format!("{}/L3/io_alloc", resctrl::INFO), none)?.as_str() {
        "enabled" => {}
        "disabled" => return Ok(false),
        "not supported" => return Doubt::not_applicable("this CPU cannot limit which cache ways devices write to"),
        other => return Doubt::unknown(format!("io_alloc says '{other}'")),
    }
    let ways = resctrl::domains(&case.text(&format!("{}/L3/io_alloc_cbm", resctrl::INFO), none)?, 16);
    let own = partitions.own_ways(case, "L3")?;
    Ok(own.iter().all(|(domain, mine)| ways.get(domain).is_some_and(|theirs| theirs & mine == 0)))
}

fn mpam(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.arch() != Some(&Arch::Arm64), "only arm64 has MPAM")?;
    if !case.exists("/sys/fs/resctrl") {
        case.known("/sys/fs", case.list("/sys/fs"), TellsNothing("/sys/fs cannot be seen here"))?;
        return Doubt::not_applicable("no driver offers MPAM's partitions here (no /sys/fs/resctrl)");
    }
    Partitions::read(case)?.is_exclusive(case, "L3")
}

fn is_rk3568(case: &Case<'_>) -> Result<(), Doubt> {
    Doubt::not_applicable_if(
        case.arch() == Some(&Arch::X86),
        "only the boot loader of RK3566 and RK3568 has a parameter that partitions the cache",
    )?;
    let none = CannotBe(
        "only the boot loader of RK3566 and RK3568 has a parameter that partitions the cache; boards with these chips \
        have a device tree, and this machine has none",
    );
    let names = case.text("/proc/device-tree/compatible", none)?;
    if names.contains("rk3566") || names.contains("rk3568") {
        return Ok(());
    }
    Doubt::not_applicable("only the boot loader of RK3566 and RK3568 has a parameter that partitions the cache")
}

fn ddio(case: &Case<'_>) -> Result<(), Doubt> {
    case.not_a_guest()?;
    let path = "/proc/cpuinfo";
    let info = case.content(path, TellsNothing("/proc/cpuinfo is not there"))?;
    let model = info.lines().find(|line| line.starts_with("model name"));
    match model {
        Some(model) if model.contains("Xeon") => {
            case.note("/proc/cpuinfo", model);
            Ok(())
        }
        _ => Doubt::not_applicable("only Intel's server CPUs have DDIO"),
    }
}
