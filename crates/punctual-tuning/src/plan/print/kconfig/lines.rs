//! The lines of a kernel configuration fragment, each with its reason and its source.

use punctual_facts::machine::{Arch, Flavour};

/// Whether each of the checked versions 6.1, 6.12 and 7.3 has a symbol.
type Versions = [bool; 3];
const UP_TO_6_12: Versions = [true, true, false];
const FROM_6_12: Versions = [false, true, true];
const FROM_7_3: Versions = [false, false, true];

pub(super) struct Section {
    pub title: &'static str,
    /// The lines of the section, with remarks before symbols.
    pub lines: &'static [ConfigLine],
}

/// A symbol of the configuration, without `CONFIG_`.
#[derive(Clone, Copy)]
pub(super) struct Symbol {
    pub name: &'static str,
    pub is_on: bool,
}

/// A line that sets a symbol, or a remark at the head of a section.
pub(super) struct ConfigLine {
    /// The symbol that the line sets; `None` for a remark.
    pub set: Option<Symbol>,
    flavours: &'static [Flavour],
    versions: Versions,
    /// The architecture that has the symbol; `None` if x86 and arm64 have it.
    arch: Option<Arch>,
    pub why: &'static str,
    pub source: &'static str,
}

impl ConfigLine {
    pub fn applies(&self, flavour: Flavour, checked: usize, arch: Arch) -> bool {
        self.flavours.contains(&flavour)
            && self.versions.get(checked) == Some(&true)
            && self.arch.is_none_or(|only| only == arch)
    }

    const fn only(self, flavours: &'static [Flavour]) -> Self {
        Self { flavours, ..self }
    }

    const fn of(self, versions: Versions) -> Self {
        Self { versions, ..self }
    }

    const fn arch(self, arch: Arch) -> Self {
        Self { arch: Some(arch), ..self }
    }
}

/// A remark for all flavours, versions and architectures. The methods of [`ConfigLine`] restrict it.
const fn note(why: &'static str, source: &'static str) -> ConfigLine {
    ConfigLine { set: None, flavours: EVERY, versions: [true; 3], arch: None, why, source }
}

const fn on(name: &'static str, why: &'static str, source: &'static str) -> ConfigLine {
    ConfigLine { set: Some(Symbol { name, is_on: true }), ..note(why, source) }
}

const fn off(name: &'static str, why: &'static str, source: &'static str) -> ConfigLine {
    ConfigLine { set: Some(Symbol { name, is_on: false }), ..note(why, source) }
}

const EVERY: &[Flavour] = &[Flavour::Rt, Flavour::Cobalt, Flavour::Evl];
const RT: &[Flavour] = &[Flavour::Rt];
const DUAL: &[Flavour] = &[Flavour::Cobalt, Flavour::Evl];
const COBALT: &[Flavour] = &[Flavour::Cobalt];
const EVL: &[Flavour] = &[Flavour::Evl];
const RT_AND_COBALT: &[Flavour] = &[Flavour::Rt, Flavour::Cobalt];

const KC: &str = "kernel 7.3 core-api/real-time/kernel-configuration.rst";
const EVL_LIST: &str = "libevl utils/kconf-checklist.evl";

