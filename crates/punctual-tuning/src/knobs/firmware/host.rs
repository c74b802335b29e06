//! Knobs about other software on this machine: a hypervisor, firmware that runs beside the kernel, the secure world.

use crate::knobs::prelude::*;
use crate::programs;

const KNOB: Knob = Knob { confidence: Confidence::Medium, blast: Blast::Breaking, ..Knob::of(Family::Firmware) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "virt.detect",
        title: "No hypervisor underneath",
        severity: Weight::all(High),
        check: Check::Probe(hypervisor),
        why: "The host decides when a guest's CPU runs at all; no setting inside the guest limits how long it waits.",
        fix: Fix::prose(
            "Measure on the hardware itself; or give the guest CPUs of its own: vCPUs pinned, FIFO, on isolated \
            host CPUs, memory locked.",
        ),
        persist: &[Lasting::other("The host's definition of the guest.")],
        cost: "CPUs of the host.",
        confidence: Confidence::High,
        sources: &["kernel 7.3 core-api/real-time/hardware.rst", "proc_stat(5): steal"],
        ..KNOB
    },
    Knob {
        id: "fw.efi_runtime",
        title: "EFI services kept off the real-time CPUs",
        blast: Blast::Harmless,
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(efi_runtime),
        why: "A call into the firmware runs with interrupts off, and some firmware stops all CPUs for it.",
        persist: &[
            Lasting::word("efi=noruntime"),
            Lasting::write("/sys/devices/virtual/workqueue/efi_runtime/cpumask", "<H mask>"),
        ],
        undo: Fix::prose("Write back the mask that was there; remove the word."),
        cost: "With efi=noruntime, which is the default on PREEMPT_RT, efibootmgr and the UEFI clock cannot be used.",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)",
            "kernel 7.3 core-api/real-time/hardware.rst",
            "kernel 6.1, 6.12, 7.3 kernel/workqueue.c: a queue's mask gives way to that of all unbound work",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.bios_limit",
        title: "Firmware does not limit the frequency",
        severity: Weight::all(Medium),
        check: Check::seen(
            "/sys/devices/system/cpu/cpu<I>/cpufreq/bios_limit",
            Want::SameAs("cpuinfo_max_freq"),
            CannotBe("no frequency driver here shows whether the firmware limits the frequency"),
        ),
        why: "When firmware lowers the highest frequency, it does so at run time, because of power or heat, and does \
            not report it.",
        fix: Fix::prose("Look in the firmware for power limits, and at cooling and power supply."),
        persist: &[Lasting::Firmware("Power and thermal limits, usually under Advanced, Power & Performance")],
        cost: "Heat.",
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/pm/cpufreq.rst: bios_limit", "unverified: how often firmware uses it"],
        ..KNOB
    },
    Knob {
        id: "fw.fwupd",
        title: "No service that talks to the firmware",
        blast: Blast::Harmless,
        check: Check::Probe(fwupd),
        why: "fwupd looks for updates by asking firmware and devices; some firmware answers in system management mode, \
            with all CPUs stopped.",
        cost: "Firmware must be updated by hand.",
        sources: &["openshift/cluster-node-tuning-operator#1591"],
        ..KNOB
    },
    Knob {
        id: "fw.optee",
        title: "No secure operating system beside Linux",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(optee),
        why: "A call into OP-TEE runs on the calling CPU, outside Linux; how long Linux's interrupts wait then is the \
            secure world's choice.",
        fix: Fix::prose(
            "Keep programs that use OP-TEE (tee-supplicant, key stores) off the CPUs <I>; unload the driver if no \
            program does.",
        ),
        persist: &[Lasting::NoModule("optee")],
        cost: "Keys kept in the secure world cannot be used.",
        sources: &["kernel 7.3 core-api/real-time/hardware.rst: OP-TEE"],
        ..KNOB
    },
    Knob {
        id: "fw.secure",
        title: "Firmware at EL3 that returns quickly",
        severity: Weight::of(Medium, Medium, Info),
        applies: |case| {
            case.only_on(Arch::Arm64, "only ARM CPUs have EL3")?;
            case.not_a_guest()
        },
        check: Check::advice(
            "Cannot be seen from Linux: calls into the firmware at EL3 (PSCI, SMC) and the firmware's own interrupts \
            stop a CPU without a trace. Ask the maker for a real-time build of the trusted firmware, and measure with \
            the hwlat or timerlat tracer.",
        ),
        why: "While a CPU is in EL3 or the secure world, Linux's interrupts wait, and no priority helps.",
        fix: Fix::prose(
            "Use the maker's real-time build of the trusted firmware (some boards have one), and keep drivers that call \
            it at run time (clocks and sensors by SCMI) off the CPUs <I>.",
        ),
        persist: &[Lasting::Firmware("the boot image: trusted firmware (BL31) built for real time")],
        undo: Fix::prose("Restore the former boot image."),
        cost: "One more boot image to maintain.",
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 core-api/real-time/hardware.rst: firmware",
            "unverified: which boards have such a build",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.microcode",
        title: "Microcode not known to be old",
        applies: is_our_x86,
        check: Check::seen(
            "/sys/devices/system/cpu/vulnerabilities/old_microcode",
            Want::Word { good: &["Not affected"], bad: &["Vulnerable"] },
            TellsNothing(
                "this kernel does not report whether its microcode is old (newer kernels do); compare the revision \
                with the maker's list",
            ),
        ),
        why: "With old microcode, some errata remain, those of timers among them; the kernel works around them in a \
            slow way or not at all.",
        fix: Fix::prose(
            "Install the distribution's microcode package (intel-microcode, amd64-microcode) and boot again; not late \
            loading, which stops all CPUs.",
        ),
        persist: &[Lasting::Firmware("an update of the whole firmware brings microcode, too")],
        cost: "A reboot; some updates make the CPU slower.",
        sources: &["kernel 7.3 arch/x86/kernel/cpu/common.c: cpu_has_old_microcode; not in 6.12"],
        ..KNOB
    },
    Knob {
        id: "fw.microcode_same",
        title: "The same microcode on every real-time CPU",
        blast: Blast::Harmless,
        applies: is_our_x86,
        check: Check::Probe(|case| {
            let mut cpus = case.rt().clone();
            cpus.insert(case.online().and_then(CpuSet::first).unwrap_or(0));
            let none = TellsNothing("the revision of the microcode is not shown");
            Ok(case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/microcode/version", &cpus, none)?.len() == 1)
        }),
        why: "CPUs with different microcode differ in errata and timing; a failed or partial update looks like this.",
        fix: Fix::prose("Load microcode early, from the initial RAM disk, and boot again."),
        persist: &[Lasting::Firmware("an update of the whole firmware brings microcode, too")],
        cost: "None.",
        confidence: Confidence::Low,
        sources: &["kernel 7.3 arch/x86/kernel/cpu/microcode/core.c: version", "unverified: usual advice"],
        ..KNOB
    },
];

