//! Links of PCI Express and SATA, as the kernel shows them.

use crate::knobs::case::Missing::CannotBe;
use crate::knobs::case::{Case, Doubt, Judged};
use punctual_facts::fact::Fact;

pub(crate) const MOST_DEVICES: usize = 512;
pub(crate) const PCI: &str = "/sys/bus/pci/devices";
pub(crate) const NO_PCI: &str = "there is no PCI bus";
pub(crate) const LINK_STATES: [&str; 6] = ["l0s_aspm", "l1_aspm", "l1_1_aspm", "l1_2_aspm", "l1_1_pcipm", "l1_2_pcipm"];

/// Whether the kernel controls the power management of any PCI link. The kernel shows the link states only of links
/// that it controls.
pub(crate) fn controls_links(case: &Case<'_>) -> bool {
    let devices = case.list(PCI);
    devices.known().into_iter().flatten().any(|device| {
        let shown = case.list(&format!("{PCI}/{device}/link"));
        shown.known().is_some_and(|names| names.iter().any(|name| LINK_STATES.contains(&name.as_str())))
    })
}

pub(crate) fn sata(case: &Case<'_>) -> Judged {
    let folder = "/sys/class/scsi_host";
    let none = CannotBe("there is no SATA controller");
    let hosts = case.names(folder, none)?;
    let mut policies: Vec<String> = Vec::new();
    for host in hosts.iter().take(MOST_DEVICES) {
        let Fact::Known(policy) = case.peek(&format!("{folder}/{host}/link_power_management_policy")) else { continue };
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Doubt::not_applicable_if(policies.is_empty(), "there is no SATA controller that can let its links sleep")?;
    case.note(format!("{folder}/*/link_power_management_policy"), policies.join(", "));
    let is_firmwares = policies.iter().any(|policy| policy == "keep_firmware_settings");
    Doubt::unknown_if(is_firmwares, "the firmware's choice was kept, and is not shown")?;
    Ok(policies.iter().all(|policy| policy == "max_performance"))
}
