//! Devices and links that sleep, each kept awake by its own file.

use super::super::{Expected, Reading};
use super::draft::Draft;
use super::{Found, Site};
use crate::knobs::{Case, Doubt, Missing};
use punctual_facts::fact::Fact;

const PCI: &str = "/sys/bus/pci/devices";
const POWER: &str = "More power, and warmth.";
/// More devices than this on one bus are not looked at.
const MOST_DEVICES: usize = 512;
const LINK_STATES: [&str; 6] = ["l0s_aspm", "l1_aspm", "l1_1_aspm", "l1_2_aspm", "l1_1_pcipm", "l1_2_pcipm"];

fn names(case: &Case<'_>, folder: &str, none: &'static str) -> Result<Vec<String>, Doubt> {
    let mut names = case.known(folder, case.list(folder), Missing::CannotBe(none))?;
    names.truncate(MOST_DEVICES);
    Ok(names)
}

/// Every USB device that may be suspended, but for hubs: those sleep only when all behind them does.
pub(super) fn usb(site: &Site<'_>) -> Found {
    let case = site.case;
    let folder = "/sys/bus/usb/devices";
    let mut draft = Draft::default();
    for device in names(case, folder, "there is no USB")? {
        let is_hub = || case.peek(&format!("{folder}/{device}/bDeviceClass")) == Fact::Known("09".to_owned());
        if device.contains(':') || device.starts_with("usb") || is_hub() {
            continue;
        }
        draft.write(case, &device, &format!("{folder}/{device}/power/control"), "on");
    }
    Ok(draft.apart(POWER, "power/runtime_status stays active"))
}

/// Network and CAN cards, and what else was named.
pub(super) fn runtime(site: &Site<'_>) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    for device in names(case, PCI, "there is no PCI bus")? {
        let class = case.peek(&format!("{PCI}/{device}/class"));
        let is_card = |class: &String| ["0x02", "0x0c09"].iter().any(|start| class.starts_with(start));
        if class.known().is_some_and(is_card) || site.is_named(&device) {
            draft.write(case, &device, &format!("{PCI}/{device}/power/control"), "on");
        }
    }
    Ok(draft.apart(POWER, "power/runtime_status stays active"))
}

/// The policy for all links, or the switches of each where the policy is right and they are not.
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
    for device in names(case, PCI, "there is no PCI bus")? {
        for state in LINK_STATES {
            draft.write(case, &device, &format!("{PCI}/{device}/link/{state}"), "0");
        }
    }
    Ok(draft.apart(risk, "link/*_aspm of each device reads 0"))
}

pub(super) fn clock(site: &Site<'_>) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    for device in names(case, PCI, "there is no PCI bus")? {
        draft.write(case, &device, &format!("{PCI}/{device}/link/clkpm"), "0");
    }
    Ok(draft.apart(POWER, "link/clkpm"))
}

pub(super) fn sata(site: &Site<'_>) -> Found {
    let case = site.case;
    let folder = "/sys/class/scsi_host";
    let mut draft = Draft::default();
    for host in names(case, folder, "there is no SATA controller")? {
        let path = format!("{folder}/{host}/link_power_management_policy");
        // What the firmware chose is not shown, so it could not be put back.
        if case.peek(&path).known().is_some_and(|policy| policy == "keep_firmware_settings") {
            continue;
        }
        draft.write(case, &host, &path, "max_performance");
    }
    Ok(draft.apart(POWER, "link_power_management_policy"))
}

/// Drives that choose sleep states themselves.
pub(super) fn nvme(site: &Site<'_>) -> Found {
    let case = site.case;
    let folder = "/sys/class/nvme";
    let mut draft = Draft::default();
    for drive in names(case, folder, "there is no NVMe drive")? {
        draft.write(case, &drive, &format!("{folder}/{drive}/power/pm_qos_latency_tolerance_us"), "0");
    }
    Ok(draft.apart(POWER, "pm_qos_latency_tolerance_us"))
}
