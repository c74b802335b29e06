//! The lines a fragment is made of, each with the reason and the source. Only [`super`] knows how they are put together.

use punctual_facts::machine::{Arch, Flavour};

/// What a symbol is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// `y`.
    On,
    /// Not set.
    Off,
}

/// Which of the checked versions have a symbol as something to be chosen: 6.1, 6.12, 7.3.
type Versions = [bool; 3];
const ALL: Versions = [true; 3];
const UP_TO_6_12: Versions = [true, true, false];
const FROM_6_12: Versions = [false, true, true];
const FROM_7_3: Versions = [false, false, true];

/// One line.
pub(super) struct Line {
    pub section: &'static str,
    /// Without `CONFIG_`.
    pub symbol: &'static str,
    pub value: Value,
    pub flavours: &'static [Flavour],
    pub versions: Versions,
    /// None for both.
    pub arch: Option<Arch>,
    pub why: &'static str,
    pub source: &'static str,
}

impl Line {
    pub fn applies(&self, flavour: Flavour, checked: usize, arch: Arch) -> bool {
        applies(self.flavours, self.versions, self.arch, flavour, checked, arch)
    }
}

/// A remark at the head of a section.
pub(super) struct Note {
    pub section: &'static str,
    pub text: &'static str,
    pub flavours: &'static [Flavour],
    pub versions: Versions,
    pub arch: Option<Arch>,
    pub source: &'static str,
}

impl Note {
    pub fn applies(&self, flavour: Flavour, checked: usize, arch: Arch) -> bool {
        applies(self.flavours, self.versions, self.arch, flavour, checked, arch)
    }
}

fn applies(
    on: &[Flavour],
    versions: Versions,
    only: Option<Arch>,
    flavour: Flavour,
    checked: usize,
    arch: Arch,
) -> bool {
    on.contains(&flavour) && versions.get(checked) == Some(&true) && only.is_none_or(|only| only == arch)
}

const EVERY: &[Flavour] = &[Flavour::Rt, Flavour::Cobalt, Flavour::Evl];
const RT: &[Flavour] = &[Flavour::Rt];
const DUAL: &[Flavour] = &[Flavour::Cobalt, Flavour::Evl];
const COBALT: &[Flavour] = &[Flavour::Cobalt];
const EVL: &[Flavour] = &[Flavour::Evl];
const RT_AND_COBALT: &[Flavour] = &[Flavour::Rt, Flavour::Cobalt];

const KC: &str = "kernel 7.3 core-api/real-time/kernel-configuration.rst";
const EVL_LIST: &str = "libevl utils/kconf-checklist.evl";

const PREEMPTION: &str = "Preemption";
const TIMERS: &str = "Timers and the tick";
const ISOLATION: &str = "Isolation of CPUs";
const RCU: &str = "RCU";
const SCHEDULER: &str = "Scheduler";
const POWER: &str = "Frequency and sleep";
const MEMORY: &str = "Memory and caches";
const FIRMWARE: &str = "Firmware and graphics";
const WATCHDOGS: &str = "Watchdogs";
const DEBUGGING: &str = "Debugging and tracing";
const EVIDENCE: &str = "To be looked into later";

/// A line on all three versions and both architectures; what differs is changed by the methods below.
const fn line(
    section: &'static str,
    symbol: &'static str,
    value: Value,
    why: &'static str,
    source: &'static str,
) -> Line {
    Line { section, symbol, value, flavours: EVERY, versions: ALL, arch: None, why, source }
}

impl Line {
    const fn on(self, flavours: &'static [Flavour]) -> Self {
        Self { flavours, ..self }
    }

    const fn of(self, versions: Versions) -> Self {
        Self { versions, ..self }
    }

    const fn arch(self, arch: Arch) -> Self {
        Self { arch: Some(arch), ..self }
    }
}

const fn note(section: &'static str, flavours: &'static [Flavour], text: &'static str, source: &'static str) -> Note {
    Note { section, text, flavours, versions: ALL, arch: None, source }
}

impl Note {
    const fn of(self, versions: Versions) -> Self {
        Self { versions, ..self }
    }

    const fn arch(self, arch: Arch) -> Self {
        Self { arch: Some(arch), ..self }
    }
}

use Value::{Off, On};

