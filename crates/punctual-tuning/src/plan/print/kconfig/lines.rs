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
                "In this version PREEMPT_DYNAMIC and PREEMPT_RT exclude each other; without PREEMPT_DYNAMIC, preempt= \
                is an unknown word.", "kernel 6.1, 6.12 kernel/Kconfig.preempt").only(RT).of(UP_TO_6_12),
            on("EXPERT",
                "Kconfig offers PREEMPT_RT and some of the lines below only with this \
                option.", "kernel/Kconfig.preempt"),
            on("PREEMPT_RT",
                "Locks sleep and interrupts run in threads; without PREEMPT_RT, a system call of another process can \
                delay a thread without bound. (severity fatal)", KC).only(RT),
            on("PREEMPT",
                "The default here is lazy preemption, which lets ordinary tasks finish their slice; full preemption \
                also serves the ordinary threads that a real-time thread waits for.",
                "kernel 7.3 kernel/Kconfig.preempt").only(RT).of(FROM_7_3),
            off("PREEMPT_RT_NEEDS_BH_LOCK",
                "With this option, one lock again serialises all softirqs of a CPU, as in older versions.",
                "kernel 7.3 kernel/Kconfig.preempt").only(RT).of(FROM_7_3),
            on("PREEMPT",
                "The second kernel does not need it, but the part of the work that runs under Linux does.",
                "kernel/Kconfig.preempt; unverified: size of the effect").only(DUAL),
            on("XENOMAI",
                "The Cobalt core; this option selects the parts of Dovetail that it needs (I-pipe before Xenomai 3.2).",
                "Xenomai 3.1, 3.3 scripts/Kconfig.frag").only(COBALT),
            on("EVL", "The EVL core, on top of Dovetail.", "EVL kernel/evl/Kconfig").only(EVL),
        ],
    },
    Section {
        title: "Timers and the tick",
        lines: &[
            note(
                "For threads that poll and never enter the kernel, choose NO_HZ_FULL=y instead of HZ_PERIODIC=y and \
                boot with nohz_full=; this makes every entry into the kernel slower.", KC).only(RT),
            on("HIGH_RES_TIMERS",
                "Without it, timers only expire at ticks, which are 1 to 10 ms \
                apart.", "kernel 6.1, 6.12, 7.3 kernel/time/Kconfig"),
            on("HZ_PERIODIC",
                "For loops that block: a tick that always comes costs less than the book-keeping at every kernel entry \
                and wake-up that is needed to stop it. (severity medium)", KC).only(RT),
            on("HZ_250",
                "Timers of real-time threads do not depend on the tick; a higher rate only interrupts more often.",
                "kernel/Kconfig.hz; Debian kernel configurations 6.1, 6.12, 7.3"),
            off("CONTEXT_TRACKING_USER_FORCE",
                "If context tracking is forced, every CPU does extra work at every system call and interrupt, although \
                only tick-free CPUs need it.",
                "kernel/time/Kconfig; Xenomai TROUBLESHOOTING (under its older name)"),
        ],
    },
    Section {
        title: "Isolation of CPUs",
        lines: &[
            on("CGROUPS", "CPUSETS needs it.", "init/Kconfig"),
            on("CPUSETS",
                "For partitions, which isolate CPUs at run time and can be \
                undone.", "kernel admin-guide/cgroup-v2.rst"),
            on("CPU_ISOLATION",
                "Without it isolcpus= and nohz_full= are unknown words.",
                "kernel 6.1, 6.12, 7.3 init/Kconfig, kernel/sched/isolation.c"),
        ],
    },
    Section {
        title: "RCU",
        lines: &[
            on("RCU_EXPERT", "Kconfig offers the lines below only with this option.", "kernel/rcu/Kconfig"),
            on("RCU_NOCB_CPU",
                "rcu_nocbs= can then take the freeing of others' memory off the real-time CPUs.",
                "kernel 6.1, 6.12, 7.3 kernel/rcu/Kconfig"),
            off("RCU_NOCB_CPU_DEFAULT_ALL",
                "So that only the CPUs that rcu_nocbs= names are offloaded; offloading all CPUs costs time on each of \
                them.", "kernel/rcu/Kconfig"),
            on("RCU_BOOST",
                "Boosts a preempted RCU reader, so that memory can be freed while real-time work keeps a CPU busy.", "kernel/rcu/Kconfig (default y with PREEMPT_RT)").only(RT),
            off("RCU_LAZY",
                "With this option, callbacks are held back for seconds and then run in one long batch.",
                "kernel 6.12, 7.3 kernel/rcu/Kconfig; unverified: size of the effect").of(FROM_6_12),
        ],
    },
    Section {
        title: "Scheduler",
        lines: &[
            off("RT_GROUP_SCHED",
                "With this option and cgroup v2, SCHED_FIFO fails with EPERM outside the root group.",
                "kernel admin-guide/cgroup-v2.rst"),
            off("SCHED_AUTOGROUP",
                "Groups ordinary tasks by terminal, so each login changes how CPU time is shared beside the real-time \
                work.", "init/Kconfig; Debian 6.12 and 7.3 -rt configurations"),
            off("SCHED_CLASS_EXT",
                "For schedulers that are loaded at run time; they add another reserve of CPU time that pre-empts \
                real-time threads (ext_server).", "kernel 6.12 kernel/sched/ext.c; 7.3 kernel/sched/debug.c").of(FROM_6_12),
            on("FUTEX",
                "Includes FUTEX_PI: mutexes that give their holder the priority of the waiter.",
                "kernel 6.1, 6.12, 7.3 init/Kconfig"),
        ],
    },
    Section {
        title: "Frequency and sleep",
        lines: &[
            note(
                "Xenomai's own guide asks for CPU_FREQ, CPU_IDLE, INTEL_IDLE and ACPI_PROCESSOR to be off. Then the \
                clock stays where the firmware left it and Linux cannot react to heat. Here these options stay on: the \
                governor fixes the clock, and idle states have to be limited at boot (processor.max_cstate=1 \
                intel_idle.max_cstate=1, or idle=poll).",
                "Xenomai 3.3 scripts/Kconfig.frag, doc/asciidoc/TROUBLESHOOTING.COBALT.adoc; kernel 7.3 kernel-configuration.rst").only(COBALT),
            note(
                "evl check will name ACPI_PROCESSOR_IDLE. It cannot be switched off by itself: ACPI_PROCESSOR selects \
                it, and the P-state drivers select ACPI_PROCESSOR. To turn it off, turn ACPI_PROCESSOR, \
                X86_INTEL_PSTATE and X86_AMD_PSTATE off and do without control of heat and clock. Here it stays on, \
                and idle states have to be limited at boot (processor.max_cstate=1 intel_idle.max_cstate=1).",
                "libevl utils/kconf-checklist.evl; kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig, drivers/cpufreq/Kconfig.x86").only(EVL).arch(Arch::X86),
            on("CPU_FREQ", "Some firmware leaves the CPU at a low frequency, and without CPU_FREQ it stays there. \
                (severity high)", KC),
            on("CPU_FREQ_DEFAULT_GOV_PERFORMANCE",
                "The clock is the same from the first cycle on. (severity high; also on EVL's list)",
                "kernel 7.3 core-api/real-time/kernel-configuration.rst; libevl utils/kconf-checklist.evl"),
            off("CPU_FREQ_GOV_ONDEMAND",
                "Linux does not see the work of a second kernel and lowers the CPU's clock; for other work, too, the \
                clock would follow the load. (severity medium)", KC),
            off("CPU_FREQ_GOV_CONSERVATIVE", "With this governor, too, the clock follows the load. (severity medium)", KC),
            on("CPU_IDLE",
                "Without CPU_IDLE, idle states cannot be limited, and some CPUs get hot. Limit them to C1 at run \
                time. (severity info)", KC),
        ],
    },
    Section {
        title: "Memory and caches",
        lines: &[
            note(
                "MIGRATION stays on: CMA selects it, and the display and camera drivers of boards need CMA. If the \
                drivers of your board do not, turn CMA, COMPACTION and MIGRATION off.",
                "Xenomai 3.3 scripts/Kconfig.frag; kernel mm/Kconfig").only(DUAL).arch(Arch::Arm64),
            note(
                "In this version MIGRATION is hidden, and is on whenever another option selects it; the options that \
                select it are off below.", "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            off("SLUB_CPU_PARTIAL",
                "Lists of partly used pages overflow, and then many pages are given back at once, with locks held.",
                "kernel 6.1, 6.12 mm/Kconfig; gone in 7.3").of(UP_TO_6_12),
            off("TRANSPARENT_HUGEPAGE",
                "Selects COMPACTION, which moves pages. After a page was moved, the next access by a real-time thread \
                faults even if the page is locked, and the fault takes the thread back to Linux. Cost: huge pages only \
                for applications that ask for them.",
                "Xenomai 3.3 scripts/Kconfig.frag; kernel mm/Kconfig").only(DUAL).arch(Arch::X86),
            off("COMPACTION", "Moves pages. Cost: fragmentation.", "kernel mm/Kconfig").only(DUAL).arch(Arch::X86),
            off("CMA",
                "Moves pages to make room for the buffers of devices. Cost: devices that need large buffers must get \
                them at boot.", "kernel mm/Kconfig").only(DUAL).arch(Arch::X86),
            off("MIGRATION",
                "Moves pages (not tasks) between nodes and to make room.",
                "Xenomai 3.3 scripts/Kconfig.frag; kernel 6.1, 6.12 mm/Kconfig").only(DUAL).of(UP_TO_6_12).arch(Arch::X86),
            off("NUMA_MIGRATION",
                "Moves pages between nodes.", "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            off("MEMORY_HOTREMOVE",
                "Moves pages out of memory that is about to be removed.",
                "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            off("MEMORY_FAILURE",
                "Moves pages away from memory that reports errors. Cost: without it, a page with errors ends the \
                process that uses it.",
                "kernel 7.3 mm/Kconfig").only(DUAL).of(FROM_7_3).arch(Arch::X86),
            on("X86_CPU_RESCTRL",
                "Reserves parts of the cache for a group of CPUs, if the CPU supports it (flags cat_l3, cat_l2).",
                "kernel filesystems/resctrl.rst").arch(Arch::X86),
            on("ARM64_MPAM",
                "Reserves parts of the cache for a group of CPUs, if the chip supports it.",
                "kernel 7.3 arch/arm64/Kconfig, core-api/real-time/hardware.rst").of(FROM_7_3).arch(Arch::Arm64),
        ],
    },
    Section {
        title: "Firmware and graphics",
        lines: &[
            note(
                "DRM_I915 cannot be built with PREEMPT_RT (depends on !PREEMPT_RT), so i915.* words have no effect; xe \
                can, if the graphics unit is new enough. Without a display, no graphics unit uses the CPUs' cache.",
                "kernel 6.1, 6.12, 7.3 drivers/gpu/drm/i915/Kconfig; 7.3 kernel-configuration.rst: CONFIG_DRM").only(RT).arch(Arch::X86),
            on("EFI_DISABLE_RUNTIME",
                "A call into the firmware keeps interrupts off for an unknown time; efi=runtime allows such calls \
                again. (severity medium)", KC),
        ],
    },
    Section {
        title: "Watchdogs",
        lines: &[
            note(
                "Instead of the lock-up detectors, use a hardware watchdog that the application or systemd feeds.", KC),
            off("SOFTLOCKUP_DETECTOR",
                "A timer on every CPU every few seconds, in hard interrupt context. (severity high)", KC),
            off("HARDLOCKUP_DETECTOR", "The same timer, and a non-maskable interrupt. (severity high)", KC),
        ],
    },
    Section {
        title: "Debugging and tracing",
        lines: &[
            off("PROVE_LOCKING",
                "Checks every lock; useful in a soak test, but adds hundreds of microseconds in production. (severity \
                high)",
                KC),
            off("LOCK_STAT", "Selects the debugging of locks.", "kernel lib/Kconfig.debug"),
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
                "Must not be enabled together with Cobalt, except on x86.",
                "Xenomai doc/asciidoc/TROUBLESHOOTING.COBALT.adoc").only(COBALT).arch(Arch::Arm64),
            on("FTRACE",
                "Tracers cost next to nothing while none is in use, and without them the cause of a missed deadline \
                cannot be found. (severity info)", KC).only(RT_AND_COBALT),
            off("FTRACE", "EVL's list says that it should be off.", "EVL kconf-checklist").only(EVL),
            on("OSNOISE_TRACER",
                "Shows what took the CPU. Switching it on or off interrupts all CPUs once.",
                "kernel trace/osnoise-tracer.rst").only(RT),
            on("TIMERLAT_TRACER", "Shows what made a timer late.", "kernel trace/timerlat-tracer.rst").only(RT),
            on("HWLAT_TRACER", "Shows the time that the firmware took.", "kernel trace/hwlat_detector.rst").only(RT_AND_COBALT),
            off("IRQSOFF_TRACER", "Costs even while it is not in use. (severity high)", KC).only(RT_AND_COBALT),
            off("PREEMPT_TRACER", "Costs even while it is not in use. (severity high)", KC).only(RT_AND_COBALT),
        ],
    },
    Section {
        title: "For checks and settings later",
        lines: &[
            on("IKCONFIG",
                "The kernel then contains its own configuration, which always belongs to it.",
                "kernel init/Kconfig; evl check needs it"),
            on("IKCONFIG_PROC", "Shows this configuration as /proc/config.gz.", "kernel init/Kconfig"),
            on("DEBUG_FS",
                "The scheduler's reserve for ordinary tasks (fair_server) can be read and set only there. (allowed, \
                as long as nothing else uses it in production)",
                "kernel 6.12, 7.3 kernel/sched/debug.c; 7.3 kernel-configuration.rst"),
        ],
    },
];
