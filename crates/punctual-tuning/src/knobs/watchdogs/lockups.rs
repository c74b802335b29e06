//! Knobs about detectors of lock-ups and hangs, in software and in hardware.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob { blast: Blast::Disturbing, ..Knob::of(Family::Watchdogs) };

const CPUS: &str = "/proc/sys/kernel/watchdog_cpumask";
const UNSHOWN: Missing = TellsNothing("which CPUs are watched is not shown");
const NO_SOFT_DETECTOR: Missing = CannotBe("this kernel has no soft lock-up detector");
/// The lock-up detectors, in software and in hardware, leave the real-time CPUs out.
const UNWATCHED: Check = Check::seen(CPUS, Want::ListWithoutRt, UNSHOWN);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "wd.nmi",
        title: "No hard lock-up detector on the real-time CPUs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Any(&[
            Check::seen("/proc/sys/kernel/nmi_watchdog", Want::ZERO, CannotBe("this kernel has no lock-up detector")),
            UNWATCHED,
        ]),
        why: "The hard lock-up detector interrupts every CPU it watches every few seconds: with an NMI that cannot be \
            masked, or (buddy detector) to let it check the neighbouring CPU. It watches the CPUs of watchdog_cpumask \
            only.",
        persist: &[Lasting::Either {
            when: When::OthersRemain,
            then: &Lasting::sysctl("kernel.watchdog_cpumask", "<H>"),
            otherwise: &Lasting::sysctl("kernel.nmi_watchdog", "0"),
        }],
        cost: "Hard lock-ups of these CPUs go unseen; use a hardware watchdog.",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)",
            "kernel 6.1, 6.12, 7.3 kernel/watchdog.c: watchdog_allowed_mask",
            "kernel admin-guide/lockup-watchdogs.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "wd.soft",
        title: "No soft lock-up detector on the real-time CPUs",
        // One mask of CPUs serves both detectors. If the hardware detector is on, `wd.nmi` reports the mask.
        severity: Weight::of(Medium, Medium, Info).at_most(Info, |case| case.is_bad("wd.nmi")),
        check: Check::Any(&[Check::seen("/proc/sys/kernel/soft_watchdog", Want::ZERO, NO_SOFT_DETECTOR), UNWATCHED]),
        why: "The soft lock-up detector runs a timer in hard interrupt context on every CPU it watches, every four \
            seconds, and wakes a thread above every FIFO priority. CPUs in nohz_full= are left out from the start.",
        persist: &[Lasting::Either {
            when: When::OthersRemain,
            then: &Lasting::sysctl("kernel.watchdog_cpumask", "<H>"),
            otherwise: &Lasting::sysctl("kernel.soft_watchdog", "0"),
        }],
        cost: "Hangs on these CPUs go unseen.",
        sources: &["kernel 7.3 kernel/watchdog.c", "kernel admin-guide/sysctl/kernel.rst: watchdog_cpumask"],
        ..KNOB
    },
    Knob {
        id: "wd.cpumask",
        title: "The lock-up detector still watches the housekeeping CPUs",
        check: Check::Probe(others_watched),
        why: "A lock-up of a housekeeping CPU sooner or later stops the real-time work, too, and the detector costs \
            the real-time CPUs nothing if it only watches housekeeping CPUs. This is better than turning it off.",
        persist: &[Lasting::sysctl("kernel.watchdog_cpumask", "<H>")],
        cost: "A timer every four seconds on each housekeeping CPU.",
        sources: &["kernel admin-guide/sysctl/kernel.rst: watchdog_cpumask", "kernel 7.3 kernel/watchdog.c"],
        ..KNOB
    },
    Knob {
        id: "wd.thresh",
        title: "Lock-up threshold longer than the real-time work spins",
        check: Check::Probe(threshold),
        why: "A thread that keeps its CPU for more than twice the seconds in watchdog_thresh is reported as a soft \
            lock-up: a stack trace on the console, from interrupt context, again and again.",
        fix: Fix::prose("sysctl kernel.watchdog_thresh=60, or leave the real-time CPUs out as wd.soft says."),
        persist: &[Lasting::sysctl("kernel.watchdog_thresh", "60")],
        cost: "Lock-ups are reported later.",
        sources: &["kernel 7.3 kernel/watchdog.c: get_softlockup_thresh", "kernel admin-guide/lockup-watchdogs.rst"],
        ..KNOB
    },
    Knob {
        id: "wd.hw",
        title: "A hardware watchdog is running",
        check: Check::Probe(hardware),
        why: "If the software detectors are off, or if a thread can occupy a CPU for good, only a hardware watchdog \
            restarts a hung machine.",
        fix: Fix::prose(
            "Let systemd feed it: RuntimeWatchdogSec=30 in /etc/systemd/system.conf, then systemctl daemon-reexec; or \
            feed /dev/watchdog from the application.",
        ),
        persist: &[Lasting::other("In a file of /etc/systemd/system.conf.d: [Manager] and RuntimeWatchdogSec=30.")],
        cost: "The machine is reset if no program feeds the watchdog; some drivers feed it through the firmware.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst",
            "kernel 7.3 drivers/watchdog/watchdog_dev.c: state",
            "unverified: which drivers cause SMIs (iTCO is said to)",
        ],
        ..KNOB
    },
];

fn others_watched(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let is_off = case.number("/proc/sys/kernel/soft_watchdog", NO_SOFT_DETECTOR)? == 0;
    Doubt::not_applicable_if(is_off, "the detector is off; a hardware watchdog (wd.hw) is what remains")?;
    Ok(!case.cpu_list(CPUS, UNSHOWN)?.intersection(case.housekeeping()).is_empty())
}

fn threshold(case: &Case<'_>) -> Judged {
    let none = CannotBe("this kernel has no lock-up detector");
    let threshold_s = case.number("/proc/sys/kernel/watchdog_thresh", none)?;
    if threshold_s == 0 || case.cpu_list(CPUS, UNSHOWN)?.intersection(case.rt()).is_empty() {
        return Ok(true);
    }
    Doubt::not_applicable_if(
        !case.is(Kind::Poll),
        "this kind of work gives up its CPU long before the detector would report it",
    )?;
    Ok(threshold_s >= 60)
}

fn hardware(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let folder = "/sys/class/watchdog";
    let none = TellsNothing("no watchdog driver is loaded; most boards have a hardware watchdog");
    let dogs = case.names(folder, none)?;
    Doubt::unknown_if(dogs.is_empty(), "no watchdog driver is loaded; most boards have a hardware watchdog")?;
    let mut is_running = false;
    for dog in dogs.iter().take(8) {
        let unshown = TellsNothing("this kernel does not show whether the watchdog runs");
        is_running |= case.text(&format!("{folder}/{dog}/state"), unshown)? == "active";
    }
    Ok(is_running)
}
