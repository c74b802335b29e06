//! Links that sleep between transfers.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{Info, Medium};

pub(super) const KNOBS: &[Knob] = &[Knob {
    id: "pm.aspm",
    title: "PCIe links stay awake",
    family: Family::Pcie,
    severity: Weight::of(Medium, Medium, Info),
    probe: Probe::Effective(aspm),
    why: "A link in L1 takes microseconds to a hundred of them to wake, in front of the first register access.",
    fix: "echo performance > /sys/module/pcie_aspm/parameters/policy, or echo 0 > \
        /sys/bus/pci/devices/DEVICE/link/l1_aspm for the path of the real-time device.",
    persist: &[Lasting::Other(
        "Kernel command line: pcie_aspm.policy=performance. Not pcie_aspm=off: that leaves on what the \
        firmware turned on.",
    )],
    undo: "Write back the policy that stood in brackets.",
    cost: "Power.",
    blast: Blast::Disturbing,
    confidence: Confidence::High,
    sources: &[
        "kernel 7.3 drivers/pci/pcie/aspm.c",
        "kernel ABI testing/sysfs-bus-pci",
        "kernel-parameters.txt: pcie_aspm=",
    ],
}];

const LINK_STATES: [&str; 6] = ["l0s_aspm", "l1_aspm", "l1_1_aspm", "l1_2_aspm", "l1_1_pcipm", "l1_2_pcipm"];

fn aspm(case: &Case<'_>) -> Judged {
    let folder = "/sys/bus/pci/devices";
    let none = Missing::CannotBe("there is no PCI bus");
    let devices = case.known(folder, case.list(folder), none)?;
    if devices.is_empty() {
        return Doubt::not_applicable("there is no PCI device");
    }
    let (mut links, mut sleepy) = (0_usize, Vec::new());
    for device in &devices {
        let link = format!("{folder}/{device}/link");
        let states = case.list(&link);
        let is_shown = |state: &&str| states.known().is_some_and(|names| names.iter().any(|n| n == state));
        let shown: Vec<&str> = LINK_STATES.into_iter().filter(|state| is_shown(state)).collect();
        links += usize::from(!shown.is_empty());
        let on = shown.iter().find(|state| case.peek(&format!("{link}/{state}")).known().is_some_and(|v| v != "0"));
        sleepy.extend(on.map(|state| format!("{device} {state}")));
    }
    if links == 0 {
        case.not_a_guest()?;
        case.cite("/sys/module/pcie_aspm/parameters/policy", &case.peek("/sys/module/pcie_aspm/parameters/policy"));
        return Doubt::unknown(
            "no link shows its state: the kernel does not control them, and what the firmware chose shows in lspci \
                -vv (LnkCtl)",
        );
    }
    case.note(
        format!("{folder}/*/link"),
        if sleepy.is_empty() { format!("none of {links} links may sleep") } else { sleepy.join(", ") },
    );
    Ok(sleepy.is_empty())
}