#[rustfmt::skip]
pub(super) const SECTIONS: &[Section] = &[
    Section {
        title: "Preemption",
        lines: &[
            note(
                "PREEMPT_DYNAMIC cannot be had together with PREEMPT_RT in this version; preempt= is then an unknown \
                word.", "kernel 6.1, 6.12 kernel/Kconfig.preempt").only(RT).of(UP_TO_6_12),
            on("EXPERT",
                "PREEMPT_RT and some of the lines below are offered only with it.", "kernel/Kconfig.preempt"),
            on("PREEMPT_RT",
                "Locks that sleep, interrupts in threads: without it nothing bounds how long somebody else's system \
                call lasts. (severity fatal)", KC).only(RT),
            on("PREEMPT",
                "The default here is lazy preemption, which lets ordinary tasks finish their slice; full preemption \
                also serves the ordinary threads that a real-time thread waits for.",
                "kernel 7.3 kernel/Kconfig.preempt").only(RT).of(FROM_7_3),
            off("PREEMPT_RT_NEEDS_BH_LOCK",
                "With it, all softirqs of a CPU stand behind one lock again, as in older versions.",
                "kernel 7.3 kernel/Kconfig.preempt").only(RT).of(FROM_7_3),
            on("PREEMPT",
                "The second kernel does not need it; whatever of the work runs under Linux does.",
                "kernel/Kconfig.preempt; unverified: size of the effect").only(DUAL),
            on("XENOMAI",
                "The Cobalt core; it selects what it needs of Dovetail (I-pipe before Xenomai 3.2).",
                "Xenomai 3.1, 3.3 scripts/Kconfig.frag").only(COBALT),
            on("EVL", "The EVL core, on top of Dovetail.", "EVL kernel/evl/Kconfig").only(EVL),
        ],
    },
    Section {
        title: "Timers and the tick",
        lines: &[
            note(
                "For threads that poll and never enter the kernel, choose NO_HZ_FULL=y instead of HZ_PERIODIC=y and \
                boot with nohz_full=; every entry into the kernel gets slower by it.", KC).only(RT),
            on("HIGH_RES_TIMERS",
                "Without it timers fire at ticks: 1 to 10 ms apart.", "kernel 6.1, 6.12, 7.3 kernel/time/Kconfig"),
            on("HZ_PERIODIC",
                "A tick that always comes costs less than the book-keeping at every entry into the kernel and every \
                wake-up that stopping it needs; for loops that block. (severity medium)", KC).only(RT),
            on("HZ_250",
                "Timers of real-time threads do not depend on the tick; more of it only interrupts more often.",
                "kernel/Kconfig.hz; Debian kernel configurations 6.1, 6.12, 7.3"),
            off("CONTEXT_TRACKING_USER_FORCE",
                "Forced, every CPU pays at every system call and interrupt for what only tick-free CPUs need.",
                "kernel/time/Kconfig; Xenomai TROUBLESHOOTING (under its older name)"),
        ],
    },
    Section {
        title: "Isolation of CPUs",
        lines: &[
            on("CGROUPS", "CPUSETS needs it.", "init/Kconfig"),
            on("CPUSETS",
                "Partitions: isolation at run time, which can be taken back.", "kernel admin-guide/cgroup-v2.rst"),
            on("CPU_ISOLATION",
                "Without it isolcpus= and nohz_full= are unknown words.",
                "kernel 6.1, 6.12, 7.3 init/Kconfig, kernel/sched/isolation.c"),
        ],
    },
    Section {
        title: "RCU",
        lines: &[
            on("RCU_EXPERT", "The lines below are offered only with it.", "kernel/rcu/Kconfig"),
            on("RCU_NOCB_CPU",
                "rcu_nocbs= can then take the freeing of others' memory off the real-time CPUs.",
                "kernel 6.1, 6.12, 7.3 kernel/rcu/Kconfig"),
            off("RCU_NOCB_CPU_DEFAULT_ALL",
                "Only the CPUs that rcu_nocbs= names; for all it costs everywhere.", "kernel/rcu/Kconfig"),
            on("RCU_BOOST",
                "A reader that was preempted is hurried, so that memory can be freed while real-time work keeps a \
                CPU busy.", "kernel/rcu/Kconfig (default y with PREEMPT_RT)").only(RT),
            off("RCU_LAZY",
                "Callbacks saved up for seconds run in one long batch.",
                "kernel 6.12, 7.3 kernel/rcu/Kconfig; unverified: size of the effect").of(FROM_6_12),
        ],
    },
    Section {
        title: "Scheduler",
        lines: &[
            off("RT_GROUP_SCHED",
                "With it and version 2 of control groups, SCHED_FIFO fails with EPERM outside the root group.",
                "kernel admin-guide/cgroup-v2.rst"),
            off("SCHED_AUTOGROUP",
                "Groups ordinary tasks by terminal, which changes with every login what runs beside the real-time \
                work.", "init/Kconfig; Debian 6.12 and 7.3 -rt configurations"),
            off("SCHED_CLASS_EXT",
                "Schedulers loaded at run time; they bring another reserve of CPU time that pre-empts real-time \
                threads (ext_server).", "kernel 6.12 kernel/sched/ext.c; 7.3 kernel/sched/debug.c").of(FROM_6_12),
            on("FUTEX",
                "With it comes FUTEX_PI: mutexes that lend their holder the waiter's priority.",
                "kernel 6.1, 6.12, 7.3 init/Kconfig"),
        ],
    },
    Section {
        title: "Frequency and sleep",
        lines: &[
            note(
                "Xenomai's own guide asks for CPU_FREQ, CPU_IDLE, INTEL_IDLE and ACPI_PROCESSOR to be off. That \
                leaves the clock where the firmware put it and takes thermal control away; kept here, the clock is \
                fixed by the governor and sleep is to be capped at boot (processor.max_cstate=1 \
                intel_idle.max_cstate=1, or idle=poll).",
                "Xenomai 3.3 scripts/Kconfig.frag, doc/asciidoc/TROUBLESHOOTING.COBALT.adoc; kernel 7.3 kernel-configuration.rst").only(COBALT),
            note(
                "evl check will name ACPI_PROCESSOR_IDLE. It cannot be switched off by itself: ACPI_PROCESSOR \
                selects it, and the P-state drivers select that. To have it off, switch ACPI_PROCESSOR, \
                X86_INTEL_PSTATE and X86_AMD_PSTATE off and give thermal control and the clock up; kept here, sleep \
                is to be capped at boot (processor.max_cstate=1 intel_idle.max_cstate=1).",
                "libevl utils/kconf-checklist.evl; kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig, drivers/cpufreq/Kconfig.x86").only(EVL).arch(Arch::X86),
            on("CPU_FREQ", "Some firmware leaves the CPU slow, and without it that stays so. (severity high)", KC),
            on("CPU_FREQ_DEFAULT_GOV_PERFORMANCE",
                "The same clock from the first loop on. (severity high; also on EVL's list)",
                "kernel 7.3 core-api/real-time/kernel-configuration.rst; libevl utils/kconf-checklist.evl"),
            off("CPU_FREQ_GOV_ONDEMAND",
                "Linux does not see what a second kernel does and clocks the CPU down under it; for other work too, \
                the clock would follow the load. (severity medium)", KC),
            off("CPU_FREQ_GOV_CONSERVATIVE", "Follows the load too. (severity medium)", KC),
            on("CPU_IDLE",
                "Without it nothing can cap how deep CPUs sleep; cap at C1 at run time. Switched off, some CPUs run \
                hot. (severity info)", KC),
        ],
    },
    Section {
        title: "Memory and caches",
        lines: &[
            note(
                "MIGRATION stays: CMA selects it, and the display and camera drivers of boards need CMA. Where yours \
                do not, switch CMA, COMPACTION and MIGRATION off.",
                "Xenomai 3.3 scripts/Kconfig.frag; kernel mm/Kconfig").only(DUAL).arch(Arch::Arm64),
            note(
                "MIGRATION itself is hidden in this version and on whenever something selects it; what selects it is \
                off below.", "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            off("SLUB_CPU_PARTIAL",
                "Lists of half-used pages overflow, and then many are given back at once, under locks.",
                "kernel 6.1, 6.12 mm/Kconfig; gone in 7.3").of(UP_TO_6_12),
            off("TRANSPARENT_HUGEPAGE",
                "It selects COMPACTION, which moves pages; a page that moves faults in the real-time thread, locked \
                or not, and throws it back to Linux. Cost: huge pages only where an application asks for them.",
                "Xenomai 3.3 scripts/Kconfig.frag; kernel mm/Kconfig").only(DUAL).arch(Arch::X86),
            off("COMPACTION", "Moves pages. Cost: fragmentation.", "kernel mm/Kconfig").only(DUAL).arch(Arch::X86),
            off("CMA",
                "Moves pages out of the way of devices. Cost: devices that need large buffers must get them at \
                boot.", "kernel mm/Kconfig").only(DUAL).arch(Arch::X86),
            off("MIGRATION",
                "Pages, not tasks, move between nodes and out of the way.",
                "Xenomai 3.3 scripts/Kconfig.frag; kernel 6.1, 6.12 mm/Kconfig").only(DUAL).of(UP_TO_6_12).arch(Arch::X86),
            off("NUMA_MIGRATION",
                "Moves pages between nodes.", "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            off("MEMORY_HOTREMOVE",
                "Moves pages out of memory that is to be taken out.",
                "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            off("MEMORY_FAILURE",
                "Moves pages away from memory that reports errors. Cost: such a page takes its process down.",
                "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            on("X86_CPU_RESCTRL",
                "Parts of the cache of one's own, where the CPU can (flags cat_l3, cat_l2).",
                "kernel filesystems/resctrl.rst").arch(Arch::X86),
            on("ARM64_MPAM",
                "Parts of the cache of one's own, where the chip can.",
                "kernel 7.3 arch/arm64/Kconfig, core-api/real-time/hardware.rst").of(FROM_7_3).arch(Arch::Arm64),
        ],
    },
    Section {
        title: "Firmware and graphics",
        lines: &[
            note(
                "DRM_I915 cannot be built with PREEMPT_RT (depends on !PREEMPT_RT), so i915.* words do nothing; xe \
                can, where the graphics are new enough. A machine without a display has nobody who shares its cache \
                for graphics.",
                "kernel 6.1, 6.12, 7.3 drivers/gpu/drm/i915/Kconfig; 7.3 kernel-configuration.rst: CONFIG_DRM").only(RT).arch(Arch::X86),
            on("EFI_DISABLE_RUNTIME",
                "Calls into the firmware keep interrupts off for as long as it likes; efi=runtime allows them again. \
                (severity medium)", KC),
        ],
    },
    Section {
        title: "Watchdogs",
        lines: &[
            note(
                "What the lock-up detectors would find is left to a hardware watchdog that the application or \
                systemd feeds.", KC),
            off("SOFTLOCKUP_DETECTOR",
                "A timer on every CPU every few seconds, in hard interrupt context. (severity high)", KC),
            off("HARDLOCKUP_DETECTOR", "The same, and a non-maskable interrupt with it. (severity high)", KC),
        ],
    },
    Section {
        title: "Debugging and tracing",
        lines: &[
            off("PROVE_LOCKING",
                "Checks every lock; right for a soak test, hundreds of microseconds in production. (severity high)",
                KC),
            off("LOCK_STAT", "Brings the checks of locks with it.", "kernel lib/Kconfig.debug"),
            off("DEBUG_LOCK_ALLOC", "The same.", "kernel lib/Kconfig.debug"),
            off("DEBUG_PREEMPT", "Checks every use of per-CPU data.", "kernel lib/Kconfig.debug"),
            off("DEBUG_OBJECTS", "Tracks the life of every timer and work item.", "kernel lib/Kconfig.debug"),
            off("DEBUG_VM", "Checks memory management at every step. (on EVL's list)", EVL_LIST),
            off("DEBUG_LIST", "Checks every list operation. (on EVL's list)", EVL_LIST).only(EVL),
            off("DEBUG_PER_CPU_MAPS", "Checks every use of a CPU mask. (on EVL's list)", EVL_LIST).only(EVL),
            off("DEBUG_HARD_LOCKS", "Checks Dovetail's own locks. (on EVL's list)", EVL_LIST).only(DUAL),
            off("KASAN", "Checks every access to memory. (on EVL's list)", EVL_LIST),
            off("KCSAN", "Watches accesses for races.", "kernel lib/Kconfig.kcsan"),
            off("DEBUG_KMEMLEAK", "Scans all memory, from time to time.", "kernel Kconfig: DEBUG_KMEMLEAK"),
            off("SLUB_DEBUG_ON", "Checks every allocation.", "kernel mm/Kconfig.debug"),
            off("XENO_OPT_DEBUG",
                "The core checks itself; for development.", "Xenomai 3.3 kernel/cobalt/Kconfig").only(COBALT),
            off("EVL_DEBUG", "The core checks itself; for development.", "EVL kernel/evl/Kconfig").only(EVL),
            off("KGDB",
                "Not to be enabled beside Cobalt, except on x86.",
                "Xenomai doc/asciidoc/TROUBLESHOOTING.COBALT.adoc").only(COBALT).arch(Arch::Arm64),
            on("FTRACE",
                "Tracers cost next to nothing while none is in use, and without them a missed deadline has no cause. \
                (severity info)", KC).only(RT_AND_COBALT),
            off("FTRACE", "On EVL's list of what is to be off.", "EVL kconf-checklist").only(EVL),
            on("OSNOISE_TRACER",
                "Says who took the CPU. Toggling it interrupts all CPUs once.",
                "kernel trace/osnoise-tracer.rst").only(RT),
            on("TIMERLAT_TRACER", "Says what made a timer late.", "kernel trace/timerlat-tracer.rst").only(RT),
            on("HWLAT_TRACER", "Says what the firmware took.", "kernel trace/hwlat_detector.rst").only(RT_AND_COBALT),
            off("IRQSOFF_TRACER", "Costs even while it is not in use. (severity high)", KC).only(RT_AND_COBALT),
            off("PREEMPT_TRACER", "Costs even while it is not in use. (severity high)", KC).only(RT_AND_COBALT),
        ],
    },
    Section {
        title: "To be looked into later",
        lines: &[
            on("IKCONFIG",
                "The kernel carries its own configuration, which no file beside it can contradict.",
                "kernel init/Kconfig; evl check needs it"),
            on("IKCONFIG_PROC", "As /proc/config.gz.", "kernel init/Kconfig"),
            on("DEBUG_FS",
                "The scheduler's reserve for ordinary tasks (fair_server) can be read and set only there. (allowed, \
                as long as nothing else uses it in production)",
                "kernel 6.12, 7.3 kernel/sched/debug.c; 7.3 kernel-configuration.rst"),
        ],
    },
];
