//! Knobs about hardware errors: how the kernel learns of them, and whether any have occurred.

use crate::knobs::prelude::*;

const MOST_DEVICES: usize = 512;
const MACHINE_CHECKS: &str = "/sys/devices/system/machinecheck/machinecheck0";
const NO_MACHINE_CHECKS: Missing = CannotBe("this machine reports no machine checks to this kernel");
const CONTROLLERS: &str = "/sys/devices/system/edac/mc";

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Watchdogs) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "ras.mce",
        title: "No polling for corrected hardware errors",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Any(&[
            Check::seen(
                "/sys/devices/system/machinecheck/machinecheck0/check_interval",
                Want::Word { good: &["0"], bad: &[] },
                NO_MACHINE_CHECKS,
            ),
            Check::seen(
                "/sys/devices/system/machinecheck/machinecheck0/ignore_ce",
                Want::Word { good: &["1"], bad: &[] },
                NO_MACHINE_CHECKS,
            ),
        ]),
        why: "Every five minutes a timer on every CPU, isolated or not, reads its machine-check banks.",
        fix: Fix::prose(
            "echo 0 > /sys/devices/system/machinecheck/machinecheck0/check_interval (keeps the interrupts for \
            corrected errors; mce=ignore_ce goes further; never mce=off).",
        ),
        persist: &[
            Lasting::write("/sys/devices/system/machinecheck/machinecheck0/check_interval", "0"),
            Lasting::word("mce=ignore_ce"),
        ],
        cost: "Some corrected errors are noticed later.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &["kernel 7.3 arch/x86/kernel/cpu/mce/core.c", "kernel arch/x86/x86_64/machinecheck.rst"],
        ..KNOB
    },
    Knob {
        id: "ras.mce_off",
        title: "Machine checks are handled",
        severity: Weight::all(Medium),
        check: Check::Probe(mce_off),
        why: "mce=off, which some guides recommend, does more than stop the polling: the CPU then answers an \
            uncorrected error with an immediate reset, and no log says why.",
        persist: &[Lasting::NoWord("mce"), Lasting::NoWord("nomce")],
        cost: "None; ras.mce stops the polling as well.",
        sources: &[
            "kernel 7.3 arch/x86/kernel/cpu/mce/core.c: mca_cfg.disabled",
            "unverified: that every CPU resets then, as its manual says",
        ],
        ..KNOB
    },
    Knob {
        id: "ras.cmci",
        title: "Corrected errors are reported by interrupt",
        applies: |case| {
            let is_ignored = case.text(&format!("{MACHINE_CHECKS}/ignore_ce"), NO_MACHINE_CHECKS)? == "1";
            Doubt::not_applicable_if(is_ignored, "corrected errors are ignored altogether")
        },
        check: Check::seen(
            "/sys/devices/system/machinecheck/machinecheck0/cmci_disabled",
            Want::ZERO,
            NO_MACHINE_CHECKS,
        ),
        why: "Without the interrupt for corrected errors (cmci_disabled=1) only the polling on every CPU finds them, \
            so that the polling cannot be stopped without missing all corrected errors.",
        fix: Fix::command("echo 0 > /sys/devices/system/machinecheck/machinecheck0/cmci_disabled"),
        persist: &[Lasting::NoWord("mce")],
        cost: "An interrupt for each corrected error; storms of them are throttled by the kernel.",
        blast: Blast::Disturbing,
        sources: &["kernel 7.3 arch/x86/kernel/cpu/mce/core.c: cmci_disabled"],
        ..KNOB
    },
    Knob {
        id: "ras.edac",
        title: "No polling of the memory controller for errors",
        applies: |case| {
            let controllers = case.list(CONTROLLERS);
            if controllers.known().is_some_and(|names| !names.iter().any(|name| is_controller(name))) {
                return Doubt::not_applicable("no memory controller is registered that could be polled");
            }
            Ok(())
        },
        check: Check::parameter(
            "edac_core",
            "edac_mc_poll_msec",
            Want::AtLeast(60_000),
            CannotBe("nothing polls the memory controller (edac_core is not loaded)"),
        ),
        why: "Where the driver polls (not every one does), kernel work reads the memory controller's error registers every \
            second over a slow path. The kernel refuses intervals below a second. Judged bad: less than a \
            minute.",
        fix: Fix::set("/sys/module/edac_core/parameters/edac_mc_poll_msec", "3600000"),
        persist: &[Lasting::module("edac_core edac_mc_poll_msec=3600000")],
        cost: "Corrected memory errors are counted once an hour.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 drivers/edac/edac_mc_sysfs.c: edac_set_poll_msec (below 1000: EINVAL)",
            "kernel 7.3 drivers/edac/edac_mc.c: edac_check",
            "kernel 7.3 core-api/real-time/hardware.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "ras.edac_ce",
        title: "No corrected memory errors since boot",
        severity: Weight::all(Medium),
        check: Check::seen(
            "/sys/devices/system/edac/mc/mc*/ce_count",
            Want::ZERO,
            CannotBe(
                "nothing counts memory errors (no EDAC driver is loaded, or it has registered no memory controller)",
            ),
        ),
        why: "Each corrected error causes an interrupt, often one to the firmware first, and a memory module that has \
            such errors will have more of them.",
        fix: Fix::prose("Find the module by /sys/devices/system/edac/mc/mcN/dimmN/dimm_ce_count and replace it."),
        persist: &[Lasting::other("Another memory module.")],
        undo: Fix::prose("Nothing to undo."),
        cost: "A memory module.",
        blast: Blast::Breaking,
        sources: &["kernel 7.3 drivers/edac/edac_mc_sysfs.c: ce_count", "unverified: how often firmware is involved"],
        ..KNOB
    },
    Knob {
        id: "ras.soft_offline",
        title: "Memory pages are not taken offline for corrected errors",
        applies: takes_pages_away,
        check: Check::sysctl("vm.enable_soft_offline", Want::ZERO, TellsNothing("vm.enable_soft_offline is not shown")),
        why: "Software or firmware may ask for a page with corrected errors to be moved elsewhere while it is in use, \
            locked or not: the thread that uses it waits for the move, and a huge page may be split for it. From 6.12 \
            on, a switch forbids such moves.",
        cost: "A page that goes bad is used until it fails for good.",
        sources: &[
            "kernel 6.12, 7.3 mm/memory-failure.c: enable_soft_offline; not in 6.1",
            "kernel admin-guide/sysctl/vm.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "ras.ghes",
        title: "Hardware errors go to the kernel, not first to the firmware",
        check: Check::Probe(ghes),
        why: "Where the firmware asks to hear of errors first (APEI, GHES), each corrected error stops all CPUs in \
            system management mode, or in the secure world of ARM, before the kernel is told of the error.",
        fix: Fix::NotAtRunTime(""),
        persist: &[Lasting::Firmware(
            "Firmware First, WHEA or eMCA off, usually under Advanced, RAS or Event Log configuration",
        )],
        cost: "The server's management controller no longer logs memory errors.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["kernel 7.3 drivers/acpi/apei/ghes.c", "unverified: what a given firmware does first"],
        ..KNOB
    },
    Knob {
        id: "ras.aer",
        title: "No corrected PCIe errors since boot",
        check: Check::Probe(aer),
        why: "Each corrected PCIe error causes an interrupt and a line in the log, and the transfer had to be \
            repeated; a bad slot or riser causes thousands of them.",
        fix: Fix::prose("Reseat or replace the card or riser, or lower the link's speed in the firmware."),
        persist: &[Lasting::other("Repair the hardware.")],
        undo: Fix::prose("Nothing to undo."),
        cost: "None.",
        blast: Blast::Breaking,
        sources: &["kernel 7.3 drivers/pci/pcie/aer.c: aer_dev_correctable"],
        ..KNOB
    },
    Knob {
        id: "ras.ipmi",
        title: "No kernel thread spins to poll the management controller",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(ipmi),
        why: "If the management controller has no interrupt, the kernel thread kipmi polls it, and spins until it gets \
            an answer unless kipmid_max_busy_us limits this.",
        fix: Fix::prose(
            "echo 100 > /sys/module/ipmi_si/parameters/kipmid_max_busy_us, and keep the thread off CPUs <I> \
            (taskset -pc <H> PID).",
        ),
        persist: &[Lasting::module("ipmi_si kipmid_max_busy_us=100"), Lasting::NoModule("ipmi_si")],
        cost: "Slower management; without the module, no management from inside the machine.",
        confidence: Confidence::High,
        sources: &["kernel 7.3 drivers/char/ipmi/ipmi_si_intf.c: kipmid_max_busy_us"],
        ..KNOB
    },
];