/// Remarks, by section.
pub(super) const NOTES: &[Note] = &[
    note(
        PREEMPTION,
        RT,
        "PREEMPT_DYNAMIC cannot be had together with PREEMPT_RT in this version; preempt= is then an unknown word.",
        "kernel 6.1, 6.12 kernel/Kconfig.preempt",
    )
    .of(UP_TO_6_12),
    note(
        TIMERS,
        RT,
        "For threads that poll and never enter the kernel, choose NO_HZ_FULL=y instead of HZ_PERIODIC=y and boot with \
         nohz_full=; every entry into the kernel gets slower by it.",
        KC,
    ),
    note(
        POWER,
        COBALT,
        "Xenomai's own guide asks for CPU_FREQ, CPU_IDLE, INTEL_IDLE and ACPI_PROCESSOR to be off. That leaves the clock \
         where the firmware put it and takes thermal control away; kept here, the clock is fixed by the governor and \
         sleep is to be capped at boot (processor.max_cstate=1 intel_idle.max_cstate=1, or idle=poll).",
        "Xenomai 3.3 scripts/Kconfig.frag, doc/asciidoc/TROUBLESHOOTING.COBALT.adoc; kernel 7.3 kernel-configuration.rst",
    ),
    note(
        POWER,
        EVL,
        "evl check will name ACPI_PROCESSOR_IDLE. It cannot be switched off by itself: ACPI_PROCESSOR selects it, and the \
         P-state drivers select that. To have it off, switch ACPI_PROCESSOR, X86_INTEL_PSTATE and X86_AMD_PSTATE off and \
         give thermal control and the clock up; kept here, sleep is to be capped at boot (processor.max_cstate=1 \
         intel_idle.max_cstate=1).",
        "libevl utils/kconf-checklist.evl; kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig, drivers/cpufreq/Kconfig.x86",
    )
    .arch(Arch::X86),
    note(
        MEMORY,
        DUAL,
        "MIGRATION stays: CMA selects it, and the display and camera drivers of boards need CMA. Where yours do not, \
         switch CMA, COMPACTION and MIGRATION off.",
        "Xenomai 3.3 scripts/Kconfig.frag; kernel mm/Kconfig",
    )
    .arch(Arch::Arm64),
    note(
        MEMORY,
        DUAL,
        "MIGRATION itself is hidden in this version and on whenever something selects it; what selects it is off below.",
        "kernel 7.3 mm/Kconfig",
    )
    .of(FROM_7_3)
    .arch(Arch::X86),
    note(
        FIRMWARE,
        RT,
        "DRM_I915 cannot be built with PREEMPT_RT (depends on !PREEMPT_RT), so i915.* words do nothing; xe can, where the \
         graphics are new enough. A machine without a display has nobody who shares its cache for graphics.",
        "kernel 6.1, 6.12, 7.3 drivers/gpu/drm/i915/Kconfig; 7.3 kernel-configuration.rst: CONFIG_DRM",
    )
    .arch(Arch::X86),
    note(
        WATCHDOGS,
        EVERY,
        "What the lock-up detectors would find is left to a hardware watchdog that the application or systemd feeds.",
        KC,
    ),
];

