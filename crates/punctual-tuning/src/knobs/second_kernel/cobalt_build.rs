//! Knobs about the options that a kernel with Cobalt was built with: all that Xenomai's configuration menu and its guide
//! warn of, and the core's own debugging.
//!
//! Two of these options have a knob elsewhere: `kconf.migration` (MIGRATION) and `kconf.default_gov` (the governor).

use super::on_cobalt;
use crate::knobs::prelude::*;

const KNOB: Knob = Knob {
    applies: on_cobalt,
    severity: Weight::all(Medium),
    blast: Blast::Breaking,
    cost: "Some bugs are found later.",
    ..Knob::of(Family::SecondKernel)
};

const MENU: &str = "Xenomai 3.3 scripts/Kconfig.frag";
const GUIDE: &str = "Xenomai 3.3 doc/asciidoc/TROUBLESHOOTING.COBALT.adoc";
const OWN: &str = "Xenomai 3.3 kernel/cobalt/Kconfig";

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "cob.cpu_freq",
        title: "Linux does not change the CPU frequency beneath the real-time core",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["CPU_FREQ"]),
        why: "Linux does not see the work of the core, takes the CPU for idle and lowers its frequency; raising it \
            again takes hundreds of microseconds. With a governor that keeps one frequency, the option does no harm.",
        fix: Fix::prose("With the present kernel: use the governor performance all the time, see pm.governor."),
        cost: "If the firmware leaves the CPU at a low frequency, it stays there, and Linux can no longer slow the CPU \
            down when it gets hot.",
        sources: &[MENU, GUIDE],
        ..KNOB
    },
    Knob {
        id: "cob.acpi",
        title: "No ACPI processor driver in a kernel with a real-time core",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["ACPI_PROCESSOR"]),
        why: "ACPI_PROCESSOR adds the firmware's sleep states and its throttling; Linux chooses both by the load that \
            it sees, which does not include the core's work.",
        fix: Fix::prose(
            "With the present kernel: allow only shallow idle states, see pm.idle_state, and use the governor \
            performance.",
        ),
        cost: "Power and heat; the drivers that control the CPU's clock need this option, too.",
        sources: &[MENU, "kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig: ACPI_PROCESSOR"],
        ..KNOB
    },
    Knob {
        id: "cob.idle",
        title: "Linux sends no CPU into deep sleep",
        check: Check::BuiltWithout(&["CPU_IDLE", "INTEL_IDLE"]),
        why: "Linux chooses a sleep state by its own timers and not by the core's. To leave a deep one takes up to a \
            millisecond, and on some CPUs the core's timer stops in it.",
        fix: Fix::prose("With the present kernel: allow only shallow idle states, see pm.idle_state."),
        persist: &[Lasting::other(
            "Or keep both options, and boot with processor.max_cstate=1 intel_idle.max_cstate=1.",
        )],
        cost: "Power and heat.",
        sources: &[MENU, GUIDE],
        ..KNOB
    },
    Knob {
        id: "cob.apm",
        title: "No power management by an old BIOS",
        check: Check::BuiltWithout(&["APM"]),
        why: "APM calls the firmware, which then runs with interrupts off for an unknown time.",
        cost: "None on machines of this century.",
        sources: &[MENU, "kernel 6.1, 6.12, 7.3 arch/x86/Kconfig: APM (32-bit only)"],
        ..KNOB
    },
    Knob {
        id: "cob.kgdb",
        title: "No kernel debugger on architectures other than x86",
        applies: |case| {
            on_cobalt(case)?;
            let is_x86 = case.arch() == Some(&Arch::X86);
            Doubt::not_applicable_if(is_x86, "on x86 the debugger does not disturb the core")
        },
        check: Check::BuiltWithout(&["KGDB"]),
        why: "The debugger takes traps that are meant for the core, and stops all CPUs while interrupts of the core \
            are pending.",
        cost: "No debugging of the kernel over a serial line.",
        sources: &[GUIDE],
        ..KNOB
    },
    Knob {
        id: "cob.context_tracking",
        title: "Tracking of entries into the kernel is not forced on all CPUs",
        check: Check::BuiltWithout(&["CONTEXT_TRACKING_FORCE"]),
        why: "Forced context tracking assumes that Linux sees every entry into the kernel. The core handles some of \
            them itself, so that the tracking is wrong, RCU reports stalls and latencies grow without bound.",
        cost: "None.",
        sources: &[GUIDE, "kernel 5.10 kernel/time/Kconfig: CONTEXT_TRACKING_FORCE"],
        ..KNOB
    },
    Knob {
        id: "cob.debug_core",
        title: "Cobalt does not check itself",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_COBALT"]),
        why: "This option adds assertions to every wake-up and every switch between threads; each of them is cheap.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_memory",
        title: "Cobalt does not check its memory",
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_MEMORY"]),
        why: "With this option, the core checks its heap each time it allocates or frees a block, with its lock held; \
            the larger the heap, the longer this takes.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_context",
        title: "Cobalt does not check from where it is called",
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_CONTEXT"]),
        why: "With this option, each service of the core and many of Linux first check whether the core or Linux \
            called them.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_locking",
        title: "Cobalt does not time its lock",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_LOCKING"]),
        why: "The core has a single lock. This option reads the clock twice and writes records each time the lock is \
            taken, while all other CPUs may be waiting for it. The option is on by default if debugging of the core is \
            on.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_user",
        title: "Cobalt does not check the application's use of mutexes",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_USER"]),
        why: "With this option, a thread that waits for a mutex first checks the mutex's owner, and a thread that goes \
            to sleep checks the mutexes that it holds.",
        cost: "Priority inversions by threads in Linux go unnoticed; a kernel built with this option finds them.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.trace_relax",
        title: "Cobalt does not record each switch to Linux",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_TRACE_RELAX"]),
        why: "Each time a thread goes back to Linux, the core first copies a stack trace of the program.",
        cost: "The place where a thread leaves the core has to be found in another way, by PTHREAD_WARNSW.",
        sources: &[OWN],
        ..KNOB
    },
];
