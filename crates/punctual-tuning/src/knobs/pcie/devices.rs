//! Knobs about USB, storage and sound devices that sleep while they are idle.

use crate::knobs::prelude::*;
use crate::knobs::seen::links::{MOST_DEVICES, sata};

const KNOB: Knob = Knob { cost: "Power.", confidence: Confidence::Medium, ..Knob::of(Family::Pcie) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.usb",
        title: "USB devices stay awake",
        severity: Weight::of(Info, Info, Medium),
        check: Check::Probe(usb),
        why: "A USB device that was suspended takes some ten milliseconds to come back, and the resume of a port keeps \
            the host controller busy for its neighbours.",
        fix: Fix::command("echo on > /sys/bus/usb/devices/DEVICE/power/control"),
        persist: &[
            Lasting::word("usbcore.autosuspend=-1"),
            Lasting::Udev(Rule::add("usb", &[attribute("power/control", "on")])),
        ],
        sources: &[
            "kernel driver-api/usb/power-management.rst",
            "kernel 7.3 drivers/usb/core/usb.c: autosuspend",
            "unverified: the time",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.sata",
        title: "SATA links stay awake",
        check: Check::Probe(sata),
        why: "A SATA link that sleeps takes up to ten milliseconds to wake: work that writes to the disk waits for it.",
        fix: Fix::command("echo max_performance > /sys/class/scsi_host/hostN/link_power_management_policy"),
        persist: &[
            Lasting::word("ahci.mobile_lpm_policy=1"),
            Lasting::Udev(Rule::add("scsi_host", &[attribute("link_power_management_policy", "max_performance")])),
        ],
        sources: &["kernel 7.3 drivers/ata/libata-sata.c, ahci.c: mobile_lpm_policy", "unverified: the time"],
        ..KNOB
    },
    Knob {
        id: "pm.nvme",
        title: "NVMe drives stay awake",
        confidence: Confidence::High,
        check: Check::Probe(nvme),
        why: "By default a drive may choose sleep states that take up to 100 ms to leave, by itself, when idle.",
        fix: Fix::command("echo 0 > /sys/class/nvme/nvmeN/power/pm_qos_latency_tolerance_us"),
        persist: &[
            Lasting::word("nvme_core.default_ps_max_latency_us=0"),
            Lasting::module("nvme_core default_ps_max_latency_us=0"),
        ],
        cost: "Power, and a warmer drive.",
        sources: &["kernel 7.3 drivers/nvme/host/core.c: default_ps_max_latency_us, nvme_configure_apst"],
        ..KNOB
    },
    Knob {
        id: "pm.audio",
        title: "Sound chip stays awake",
        severity: Weight::of(Info, Info, Medium),
        check: Check::parameter(
            "snd_hda_intel",
            "power_save",
            Want::ZERO,
            CannotBe("no sound chip of this kind is in use (snd_hda_intel is not loaded)"),
        ),
        why: "After some seconds of silence the codec is turned off; turning it on again takes time and clicks, and on a \
            machine without need for sound it is work for nothing.",
        persist: &[Lasting::module("snd_hda_intel power_save=0")],
        sources: &["kernel 7.3 sound/hda/controllers/intel.c: power_save", "kernel sound/designs/powersave.rst"],
        ..KNOB
    },
];

fn usb(case: &Case<'_>) -> Judged {
    let folder = "/sys/bus/usb/devices";
    let none = CannotBe("there is no USB");
    let names = case.names(folder, none)?;
    // Interfaces have a colon in their names and root hubs are called usbN. A hub sleeps only when every device behind
    // it does.
    let is_device = |name: &&String| !name.contains(':') && !name.starts_with("usb");
    let (mut seen, mut sleepy) = (0_usize, Vec::new());
    for device in names.iter().filter(is_device).take(MOST_DEVICES) {
        if case.peek(&format!("{folder}/{device}/bDeviceClass")) == Fact::Known("09".to_owned()) {
            continue;
        }
        let Fact::Known(control) = case.peek(&format!("{folder}/{device}/power/control")) else { continue };
        seen += 1;
        if control == "auto" {
            sleepy.push(device.clone());
        }
    }
    Doubt::not_applicable_if(seen == 0, "no USB device is connected")?;
    let awake = format!("on for all {seen}");
    case.note(
        format!("{folder}/*/power/control"),
        if sleepy.is_empty() { awake } else { format!("auto: {}", sleepy.join(", ")) },
    );
    Ok(sleepy.is_empty())
}

fn nvme(case: &Case<'_>) -> Judged {
    let folder = "/sys/class/nvme";
    let none = CannotBe("there is no NVMe drive");
    let drives = case.names(folder, none)?;
    Doubt::not_applicable_if(drives.is_empty(), "there is no NVMe drive")?;
    let mut all_awake = true;
    for drive in drives.iter().take(64) {
        // This file exists only if the drive chooses its sleep states itself.
        let path = format!("{folder}/{drive}/power/pm_qos_latency_tolerance_us");
        let cannot = CannotBe("the drive does not choose sleep states itself");
        match case.text(&path, cannot) {
            Ok(tolerance) => all_awake &= tolerance == "0",
            Err(Doubt::NotApplicable(_)) => {}
            Err(doubt) => return Err(doubt),
        }
    }
    Ok(all_awake)
}
