//! How fast the rest of the chip and the memory run: a change of their clocks stops everybody.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{High, Info, Medium};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.uncore",
        title: "Uncore frequency fixed",
        family: Family::Uncore,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(uncore),
        why: "Time to reach the last-level cache and memory moves with the uncore clock.",
        fix: "Write max_freq_khz into min_freq_khz of each folder in /sys/devices/system/cpu/intel_uncore_frequency.",
        persist: &[Lasting::Other("A tmpfiles.d line or a unit that writes it at boot.")],
        undo: "Write back the lower limit that was there.",
        cost: "Power.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/pm/intel_uncore_frequency_scaling.rst", "tuned plugin_uncore"],
    },
    Knob {
        id: "pm.devfreq",
        title: "Memory frequency fixed",
        family: Family::Uncore,
        severity: Weight::of(High, High, Info),
        probe: Probe::Effective(devfreq),
        why: "While the memory controller changes its clock nobody reaches memory, which stops every CPU at once.",
        fix: "echo performance > /sys/class/devfreq/DMC/governor",
        persist: &[Lasting::Other("A udev rule for the device, or a unit that writes it at boot.")],
        undo: "Write back the governor that was there.",
        cost: "Power.",
        blast: Blast::Disturbing,
        confidence: Confidence::Low,
        sources: &["kernel ABI testing/sysfs-class-devfreq", "unverified: length of the stall on a given board"],
    },
];

fn uncore(case: &Case<'_>) -> Judged {
    let folder = "/sys/devices/system/cpu/intel_uncore_frequency";
    let none = Missing::CannotBe("no control of the uncore frequency here");
    let packages = case.known(folder, case.list(folder), none)?;
    let packages: Vec<&String> =
        packages.iter().filter(|name| name.starts_with("package_") || name.starts_with("uncore")).collect();
    if packages.is_empty() {
        return Doubt::not_applicable("no control of the uncore frequency here");
    }
    let mut is_fixed = true;
    for package in packages {
        let lowest = case.text(&format!("{folder}/{package}/min_freq_khz"), none)?;
        let highest = case.text(&format!("{folder}/{package}/max_freq_khz"), none)?;
        is_fixed &= lowest == highest;
    }
    Ok(is_fixed)
}

fn devfreq(case: &Case<'_>) -> Judged {
    let folder = "/sys/class/devfreq";
    let none = Missing::CannotBe("no device here changes its frequency by devfreq");
    let devices = case.known(folder, case.list(folder), none)?;
    let is_memory = |name: &&String| ["dmc", "ddr", "dram", "memory"].iter().any(|part| name.contains(part));
    let memories: Vec<&String> = devices.iter().filter(is_memory).collect();
    if memories.is_empty() {
        return Doubt::not_applicable("the memory controller is not among the devices that change their frequency");
    }
    let mut is_fixed = true;
    for memory in memories {
        let unseen = Missing::TellsNothing("the memory controller does not show its governor");
        let governor = case.text(&format!("{folder}/{memory}/governor"), unseen)?;
        is_fixed &= governor == "performance";
    }
    Ok(is_fixed)
}
