//! Knobs about heat and power limits, which lower the clock whatever the governor says.

use crate::knobs::prelude::*;

/// The most cooling devices that are read. A machine has about one for each CPU.
const MOST_DEVICES: usize = 1024;
const POWERCLAMP: &str = "intel_powerclamp";

const NOT_COUNTED: Missing = CannotBe("this CPU does not count how often it was throttled");

/// Lasting changes that keep a CPU from getting too hot.
const COOLER: &[Lasting] = &[
    Lasting::write("/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq", "<SUSTAINED_KHZ>"),
    Lasting::other("Or cooling that holds at full load."),
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
        title: "Never throttled for heat since boot",
        applies: |case| case.not_a_guest(),
        check: Check::seen(
            "/sys/devices/system/cpu/cpu<I>/thermal_throttle/core_throttle_count",
            Want::ZERO,
            NOT_COUNTED,
        ),
        why: "A CPU that gets too hot is slowed down by hardware, for as long as it takes, and no priority helps.",
        fix: Fix::prose(
            "Improve cooling, or lower the sustained frequency until the counters stand still under full load.",
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
            slowed down, the idle real-time one too.",
        fix: Fix::prose(
            "Improve cooling, or lower the frequency of the other CPUs and of graphics until the counter stands \
            still under full load.",
        ),
        persist: COOLER,
        sources: &["kernel 7.3 drivers/thermal/intel/therm_throt.c: package_throttle_count"],
        ..KNOB
    },
    Knob {
        id: "pm.cooling",
        title: "No CPU slowed down for heat now",
        check: Check::Probe(cooling),
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
        applies: |case| case.only_on(Arch::X86, "it is for Intel's CPUs"),
        check: Check::NoModule("intel_powerclamp"),
        why: "intel_powerclamp puts all CPUs to sleep at the same time, by threads with FIFO priority, to save power; \
            thermald uses it when it is loaded.",
        cost: "One way less to cool the machine; the hardware's own remains.",
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
            "What cooling can do shows only at full load: load all CPUs and graphics for an hour in the warmest \
                place the machine will stand, and see that the counters of pm.thermal, pm.thermal_package and \
                pm.cooling stand still.",
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

/// The cooling devices that slow CPUs down, each with its state.
fn cpu_coolers(case: &Case<'_>) -> Result<Vec<(String, i64)>, Doubt> {
    let folder = "/sys/class/thermal";
    let none = CannotBe("this kernel has no thermal control");
    let names = case.names(folder, none)?;
    let mut found = Vec::new();
    for device in names.iter().filter(|name| name.starts_with("cooling_device")).take(MOST_DEVICES) {
        let Fact::Known(kind) = case.peek(&format!("{folder}/{device}/type")) else { continue };
        let slows_cpus = ["Processor", "cpufreq-", "cpuidle-", "thermal-cpufreq-", "thermal-idle-", POWERCLAMP];
        if !slows_cpus.iter().any(|start| kind.starts_with(start)) {
            continue;
        }
        let path = format!("{folder}/{device}/cur_state");
        let unshown = TellsNothing("a cooling device does not show its state");
        let state = case.content(&path, unshown)?;
        let Ok(state) = state.parse() else {
            return Doubt::unknown(format!("{path} holds '{state}'"));
        };
        found.push((format!("{device} ({kind})"), state));
    }
    Ok(found)
}

fn cooling(case: &Case<'_>) -> Judged {
    let coolers = cpu_coolers(case)?;
    Doubt::not_applicable_if(coolers.is_empty(), "the kernel has nothing here that slows CPUs down for heat")?;
    let busy: Vec<String> =
        coolers.iter().filter(|c| c.1 > 0).map(|(name, state)| format!("{name}: {state}")).collect();
    let all_idle = format!("0 in all {} for CPUs", coolers.len());
    case.none_found("/sys/class/thermal/cooling_device*/cur_state", busy.join(", "), all_idle)
}

fn is_clamping(case: &Case<'_>) -> bool {
    let is_at_work = |(name, state): &(String, i64)| name.contains(POWERCLAMP) && *state > 0;
    cpu_coolers(case).is_ok_and(|coolers| coolers.iter().any(is_at_work))
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
        Doubt::unknown_if(made_for_uw <= 0, "the package does not say what power it is made for")?;
        is_unlimited &= limit_uw >= made_for_uw;
    }
    Ok(is_unlimited)
}