fn is_controller(name: &str) -> bool {
    name.strip_prefix("mc").is_some_and(|number| number.parse::<u32>().is_ok())
}

fn mce_off(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has machine checks")?;
    case.not_a_guest()?;
    if case.word("mce")?.as_deref() == Some("off") || case.word("nomce")?.is_some() {
        return Ok(false);
    }
    let folder = "/sys/devices/system/machinecheck";
    let unshown = TellsNothing("whether machine checks are handled is not shown");
    let cpus = case.names(folder, unshown)?;
    case.note(folder, format!("{} entries", cpus.len()));
    if cpus.is_empty() { Doubt::unknown("whether machine checks are handled is not shown") } else { Ok(true) }
}

fn takes_pages_away(case: &Case<'_>) -> Result<(), Doubt> {
    let path = "/proc/sys/vm/enable_soft_offline";
    if !case.exists(path) {
        return if case.config("MEMORY_FAILURE")? == "n" {
            Doubt::not_applicable("this kernel cannot take pages away for errors")
        } else {
            Doubt::unknown("this kernel can take pages away for errors, and has no switch that shows whether it may")
        };
    }
    Ok(())
}

fn ghes(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let folder = "/sys/bus/platform/devices";
    let devices = case.names(folder, TellsNothing("the list of platform devices cannot be read"))?;
    let sources = devices.iter().filter(|name| name.starts_with("GHES.")).count();
    case.note(folder, format!("GHES devices: {sources}"));
    Ok(sources == 0)
}

