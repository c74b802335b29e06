//! Knobs about the EVL core of Xenomai 4, as its files show it.

use super::{calibrated, evl_of, on_evl, pair, running, state, switches, watchdog};
use crate::knobs::prelude::*;
use punctual_facts::machine::{EVL_CONTROL, EVL_DEVICES, EVL_GRAVITY, EVL_THREADS};

const KNOB: Knob = Knob { cost: "None.", ..Knob::of(Family::SecondKernel) };

const PARAMETERS: &str = "/sys/module/evl/parameters";

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "evl.state",
        title: "The EVL core runs",
        severity: Weight::all(Fatal),
        applies: on_evl,
        check: Check::Probe(|case| state(case, "/sys/module/evl/parameters/state")),
        why: "A core that is stopped, is disabled or failed to start serves no program: programs of Xenomai 4 do not \
            start, and programs that run anyway are scheduled by Linux.",
        fix: Fix::prose(
            "If it is stopped: echo start > /sys/devices/virtual/evl/control/state. If it is disabled or \
            half-initialised: boot with evl.state=enabled; in the kernel's log, a line with 'EVL:' says why the core \
            failed to start.",
        ),
        persist: &[Lasting::word("evl.state=enabled")],
        undo: Fix::command("echo stop > /sys/devices/virtual/evl/control/state"),
        sources: &["EVL 6.10 kernel/evl/init.c: init_states", "EVL 6.10 kernel/evl/control.c: state_store"],
        ..KNOB
    },
    Knob {
        id: "evl.library",
        title: "The EVL library fits the real-time core",
        severity: Weight::all(Fatal),
        applies: on_evl,
        check: Check::Probe(library),
        why: "The core supports a range of revisions of its interface and refuses a program of any other revision when \
            the program starts. Kernel and library are built separately, so one of them is easily updated without the \
            other.",
        fix: Fix::prose(
            "Build libevl against the headers of the running kernel and install it; or boot a kernel that serves the \
            library's revision. The kernel's number is in /sys/devices/virtual/evl/control/abi.",
        ),
        persist: &[Lasting::other("Update the kernel and libevl together.")],
        blast: Blast::Breaking,
        sources: &[
            "libevl 0.49 lib/init.c: EVL_ABI_PREREQ between abi_base and abi_current",
            "EVL 6.10 include/uapi/evl/control.h: ABI 36; EVL 5.10: ABI 23 to 32",
        ],
        ..KNOB
    },
    Knob {
        id: "evl.device",
        title: "The real-time core's device files exist",
        severity: Weight::all(Fatal),
        applies: |case| {
            on_evl(case)?;
            running(case, "evl.state")
        },
        check: Check::Probe(device),
        why: "Programs call the core through device files. If /dev is a fixed folder of an image, or belongs to a \
            container, no program can call the core although it runs.",
        fix: Fix::prose("Mount devtmpfs on /dev, or pass /dev/evl into the container."),
        persist: &[Lasting::other(
            "In the init or in the definition of the container: /dev with devtmpfs, or --device.",
        )],
        undo: Fix::prose("Unmount devtmpfs, or no longer pass /dev/evl into the container."),
        sources: &["EVL 6.10 kernel/evl/factory.c", "libevl 0.49 lib/init.c: /dev/evl/control"],
        ..KNOB
    },
    Knob {
        id: "evl.gravity",
        title: "The real-time core's timers are calibrated",
        severity: Weight::of(Medium, Info, Info),
        applies: |case| {
            on_evl(case)?;
            running(case, "evl.state")
        },
        check: Check::Probe(|case| calibrated(case, EVL_GRAVITY)),
        why: "The core lets each timer expire a little early, to compensate for the time from the interrupt to the \
            thread. With the built-in values, every wake-up comes some microseconds late or, on a fast machine, too \
            early.",
        fix: Fix::prose(
            "latmus -t, while the machine is set up and loaded as in real use; latmus -r restores the built-in values.",
        ),
        persist: &[Lasting::other(
            "A unit that writes the three values that were found to /sys/devices/virtual/clock/monotonic/gravity at boot.",
        )],
        undo: Fix::command("latmus -r"),
        cost: "If a timer expires too early, it wakes its thread before the release.",
        blast: Blast::Disturbing,
        sources: &[
            "EVL 6.10 kernel/evl/clock.c: gravity_show; arch/x86/include/asm/evl/calibration.h: 3000",
            "seen in a guest: 6000, 2000 and 10500 ns after a calibration, 0, 3000 and 3000 before",
        ],
        ..KNOB
    },
    Knob {
        id: "evl.threads",
        title: "Room for more threads in the real-time core",
        severity: Weight::all(Medium),
        applies: on_evl,
        check: Check::Probe(room),
        why: "The largest number of threads is fixed when the kernel is built. Once it is reached, no further thread \
            can attach to the core, and the program that creates one fails in the middle of its start.",
        fix: Fix::prose(
            "End programs that are no longer needed but still have threads in the core; evl ps lists these threads.",
        ),
        persist: &[Lasting::other("Build the kernel with a larger CONFIG_EVL_NR_THREADS (at most 4096).")],
        undo: Fix::prose("Nothing to undo."),
        cost: "A little memory for each thread.",
        sources: &["EVL 6.10 kernel/evl/Kconfig: EVL_NR_THREADS, EVL_COREMEM_SIZE"],
        ..KNOB
    },
    Knob {
        id: "evl.switches",
        title: "No thread of the real-time core goes back to Linux",
        severity: Weight::all(High),
        applies: |case| {
            on_evl(case)?;
            running(case, "evl.state")
        },
        check: Check::Probe(|case| switches(case, EVL_THREADS)),
        why: "A system call of Linux, a first touch of memory or a fault takes a thread out of the core. It then has \
            to wait for other work of Linux, and has no real-time guarantee in this cycle.",
        fix: Fix::prose(
            "Find the call: set the thread to T_WOSS (evl_set_thread_mode), which sends a signal at each switch; \
            replace the call by one of libevl; touch the memory and read each clock once before the loop.",
        ),
        persist: &[Lasting::other("Mend the program.")],
        undo: Fix::prose("Nothing to undo."),
        sources: &[
            "EVL 6.10 kernel/evl/thread.c: stats_show (isw, csw)",
            "seen in a guest: one switch for each call of Linux, one for the first look at the clock",
        ],
        ..KNOB
    },
    Knob {
        id: "evl.watchdog",
        title: "The real-time core does not end threads that poll",
        severity: Weight::of(Info, High, Info),
        applies: on_evl,
        check: Check::Probe(|case| watchdog(case, PARAMETERS)),
        why: "The watchdog removes a thread from the core if it has run for some seconds (4 by default) without a \
            pause, which a polling thread does by design.",
        fix: Fix::prose(
            "The watchdog cannot be switched off at run time; a larger number of seconds in \
            /sys/module/evl/parameters/watchdog_timeout lets a thread run longer before the watchdog acts.",
        ),
        persist: &[Lasting::built_without("EVL_WATCHDOG")],
        cost: "A runaway thread keeps its CPU until the machine is switched off.",
        blast: Blast::Breaking,
        sources: &["EVL 6.10 kernel/evl/sched/core.c: watchdog_timeout", "EVL 6.10 kernel/evl/Kconfig: EVL_WATCHDOG"],
        ..KNOB
    },
];

