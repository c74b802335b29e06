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
        title: "Linux does not change the clock beneath the core",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["CPU_FREQ"]),
        why: "Linux does not see the work of the core, takes the CPU for idle and slows it down; the way back up takes \
            hundreds of microseconds. A governor that keeps one frequency is as good as none.",
        fix: Fix::prose("Without another kernel: the governor performance for good, see pm.governor."),
        cost: "Firmware that leaves the CPU slow leaves it so, and thermal control is gone.",
        sources: &[MENU, GUIDE],
        ..KNOB
    },
    Knob {
        id: "cob.acpi",
        title: "No processor driver of ACPI beneath the core",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["ACPI_PROCESSOR"]),
        why: "It brings the firmware's sleep states and its throttling, both decided by what Linux sees of the load.",
        fix: Fix::prose("Without another kernel: keep the states shallow and the governor fixed, see pm.idle_state."),
        cost: "Power, heat, and the control of the clock, which needs it.",
        sources: &[MENU, "kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig: ACPI_PROCESSOR"],
        ..KNOB
    },
    Knob {
        id: "cob.idle",
        title: "Linux sends no CPU into deep sleep",
        check: Check::BuiltWithout(&["CPU_IDLE", "INTEL_IDLE"]),
        why: "Linux chooses a sleep state by its own timers and not by the core's. To leave a deep one takes up to a \
            millisecond, and on some CPUs the core's timer stops in it.",
        fix: Fix::prose("Without another kernel: keep the states shallow, see pm.idle_state."),
        persist: &[Lasting::other("Or keep both and boot with processor.max_cstate=1 intel_idle.max_cstate=1.")],
        cost: "Power and heat.",
        sources: &[MENU, GUIDE],
        ..KNOB
    },
    Knob {
        id: "cob.apm",
        title: "No power management by an old BIOS",
        check: Check::BuiltWithout(&["APM"]),
        why: "APM calls the firmware, which then runs with interrupts off for as long as it likes.",
        cost: "None on machines of this century.",
        sources: &[MENU, "kernel 6.1, 6.12, 7.3 arch/x86/Kconfig: APM (32-bit only)"],
        ..KNOB
    },
    Knob {
        id: "cob.kgdb",
        title: "No kernel debugger on other than x86",
        applies: |case| {
            on_cobalt(case)?;
            let is_x86 = case.arch() == Some(&Arch::X86);
            Doubt::not_applicable_if(is_x86, "on x86 the debugger and the core get along")
        },
        check: Check::BuiltWithout(&["KGDB"]),
        why: "The debugger takes traps that the core expects, and stops all CPUs with the core's interrupts pending.",
        cost: "No debugging of the kernel over a serial line.",
        sources: &[GUIDE],
        ..KNOB
    },
    Knob {
        id: "cob.context_tracking",
        title: "Entries into the kernel not tracked everywhere",
        check: Check::BuiltWithout(&["CONTEXT_TRACKING_FORCE"]),
        why: "Tracking every entry assumes that Linux sees all of them. The core takes some for itself, so that the count is \
            wrong, RCU complains and latencies grow without bound.",
        cost: "None.",
        sources: &[GUIDE, "kernel 5.10 kernel/time/Kconfig: CONTEXT_TRACKING_FORCE"],
        ..KNOB
    },
    Knob {
        id: "cob.debug_core",
        title: "Cobalt does not check itself",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_COBALT"]),
        why: "Assertions stand on the way of every wake-up and every switch between threads; each is small.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_memory",
        title: "Cobalt does not check its memory",
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_MEMORY"]),
        why: "The core then examines its heaps when it takes and gives back blocks, under its lock, and the larger the heap \
            the longer that lasts.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_context",
        title: "Cobalt does not check who calls",
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_CONTEXT"]),
        why: "Each service of the core and many of Linux first find out on which side they were called.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_locking",
        title: "Cobalt does not time its lock",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_LOCKING"]),
        why: "The core has one lock for everything, and this option reads the clock twice and keeps records each time it is \
            taken, while all other CPUs may wait for it. It is on by default once debugging is.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.debug_user",
        title: "Cobalt does not check the application",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_USER"]),
        why: "Waiting for a mutex then looks at its owner first, and going to sleep looks at the mutexes held.",
        cost: "Priority inversions by threads in Linux go unnoticed; use a second kernel to find them.",
        sources: &[OWN],
        ..KNOB
    },
    Knob {
        id: "cob.trace_relax",
        title: "Cobalt does not record each switch to Linux",
        severity: Weight::all(Info),
        check: Check::BuiltWithout(&["XENO_OPT_DEBUG_TRACE_RELAX"]),
        why: "For each thread that goes back to Linux, the core copies a stack trace from the program before it lets go.",
        cost: "Where a thread leaves the core has to be found otherwise, with PTHREAD_WARNSW.",
        sources: &[OWN],
        ..KNOB
    },
];