/// The lines, by section.
pub(super) const LINES: &[Line] = &[
    line(PREEMPTION, "EXPERT", On, "PREEMPT_RT and some of the lines below are offered only with it.", "kernel/Kconfig.preempt"),
    line(
        PREEMPTION,
        "PREEMPT_RT",
        On,
        "Locks that sleep, interrupts in threads: without it nothing bounds how long somebody else's system call lasts. \
         (severity fatal)",
        KC,
    )
    .on(RT),
    line(
        PREEMPTION,
        "PREEMPT",
        On,
        "The default here is lazy preemption, which lets ordinary tasks finish their slice; full preemption also serves \
         the ordinary threads that a real-time thread waits for.",
        "kernel 7.3 kernel/Kconfig.preempt",
    )
    .on(RT)
    .of(FROM_7_3),
    line(
        PREEMPTION,
        "PREEMPT_RT_NEEDS_BH_LOCK",
        Off,
        "With it, all softirqs of a CPU stand behind one lock again, as in older versions.",
        "kernel 7.3 kernel/Kconfig.preempt",
    )
    .on(RT)
    .of(FROM_7_3),
    line(
        PREEMPTION,
        "PREEMPT",
        On,
        "The second kernel does not need it; whatever of the work runs under Linux does.",
        "kernel/Kconfig.preempt; unverified: size of the effect",
    )
    .on(DUAL),
    line(
        PREEMPTION,
        "XENOMAI",
        On,
        "The Cobalt core; it selects what it needs of Dovetail (I-pipe before Xenomai 3.2).",
        "Xenomai 3.1, 3.3 scripts/Kconfig.frag",
    )
    .on(COBALT),
    line(PREEMPTION, "EVL", On, "The EVL core, on top of Dovetail.", "EVL kernel/evl/Kconfig").on(EVL),
    line(
        TIMERS,
        "HIGH_RES_TIMERS",
        On,
        "Without it timers fire at ticks: 1 to 10 ms apart.",
        "kernel 6.1, 6.12, 7.3 kernel/time/Kconfig",
    ),
    line(
        TIMERS,
        "HZ_PERIODIC",
        On,
        "A tick that always comes costs less than the book-keeping at every entry into the kernel and every wake-up that \
         stopping it needs; for loops that block. (severity medium)",
        KC,
    )
    .on(RT),
    line(
        TIMERS,
        "HZ_250",
        On,
        "Timers of real-time threads do not depend on the tick; more of it only interrupts more often.",
        "kernel/Kconfig.hz; Debian kernel configurations 6.1, 6.12, 7.3",
    ),
    line(
        TIMERS,
        "CONTEXT_TRACKING_USER_FORCE",
        Off,
        "Forced, every CPU pays at every system call and interrupt for what only tick-free CPUs need.",
        "kernel/time/Kconfig; Xenomai TROUBLESHOOTING (under its older name)",
    ),
    line(ISOLATION, "CGROUPS", On, "CPUSETS needs it.", "init/Kconfig"),
    line(
        ISOLATION,
        "CPUSETS",
        On,
        "Partitions: isolation at run time, which can be taken back.",
        "kernel admin-guide/cgroup-v2.rst",
    ),
    line(
        ISOLATION,
        "CPU_ISOLATION",
        On,
        "Without it isolcpus= and nohz_full= are unknown words.",
        "kernel 6.1, 6.12, 7.3 init/Kconfig, kernel/sched/isolation.c",
    ),
    line(RCU, "RCU_EXPERT", On, "The lines below are offered only with it.", "kernel/rcu/Kconfig"),
    line(
        RCU,
        "RCU_NOCB_CPU",
        On,
        "rcu_nocbs= can then take the freeing of others' memory off the real-time CPUs.",
        "kernel 6.1, 6.12, 7.3 kernel/rcu/Kconfig",
    ),
    line(
        RCU,
        "RCU_NOCB_CPU_DEFAULT_ALL",
        Off,
        "Only the CPUs that rcu_nocbs= names; for all it costs everywhere.",
        "kernel/rcu/Kconfig",
    ),
    line(
        RCU,
        "RCU_BOOST",
        On,
        "A reader that was preempted is hurried, so that memory can be freed while real-time work keeps a CPU busy.",
        "kernel/rcu/Kconfig (default y with PREEMPT_RT)",
    )
    .on(RT),
    line(
        RCU,
        "RCU_LAZY",
        Off,
        "Callbacks saved up for seconds run in one long batch.",
        "kernel 6.12, 7.3 kernel/rcu/Kconfig; unverified: size of the effect",
    )
    .of(FROM_6_12),
    line(
        SCHEDULER,
        "RT_GROUP_SCHED",
        Off,
        "With it and version 2 of control groups, SCHED_FIFO fails with EPERM outside the root group.",
        "kernel admin-guide/cgroup-v2.rst",
    ),
    line(
        SCHEDULER,
        "SCHED_AUTOGROUP",
        Off,
        "Groups ordinary tasks by terminal, which changes with every login what runs beside the real-time work.",
        "init/Kconfig; Debian 6.12 and 7.3 -rt configurations",
    ),
    line(
        SCHEDULER,
        "SCHED_CLASS_EXT",
        Off,
        "Schedulers loaded at run time; they bring another reserve of CPU time that pre-empts real-time threads \
         (ext_server).",
        "kernel 6.12 kernel/sched/ext.c; 7.3 kernel/sched/debug.c",
    )
    .of(FROM_6_12),
    line(
        SCHEDULER,
        "FUTEX",
        On,
        "With it comes FUTEX_PI: mutexes that lend their holder the waiter's priority.",
        "kernel 6.1, 6.12, 7.3 init/Kconfig",
    ),
    line(POWER, "CPU_FREQ", On, "Some firmware leaves the CPU slow, and without it that stays so. (severity high)", KC),
    line(
        POWER,
        "CPU_FREQ_DEFAULT_GOV_PERFORMANCE",
        On,
        "The same clock from the first loop on. (severity high; also on EVL's list)",
        "kernel 7.3 core-api/real-time/kernel-configuration.rst; libevl utils/kconf-checklist.evl",
    ),
    line(
        POWER,
        "CPU_FREQ_GOV_ONDEMAND",
        Off,
        "Linux does not see what a second kernel does and clocks the CPU down under it; for other work too, the clock \
         would follow the load. (severity medium)",
        KC,
    ),
    line(POWER, "CPU_FREQ_GOV_CONSERVATIVE", Off, "Follows the load too. (severity medium)", KC),
    line(
        POWER,
        "CPU_IDLE",
        On,
        "Without it nothing can cap how deep CPUs sleep; cap at C1 at run time. Switched off, some CPUs run hot. \
         (severity info)",
        KC,
    ),
    line(
        MEMORY,
        "SLUB_CPU_PARTIAL",
        Off,
        "Lists of half-used pages overflow, and then many are given back at once, under locks.",
        "kernel 6.1, 6.12 mm/Kconfig; gone in 7.3",
    )
    .of(UP_TO_6_12),
    line(
        MEMORY,
        "TRANSPARENT_HUGEPAGE",
        Off,
        "It selects COMPACTION, which moves pages; a page that moves faults in the real-time thread, locked or not, and \
         throws it back to Linux. Cost: huge pages only where an application asks for them.",
        "Xenomai 3.3 scripts/Kconfig.frag; kernel mm/Kconfig",
    )
    .on(DUAL)
    .arch(Arch::X86),
    line(MEMORY, "COMPACTION", Off, "Moves pages. Cost: fragmentation.", "kernel mm/Kconfig").on(DUAL).arch(Arch::X86),
    line(
        MEMORY,
        "CMA",
        Off,
        "Moves pages out of the way of devices. Cost: devices that need large buffers must get them at boot.",
        "kernel mm/Kconfig",
    )
    .on(DUAL)
    .arch(Arch::X86),
    line(
        MEMORY,
        "MIGRATION",
        Off,
        "Pages, not tasks, move between nodes and out of the way.",
        "Xenomai 3.3 scripts/Kconfig.frag; kernel 6.1, 6.12 mm/Kconfig",
    )
    .on(DUAL)
    .of(UP_TO_6_12)
    .arch(Arch::X86),
    line(
        MEMORY,
        "NUMA_MIGRATION",
        Off,
        "Moves pages between nodes.",
        "kernel 7.3 mm/Kconfig",
    )
    .on(DUAL)
    .of(FROM_7_3)
    .arch(Arch::X86),
    line(
        MEMORY,
        "MEMORY_HOTREMOVE",
        Off,
        "Moves pages out of memory that is to be taken out.",
        "kernel 7.3 mm/Kconfig",
    )
    .on(DUAL)
    .of(FROM_7_3)
    .arch(Arch::X86),
    line(
        MEMORY,
        "MEMORY_FAILURE",
        Off,
        "Moves pages away from memory that reports errors. Cost: such a page takes its process down.",
        "kernel 7.3 mm/Kconfig",
    )
    .on(DUAL)
    .of(FROM_7_3)
    .arch(Arch::X86),
    line(
        MEMORY,
        "X86_CPU_RESCTRL",
        On,
        "Parts of the cache of one's own, where the CPU can (flags cat_l3, cat_l2).",
        "kernel filesystems/resctrl.rst",
    )
    .arch(Arch::X86),
    line(
        MEMORY,
        "ARM64_MPAM",
        On,
        "Parts of the cache of one's own, where the chip can.",
        "kernel 7.3 arch/arm64/Kconfig, core-api/real-time/hardware.rst",
    )
    .of(FROM_7_3)
    .arch(Arch::Arm64),
    line(
        FIRMWARE,
        "EFI_DISABLE_RUNTIME",
        On,
        "Calls into the firmware keep interrupts off for as long as it likes; efi=runtime allows them again. (severity \
         medium)",
        KC,
    ),
    line(
        WATCHDOGS,
        "SOFTLOCKUP_DETECTOR",
        Off,
        "A timer on every CPU every few seconds, in hard interrupt context. (severity high)",
        KC,
    ),
    line(WATCHDOGS, "HARDLOCKUP_DETECTOR", Off, "The same, and a non-maskable interrupt with it. (severity high)", KC),
    line(
        DEBUGGING,
        "PROVE_LOCKING",
        Off,
        "Checks every lock; right for a soak test, hundreds of microseconds in production. (severity high)",
        KC,
    ),
    line(DEBUGGING, "LOCK_STAT", Off, "Brings the checks of locks with it.", "kernel lib/Kconfig.debug"),
    line(DEBUGGING, "DEBUG_LOCK_ALLOC", Off, "The same.", "kernel lib/Kconfig.debug"),
    line(DEBUGGING, "DEBUG_PREEMPT", Off, "Checks every use of per-CPU data.", "kernel lib/Kconfig.debug"),
    line(DEBUGGING, "DEBUG_OBJECTS", Off, "Tracks the life of every timer and work item.", "kernel lib/Kconfig.debug"),
    line(DEBUGGING, "DEBUG_VM", Off, "Checks memory management at every step. (on EVL's list)", EVL_LIST),
    line(DEBUGGING, "DEBUG_LIST", Off, "Checks every list operation. (on EVL's list)", EVL_LIST).on(EVL),
    line(DEBUGGING, "DEBUG_PER_CPU_MAPS", Off, "Checks every use of a CPU mask. (on EVL's list)", EVL_LIST).on(EVL),
    line(DEBUGGING, "DEBUG_HARD_LOCKS", Off, "Checks Dovetail's own locks. (on EVL's list)", EVL_LIST).on(DUAL),
    line(DEBUGGING, "KASAN", Off, "Checks every access to memory. (on EVL's list)", EVL_LIST),
    line(DEBUGGING, "KCSAN", Off, "Watches accesses for races.", "kernel lib/Kconfig.kcsan"),
    line(DEBUGGING, "DEBUG_KMEMLEAK", Off, "Scans all memory, from time to time.", "kernel Kconfig: DEBUG_KMEMLEAK"),
    line(DEBUGGING, "SLUB_DEBUG_ON", Off, "Checks every allocation.", "kernel mm/Kconfig.debug"),
    line(DEBUGGING, "XENO_OPT_DEBUG", Off, "The core checks itself; for development.", "Xenomai 3.3 kernel/cobalt/Kconfig")
        .on(COBALT),
    line(DEBUGGING, "EVL_DEBUG", Off, "The core checks itself; for development.", "EVL kernel/evl/Kconfig").on(EVL),
    line(
        DEBUGGING,
        "KGDB",
        Off,
        "Not to be enabled beside Cobalt, except on x86.",
        "Xenomai doc/asciidoc/TROUBLESHOOTING.COBALT.adoc",
    )
    .on(COBALT)
    .arch(Arch::Arm64),
    line(
        DEBUGGING,
        "FTRACE",
        On,
        "Tracers cost next to nothing while none is in use, and without them a missed deadline has no cause. (severity \
         info)",
        KC,
    )
    .on(RT_AND_COBALT),
    line(DEBUGGING, "FTRACE", Off, "On EVL's list of what is to be off.", "EVL kconf-checklist").on(EVL),
    line(
        DEBUGGING,
        "OSNOISE_TRACER",
        On,
        "Says who took the CPU. Toggling it interrupts all CPUs once.",
        "kernel trace/osnoise-tracer.rst",
    )
    .on(RT),
    line(DEBUGGING, "TIMERLAT_TRACER", On, "Says what made a timer late.", "kernel trace/timerlat-tracer.rst").on(RT),
    line(DEBUGGING, "HWLAT_TRACER", On, "Says what the firmware took.", "kernel trace/hwlat_detector.rst").on(RT_AND_COBALT),
    line(
        DEBUGGING,
        "IRQSOFF_TRACER",
        Off,
        "Costs even while it is not in use. (severity high)",
        KC,
    )
    .on(RT_AND_COBALT),
    line(DEBUGGING, "PREEMPT_TRACER", Off, "Costs even while it is not in use. (severity high)", KC).on(RT_AND_COBALT),
    line(
        EVIDENCE,
        "IKCONFIG",
        On,
        "The kernel carries its own configuration, which no file beside it can contradict.",
        "kernel init/Kconfig; evl check needs it",
    ),
    line(EVIDENCE, "IKCONFIG_PROC", On, "As /proc/config.gz.", "kernel init/Kconfig"),
    line(
        EVIDENCE,
        "DEBUG_FS",
        On,
        "The scheduler's reserve for ordinary tasks (fair_server) can be read and set only there. (allowed, as long as \
         nothing else uses it in production)",
        "kernel 6.12, 7.3 kernel/sched/debug.c; 7.3 kernel-configuration.rst",
    ),
];