fn library(case: &Case<'_>) -> Judged {
    let core = evl_of(case)?;
    let served = match (&core.abi, core.abi_base.known()) {
        (Fact::Known(newest), Some(oldest)) => Fact::Known(format!("ABI {oldest} to {newest}")),
        (newest, _) => newest.as_ref().map(|newest| format!("ABI {newest}")),
    };
    pair(case, &format!("{EVL_CONTROL}/abi"), &served)
}

fn device(case: &Case<'_>) -> Judged {
    let devices = evl_of(case)?.devices.clone();
    if devices == Fact::Absent {
        case.note(EVL_DEVICES, "not there");
        let sees_devices = case.names("/dev", TellsNothing("/dev cannot be seen here"))?;
        Doubt::unknown_if(sees_devices.is_empty(), "/dev cannot be seen here")?;
        return Ok(false);
    }
    let names = case.known(EVL_DEVICES, devices, TellsNothing(""))?;
    case.note(EVL_DEVICES, names.join(", "));
    Ok(names.iter().any(|name| name == "control"))
}

/// Good while less than nine tenths of the places for threads are taken.
fn room(case: &Case<'_>) -> Judged {
    let core = evl_of(case)?;
    let missing = TellsNothing("the kernel's configuration is not known");
    let most = case.known("CONFIG_EVL_NR_THREADS", core.most_threads.clone(), missing)?;
    let names = case.names(EVL_THREADS, TellsNothing("the core does not show its threads"))?;
    let used = names.iter().filter(|name| *name != "clone").count();
    case.note(EVL_THREADS, format!("{used} threads, at most {most}"));
    if let Fact::Known(kib) = core.heap_kib {
        case.note("memory of the core for its objects", format!("{kib} KiB"));
    }
    Ok(used * 10 < most * 9)
}
