//! Who else is on this machine: a host, the firmware at run time, the secure world.

use crate::knobs::frequency::NO_DRIVER;
use crate::knobs::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use punctual_facts::finding::Confidence;
use punctual_facts::finding::Severity::{High, Info, Medium};
use punctual_facts::machine::Arch;

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
        persist: &[
            Lasting::Word("efi=noruntime"),
            Lasting::Write { path: "/sys/devices/virtual/workqueue/efi_runtime/cpumask", value: "<H mask>" },
        ],
        undo: "Write back the mask that was there; remove the word.",
        cost: "With noruntime, which is the default on PREEMPT_RT: no efibootmgr, no UEFI clock.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)",
            "kernel 7.3 core-api/real-time/hardware.rst",
            "kernel 6.1, 6.12, 7.3 kernel/workqueue.c: a queue's mask gives way to that of all unbound work",
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
        persist: &[Lasting::Firmware("Power and thermal limits, usually under Advanced, Power & Performance")],
        undo: "The settings as they were.",
        cost: "Heat.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/pm/cpufreq.rst: bios_limit", "unverified: how often firmware uses it"],
    },
    Knob {
        id: "fw.fwupd",
        title: "No service that talks to the firmware",
        family: Family::Firmware,
        severity: Weight::all(Info),
        probe: Probe::Effective(fwupd),
        why: "fwupd looks for updates by asking firmware and devices; some firmware answers in system management mode, \
            with all CPUs stopped.",
        fix: "systemctl stop fwupd-refresh.timer fwupd",
        persist: &[Lasting::NoService("fwupd-refresh.timer"), Lasting::NoService("fwupd.service")],
        undo: "systemctl unmask and start them.",
        cost: "Updates of firmware by hand.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["openshift/cluster-node-tuning-operator#1591"],
    },
    Knob {
        id: "fw.optee",
        title: "No secure operating system beside Linux",
        family: Family::Firmware,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(optee),
        why: "A call into OP-TEE runs on the calling CPU, outside Linux; how long Linux's interrupts wait then is the \
            secure world's choice.",
        fix: "Keep programs that use it (tee-supplicant, key stores) off the CPUs <I>; unload the driver if nobody does.",
        persist: &[Lasting::NoModule("optee"), Lasting::NoService("tee-supplicant.service")],
        undo: "Load the driver again.",
        cost: "Keys kept in the secure world cannot be used.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 core-api/real-time/hardware.rst: OP-TEE"],
    },
    Knob {
        id: "fw.secure",
        title: "Firmware at EL3 that returns quickly",
        family: Family::Firmware,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Advice {
            look: "Cannot be seen from Linux: calls into the firmware at EL3 (PSCI, SMC) and its own interrupts stop a \
                CPU unseen. Ask the maker for a real-time build of the trusted firmware, and measure with the hwlat or \
                timerlat tracer.",
            applies: |case| {
                case.only_on(Arch::Arm64, "EL3 is ARM's")?;
                case.not_a_guest()
            },
        },
        why: "While a CPU is in EL3 or the secure world, Linux's interrupts wait, and no priority helps.",
        fix: "Use the maker's real-time build of the trusted firmware (some boards have one), and keep drivers that call \
            it at run time (clocks and sensors by SCMI) off the CPUs <I>.",
        persist: &[Lasting::Firmware("the boot image: trusted firmware (BL31) built for real time")],
        undo: "The boot image as it was.",
        cost: "Another build of the boot image to look after.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 core-api/real-time/hardware.rst: firmware",
            "unverified: which boards have such a build",
        ],
    },
    Knob {
        id: "fw.microcode",
        title: "Microcode not known to be old",
        family: Family::Firmware,
        severity: Weight::all(Info),
        probe: Probe::Effective(microcode),
        why: "Old microcode has errata that the kernel works around the slow way, timers among them, or not at all.",
        fix: "Install the distribution's microcode package (intel-microcode, amd64-microcode) and boot again; not late \
            loading, which stops all CPUs.",
        persist: &[Lasting::Firmware("an update of the whole firmware brings microcode, too")],
        undo: "Boot without the package.",
        cost: "A boot; some updates cost speed.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 arch/x86/kernel/cpu/common.c: cpu_has_old_microcode; not in 6.12"],
    },
    Knob {
        id: "fw.microcode_same",
        title: "The same microcode on every real-time CPU",
        family: Family::Firmware,
        severity: Weight::all(Info),
        probe: Probe::Effective(microcode_same),
        why: "CPUs with different microcode differ in errata and timing; a failed or partial update looks like this.",
        fix: "Load microcode early, from the initial RAM disk, and boot again.",
        persist: &[Lasting::Firmware("an update of the whole firmware brings microcode, too")],
        undo: "Boot without it.",
        cost: "None.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["kernel 7.3 arch/x86/kernel/cpu/microcode/core.c: version", "unverified: usual advice"],
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
    let own = case.cpu_mask(path, Missing::TellsNothing(because))?;
    let unshown = Missing::TellsNothing("this kernel does not show where unbound work may run");
    let common = case.cpu_mask("/sys/devices/virtual/workqueue/cpumask", unshown)?;
    // A mask that has nothing in common with that of all unbound work gives way to it.
    let both = own.intersection(&common);
    let in_force = if both.is_empty() { common } else { both };
    Ok(in_force.intersection(&case.rt).is_empty())
}

fn bios_limit(case: &Case<'_>) -> Judged {
    let highest = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq", &case.rt, NO_DRIVER)?;
    let none = Missing::CannotBe("this frequency driver shows no limit of the firmware's");
    let limits = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/bios_limit", &case.rt, none)?;
    Ok(limits == highest)
}

fn fwupd(case: &Case<'_>) -> Judged {
    let wanted = "/etc/systemd/system/timers.target.wants/fwupd-refresh.timer";
    let is_enabled = case.exists(wanted);
    if is_enabled {
        case.note(wanted, "enabled");
    }
    Ok(case.daemons(&["fwupd"])?.is_empty() && !is_enabled)
}

fn optee(case: &Case<'_>) -> Judged {
    case.only_on(Arch::Arm64, "OP-TEE is of ARM's secure world")?;
    let folder = "/sys/class/tee";
    match case.known(folder, case.list(folder), Missing::CannotBe("this kernel has no driver for a secure world")) {
        Ok(devices) => {
            case.note(folder, if devices.is_empty() { "(empty)".to_owned() } else { devices.join(", ") });
            Ok(devices.is_empty())
        }
        Err(doubt) => Err(doubt),
    }
}

fn microcode(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "microcode is x86's")?;
    case.not_a_guest()?;
    let none = Missing::TellsNothing(
        "this kernel does not judge the microcode (newer ones do); compare with the maker's list",
    );
    let verdict = case.text("/sys/devices/system/cpu/vulnerabilities/old_microcode", none)?;
    match verdict.as_str() {
        "Not affected" => Ok(true),
        "Vulnerable" => Ok(false),
        other => Doubt::unknown(other.to_owned()),
    }
}

fn microcode_same(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "microcode is x86's")?;
    case.not_a_guest()?;
    let mut cpus = case.rt.clone();
    cpus.insert(case.online().and_then(punctual_facts::cpu_set::CpuSet::first).unwrap_or(0));
    let none = Missing::TellsNothing("the revision of the microcode is not shown");
    Ok(case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/microcode/version", &cpus, none)?.len() == 1)
}