fn aer(case: &Case<'_>) -> Judged {
    let folder = "/sys/bus/pci/devices";
    let none = CannotBe("there is no PCI bus");
    let devices = case.names(folder, none)?;
    let (mut asked, mut troubled) = (0, Vec::new());
    for device in devices.iter().take(MOST_DEVICES) {
        let Fact::Known(counts) = case.peek(&format!("{folder}/{device}/aer_dev_correctable")) else { continue };
        asked += 1;
        let total = counts.lines().find_map(|line| line.strip_prefix("TOTAL_ERR_COR"));
        match total.map(|total| total.trim().parse::<u64>()) {
            Some(Ok(0)) => {}
            Some(Ok(count)) => troubled.push(format!("{device}: {count}")),
            _ => return Doubt::unknown(format!("the error counts of {device} cannot be parsed")),
        }
    }
    Doubt::not_applicable_if(asked == 0, "no device here reports PCIe errors to the kernel")?;
    let none_of_all = format!("0 on all {asked} devices that count errors");
    case.none_found(format!("{folder}/*/aer_dev_correctable"), troubled.join(", "), none_of_all)
}

fn ipmi(case: &Case<'_>) -> Judged {
    let threads = case.tasks(|task| task.is_kernel && task.name.starts_with("kipmi"))?;
    case.note("tasks", if threads.is_empty() { "no kipmi".to_owned() } else { format!("{} kipmi", threads.len()) });
    if threads.is_empty() {
        return Ok(true);
    }
    let unshown = TellsNothing("how long kipmi may spin is not shown");
    let limits = case.text("/sys/module/ipmi_si/parameters/kipmid_max_busy_us", unshown)?;
    // The parameter is an array with a number for each controller. A number that is not set means no limit.
    let is_limited = |limit: &str| limit.trim().parse::<u64>().is_ok_and(|limit_us| (1..=500).contains(&limit_us));
    Ok(limits.split(',').all(is_limited))
}
