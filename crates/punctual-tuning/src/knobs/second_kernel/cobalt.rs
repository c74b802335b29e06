//! Knobs about the Cobalt core of Xenomai 3, as its files show it.

use super::{calibrated, cobalt_of, on_cobalt, pair, running, state, switches, watchdog};
use crate::knobs::prelude::*;
use punctual_facts::machine::{
    COBALT_CLOCK, COBALT_FAULTS, COBALT_HEAP, COBALT_REGISTRY, COBALT_THREADS, COBALT_VERSION, Fault, Heap,
};

const KNOB: Knob = Knob { cost: "None.", ..Knob::of(Family::SecondKernel) };

const PARAMETERS: &str = "/sys/module/xenomai/parameters";

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "cob.state",
        title: "The Cobalt core runs",
        severity: Weight::all(Fatal),
        applies: on_cobalt,
        check: Check::Probe(|case| state(case, "/sys/module/xenomai/parameters/state")),
        why: "A core that is stopped, is disabled or failed to start serves no program: programs of Xenomai 3 end with \
            an error when they bind to it, and programs that run anyway are scheduled by Linux. While Cobalt runs, \
            Linux has a timer called 'proxy'.",
        fix: Fix::prose(
            "If it is stopped: corectl --start. If it is disabled or half-initialised: boot with \
            xenomai.state=enabled; in the kernel's log, a line with '[Xenomai]' says why the core failed to start.",
        ),
        persist: &[Lasting::word("xenomai.state=enabled")],
        undo: Fix::command("corectl --stop"),
        sources: &[
            "Xenomai 3.3 kernel/cobalt/init.c: init_states",
            "Xenomai 3.3 kernel/cobalt/posix/corectl.c: start_services",
            "Dovetail 6.6 kernel/time/tick-proxy.c: tick_setup_proxy",
        ],
        ..KNOB
    },
    Knob {
        id: "cob.library",
        title: "The Cobalt library fits the real-time core",
        severity: Weight::all(Fatal),
        applies: on_cobalt,
        check: Check::Probe(|case| pair(case, COBALT_VERSION, &cobalt_of(case)?.version)),
        why: "The core refuses programs whose library was built for another revision of its interface, and each series \
            (3.0, 3.1, 3.2, 3.3) has its own revision. The number in the library's file name is the same for all \
            series, so it does not tell them apart.",
        fix: Fix::prose(
            "Install the Xenomai libraries of the series that /proc/xenomai/version names, or another kernel.",
        ),
        persist: &[Lasting::other("Update the kernel and the Xenomai libraries together.")],
        blast: Blast::Breaking,
        sources: &[
            "Xenomai 3.0 to 3.3 asm/xenomai/uapi/features.h: XENOMAI_ABI_REV",
            "Xenomai 3.3 lib/cobalt/init.c: ABI mismatch; scripts/xeno-config-cobalt.in: XENO_VERSION",
        ],
        ..KNOB
    },
    Knob {
        id: "cob.gravity",
        title: "The real-time core's timers are calibrated",
        severity: Weight::of(Medium, Info, Info),
        applies: |case| {
            on_cobalt(case)?;
            running(case, "cob.state")
        },
        check: Check::Probe(|case| calibrated(case, COBALT_CLOCK)),
        why: "The core lets each timer expire a little early, to compensate for the time from the interrupt to the \
            thread. With the built-in values, every wake-up comes some microseconds late or, on a fast machine, too \
            early.",
        fix: Fix::prose(
            "autotune, while the machine is set up and loaded as in real use; autotune --reset restores the built-in \
            values.",
        ),
        persist: &[Lasting::other(
            "A unit that runs autotune at boot, or writes its values to /proc/xenomai/clock/coreclk.",
        )],
        undo: Fix::command("autotune --reset"),
        cost: "If a timer expires too early, it wakes its thread before the release.",
        blast: Blast::Disturbing,
        sources: &[
            "Xenomai 3.3 kernel/cobalt/clock.c: clock_show, clock_store",
            "Xenomai 3.3 kernel/cobalt/arch/x86/include/asm/xenomai/calibration.h: 3350 or 2000 ns",
        ],
        ..KNOB
    },
    Knob {
        id: "cob.heap",
        title: "The real-time core's memory is not used up",
        severity: Weight::all(High),
        applies: on_cobalt,
        check: Check::Probe(heaps),
        why: "The core creates threads, timers and mutexes in memory of a fixed size. Once this memory is used up, no \
            further object can be created, and the program that requests one receives an error that few programs \
            check.",
        fix: Fix::prose("End programs that left objects behind; /proc/xenomai/heap shows which heap is full."),
        persist: &[
            Lasting::word("xenomai.sysheap_size=<SIZE_KIB>"),
            Lasting::other(
                "Build the kernel with a larger CONFIG_XENO_OPT_PRIVATE_HEAPSZ or CONFIG_XENO_OPT_SHARED_HEAPSZ.",
            ),
        ],
        undo: Fix::prose("Remove the word and boot again."),
        cost: "Memory that cannot be used for anything else.",
        sources: &["Xenomai 3.3 kernel/cobalt/heap.c: vfile_show", "Xenomai 3.3 kernel/cobalt/init.c: sysheap_size"],
        ..KNOB
    },
    Knob {
        id: "cob.registry",
        title: "Room for more named objects in the real-time core",
        severity: Weight::all(Medium),
        applies: on_cobalt,
        check: Check::Probe(registry),
        why: "Every named thread, queue or semaphore takes one of a fixed number of slots. Once all slots are taken, \
            no further named object can be created.",
        fix: Fix::prose("End programs that left objects behind."),
        persist: &[Lasting::other("Build the kernel with a larger CONFIG_XENO_OPT_REGISTRY_NRSLOTS.")],
        undo: Fix::prose("Nothing to undo."),
        cost: "A little memory.",
        sources: &["Xenomai 3.3 kernel/cobalt/registry.c: usage_vfile_show"],
        ..KNOB
    },
    Knob {
        id: "cob.smi",
        title: "Cobalt keeps the firmware from interrupting (SMIs)",
        severity: Weight::of(High, High, Info),
        applies: on_cobalt,
        check: Check::Probe(smi),
        why: "The chipset can stop all CPUs for the firmware, for hundreds of microseconds, and no kernel can prevent it \
            once it happens. By default Cobalt only says so in the log.",
        fix: Fix::NotAtRunTime("fw.smi_count shows whether system management interrupts really happen."),
        persist: &[
            Lasting::word("xenomai.smi=enabled"),
            Lasting::other(
                "Watch the temperature for a day first: fans and keyboards of some machines depend on these \
                    interrupts (SMIs).",
            ),
        ],
        cost: "The firmware can no longer do the work that it did in system management interrupts: overheating, a \
            dead keyboard or a hang are possible.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["Xenomai 3.3 kernel/cobalt/arch/x86/smi.c"],
        ..KNOB
    },
    Knob {
        id: "cob.group",
        title: "The application need not be root to use the real-time core",
        applies: on_cobalt,
        check: Check::Probe(group),
        why: "Without a group only root may bind to the core, so the whole application has to run as root only to have \
            this one right.",
        fix: Fix::prose("echo GROUP_ID > /sys/module/xenomai/parameters/allowed_group"),
        persist: &[Lasting::word("xenomai.allowed_group=<GROUP_ID>")],
        undo: Fix::command("echo -1 > /sys/module/xenomai/parameters/allowed_group"),
        cost: "Any member of the group can occupy a CPU for good.",
        sources: &["Xenomai 3.3 kernel/cobalt/posix/process.c: allowed_group"],
        ..KNOB
    },
    Knob {
        id: "cob.switches",
        title: "No thread of the real-time core goes back to Linux",
        severity: Weight::all(High),
        applies: |case| {
            on_cobalt(case)?;
            running(case, "cob.state")
        },
        check: Check::Probe(|case| switches(case, COBALT_THREADS)),
        why: "A system call of Linux, a first touch of memory or a fault takes a thread out of the core. It then has \
            to wait for other work of Linux, and has no real-time guarantee in this cycle.",
        fix: Fix::prose(
            "Find the call: set the thread to PTHREAD_WARNSW (pthread_setmode_np), which sends a signal at each switch; link \
            with xeno-config --posix --ldflags, touch memory and read each clock once before the loop.",
        ),
        persist: &[Lasting::other("Mend the program.")],
        undo: Fix::prose("Nothing to undo."),
        sources: &[
            "Xenomai 3.3 kernel/cobalt/sched.c: vfile_schedstat_show (MSW)",
            "seen in a guest: getpid, printf and usleep of plain libc count one each",
        ],
        ..KNOB
    },
    Knob {
        id: "cob.faults",
        title: "No faults in threads that the real-time core runs",
        severity: Weight::all(High),
        applies: |case| {
            on_cobalt(case)?;
            running(case, "cob.state")
        },
        check: Check::Probe(faults),
        why: "Linux has to handle each fault, so the thread leaves the core for it: a page fault of memory that was not \
            locked and touched before, or an error of the program.",
        fix: Fix::prose("mlockall(MCL_CURRENT | MCL_FUTURE), and touch stack and heap before the loop."),
        persist: &[Lasting::other("Correct the program; the counts start again at the next boot.")],
        undo: Fix::prose("Nothing to undo."),
        sources: &["Xenomai 3.3 kernel/cobalt/procfs.c: faults_vfile_show"],
        ..KNOB
    },
    Knob {
        id: "cob.watchdog",
        title: "The real-time core does not end threads that poll",
        severity: Weight::of(Info, High, Info),
        applies: on_cobalt,
        check: Check::Probe(|case| watchdog(case, PARAMETERS)),
        why: "The watchdog removes a thread from the core if it has run for some seconds (4 by default) without a \
            pause, which a polling thread does by design.",
        fix: Fix::prose(
            "The watchdog cannot be switched off at run time; a larger number of seconds in \
            /sys/module/xenomai/parameters/watchdog_timeout lets a thread run longer before the watchdog acts.",
        ),
        persist: &[Lasting::built_without("XENO_OPT_WATCHDOG")],
        cost: "A runaway thread keeps its CPU until the machine is switched off.",
        blast: Blast::Breaking,
        sources: &["Xenomai 3.3 kernel/cobalt/sched.c: watchdog_timeout", "Xenomai 3.3 kernel/cobalt/Kconfig"],
        ..KNOB
    },
];

