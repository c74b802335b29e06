//! Knobs about heat and power limits, which lower the clock whatever the governor says.

use crate::knobs::prelude::*;
use crate::pattern::fitting;

const POWERCLAMP: &str = "intel_powerclamp";

const NOT_COUNTED: Missing = CannotBe("this CPU does not count how often it was throttled");

/// Lasting changes that keep a CPU from getting too hot.
const COOLER: &[Lasting] = &[
    Lasting::write("/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq", "<SUSTAINED_KHZ>"),
    Lasting::other("Or cooling that is sufficient at full load."),
];

const KNOB: Knob = Knob {
    cost: "Peak speed.",
    severity: Weight::all(High),
    confidence: Confidence::Medium,
    ..Knob::of(Family::Frequency)
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.thermal",
        title: "CPU cores never throttled for heat since boot",
        applies: |case| case.not_a_guest(),
        check: Check::seen(
            "/sys/devices/system/cpu/cpu<I>/thermal_throttle/core_throttle_count",
            Want::ZERO,
            NOT_COUNTED,
        ),
        why: "A CPU that gets too hot is slowed down by hardware until it has cooled, whatever the priority of the \
            thread that runs.",
        fix: Fix::prose(
            "Improve cooling, or lower the sustained frequency until the counters no longer rise under full load.",
        ),
        persist: COOLER,
        sources: &["kernel 7.3 drivers/thermal/intel/therm_throt.c"],
        ..KNOB
    },
    Knob {
        id: "pm.thermal_package",
        title: "Package never throttled for heat since boot",
        applies: |case| case.not_a_guest(),
        check: Check::seen(
            "/sys/devices/system/cpu/cpu<I>/thermal_throttle/package_throttle_count",
            Want::ZERO,
            NOT_COUNTED,
        ),
        why: "The package has a sensor of its own: other CPUs, or graphics, heat it up, and then all of its CPUs are \
            slowed down, even an idle real-time CPU.",
        fix: Fix::prose(
            "Improve cooling, or lower the frequency of the other CPUs and of graphics until the counter no longer \
            rises under full load.",
        ),
        persist: COOLER,
        sources: &["kernel 7.3 drivers/thermal/intel/therm_throt.c: package_throttle_count"],
        ..KNOB
    },
    Knob {
        id: "pm.cooling",
        title: "No CPU slowed down for heat now",
        check: Check::each(
            "/sys/class/thermal/cooling_device*/cur_state",
            slows_cpus,
            Want::AtMost(0),
            CannotBe("the kernel has no device here that slows CPUs down because of heat"),
        ),
        why: "The kernel itself lowers the clock of CPUs, or forces them idle, when a thermal zone passes its passive \
            trip point. Any state above 0 means it is doing so now.",
        fix: Fix::prose(
            "Improve cooling; lower the sustained frequency; look at the trip points in /sys/class/thermal.",
        ),
        persist: COOLER,
        sources: &["kernel 7.3 drivers/thermal/cpufreq_cooling.c, drivers/acpi/processor_thermal.c"],
        ..KNOB
    },
    Knob {
        id: "pm.powerclamp",
        title: "Nothing can force CPUs idle",
        severity: Weight::all(Info).at_least(High, is_clamping),
        applies: |case| case.only_on(Arch::X86, "intel_powerclamp is for Intel's CPUs only"),
        check: Check::NoModule("intel_powerclamp"),
        why: "intel_powerclamp puts all CPUs to sleep at the same time, by threads with FIFO priority, to save power; \
            thermald uses it when it is loaded.",
        cost: "One method less to cool the machine; the hardware's own protection remains.",
        blast: Blast::Breaking,
        sources: &[
            "kernel 7.3 drivers/thermal/intel/intel_powerclamp.c",
            "unverified: that thermald prefers it where loaded",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.rapl",
        title: "No power limit below what the package is made for",
        severity: Weight::all(Medium),
        check: Check::Probe(rapl),
        why: "When the running average of its power passes the limit, the package lowers the clock of all its CPUs, no \
            matter which part used the power.",
        fix: Fix::prose(
            "Raise constraint_0_power_limit_uw in /sys/class/powercap/intel-rapl:N to its constraint_0_max_power_uw, \
            if cooling allows.",
        ),
        persist: &[
            Lasting::Firmware("Power Limit 1 (PL1) and its time window, usually under Advanced, Power & Performance"),
            Lasting::write("/sys/class/powercap/intel-rapl:*/constraint_0_power_limit_uw", "<MAX_UW>"),
        ],
        cost: "Heat: only with cooling to match.",
        sources: &["kernel 7.3 drivers/powercap/intel_rapl_common.c", "kernel power/powercap/powercap.rst"],
        ..KNOB
    },
    Knob {
        id: "fw.cooling",
        title: "Cooling that holds at full load",
        severity: Weight::all(Info),
        applies: |case| case.not_a_guest(),
        check: Check::advice(
            "What cooling can do shows only at full load: load all CPUs and graphics for an hour in the warmest place \
            the machine will stand, and check that the counters of pm.thermal, pm.thermal_package and pm.cooling do \
            not rise.",
        ),
        why: "A machine that is punctual when cold and throttled when hot fails when it matters.",
        fix: Fix::prose("Larger heat sink, free air flow, dust filters, or a lower sustained frequency."),
        persist: &[Lasting::Firmware("fan curve at full speed, usually under Hardware Monitor or Smart Fan")],
        undo: Fix::prose("Nothing to undo."),
        cost: "Noise, or peak speed.",
        confidence: Confidence::Low,
        sources: &["kernel 7.3 core-api/real-time/hardware.rst: firmware", "unverified: usual advice"],
        ..KNOB
    },
];

fn slows_cpus(case: &Case<'_>, device: &str) -> bool {
    let starts = ["Processor", "cpufreq-", "cpuidle-", "thermal-cpufreq-", "thermal-idle-", POWERCLAMP];
    case.peek(&format!("{device}/type")).known().is_some_and(|kind| starts.iter().any(|start| kind.starts_with(start)))
}

fn is_clamping(case: &Case<'_>) -> bool {
    let file = |device: &str, name: &str| case.peek(&format!("{device}/{name}")).known().cloned().unwrap_or_default();
    fitting(case, "/sys/class/thermal/cooling_device*").iter().any(|device| {
        file(device, "type") == POWERCLAMP && file(device, "cur_state").parse::<i64>().is_ok_and(|state| state > 0)
    })
}

fn rapl(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let folder = "/sys/class/powercap";
    let none = CannotBe("this kernel shows no power limits");
    let zones = case.names(folder, none)?;
    let is_package = |zone: &&String| zone.starts_with("intel-rapl") && zone.matches(':').count() == 1;
    let packages: Vec<&String> = zones.iter().filter(is_package).take(64).collect();
    Doubt::not_applicable_if(packages.is_empty(), "no package here has a power limit that Linux can see")?;
    let mut is_unlimited = true;
    for package in packages {
        let zone = format!("{folder}/{package}");
        let unshown = TellsNothing("a power limit is not shown in full");
        if case.text(&format!("{zone}/enabled"), unshown)? == "0" {
            continue;
        }
        let limit_uw = case.number(&format!("{zone}/constraint_0_power_limit_uw"), unshown)?;
        let made_for_uw = case.number(&format!("{zone}/constraint_0_max_power_uw"), unshown)?;
        Doubt::unknown_if(made_for_uw <= 0, "a CPU package does not tell the power that it is made for")?;
        is_unlimited &= limit_uw >= made_for_uw;
    }
    Ok(is_unlimited)
}
