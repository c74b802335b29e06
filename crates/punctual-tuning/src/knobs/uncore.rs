//! Knobs about the frequency of memory and of other parts of the chip. All CPUs wait while such a frequency changes.

use crate::knobs::prelude::*;
use crate::knobs::seen::uncore::{BUS, Clocked, DEVFREQ, GPU, MEMORY, NO_UNCORE, NPU};

const KNOB: Knob = Knob {
    cost: "Power.",
    severity: Weight::of(Medium, Medium, Info),
    confidence: Confidence::Low,
    blast: Blast::Disturbing,
    ..Knob::of(Family::Uncore)
};
/// Fields shared by the knobs about devices other than CPUs that are to have a fixed frequency.
const ACCELERATOR: Knob = Knob {
    severity: Weight::all(Info),
    cost: "Power, unless the clock is fixed at a low frequency.",
    sources: &["kernel ABI testing/sysfs-class-devfreq", "unverified: size of the effect on a given board"],
    ..KNOB
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.uncore",
        title: "Uncore frequency fixed",
        blast: Blast::Harmless,
        check: Check::seen(
            "/sys/devices/system/cpu/intel_uncore_frequency/*/min_freq_khz",
            Want::SameAs("max_freq_khz"),
            NO_UNCORE,
        ),
        why: "The time to access the last-level cache and memory changes with the uncore clock.",
        fix: Fix::prose(
            "Write max_freq_khz into min_freq_khz of each folder in /sys/devices/system/cpu/intel_uncore_frequency.",
        ),
        persist: &[Lasting::write("/sys/devices/system/cpu/intel_uncore_frequency/*/min_freq_khz", "<MAX_FREQ_KHZ>")],
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/pm/intel_uncore_frequency_scaling.rst", "tuned plugin_uncore"],
        ..KNOB
    },
    Knob {
        id: "pm.devfreq",
        title: "Memory frequency fixed",
        severity: Weight::of(High, High, Info),
        check: Check::Probe(|case| fixed(case, MEMORY)),
        why: "While the memory controller changes its clock, memory cannot be reached, which stops every CPU at once.",
        fix: Fix::command("echo performance > /sys/class/devfreq/DMC/governor"),
        persist: &[performance("*dmc*")],
        sources: &["kernel ABI testing/sysfs-class-devfreq", "unverified: length of the stall on a given board"],
        ..KNOB
    },
    Knob {
        id: "pm.uncore_elc",
        title: "Uncore not slowed down while CPUs are idle",
        blast: Blast::Harmless,
        severity: Weight::of(Medium, Info, Info),
        check: Check::Probe(elc),
        why: "Efficiency latency control lowers the uncore clock while the package is little used on average. A \
            machine with periodic work is such a machine: at each wake-up, cache and memory are slow.",
        fix: Fix::prose(
            "Write max_freq_khz into elc_floor_freq_khz (or 0 into elc_low_threshold_percent) of each folder in \
            /sys/devices/system/cpu/intel_uncore_frequency.",
        ),
        persist: &[Lasting::write(
            "/sys/devices/system/cpu/intel_uncore_frequency/*/elc_floor_freq_khz",
            "<MAX_FREQ_KHZ>",
        )],
        cost: "Power while idle.",
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 admin-guide/pm/intel_uncore_frequency_scaling.rst",
            "unverified: that a threshold of 0 turns it off",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.devfreq_bus",
        title: "Buses of the chip at a fixed clock",
        check: Check::Probe(|case| fixed(case, BUS)),
        why: "The interconnect's clock follows measured load; each change of the clock delays accesses that are in \
            progress, and a low clock delays all accesses until the next change.",
        fix: Fix::prose(
            "echo performance > /sys/class/devfreq/BUS/governor; or write one frequency into its min_freq and \
            max_freq.",
        ),
        persist: &[performance("*bus*")],
        sources: &[
            "kernel 7.3 drivers/devfreq/{exynos-bus,imx-bus,mtk-cci-devfreq,hisi_uncore_freq}.c",
            "unverified: length of a change on a given board",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.devfreq_gpu",
        title: "Graphics clock fixed",
        check: Check::Probe(|case| fixed(case, GPU)),
        why: "The GPU's load on memory, and the heat of the chip, jump with its clock.",
        fix: Fix::prose(
            "echo performance > /sys/class/devfreq/GPU/governor; or write one frequency into its min_freq and \
            max_freq.",
        ),
        persist: &[performance("*gpu*")],
        ..ACCELERATOR
    },
    Knob {
        id: "pm.devfreq_npu",
        title: "Neural unit's clock fixed",
        check: Check::Probe(|case| fixed(case, NPU)),
        why: "The neural unit shares memory with the CPUs, and its use of memory bandwidth jumps with its clock.",
        fix: Fix::prose(
            "echo performance > /sys/class/devfreq/NPU/governor; or write one frequency into its min_freq and \
            max_freq.",
        ),
        persist: &[performance("*npu*")],
        ..ACCELERATOR
    },
];

fn elc(case: &Case<'_>) -> Judged {
    let none = CannotBe("this uncore has no efficiency latency control");
    let mut is_kept = true;
    let mut seen = 0;
    for place in case.uncore_places()? {
        // Only the folders of compute dies have this file; other folders are skipped.
        if !case.exists(&format!("{place}/elc_floor_freq_khz")) {
            continue;
        }
        seen += 1;
        let floor_khz = case.number(&format!("{place}/elc_floor_freq_khz"), none)?;
        let threshold_percent = case.number(&format!("{place}/elc_low_threshold_percent"), none)?;
        let highest_khz = case.number(&format!("{place}/max_freq_khz"), none)?;
        is_kept &= floor_khz >= highest_khz || threshold_percent == 0;
    }
    if seen == 0 { Doubt::not_applicable("this uncore has no efficiency latency control") } else { Ok(is_kept) }
}

/// A udev rule that sets the governor `performance` for devices with this name when they appear.
const fn performance(kernel: &'static str) -> Lasting {
    const STEADY: &[Attribute] = &[attribute("governor", "performance")];
    Lasting::Udev(Rule { kernel, ..Rule::add("devfreq", STEADY) })
}

/// Good if every device of the kind keeps its frequency constant.
fn fixed(case: &Case<'_>, kind: Clocked) -> Judged {
    let folder = DEVFREQ;
    let mut meant = case.clocked(kind)?;
    meant.truncate(64);
    Doubt::not_applicable_if(
        meant.is_empty(),
        format!("no device in /sys/class/devfreq has a name that stands for {}", kind.what),
    )?;
    let mut all_fixed = true;
    for device in meant {
        let unseen = TellsNothing("a device does not show its governor");
        let governor = case.text(&format!("{folder}/{device}/governor"), unseen)?;
        if Case::is_steady(&governor) {
            continue;
        }
        let lowest = case.text(&format!("{folder}/{device}/min_freq"), unseen)?;
        let highest = case.text(&format!("{folder}/{device}/max_freq"), unseen)?;
        all_fixed &= lowest == highest;
    }
    Ok(all_fixed)
}