fn hypervisor(case: &Case<'_>) -> Judged {
    let virtualisation = case.known_virtualisation()?;
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
    let none = TellsNothing("/sys/firmware cannot be seen here");
    let kinds = case.names(firmware, none)?;
    Doubt::not_applicable_if(!kinds.iter().any(|kind| kind == "efi"), "the machine was not booted by UEFI")?;
    case.has_housekeeping()?;
    let path = "/sys/devices/virtual/workqueue/efi_runtime/cpumask";
    let because =
        "no work queue efi_runtime is shown: the EFI runtime services are off, or this kernel does not show it";
    let own = case.cpu_mask(path, TellsNothing(because))?;
    let unshown = TellsNothing("this kernel does not show where unbound work may run");
    let common = case.cpu_mask("/sys/devices/virtual/workqueue/cpumask", unshown)?;
    // If a queue's own mask has no CPU in common with the mask of all unbound work, the kernel uses the mask of all
    // unbound work.
    let both = own.intersection(&common);
    let in_force = if both.is_empty() { common } else { both };
    Ok(in_force.intersection(case.rt()).is_empty())
}

fn fwupd(case: &Case<'_>) -> Judged {
    let is_running = !case.running("fw.fwupd")?.is_empty();
    let at_work: Vec<_> = programs::bad_for("fw.fwupd").flat_map(|program| case.at_work(program)).collect();
    for seen in &at_work {
        case.note(seen.unit.unwrap_or("fwupd"), seen.how.as_str());
    }
    Ok(!is_running && at_work.is_empty())
}

fn optee(case: &Case<'_>) -> Judged {
    case.only_on(Arch::Arm64, "only ARM CPUs have the secure world in which OP-TEE runs")?;
    let folder = "/sys/class/tee";
    match case.names(folder, CannotBe("this kernel has no driver for a secure world")) {
        Ok(devices) => case.none_found(folder, devices.join(", "), "(empty)"),
        Err(doubt) => Err(doubt),
    }
}

fn is_our_x86(case: &Case<'_>) -> Result<(), Doubt> {
    case.only_on(Arch::X86, "only x86 CPUs have microcode that Linux can load")?;
    case.not_a_guest()
}
