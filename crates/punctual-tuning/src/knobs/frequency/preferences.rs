//! Knobs about the preference, for power or for speed, that is set for CPUs that choose their frequency themselves.

use crate::knobs::prelude::*;
use crate::knobs::seen::frequency::NO_DRIVER;

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Frequency) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.turbo",
        title: "No turbo",
        check: Check::Probe(turbo),
        why: "The turbo frequency of one CPU depends on what its neighbours do and on the temperature.",
        fix: Fix::prose(
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
            /sys/devices/system/cpu/cpufreq/boost; some drivers have a switch per CPU from 6.12 on: \
            /sys/devices/system/cpu/cpuN/cpufreq/boost for N in <I>.",
        ),
        persist: &[
            Lasting::write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
            Lasting::write("/sys/devices/system/cpu/cpufreq/boost", "0"),
            Lasting::Firmware("Turbo Boost or Core Performance Boost, usually under Advanced, CPU configuration"),
        ],
        cost: "The peak speed; leave turbo on if the latency of a single thread matters most and cooling is certain.",
        confidence: Confidence::Low,
        sources: &[
            "kernel admin-guide/pm/intel_pstate.rst",
            "kernel 6.12, 7.3 drivers/cpufreq/cpufreq.c: local_boost; not in 6.1",
            "unverified: whether it pays on a given machine; measure both",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.epp_epb",
        title: "Hardware told to prefer performance",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::file(
            "/sys/devices/system/cpu/cpu<I>/cpufreq/energy_performance_preference",
            Want::Word { good: &["performance", "0"], bad: &[] },
            CannotBe("the CPU does not choose its clock by a preference here"),
        ),
        why: "Where the CPU chooses its own clock, energy_performance_preference decides how fast it speeds up after a \
            sleep.",
        cost: "Power.",
        sources: &["kernel admin-guide/pm/intel_pstate.rst", "kernel admin-guide/pm/amd-pstate.rst"],
        ..KNOB
    },
    Knob {
        id: "pm.epb",
        title: "Energy bias set to performance",
        severity: Weight::of(Medium, Info, Info).at_most(Info, has_preference),
        check: Check::file(
            "/sys/devices/system/cpu/cpu<I>/power/energy_perf_bias",
            Want::ZERO,
            CannotBe("this CPU has no energy bias"),
        ),
        why: "An older hint of Intel's, 0 (performance) to 15 (power): it decides when a CPU speeds up and how readily \
            parts of the package are slowed down. If the firmware leaves it at 0, the kernel sets it to 6 at boot.",
        cost: "Power.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 arch/x86/kernel/cpu/intel_epb.c: intel_epb_restore",
            "kernel admin-guide/pm/intel_epb.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.hwp_dynamic_boost",
        title: "The clock is not raised after a wait for a device",
        check: Check::Any(&[
            Check::file(
                "/sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost",
                Want::ZERO,
                CannotBe("this CPU, or this mode of the driver, has no hwp_dynamic_boost"),
            ),
            Check::seen(
                "/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_governor",
                Want::Word { good: &["performance"], bad: &[] },
                NO_DRIVER,
            ),
        ]),
        why: "With hwp_dynamic_boost, intel_pstate raises a CPU's lowest clock for a moment after a thread has waited \
            for a device, so the clock moves with the load of other programs. With the governor performance it has no \
            effect.",
        cost: "Threads that often wait for devices run more slowly.",
        sources: &["kernel 7.3 drivers/cpufreq/intel_pstate.c: hwp_boost", "kernel admin-guide/pm/intel_pstate.rst"],
        ..KNOB
    },
];

fn turbo(case: &Case<'_>) -> Judged {
    let none = CannotBe("the kernel knows no turbo on this machine");
    match case.text("/sys/devices/system/cpu/intel_pstate/no_turbo", none) {
        Ok(value) => Ok(value == "1"),
        Err(Doubt::NotApplicable(_)) => {
            case.take_evidence();
            if case.text("/sys/devices/system/cpu/cpufreq/boost", none)? == "0" {
                return Ok(true);
            }
            // Turbo is allowed for the machine as a whole, but may be switched off for single CPUs.
            let has_switch = |cpu| case.exists(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/boost"));
            if case.rt().first().is_some_and(has_switch) { turbo_policy(case) } else { Ok(false) }
        }
        Err(doubt) => Err(doubt),
    }
}

fn turbo_policy(case: &Case<'_>) -> Judged {
    let none = CannotBe("the frequency driver has no switch for the turbo of single CPUs");
    let boosts = case.of_rt("cpufreq/boost", none)?;
    Ok(boosts.iter().all(|boost| boost.value == "0"))
}

/// Whether the CPU has `energy_performance_preference`, which then takes the place of the older preference.
fn has_preference(case: &Case<'_>) -> bool {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_preference");
    case.rt().first().is_some_and(|cpu| case.exists(&path(cpu)))
}
