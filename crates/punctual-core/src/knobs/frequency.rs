//! How fast a CPU runs. What is wanted is not the highest clock but a constant one.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{High, Info, Medium};

const NO_DRIVER: Missing = Missing::CannotBe("no cpufreq driver: the firmware or the host sets the frequency");

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.governor",
        title: "Governor performance on the real-time CPUs",
        family: Family::Frequency,
        severity: Weight::of(High, Medium, High),
        probe: Probe::Effective(governor),
        why: "A periodic thread sleeps most of the time, so a governor that looks at load keeps its CPU slow just \
            when it wakes.",
        fix: "echo performance > /sys/devices/system/cpu/cpuN/cpufreq/scaling_governor for N in <I>, and for CPUs \
            of the same clock.",
        persist: &[Lasting::Other(
            "A unit that writes it at boot; cpufreq.default_governor=performance on the command line.",
        )],
        undo: "Write back the governor that was there.",
        cost: "Power and heat.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)",
            "kernel admin-guide/pm/cpufreq.rst",
        ],
    },
    Knob {
        id: "pm.freq_pin",
        title: "One frequency, not a range",
        family: Family::Frequency,
        severity: Weight::all(Info),
        probe: Probe::Effective(freq_pin),
        why: "While a range is allowed, the same code takes different times from one activation to the next.",
        fix: "Write one sustained frequency, below turbo, into scaling_min_freq and scaling_max_freq of the CPUs <I>.",
        persist: &[Lasting::Other("A unit that writes it at boot.")],
        undo: "Write back both values.",
        cost: "The peak speed.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst", "kernel admin-guide/pm/cpufreq.rst"],
    },
    Knob {
        id: "pm.turbo",
        title: "No turbo",
        family: Family::Frequency,
        severity: Weight::all(Info),
        probe: Probe::Effective(turbo),
        why: "The turbo frequency of one CPU depends on what its neighbours do and on the temperature.",
        fix: "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
            /sys/devices/system/cpu/cpufreq/boost",
        persist: &[Lasting::Other("A tmpfiles.d line, or the firmware's setting.")],
        undo: "Write back the value that was there.",
        cost: "The peak speed; leave it on where one thread's latency rules and cooling is certain.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &[
            "kernel admin-guide/pm/intel_pstate.rst",
            "unverified: whether it pays on a given machine; measure both",
        ],
    },
    Knob {
        id: "pm.epp_epb",
        title: "Hardware told to prefer performance",
        family: Family::Frequency,
        severity: Weight::of(Medium, Info, Medium),
        probe: Probe::Effective(epp),
        why: "Where the CPU chooses its own clock, this preference decides how fast it speeds up after a sleep.",
        fix: "echo performance > /sys/devices/system/cpu/cpuN/cpufreq/energy_performance_preference for N in <I>",
        persist: &[Lasting::Other("A tmpfiles.d line or a unit that writes it at boot.")],
        undo: "Write back the preference that was there.",
        cost: "Power.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/pm/intel_pstate.rst", "kernel admin-guide/pm/amd-pstate.rst"],
    },
];

fn governor(case: &Case<'_>) -> Judged {
    let governors = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", &case.rt, NO_DRIVER)?;
    Ok(governors.iter().all(|(_, governor)| governor == "performance"))
}

fn freq_pin(case: &Case<'_>) -> Judged {
    let lowest = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_min_freq", &case.rt, NO_DRIVER)?;
    let highest = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq", &case.rt, NO_DRIVER)?;
    Ok(lowest == highest)
}

fn turbo(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("the kernel knows no turbo on this machine");
    match case.text("/sys/devices/system/cpu/intel_pstate/no_turbo", none) {
        Ok(value) => Ok(value == "1"),
        Err(Doubt::NotApplicable(_)) => {
            case.take_evidence();
            Ok(case.text("/sys/devices/system/cpu/cpufreq/boost", none)? == "0")
        }
        Err(doubt) => Err(doubt),
    }
}

fn epp(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("the CPU does not choose its clock by a preference here");
    let path = "/sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_preference";
    let preferences = case.per_cpu(path, &case.rt, none)?;
    Ok(preferences.iter().all(|(_, preference)| preference == "performance" || preference == "0"))
}
