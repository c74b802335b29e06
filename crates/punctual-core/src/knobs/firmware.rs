//! What is below the kernel: firmware and host, as far as software can tell.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{High, Info, Medium};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "virt.detect",
        title: "No hypervisor underneath",
        family: Family::Firmware,
        severity: Weight::all(High),
        probe: Probe::Effective(hypervisor),
        why: "The host decides when a guest's CPU runs at all; nothing inside the guest bounds that.",
        fix: "Measure on the hardware itself; or give the guest CPUs of its own: vCPUs pinned, FIFO, on isolated \
            host CPUs, memory locked.",
        persist: &[Lasting::Other("The host's definition of the guest.")],
        undo: "The same definition as before.",
        cost: "CPUs of the host.",
        blast: Blast::Breaking,
        confidence: Confidence::High,
        sources: &["kernel 7.3 core-api/real-time/hardware.rst", "proc_stat(5): steal"],
    },
    Knob {
        id: "fw.efi_runtime",
        title: "EFI services kept off the real-time CPUs",
        family: Family::Firmware,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(efi_runtime),
        why: "A call into the firmware runs with interrupts off, and some firmware stops all CPUs for it.",
        fix: "echo <H mask> > /sys/devices/virtual/workqueue/efi_runtime/cpumask",
        persist: &[Lasting::Other("Kernel command line: efi=noruntime (the default on PREEMPT_RT).")],
        undo: "Write back the mask that was there; remove the word.",
        cost: "With noruntime: no efibootmgr, no UEFI clock.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)",
            "kernel 7.3 core-api/real-time/hardware.rst",
        ],
    },
    Knob {
        id: "fw.bios_limit",
        title: "Firmware does not limit the frequency",
        family: Family::Firmware,
        severity: Weight::all(Medium),
        probe: Probe::Effective(bios_limit),
        why: "Firmware that lowers the highest frequency does so for power or heat, at run time, and nobody is told.",
        fix: "Look in the firmware for power limits, and at cooling and power supply.",
        persist: &[Lasting::Other("The firmware's settings.")],
        undo: "The settings as they were.",
        cost: "Heat.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/pm/cpufreq.rst: bios_limit", "unverified: how often firmware uses it"],
    },
    Knob {
        id: "fw.smi_count",
        title: "System management interrupts can be counted",
        family: Family::Firmware,
        severity: Weight::all(Info),
        probe: Probe::Effective(smi_count),
        why: "In system management mode the firmware stops all CPUs, invisible to the kernel; without the counter \
            a late activation cannot be pinned on it.",
        fix: "None: neither CPU nor kernel offers the counter; the hwlat tracer finds such gaps without it.",
        persist: &[Lasting::Other("Another CPU or a newer kernel.")],
        undo: "Nothing to undo.",
        cost: "None.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["kernel arch/x86/events/msr.c", "unverified: which CPUs beside Intel's count"],
    },
];

fn hypervisor(case: &Case<'_>) -> Judged {
    let missing = Missing::TellsNothing("nothing here tells whether there is a hypervisor");
    let virtualisation = case.known("/proc/cpuinfo", case.machine.virtualisation.clone(), missing)?;
    case.note("/proc/cpuinfo, /sys/class/dmi/id, /proc/device-tree", virtualisation.to_string());
    let steal = case
        .peek("/proc/stat")
        .known()
        .and_then(|stat| stat.lines().next().and_then(|line| line.split_whitespace().nth(8)).map(str::to_owned));
    if let (Some(_), Some(ticks)) = (&virtualisation.hypervisor, steal) {
        case.note("/proc/stat steal", format!("{ticks} ticks since boot"));
    }
    Ok(virtualisation.hypervisor.is_none())
}

fn efi_runtime(case: &Case<'_>) -> Judged {
    let firmware = "/sys/firmware";
    let none = Missing::TellsNothing("/sys/firmware cannot be seen here");
    let kinds = case.known(firmware, case.list(firmware), none)?;
    if !kinds.iter().any(|kind| kind == "efi") {
        return Doubt::not_applicable("the machine was not booted by UEFI");
    }
    case.has_housekeeping()?;
    let path = "/sys/devices/virtual/workqueue/efi_runtime/cpumask";
    let because = "no work queue efi_runtime is shown: the services are off, or this kernel does not show it";
    let mask = case.cpu_mask(path, Missing::TellsNothing(because))?;
    Ok(mask.intersection(&case.rt).is_empty())
}

fn bios_limit(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this frequency driver knows no limit of the firmware's");
    let limits = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/bios_limit", &case.rt, none)?;
    let highest = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq", &case.rt, none)?;
    Ok(limits == highest)
}

fn smi_count(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let folder = "/sys/bus/event_source/devices/msr/events";
    let none = Missing::CannotBe("only x86 has system management interrupts that perf can count");
    let events = case.known(folder, case.list(folder), none)?;
    let can_count = events.iter().any(|event| event == "smi");
    case.note(folder, if can_count { "smi" } else { "no event smi" });
    Ok(can_count)
}