/// Good while each piece of memory has at least a tenth free.
fn heaps(case: &Case<'_>) -> Judged {
    let missing = TellsNothing("the core does not show how much of its memory is free");
    let heaps = case.known(COBALT_HEAP, cobalt_of(case)?.heaps.clone(), missing)?;
    Doubt::unknown_if(heaps.is_empty(), "the core's list of its heaps is empty")?;
    let told = |heap: &Heap| format!("{}: {} of {} bytes free", heap.name, heap.free_bytes, heap.total_bytes);
    case.note(COBALT_HEAP, heaps.iter().map(told).collect::<Vec<_>>().join("; "));
    Ok(heaps.iter().all(|heap| heap.free_bytes >= heap.total_bytes / 10))
}

/// Good while less than nine tenths of the places for named objects are taken.
fn registry(case: &Case<'_>) -> Judged {
    let missing = TellsNothing("the core does not show how many objects it has");
    let slots = case.known(COBALT_REGISTRY, cobalt_of(case)?.registry.clone(), missing)?;
    case.note(COBALT_REGISTRY, format!("{} of {}", slots.used, slots.of));
    Ok(u64::from(slots.used) * 10 < u64::from(slots.of) * 9)
}

/// Good if the workaround is in force, or if the core found no chipset that needs it. Only the log tells.
fn smi(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has system management interrupts")?;
    let core = cobalt_of(case)?;
    let path = "/sys/module/xenomai/parameters/smi";
    let asked =
        case.known(path, core.smi.clone(), CannotBe("this kernel has no workaround for system management interrupts"))?;
    case.note(path, asked.as_str());
    let is_off = asked == "disabled" || asked == "-1";
    Doubt::not_applicable_if(
        is_off,
        "xenomai.smi=disabled keeps the core from looking for chipsets that can stop all CPUs for the firmware, see \
        fw.smi_count",
    )?;
    let log = case.known(LOG, core.messages.clone(), TellsNothing("the kernel's log is not shown"))?;
    for (text, is_good) in [
        ("SMI workaround failed", false),
        ("SMI workaround enabled", true),
        ("chipset found, but SMI workaround disabled", false),
    ] {
        if log.iter().any(|message| message.contains(text)) {
            case.note(LOG, text);
            return Ok(is_good);
        }
    }
    // The core looks for the chipset before it says that it started.
    let has_start = log.iter().any(|message| message.starts_with("Cobalt v"));
    Doubt::unknown_if(!has_start, "the log no longer holds what the core said when it started")?;
    case.note(LOG, "no message about a chipset that stops all CPUs");
    Ok(true)
}

fn group(case: &Case<'_>) -> Judged {
    let path = "/sys/module/xenomai/parameters/allowed_group";
    let missing = TellsNothing("the core does not show which group of users may use it");
    let group = case.known(path, cobalt_of(case)?.allowed_group.clone(), missing)?;
    case.note(path, group.to_string());
    Ok(group != -1)
}

/// Good if no fault was counted. Debuggers cause some on purpose.
fn faults(case: &Case<'_>) -> Judged {
    let missing = TellsNothing("the core does not show its faults");
    let faults = case.known(COBALT_FAULTS, cobalt_of(case)?.faults.clone(), missing)?;
    let is_by_debugger = |fault: &Fault| ["Debug", "Int3", "Debug trap"].contains(&fault.name.as_str());
    let counted = faults.iter().filter(|fault| fault.count > 0 && !is_by_debugger(fault));
    let told: Vec<String> = counted.map(|fault| format!("{}: {}", fault.name, fault.count)).collect();
    case.none_found(COBALT_FAULTS, told.join("; "), format!("none of {} kinds of faults was counted", faults.len()))
}
