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
        title: "Threads read the clock without leaving the real-time core",
        severity: Weight::all(High),
        check: Check::seen(
            punctual_facts::machine::CLOCKSOURCE,
            Want::Word {
                good: &["tsc", "arch_sys_counter", "arch_mmio_counter"],
                bad: &["hpet", "acpi_pm", "refined-jiffies", "jiffies"],
            },
            TellsNothing("the clock source is not shown"),
        ),
        why: "A thread of the core reads the time from a counter that programs may read themselves. Any other clock \
            needs a system call of Linux, so each time the thread reads it, the thread leaves the core.",
        fix: Fix::prose("Boot with the counter as the clock source; the kernel's log says why it chose another one."),
        persist: &[Lasting::other(
            "Kernel command line on x86, if the CPU has constant_tsc and nonstop_tsc: tsc=reliable clocksource=tsc.",
        )],
        undo: Fix::prose("Remove the words and boot again."),
        cost: "None, unless the kernel was right to refuse the counter: then the time itself is wrong.",
        sources: &["seen in a guest: with hpet a look at the clock is a switch to Linux", "libevl 0.49 lib/clock.c"],
        ..KNOB
    },
    Knob {
        id: "dual.acpi_idle",
        title: "No ACPI idle driver in a kernel with a real-time core",
        check: Check::BuiltWithout(&["ACPI_PROCESSOR_IDLE"]),
        why: "Linux puts an idle CPU to sleep without knowing when the core's next timer expires. The deep states that \
            ACPI offers take up to a millisecond to leave, and in some of them the core's own timer stops.",
        fix: Fix::prose(
            "With the present kernel: allow only shallow idle states, see pm.idle_state. The states that ACPI offers \
            then do no harm.",
        ),
        persist: &[Lasting::other(
            "ACPI_PROCESSOR selects this option, and the P-state drivers select ACPI_PROCESSOR: without them Linux \
            controls neither the clock nor the heat of the CPU. Or keep the option and boot with \
            processor.max_cstate=1 intel_idle.max_cstate=1.",
        )],
        cost: "Power and heat; without ACPI_PROCESSOR, Linux cannot control the clock either.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 drivers/acpi/Kconfig, drivers/cpufreq/Kconfig.x86"],
        ..KNOB
    },
    Knob {
        id: "dual.hard_locks",
        title: "The kernel does not check the real-time core's own locks",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["DEBUG_HARD_LOCKS"]),
        why: "With this option, the lock prover checks each lock that the core takes with interrupts off, so that \
            every wake-up takes many times as long.",
        sources: &[EVL_LIST, "Dovetail 6.6 lib/Kconfig.debug: DEBUG_HARD_LOCKS"],
        ..KNOB
    },
    Knob {
        id: "dual.pipeline_debug",
        title: "No checks at every change between the real-time core and Linux",
        check: Check::BuiltWithout(&["DEBUG_IRQ_PIPELINE", "DEBUG_DOVETAIL"]),
        why: "Interrupts and threads change between the core and Linux all the time, and these options verify the \
            state of the CPU at each change.",
        sources: &["Dovetail 6.6 lib/Kconfig.debug: DEBUG_IRQ_PIPELINE, DEBUG_DOVETAIL"],
        ..KNOB
    },
    Knob {
        id: "dual.lockdep",
        title: "No record of the order of locks",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["LOCKDEP"]),
        why: "LOCKDEP records every lock of Linux in its tables while interrupts are off, and the memory that it reads \
            evicts the core's data from the caches.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: LOCKDEP"],
        ..KNOB
    },
    Knob {
        id: "dual.debug_list",
        title: "No checks of every linked list",
        check: Check::BuiltWithout(&["DEBUG_LIST"]),
        why: "The core keeps its ready threads and timers in lists, and DEBUG_LIST turns each insertion and removal \
            into a function call that checks both neighbours.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: DEBUG_LIST"],
        ..KNOB
    },
    Knob {
        id: "dual.debug_vm",
        title: "No checks throughout memory management",
        check: Check::BuiltWithout(&["DEBUG_VM"]),
        why: "When the core switches between its threads, it also switches the address space, and DEBUG_VM adds \
            assertions to this code and to the functions that it calls.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 mm/Kconfig.debug, lib/Kconfig.debug: DEBUG_VM"],
        ..KNOB
    },
    Knob {
        id: "dual.per_cpu_maps",
        title: "No checks of every use of a CPU mask",
        check: Check::BuiltWithout(&["DEBUG_PER_CPU_MAPS"]),
        why: "Whenever the core wakes a thread, it looks up which CPUs the thread may use, and this option checks each \
            such lookup against the number of CPUs.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: DEBUG_PER_CPU_MAPS"],
        ..KNOB
    },
    Knob {
        id: "dual.debug_entry",
        title: "No checks at every entry into the kernel",
        check: Check::BuiltWithout(&["DEBUG_ENTRY"]),
        why: "An interrupt for the core enters the kernel by the same code as all others, and DEBUG_ENTRY checks the \
            CPU's flags there each time.",
        sources: &[EVL_LIST, "kernel 6.1, 6.12, 7.3 arch/x86/Kconfig.debug: DEBUG_ENTRY"],
        ..KNOB
    },
    Knob {
        id: "dual.ftrace",
        title: "No hooks for tracing in every function",
        severity: Weight::all(Info),
        applies: on_evl,
        check: Check::BuiltWithout(&["FTRACE"]),
        why: "The functions of the core contain the tracer's hooks, too. While tracing is off, the hooks do nothing \
            and only take a little space in the caches; when somebody switches a tracer on, it slows down the core as \
            well.",
        fix: Fix::prose("Keep tracing off during real-time work, see trace.active: the remaining cost is small."),
        cost: "Without tracing, the causes of a delay must be guessed.",
        sources: &[EVL_LIST, "kernel trace/ftrace.rst"],
        ..KNOB
    },
    Knob {
        id: "dual.vdso",
        title: "Programs read the clock without a system call",
        severity: Weight::all(High),
        applies: |case| {
            on_evl(case)?;
            let is_64_bit = case.config("ARM").is_ok_and(|value| value == "n");
            Doubt::not_applicable_if(
                is_64_bit,
                "only 32-bit Arm kernels can be built without the code by which programs read the clock",
            )?;
            case.take_evidence();
            Ok(())
        },
        check: Check::BuiltWith(&["VDSO"]),
        why: "On 32-bit Arm the code by which programs read the clock is an option. Without it, reading the time is a \
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
        why: "This option adds assertions to every wake-up and every switch between threads, and also selects the \
            assertions of Dovetail.",
        sources: &[EVL_LIST, "EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_CORE"],
        ..KNOB
    },
    Knob {
        id: "evl.debug_memory",
        title: "EVL does not check its memory",
        applies: on_evl,
        check: Check::BuiltWithout(&["EVL_DEBUG_MEMORY"]),
        why: "With this option, freeing a block makes the core walk the map of all pages of the block with its lock \
            held, so a large block delays all threads of the core.",
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
        why: "With this option, every new thread starts with checks that look through its mutexes when it sleeps or \
            goes back to Linux. Without the option, a program can still request these checks.",
        sources: &["EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_WOLI"],
        ..KNOB
    },
    Knob {
        id: "evl.debug_net",
        title: "EVL does not check its network stack",
        severity: Weight::all(Info),
        applies: on_evl,
        check: Check::BuiltWithout(&["EVL_DEBUG_NET"]),
        why: "This option adds assertions to the path of each packet, and also selects the assertions of Dovetail, \
            which cost time at every interrupt.",
        sources: &["EVL 6.10 kernel/evl/Kconfig: EVL_DEBUG_NET"],
        ..KNOB
    },
];
