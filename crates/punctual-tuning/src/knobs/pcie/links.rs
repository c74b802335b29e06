//! Knobs about PCI links that sleep, and about the devices behind them.

use crate::knobs::prelude::*;
use crate::knobs::seen::links::{LINK_STATES, NO_PCI, PCI};

const KNOB: Knob =
    Knob { cost: "Power.", confidence: Confidence::Medium, blast: Blast::Disturbing, ..Knob::of(Family::Pcie) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.aspm",
        title: "PCIe links stay awake",
        confidence: Confidence::High,
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(aspm),
        why: "A link in L1 takes from a few microseconds to a hundred to wake, before the first register access.",
        fix: Fix::prose(
            "echo performance > /sys/module/pcie_aspm/parameters/policy, or echo 0 > \
            /sys/bus/pci/devices/DEVICE/link/l1_aspm for the path of the real-time device. Do not use pcie_aspm=off: \
            it leaves on whatever the firmware turned on.",
        ),
        persist: &[Lasting::word("pcie_aspm.policy=performance"), Lasting::NoWord("pcie_aspm")],
        sources: &[
            "kernel 7.3 drivers/pci/pcie/aspm.c",
            "kernel ABI testing/sysfs-bus-pci",
            "kernel-parameters.txt: pcie_aspm=",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.clkpm",
        title: "PCIe reference clocks keep running",
        check: Check::seen(
            "/sys/bus/pci/devices/*/link/clkpm",
            Want::ZERO,
            CannotBe("no link here can stop its clock, or the kernel does not control them"),
        ),
        why: "With clock power management the device may ask for its reference clock to be stopped while the link is in \
            L1; waking it then takes tens of microseconds more.",
        fix: Fix::command("echo 0 > /sys/bus/pci/devices/DEVICE/link/clkpm"),
        persist: &[
            Lasting::word("pcie_aspm.policy=performance"),
            Lasting::Udev(Rule {
                when: &[attribute("link/clkpm", "1")],
                ..Rule::add("pci", &[attribute("link/clkpm", "0")])
            }),
        ],
        sources: &[
            "kernel 7.3 drivers/pci/pcie/aspm.c: clkpm",
            "kernel ABI testing/sysfs-bus-pci",
            "unverified: the time",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.pci_runtime",
        title: "Network and CAN cards stay powered",
        blast: Blast::Harmless,
        severity: Weight::of(Medium, Info, Info),
        check: Check::each(
            "/sys/bus/pci/devices/*/power/control",
            is_network,
            Want::Word { good: &["on"], bad: &["auto"] },
            TellsNothing("no network or CAN card shows whether it may sleep"),
        ),
        why: "A device whose power is managed at run time (auto) may be put to sleep when idle; waking it takes \
            milliseconds (10 ms for D3hot). PCIe ports are set to auto by default; a port stays awake while a device \
            behind it is awake.",
        fix: Fix::prose("echo on > /sys/bus/pci/devices/DEVICE/power/control for the real-time device."),
        persist: &[
            Lasting::Udev(Rule {
                when: &[attribute("class", "0x02*")],
                ..Rule::add("pci", &[attribute("power/control", "on")])
            }),
            Lasting::Udev(Rule {
                when: &[attribute("class", "0x0c09*")],
                ..Rule::add("pci", &[attribute("power/control", "on")])
            }),
        ],
        sources: &[
            "kernel power/pci.rst",
            "kernel ABI testing/sysfs-devices-power: control",
            "kernel 6.1 drivers/pci/pcie/portdrv_pci.c, 6.12, 7.3 portdrv.c: pm_runtime_allow",
        ],
        ..KNOB
    },
];

fn aspm(case: &Case<'_>) -> Judged {
    let devices = case.names(PCI, CannotBe(NO_PCI))?;
    Doubt::not_applicable_if(devices.is_empty(), "there is no PCI device")?;
    let (mut links, mut sleepy) = (0_usize, Vec::new());
    for device in &devices {
        let link = format!("{PCI}/{device}/link");
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
            "no link shows its state: the kernel does not control the links; lspci -vv (LnkCtl) shows what the \
            firmware chose",
        );
    }
    case.none_found(
        format!("{PCI}/*/link"),
        sleepy.join(", "),
        format!("no sleep state is on for any of {links} links"),
    )
}

/// Whether a PCI device is a network controller of any kind (class `0x02`) or a CAN controller (`0x0c09`).
fn is_network(case: &Case<'_>, device: &str) -> bool {
    let class = case.peek(&format!("{device}/class"));
    class.known().is_some_and(|class| class.starts_with("0x02") || class.starts_with("0x0c09"))
}
