//! Things that look after the machine and stop it to do so.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{High, Info, Medium};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "wd.nmi",
        title: "No NMI watchdog",
        family: Family::Watchdogs,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(nmi),
        why: "The hard lock-up detector interrupts every CPU with an NMI that nothing can hold off, every few seconds.",
        fix: "sysctl kernel.nmi_watchdog=0",
        persist: &[Lasting::Other("The same line in /etc/sysctl.d/, or nmi_watchdog=0 on the command line.")],
        undo: "sysctl kernel.nmi_watchdog=1",
        cost: "Hard lock-ups go unseen; use a hardware watchdog.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)",
            "kernel admin-guide/lockup-watchdogs.rst",
        ],
    },
    Knob {
        id: "wd.soft",
        title: "No lock-up detector on the real-time CPUs",
        family: Family::Watchdogs,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(soft),
        why: "The soft lock-up detector runs a timer in hard interrupt context on every CPU it watches, every four \
            seconds, and wakes a thread above every FIFO priority.",
        fix: "sysctl kernel.watchdog_cpumask=<H>",
        persist: &[Lasting::Other(
            "The same line in /etc/sysctl.d/; nohz_full CPUs are left out by default; nosoftlockup turns it \
            off everywhere.",
        )],
        undo: "sysctl kernel.watchdog_cpumask with the list that was there.",
        cost: "Hangs on these CPUs go unseen.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &["kernel 7.3 kernel/watchdog.c", "kernel admin-guide/sysctl/kernel.rst: watchdog_cpumask"],
    },
    Knob {
        id: "ras.mce",
        title: "No polling for corrected hardware errors",
        family: Family::Watchdogs,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(mce),
        why: "Every five minutes a timer on every CPU, isolated or not, reads its machine-check banks.",
        fix: "echo 0 > /sys/devices/system/machinecheck/machinecheck0/check_interval (keeps the interrupts for \
            corrected errors).",
        persist: &[Lasting::Other("A tmpfiles.d line; mce=ignore_ce on the command line goes further; never mce=off.")],
        undo: "echo 300 > /sys/devices/system/machinecheck/machinecheck0/check_interval",
        cost: "Some corrected errors are noticed later.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &["kernel 7.3 arch/x86/kernel/cpu/mce/core.c", "kernel arch/x86/x86_64/machinecheck.rst"],
    },
    Knob {
        id: "ras.edac",
        title: "No polling of the memory controller for errors",
        family: Family::Watchdogs,
        severity: Weight::all(Info),
        probe: Probe::Effective(edac),
        why: "The memory controller's error registers are read every second by kernel work; each reading goes over \
            a slow path.",
        fix: "echo 0 > /sys/module/edac_core/parameters/edac_mc_poll_msec",
        persist: &[Lasting::Other("options edac_core edac_mc_poll_msec=0 in /etc/modprobe.d/.")],
        undo: "echo 1000 > /sys/module/edac_core/parameters/edac_mc_poll_msec",
        cost: "Corrected memory errors are not counted.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 drivers/edac/edac_mc_sysfs.c", "kernel 7.3 core-api/real-time/hardware.rst"],
    },
    Knob {
        id: "pm.thermal",
        title: "Never throttled for heat since boot",
        family: Family::Watchdogs,
        severity: Weight::all(High),
        probe: Probe::Effective(thermal),
        why: "A CPU that gets too hot is slowed down by hardware, for as long as it takes, and no priority helps.",
        fix: "Improve cooling, or lower the sustained frequency until the counters stand still under full load.",
        persist: &[Lasting::Other("The same, in hardware or in a unit that sets scaling_max_freq.")],
        undo: "Raise the frequency again.",
        cost: "Peak speed.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["kernel drivers/thermal/intel/therm_throt.c", "unverified: usual advice"],
    },
];

fn nmi(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this kernel has no lock-up detector");
    Ok(case.number("/proc/sys/kernel/nmi_watchdog", none)? == 0)
}

fn soft(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this kernel has no soft lock-up detector");
    if case.number("/proc/sys/kernel/soft_watchdog", none)? == 0 {
        return Ok(true);
    }
    let watched = case
        .cpu_list("/proc/sys/kernel/watchdog_cpumask", Missing::TellsNothing("which CPUs are watched is not shown"))?;
    Ok(watched.intersection(&case.rt).is_empty())
}

fn mce(case: &Case<'_>) -> Judged {
    let folder = "/sys/devices/system/machinecheck/machinecheck0";
    let none = Missing::CannotBe("this machine reports no machine checks to this kernel");
    if case.text(&format!("{folder}/check_interval"), none)? == "0" {
        return Ok(true);
    }
    Ok(case.text(&format!("{folder}/ignore_ce"), none)? == "1")
}

fn edac(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("nothing polls the memory controller (edac_core is not loaded)");
    let controllers = case.list("/sys/devices/system/edac/mc");
    let is_controller = |name: &String| name.strip_prefix("mc").is_some_and(|n| n.parse::<u32>().is_ok());
    if controllers.known().is_some_and(|names| !names.iter().any(is_controller)) {
        return Doubt::not_applicable("no memory controller is registered to be polled");
    }
    Ok(case.number("/sys/module/edac_core/parameters/edac_mc_poll_msec", none)? == 0)
}

fn thermal(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let none = Missing::CannotBe("this CPU does not count how often it was throttled");
    let path = "/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count";
    let counts = case.per_cpu(path, &case.rt, none)?;
    Ok(counts.iter().all(|(_, count)| count == "0"))
}
