//! Knobs about USB, storage and sound devices that sleep while they are idle.

use crate::knobs::prelude::*;
use crate::knobs::seen::links::sata;

const KNOB: Knob = Knob { cost: "Power.", confidence: Confidence::Medium, ..Knob::of(Family::Pcie) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.usb",
        title: "USB devices stay awake",
        severity: Weight::of(Info, Info, Medium),
        check: Check::each(
            "/sys/bus/usb/devices/*/power/control",
            is_no_hub,
            Want::Word { good: &["on"], bad: &["auto"] },
            CannotBe("no USB device is connected"),
        ),
        why: "A USB device that was suspended takes some ten milliseconds to come back, and while its port resumes, \
            devices on other ports of the same host controller may have to wait.",
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
        why: "A SATA link that sleeps takes up to ten milliseconds to wake, and work that writes to the disk waits \
            until it has woken.",
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
        // The file exists only if the drive chooses its sleep states itself.
        check: Check::seen(
            "/sys/class/nvme/*/power/pm_qos_latency_tolerance_us",
            Want::Word { good: &["0"], bad: &[] },
            CannotBe("no NVMe drive here chooses sleep states itself"),
        ),
        why: "By default, an idle drive may by itself choose sleep states that take up to 100 ms to leave.",
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
        why: "After some seconds of silence the codec is turned off; turning it on again takes time and makes a click, \
            and on a machine that needs no sound this work is useless.",
        persist: &[Lasting::module("snd_hda_intel power_save=0")],
        sources: &["kernel 7.3 sound/hda/controllers/intel.c: power_save", "kernel sound/designs/powersave.rst"],
        ..KNOB
    },
];

/// Whether an entry of the USB bus is a device, and no hub (class `09`) or interface, which has no such file. A hub sleeps
/// only when every device behind it does.
fn is_no_hub(case: &Case<'_>, device: &str) -> bool {
    case.peek(&format!("{device}/bDeviceClass")).known().is_some_and(|class| class != "09")
}
