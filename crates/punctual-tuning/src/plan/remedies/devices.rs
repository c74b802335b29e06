//! Keeps devices and links awake, each by its own file.

use super::super::{Expected, Reading};
use super::draft::Draft;
use super::{Found, Site};
use crate::knobs::{Case, Doubt, LINK_STATES, MOST_DEVICES, Missing, NO_PCI, PCI};
use punctual_facts::fact::Fact;

const POWER: &str = "More power, and warmth.";

fn names(case: &Case<'_>, folder: &str, none: &'static str) -> Result<Vec<String>, Doubt> {
    let mut names = case.known(folder, case.list(folder), Missing::CannotBe(none))?;
    names.truncate(MOST_DEVICES);
    Ok(names)
}

/// A value for a file of each device in a folder.
fn each(
    site: &Site<'_>,
    folder: &str,
    none: &'static str,
    proof: &str,
    write: impl Fn(&mut Draft, &Case<'_>, &str),
) -> Found {
    let mut draft = Draft::default();
    for device in names(site.case, folder, none)? {
        write(&mut draft, site.case, &device);
    }
    Ok(draft.apart(POWER, proof))
}

/// Every USB device that may be suspended, except hubs: a hub sleeps only when all devices behind it do.
pub(super) fn usb(site: &Site<'_>) -> Found {
    let folder = "/sys/bus/usb/devices";
    each(site, folder, "there is no USB", "power/runtime_status stays active", |draft, case, device| {
        let is_hub = || case.peek(&format!("{folder}/{device}/bDeviceClass")) == Fact::Known("09".to_owned());
        if !(device.contains(':') || device.starts_with("usb") || is_hub()) {
            draft.write(case, device, &format!("{folder}/{device}/power/control"), "on");
        }
    })
}

/// Network and CAN cards, and devices that the user named.
pub(super) fn runtime(site: &Site<'_>) -> Found {
    each(site, PCI, NO_PCI, "power/runtime_status stays active", |draft, case, device| {
        let class = case.peek(&format!("{PCI}/{device}/class"));
        let is_card = |class: &String| ["0x02", "0x0c09"].iter().any(|start| class.starts_with(start));
        if class.known().is_some_and(is_card) || site.is_named(device) {
            draft.write(case, device, &format!("{PCI}/{device}/power/control"), "on");
        }
    })
}

/// The policy for all links, or the switches of each link where the policy is right and the switches are not.
pub(super) fn aspm(site: &Site<'_>) -> Found {
    let case = site.case;
    case.not_a_guest()?;
    let policy = "/sys/module/pcie_aspm/parameters/policy";
    let risk = "Links are set up anew, one by one; more power.";
    let mut draft = Draft::default();
    draft.write_as(case, "all links", policy, "performance", Expected::same(Reading::Marked));
    if !draft.is_empty() {
        return Ok(draft.remedy(risk, "link/*_aspm of each device reads 0"));
    }
    for device in names(case, PCI, NO_PCI)? {
        for state in LINK_STATES {
            draft.write(case, &device, &format!("{PCI}/{device}/link/{state}"), "0");
        }
    }
    Ok(draft.apart(risk, "link/*_aspm of each device reads 0"))
}

pub(super) fn clock(site: &Site<'_>) -> Found {
    each(site, PCI, NO_PCI, "link/clkpm", |draft, case, device| {
        draft.write(case, device, &format!("{PCI}/{device}/link/clkpm"), "0");
    })
}

pub(super) fn sata(site: &Site<'_>) -> Found {
    let folder = "/sys/class/scsi_host";
    each(site, folder, "there is no SATA controller", "link_power_management_policy", |draft, case, host| {
        let path = format!("{folder}/{host}/link_power_management_policy");
        // The setting of the firmware is not shown, so it could not be put back.
        if case.peek(&path).known().is_none_or(|policy| policy != "keep_firmware_settings") {
            draft.write(case, host, &path, "max_performance");
        }
    })
}

/// Drives that choose sleep states themselves.
pub(super) fn nvme(site: &Site<'_>) -> Found {
    let folder = "/sys/class/nvme";
    each(site, folder, "there is no NVMe drive", "pm_qos_latency_tolerance_us", |draft, case, drive| {
        draft.write(case, drive, &format!("{folder}/{drive}/power/pm_qos_latency_tolerance_us"), "0");
    })
}
