//! Knobs about the options that a kernel with a real-time core was built with: all that `evl check` looks at, and what
//! concerns Dovetail, on which both cores stand.
//!
//! Some options on that list have a knob that applies to every kernel: `kconf.debug_heavy` (KASAN) and
//! `kconf.default_gov` (the governor).

use super::{on_either, on_evl};
use crate::knobs::prelude::*;

const KNOB: Knob = Knob {
    applies: on_either,
    severity: Weight::all(Medium),
    blast: Blast::Breaking,
    cost: "Some bugs are found later.",
    ..Knob::of(Family::SecondKernel)
};

const EVL_LIST: &str = "libevl 0.49 utils/kconf-checklist.evl";

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "dual.clock",
        title: "The clock is read without leaving the core",
        severity: Weight::all(High),
        check: Check::seen(
            punctual_facts::machine::CLOCKSOURCE,
            Want::Word {
                good: &["tsc", "arch_sys_counter", "arch_mmio_counter"],
                bad: &["hpet", "acpi_pm", "refined-jiffies", "jiffies"],
            },
            TellsNothing("the clock source is not shown"),
        ),
        why: "A thread of the core reads the time from a counter that programs may read themselves. Any other clock needs \
            a system call of Linux, and with it each look at the time takes the thread out of the core.",
        fix: Fix::prose("Boot with the counter as the clock source; the kernel's log says why it chose another one."),
        persist: &[Lasting::other(
            "Kernel command line on x86, if the CPU has constant_tsc and nonstop_tsc: tsc=reliable clocksource=tsc.",
        )],
        undo: Fix::prose("Remove the words and boot again."),
        cost: "None, unless the kernel was right to refuse the counter: then time itself is wrong.",
        sources: &["seen in a guest: with hpet a look at the clock is a switch to Linux", "libevl 0.49 lib/clock.c"],
        ..KNOB
    },
    Knob {
        id: "dual.acpi_idle",
        title: "No idle driver of ACPI beneath the core",
        check: Check::BuiltWithout(&["ACPI_PROCESSOR_IDLE"]),
        why: "Linux sends an idle CPU to sleep without asking what the core expects next, and the deep states that ACPI \
            offers take up to a millisecond to leave; in some of them the core's own timer stops.",
        fix: Fix::prose(
            "Without another kernel: keep the states shallow, see pm.idle_state. What ACPI offers then does no harm.",
        ),
        persist: &[Lasting::other(
            "ACPI_PROCESSOR selects it, and the P-state drivers select that: the clock and thermal control go with it. \
                    Or keep it and boot with processor.max_cstate=1 intel_idle.max_cstate=1.",
        )],
        cost: "Power and heat; with ACPI_PROCESSOR gone, the control of the clock as well.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig, drivers/cpufreq/Kconfig.x86"],
        ..KNOB
    },
    Knob {
        id: "dual.hard_locks",
        title: "No proving of the core's own locks",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["DEBUG_HARD_LOCKS"]),
        why: "Each lock that the core takes with interrupts off is then traced through the lock prover first, so that every \
            wake-up takes many times as long.",
        sources: &[EVL_LIST, "Dovetail 6.6 lib/Kconfig.debug: DEBUG_HARD_LOCKS"],
        ..KNOB
    },
    Knob {
        id: "dual.pipeline_debug",
        title: "No checks at every change of stage",
        check: Check::BuiltWithout(&["DEBUG_IRQ_PIPELINE", "DEBUG_DOVETAIL"]),
        why: "Interrupts and threads pass from the core to Linux and back all the time, and these options verify the state \
            of the CPU at each passage.",
        sources: &["Dovetail 6.6 lib/Kconfig.debug: DEBUG_IRQ_PIPELINE, DEBUG_DOVETAIL"],
        ..KNOB
    },
    Knob {
        id: "dual.lockdep",
        title: "No record of the order of locks",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["LOCKDEP"]),
        why: "LOCKDEP enters every lock of Linux into its tables while interrupts are off, and the memory that it walks \
            pushes the core's own out of the caches.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: LOCKDEP"],
        ..KNOB
    },
    Knob {
        id: "dual.debug_list",
        title: "No checks of every linked list",
        check: Check::BuiltWithout(&["DEBUG_LIST"]),
        why: "The core keeps its ready threads and timers in lists, and DEBUG_LIST turns each insertion and removal into a \
            call that looks at both neighbours.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: DEBUG_LIST"],
        ..KNOB
    },
    Knob {
        id: "dual.debug_vm",
        title: "No checks throughout memory management",
        check: Check::BuiltWithout(&["DEBUG_VM"]),
        why: "Changes of address space happen on the core's own path when its threads take turns, and DEBUG_VM adds \
            assertions to them and to everything beneath.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 mm/Kconfig.debug, lib/Kconfig.debug: DEBUG_VM"],
        ..KNOB
    },
    Knob {
        id: "dual.per_cpu_maps",
        title: "No checks of every use of a CPU mask",
        check: Check::BuiltWithout(&["DEBUG_PER_CPU_MAPS"]),
        why: "The core looks up which CPUs it may use whenever it wakes a thread, and with this option each such look is \
            checked against the number of CPUs.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: DEBUG_PER_CPU_MAPS"],
        ..KNOB
    },
    Knob {
        id: "dual.debug_entry",
        title: "No checks at every entry into the kernel",
        check: Check::BuiltWithout(&["DEBUG_ENTRY"]),
        why: "An interrupt for the core enters the kernel by the same door as all others, and DEBUG_ENTRY examines the CPU's \
            flags there each time.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 arch/x86/Kconfig.debug: DEBUG_ENTRY"],
        ..KNOB
    },
    Knob {
        id: "dual.ftrace",
        title: "No hooks for tracing in every function",
        severity: Weight::all(Info),
        applies: on_evl,
        check: Check::BuiltWithout(&["FTRACE"]),
        why: "The functions of the core carry the hooks too. They are empty while nobody traces, and cost a little cache; \
            a tracer that somebody switches on slows the core down with everything else.",
        fix: Fix::prose("Keep tracing off while it counts, see trace.active: then what remains is small."),
        cost: "No tracing: causes of a delay must be guessed.",
        sources: &[EVL_LIST, "kernel trace/ftrace.rst"],
        ..KNOB
    },
    Knob {
        id: "dual.vdso",
        title: "Programs read the clock themselves",
        severity: Weight::all(High),
        applies: |case| {
            on_evl(case)?;
            let is_64_bit = case.config("ARM").is_ok_and(|value| value == "n");
            Doubt::not_applicable_if(is_64_bit, "only 32-bit Arm kernels can be built without")?;
            case.take_evidence();
            Ok(())
        },
        check: Check::BuiltWith(&["VDSO"]),
        why: "On 32-bit Arm the code by which programs read the clock is an option. Without it each look at the time is a \
            system call, which takes the thread out of the core.",
        cost: "None.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 arch/arm/mm/Kconfig: VDSO"],
        ..KNOB
    },
    Knob {
        id: "evl.debug_core",
        title: "EVL does not check itself",
        applies: on_evl,
        check: Check::BuiltWithout(&["EVL_DEBUG_CORE"]),
        why: "Assertions stand on the way of every wake-up and every switch between threads; with them come those of \
            Dovetail.",
        sources: &[EVL_LIST, "EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_CORE"],
        ..KNOB
    },
    Knob {
        id: "evl.debug_memory",
        title: "EVL does not check its memory",
        applies: on_evl,
        check: Check::BuiltWithout(&["EVL_DEBUG_MEMORY"]),
        why: "To free a block, the core then walks the map of all pages of that block under its lock, so a large block holds \
            everybody up.",
        sources: &[
            EVL_LIST,
            "EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_MEMORY",
            "EVL 6.10 kernel/evl/memory.c: mark_pages",
        ],
        ..KNOB
    },
    Knob {
        id: "evl.debug_woli",
        title: "EVL does not check the use of mutexes",
        severity: Weight::all(Info),
        applies: on_evl,
        check: Check::BuiltWithout(&["EVL_DEBUG_WOLI"]),
        why: "Every new thread starts with these checks on, which look through its mutexes when it sleeps or goes back to \
            Linux. A program that wants them can ask for them by itself.",
        sources: &["EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_WOLI"],
        ..KNOB
    },
    Knob {
        id: "evl.debug_net",
        title: "EVL does not check its network stack",
        severity: Weight::all(Info),
        applies: on_evl,
        check: Check::BuiltWithout(&["EVL_DEBUG_NET"]),
        why: "Each packet passes assertions, and with them come those of Dovetail, which cost at every interrupt.",
        sources: &["EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_NET"],
        ..KNOB
    },
];
