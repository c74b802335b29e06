//! Keeps devices and links awake, by writing to a file of each device.

use super::super::{Expected, Reading};
use super::draft::Draft;
use super::{Found, Site};
use crate::knobs::{LINK_STATES, NO_PCI, PCI};
use punctual_facts::fact::Fact;

const POWER: &str = "More power, and warmth.";

/// Keeps every USB device awake that may be suspended. Hubs are left out, because a hub sleeps only when all devices
/// behind it do.
pub(super) fn usb(site: &Site<'_>) -> Found {
    let folder = "/sys/bus/usb/devices";
    site.each(folder, "there is no USB", POWER, "power/runtime_status stays active", |draft, case, device| {
        let is_hub = || case.peek(&format!("{folder}/{device}/bDeviceClass")) == Fact::Known("09".to_owned());
        if !(device.contains(':') || device.starts_with("usb") || is_hub()) {
            draft.write(case, device, &format!("{folder}/{device}/power/control"), "on");
        }
    })
}

/// Keeps network and CAN cards awake, and devices that the user named.
pub(super) fn runtime(site: &Site<'_>) -> Found {
    site.each(PCI, NO_PCI, POWER, "power/runtime_status stays active", |draft, case, device| {
        let class = case.peek(&format!("{PCI}/{device}/class"));
        let is_card = |class: &String| ["0x02", "0x0c09"].iter().any(|start| class.starts_with(start));
        if class.known().is_some_and(is_card) || site.is_named(device) {
            draft.write(case, device, &format!("{PCI}/{device}/power/control"), "on");
        }
    })
}

/// Sets the power policy for all PCI links. If the policy is right but single links have their own switches on, sets
/// these switches.
pub(super) fn aspm(site: &Site<'_>) -> Found {
    let case = site.case;
    case.not_a_guest()?;
    let policy = "/sys/module/pcie_aspm/parameters/policy";
    let risk = "Links are set up anew, one by one; more power.";
    let proof = "link/*_aspm of each device reads 0";
    let mut draft = Draft::default();
    draft.write_as(case, "all links", policy, "performance", Expected::same(Reading::Marked));
    if !draft.is_empty() {
        return Ok(draft.remedy(risk, proof));
    }
    site.each(PCI, NO_PCI, risk, proof, |draft, case, device| {
        for state in LINK_STATES {
            draft.write(case, device, &format!("{PCI}/{device}/link/{state}"), "0");
        }
    })
}

pub(super) fn clock(site: &Site<'_>) -> Found {
    site.each(PCI, NO_PCI, POWER, "link/clkpm", |draft, case, device| {
        draft.write(case, device, &format!("{PCI}/{device}/link/clkpm"), "0");
    })
}

pub(super) fn sata(site: &Site<'_>) -> Found {
    let folder = "/sys/class/scsi_host";
    site.each(folder, "there is no SATA controller", POWER, "link_power_management_policy", |draft, case, host| {
        let path = format!("{folder}/{host}/link_power_management_policy");
        // The policy `keep_firmware_settings` does not show the firmware's setting, so the setting could not be
        // restored.
        if case.peek(&path).known().is_none_or(|policy| policy != "keep_firmware_settings") {
            draft.write(case, host, &path, "max_performance");
        }
    })
}

/// Keeps those `NVMe` drives awake that choose their sleep states themselves.
pub(super) fn nvme(site: &Site<'_>) -> Found {
    let folder = "/sys/class/nvme";
    site.each(folder, "there is no NVMe drive", POWER, "pm_qos_latency_tolerance_us", |draft, case, drive| {
        draft.write(case, drive, &format!("{folder}/{drive}/power/pm_qos_latency_tolerance_us"), "0");
    })
}
