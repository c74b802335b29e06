//! Settings of the firmware whose effect software can see, so that a verdict is possible.

use super::{has_intel_setup, has_setup};
use crate::knobs::prelude::*;
use crate::knobs::seen::frequency::governor;
use crate::knobs::seen::idle::{deep_on_first, names_on_first};
use crate::knobs::seen::links;

/// The power management in the registers of the PCI links, which the reader of the live machine supplies: a line
/// `DEVICE aspm=N clkpm=N` for each device whose registers could be read.
const LINKS: &str = "punctual:/pci/links";
const NO_RESIDENCY: Missing = CannotBe("no graphics card here shows how long it slept");

const KNOB: Knob =
    Knob { cost: "Power.", blast: Blast::Breaking, confidence: Confidence::Medium, ..Knob::of(Family::Firmware) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "fw.smt",
        title: "SMT off in the firmware",
        applies: has_setup,
        check: Check::seen(
            "/sys/devices/system/cpu/smt/control",
            Want::Word { good: &["notsupported", "forceoff", "off"], bad: &["on"] },
            CannotBe("this kernel knows no SMT"),
        ),
        why: "If SMT is off in the firmware, no core is ever shared, and one thread has all the buffers that are \
            otherwise split between two. If Linux switches SMT off, each sibling is started once and then parked.",
        fix: Fix::command("echo off > /sys/devices/system/cpu/smt/control"),
        persist: &[
            Lasting::Firmware("Hyper-Threading or SMT Mode, usually under Advanced, CPU configuration"),
            Lasting::word("nosmt"),
        ],
        undo: Fix::prose("echo on > the same file; restore the former setting."),
        cost: "20 to 30 % of the machine's throughput.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel ABI testing/sysfs-devices-system-cpu: smt/control",
            "unverified: which buffers a given CPU splits",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.speedstep",
        title: "SpeedStep and Speed Shift off, or the frequency fixed",
        check: Check::Probe(speedstep),
        why: "If the firmware lets the CPU change its clock and Linux does not fix the clock, the same code takes \
            different times. A clock that Linux fixes is as good as switching this off in the firmware, and quicker to \
            undo.",
        fix: Fix::prose(
            "Set the governor performance, or one frequency for minimum and maximum, as pm.governor and \
            pm.freq_pin say.",
        ),
        persist: &[
            Lasting::Firmware(
                "Intel SpeedStep and Speed Shift, or AMD Cool'n'Quiet and CPPC, usually under Advanced, CPU power management",
            ),
            Lasting::word("cpufreq.default_governor=performance"),
        ],
        cost: "Power; without SpeedStep often no turbo either.",
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/pm/intel_pstate.rst", "unverified: names of menus differ between makers"],
        ..KNOB
    },
    Knob {
        id: "fw.cstates",
        title: "C-states off in the firmware, or kept shallow",
        applies: has_setup,
        check: Check::Probe(|case| Ok(deep_on_first(case)?.is_none())),
        why: "Idle states that the firmware offers are used unless something limits them. A limit by Linux is as good \
            as switching them off in the firmware, and quicker to undo.",
        persist: &[
            Lasting::Firmware(
                "CPU C-states, C6/C7/C10 report, Global C-state control, usually under Advanced, CPU power management",
            ),
            Lasting::write("/sys/devices/system/cpu/cpu<I>/power/pm_qos_resume_latency_us", "2"),
        ],
        cost: "Power and heat; less room for turbo.",
        sources: &[
            "kernel admin-guide/pm/cpuidle.rst",
            "kernel admin-guide/pm/intel_idle.rst",
            "unverified: names of menus differ between makers",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.c1e",
        title: "Enhanced halt (C1E) off",
        check: Check::Probe(c1e),
        why: "In C1E, the core lowers its clock and voltage as soon as it halts, and raises them again after it wakes: \
            this takes some microseconds longer than plain C1.",
        fix: Fix::prose("echo 1 > /sys/devices/system/cpu/cpuN/cpuidle/stateM/disable for the state named C1E."),
        persist: &[Lasting::Firmware("Enhanced C1 or C1E support, usually under Advanced, CPU power management")],
        sources: &["kernel 7.3 drivers/idle/intel_idle.c: C1E", "unverified: names of menus differ between makers"],
        ..KNOB
    },
    Knob {
        id: "fw.turbo",
        title: "Turbo off in the firmware, or by Linux",
        check: Check::Probe(turbo),
        why: "With turbo, a CPU may run faster than it can sustain, so its clock depends on heat, power and the \
            neighbouring cores.",
        fix: Fix::prose(
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
            /sys/devices/system/cpu/cpufreq/boost",
        ),
        persist: &[Lasting::Firmware(
            "Turbo Mode, Turbo Boost or Core Performance Boost, usually under Advanced, CPU power management",
        )],
        cost: "The peak speed; leave turbo on if the latency of a single thread matters most and cooling is certain.",
        confidence: Confidence::Low,
        sources: &[
            "kernel admin-guide/pm/intel_pstate.rst: no_turbo",
            "unverified: that CPUs drop the flag ida or cpb where firmware turns turbo off",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.rc6",
        title: "Graphics does not sleep (RC6, GT power management)",
        applies: has_intel_setup,
        check: Check::All(&[
            Check::seen("/sys/class/drm/card*/power/rc6_residency_ms", Want::ZERO, NO_RESIDENCY),
            Check::seen("/sys/class/drm/card*/gt/gt0/rc6_residency_ms", Want::ZERO, NO_RESIDENCY),
            Check::seen("/sys/class/drm/card*/device/tile0/gt0/gtidle/idle_residency_ms", Want::ZERO, NO_RESIDENCY),
        ]),
        why: "When the graphics unit enters or leaves RC6, the package's power and clocks change, and the graphics \
            unit wakes through the memory controller that all CPUs use.",
        fix: Fix::prose("No setting of Linux on most machines; old versions of i915 had a parameter for it."),
        persist: &[Lasting::Firmware(
            "RC6 (Render Standby) off, usually under Advanced, Graphics or Power & Performance, GT power management",
        )],
        cost: "Power and heat.",
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c: rc6_residency_ms",
            "kernel 7.3 drivers/gpu/drm/xe/xe_gt_idle.c: idle_residency_ms",
            "unverified: size of the effect",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.gpu_clock",
        title: "Graphics clock at one low value",
        applies: has_intel_setup,
        check: Check::seen(
            "/sys/class/drm/card*/gt_min_freq_mhz",
            Want::SameAs("gt_max_freq_mhz"),
            CannotBe("no graphics card here shows its clock"),
        ),
        why: "Faster graphics use power and thermal headroom that the CPUs could use, and the last-level cache and \
            memory bandwidth that they share.",
        fix: Fix::prose("Write gt_RPn_freq_mhz into gt_min_freq_mhz and gt_max_freq_mhz of /sys/class/drm/cardN."),
        persist: &[Lasting::Firmware(
            "Maximum GT frequency, usually under Advanced, Graphics or Power & Performance, GT power management",
        )],
        undo: Fix::prose("Write back both values; restore the former setting."),
        cost: "Slow graphics.",
        confidence: Confidence::Low,
        blast: Blast::Harmless,
        sources: &[
            "kernel 7.3 drivers/gpu/drm/i915/i915_sysfs.c, gt/intel_gt_sysfs_pm.c",
            "unverified: size of the effect",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.pcie_aspm",
        title: "PCIe links do not sleep, whether Linux or the firmware decides",
        // If the kernel controls the links, `pm.aspm` reports them.
        severity: Weight::of(Medium, Medium, Info).at_most(Info, links::controls_links),
        check: Check::Probe(awake_links),
        why: "Firmware may turn on link power management and keep Linux from controlling it: then only the links' own \
            registers (LnkCtl) show it. Leaving L1 takes from a few microseconds to a hundred.",
        fix: Fix::prose(
            "echo 0 > /sys/bus/pci/devices/DEVICE/link/l1_aspm, where the kernel controls the links; \
            else in the firmware.",
        ),
        persist: &[
            Lasting::Firmware(
                "PCI Express ASPM, Native ASPM, usually under Advanced, PCI subsystem or Chipset, PCH, PCI Express",
            ),
            Lasting::word("pcie_aspm.policy=performance"),
        ],
        confidence: Confidence::High,
        sources: &[
            "PCI Express base specification: Link Control register",
            "kernel 7.3 include/uapi/linux/pci_regs.h: PCI_EXP_LNKCTL",
            "unverified: names of menus differ between makers",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.sata_alpm",
        title: "Aggressive link power management of SATA off",
        applies: has_setup,
        check: Check::Probe(links::sata),
        why: "If the firmware turns Aggressive LPM on, the SATA controller lets links sleep as soon as they are idle; \
            waking takes up to ten milliseconds.",
        fix: Fix::command("echo max_performance > /sys/class/scsi_host/hostN/link_power_management_policy"),
        persist: &[
            Lasting::Firmware("Aggressive LPM support, usually under Chipset, PCH, SATA configuration"),
            Lasting::word("ahci.mobile_lpm_policy=1"),
        ],
        blast: Blast::Harmless,
        sources: &[
            "kernel 7.3 drivers/ata/libata-sata.c, ahci.c: ahci_update_initial_lpm_policy",
            "unverified: names of menus differ between makers",
        ],
        ..KNOB
    },
];

fn speedstep(case: &Case<'_>) -> Judged {
    has_setup(case)?;
    match governor(case) {
        Err(Doubt::NotApplicable(_)) => {
            let can_change = case.cpu_flag("est")? | case.cpu_flag("hwp")? | case.cpu_flag("cppc")?;
            Doubt::unknown_if(can_change, "the CPU can change its clock, and no Linux driver shows whether it does")?;
            Ok(true)
        }
        judged => judged,
    }
}

fn c1e(case: &Case<'_>) -> Judged {
    has_intel_setup(case)?;
    let unshown = TellsNothing("the idle driver is not shown");
    let driver = case.text("/sys/devices/system/cpu/cpuidle/current_driver", unshown)?;
    if driver != "intel_idle" {
        return Doubt::unknown(format!("only intel_idle tells C1E from C1, and the idle driver is {driver}"));
    }
    Ok(!names_on_first(case)?.iter().any(|name| name.starts_with("C1E")))
}

fn turbo(case: &Case<'_>) -> Judged {
    has_setup(case)?;
    // If the firmware turned turbo off, the CPU does not have the flag for it.
    if !(case.cpu_flag("ida")? | case.cpu_flag("cpb")?) {
        return Ok(true);
    }
    let switch = |path: &str| case.peek(path).map(|value| (path.to_owned(), value));
    let intel = switch("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|(path, v)| (path, v.clone(), v == "1"));
    let any = || switch("/sys/devices/system/cpu/cpufreq/boost").map(|(path, v)| (path, v.clone(), v == "0"));
    match intel.or_else(any) {
        Fact::Known((path, value, is_off)) => {
            case.note(path, value);
            Ok(is_off)
        }
        _ => Doubt::unknown("the CPU offers turbo, and no Linux driver shows whether it is used"),
    }
}

fn awake_links(case: &Case<'_>) -> Judged {
    has_setup(case)?;
    let missing = TellsNothing(
        "the registers of the PCI Express links are not shown; root may be able to read them (lspci -vv: LnkCtl)",
    );
    let text = case.content(LINKS, missing)?;
    let (mut asked, mut sleepy) = (0_usize, Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(device), Some(aspm)) = (words.next(), words.next().and_then(|word| word.strip_prefix("aspm=")))
        else {
            return Doubt::unknown(format!("{LINKS} (which PCI Express links may sleep) is not understood"));
        };
        asked += 1;
        if aspm != "0" {
            sleepy.push(device);
        }
    }
    Doubt::unknown_if(asked == 0, "no PCI Express link was found whose registers could be read")?;
    let awake = format!("L0s and L1 are off at all {asked} ends of links");
    case.note(LINKS, if sleepy.is_empty() { awake } else { format!("links that may sleep: {}", sleepy.join(", ")) });
    Ok(sleepy.is_empty())
}
