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
        why: "When all cores of a package sleep, the package itself goes deeper: last-level cache \
            flushed, memory in self-refresh. The first core to wake waits for all of it; a limit on single cores keeps \
            it away only while one of them is awake.",
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
        why: "A chipset that gets hot makes the CPU slow down for it.",
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
        why: "Ports whose clocks are stopped between transfers start them again in front of the first \
            one.",
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
        title: "No USB keyboard emulation by the firmware",
        severity: Weight::of(Medium, Medium, Info),
        applies: has_setup,
        check: Check::advice(
            "Cannot be seen from software: look in firmware under Legacy USB Support, XHCI Hand-off and Port \
                60/64 Emulation, usually under Advanced, USB configuration: support off, hand-off on. Its trace \
                is a growing count of system management interrupts: see fw.smi_count.",
        ),
        why: "To make USB keyboards look like old ones, the firmware polls them in system management \
            mode, with all CPUs stopped, until the kernel's driver takes over and sometimes after.",
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
        why: "Some chipsets have a switch that keeps the way to old I/O ports awake; with it off, a port \
            access may wait for a sleeping link.",
        ..KNOB
    },
    Knob {
        id: "fw.sagv",
        title: "Memory and system agent at one clock (SA-GV)",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Firmware(
            "SA GV (System Agent Geyserville) = Fixed High or Disabled, usually under Chipset, System Agent, Memory configuration",
        ),
        why: "With it, the clock of memory and system agent follows the load; while it changes, memory cannot be \
            reached.",
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
        why: "On machines with ECC memory the firmware may enter system management mode for each \
            corrected error, or each time a counter is full.",
        cost: "A module going bad is noticed later.",
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
        why: "On Intel's embedded parts one switch sets the rest of this list: sleep states, clocks, \
            links and caches for bounded latency.",
        cost: "Power; turbo and SMT are off, as a rule.",
        sources: &["unverified: Intel's TCC documentation; only some embedded parts have it"],
        ..KNOB
    },
];
