//! Knobs about settings of the firmware that leave no trace. Each knob says where to look for its setting.

use super::memory::may_have_ecc;
use super::{has_intel_setup, has_setup};
use crate::knobs::prelude::*;

const KNOB: Knob = Knob {
    applies: has_intel_setup,
    blast: Blast::Breaking,
    confidence: Confidence::Low,
    sources: &["unverified: usual advice; names of menus differ between makers"],
    cost: "Power.",
    ..Knob::of(Family::Firmware)
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "fw.package_cstate",
        title: "Package kept out of deep sleep",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Firmware("Package C State Limit = C0/C1, usually under Advanced, CPU power management"),
        why: "When all cores of a package sleep, the package itself enters a deeper state: the last-level cache is \
            flushed and memory is in self-refresh. The first core that wakes waits until this is undone. A core that \
            Linux keeps in C1 or awake keeps its whole package out of such states, as long as that limit is held.",
        cost: "Power while idle.",
        sources: &[
            "kernel 7.3 drivers/idle/intel_idle.c: PKG_CST_CONFIG_CONTROL",
            "unverified: names of menus differ between makers",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.pch_throttling",
        title: "No cross-throttling by the chipset",
        check: Check::Firmware(
            "PCH Cross Throttling or PCH Thermal Throttling = off, usually under Chipset, PCH or Advanced, Thermal configuration",
        ),
        why: "A chipset that gets hot makes the CPU slow down.",
        cost: "The chipset must be cooled well enough.",
        ..KNOB
    },
    Knob {
        id: "fw.pcie_clock_gating",
        title: "PCIe clock gating off",
        applies: has_setup,
        check: Check::Firmware(
            "PCI Express Clock Gating = off, usually under Chipset, PCH or System Agent, PCI Express configuration",
        ),
        why: "A port whose clock is stopped between transfers has to start the clock again before the next transfer.",
        ..KNOB
    },
    Knob {
        id: "fw.dmi_aspm",
        title: "Link between CPU and chipset stays awake",
        check: Check::Firmware(
            "DMI Link ASPM Control = off, usually under Chipset, System Agent, DMI or PCH, PCI Express configuration",
        ),
        why: "Network, USB and SATA in the chipset are reached over this link; when it sleeps, each \
            access waits for it to wake.",
        ..KNOB
    },
    Knob {
        id: "fw.usb_legacy",
        title: "The firmware does not make USB keyboards look like PS/2 ones",
        severity: Weight::of(Medium, Medium, Info),
        applies: has_setup,
        check: Check::advice(
            "Cannot be seen from software: look in firmware under Legacy USB Support, XHCI Hand-off and Port 60/64 \
            Emulation, usually under Advanced, USB configuration: support off, hand-off on. A growing count of system \
            management interrupts shows that it is active: see fw.smi_count.",
        ),
        why: "To make USB keyboards look like PS/2 keyboards, the firmware polls them in system management mode, and \
            stops all CPUs at each poll, until the kernel's driver takes over and sometimes even after that.",
        persist: &[Lasting::Firmware(
            "Legacy USB Support, XHCI Hand-off and Port 60/64 Emulation, usually under Advanced, USB configuration: support off, hand-off on",
        )],
        cost: "No USB keyboard in the firmware's menus or the boot loader, on some machines.",
        sources: &[
            "kernel 7.3 core-api/real-time/hardware.rst: firmware",
            "unverified: names of menus differ between makers",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.legacy_io",
        title: "Legacy I/O at low latency",
        check: Check::Firmware("Legacy IO Low Latency = on, usually under Chipset, PCH, PCI Express configuration"),
        why: "Some chipsets have a switch that keeps the link to old I/O ports awake; if it is off, an access to such \
            a port may have to wait until the link has woken.",
        ..KNOB
    },
    Knob {
        id: "fw.sagv",
        title: "Memory and system agent at a fixed clock frequency (SA-GV)",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Firmware(
            "SA GV (System Agent Geyserville) = Fixed High or Disabled, usually under Chipset, System Agent, Memory configuration",
        ),
        why: "With SA GV, the clock of the memory and the system agent follows the load; while the clock changes, \
            memory cannot be reached.",
        cost: "Power while idle.",
        ..KNOB
    },
    Knob {
        id: "fw.ecc_threshold",
        title: "Corrected memory errors not reported one by one",
        applies: |case| has_setup(case).and_then(|()| may_have_ecc(case)),
        check: Check::Firmware(
            "Correctable Error Threshold (high) and Patrol Scrub Error Reporting (off), usually under Advanced, Memory RAS or Event Log configuration",
        ),
        why: "On machines with ECC memory the firmware may enter system management mode for each corrected error, or \
            each time its error counter is full.",
        cost: "A memory module that is going bad is noticed later.",
        sources: &[
            "unverified: usual advice; only with ECC memory",
            "kernel 7.3 core-api/real-time/hardware.rst: memory scrubbing",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.tcc",
        title: "Intel's real-time mode (TCC) on",
        check: Check::Firmware(
            "Intel Time Coordinated Computing Mode (TCC) = on, usually under Intel Advanced Menu or Advanced, TCC",
        ),
        why: "On Intel's embedded parts one switch sets several of the firmware's settings for bounded latency: sleep \
            states, clocks, links and caches.",
        cost: "Power; as a rule it also turns turbo and SMT off.",
        sources: &["unverified: Intel's TCC documentation; only some embedded parts have it"],
        ..KNOB
    },
];
