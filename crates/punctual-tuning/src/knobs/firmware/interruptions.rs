//! Knobs about system management mode, in which the firmware stops all CPUs, unnoticed by the kernel.

use crate::knobs::prelude::*;
use crate::knobs::seen::has_tracers;

/// How often a CPU entered system management mode since power-on, read from a model-specific register that only Intel's
/// CPUs have. The reader of the live machine supplies it.
const COUNT: &str = "punctual:/msr/34";
/// The number of system management interrupts that is tolerated because the firmware causes them before a kernel runs.
const AT_START: u64 = 1000;

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Firmware) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "fw.smi_count",
        title: "No system management interrupts",
        severity: Weight::all(High),
        check: Check::Probe(count),
        why: "In system management mode the firmware stops all CPUs for tens to hundreds of microseconds, and the \
            kernel cannot see it. Judged bad: on average more than one per minute since power-on, not counting a \
            thousand for the start.",
        fix: Fix::prose(
            "Turn off the firmware functions that cause these interrupts: USB legacy support, power management of the \
            platform, corrected-error reporting (see the other fw. knobs), and compare the counter before and after a \
            measurement.",
        ),
        persist: &[Lasting::Firmware("USB legacy support, RAS event reporting and power limits, one by one")],
        cost: "The functions of the firmware that use these interrupts.",
        blast: Blast::Breaking,
        sources: &[
            "kernel 7.3 arch/x86/include/asm/msr-index.h: MSR_SMI_COUNT",
            "kernel 7.3 arch/x86/events/msr.c",
            "unverified: the threshold",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.smi_counter",
        title: "System management interrupts can be counted",
        check: Check::Probe(can_count),
        why: "Without this counter, nothing proves that the firmware caused a late activation.",
        fix: Fix::prose(
            "None here: either the CPU or the kernel does not offer the counter. The hwlat tracer finds the gaps that \
            these interrupts cause, without a counter.",
        ),
        persist: &[Lasting::other("Another CPU or a newer kernel.")],
        undo: Fix::prose("Nothing to undo."),
        cost: "None.",
        sources: &["kernel 7.3 arch/x86/events/msr.c: test_intel"],
        ..KNOB
    },
    Knob {
        id: "fw.hwlat",
        title: "Hardware latency can be measured",
        confidence: Confidence::High,
        check: Check::Probe(hwlat),
        why: "The hwlat tracer finds gaps in which neither an interrupt nor a thread of Linux ran: firmware, a host or \
            hardware caused them. It is the only proof of such gaps that also works on AMD and ARM.",
        fix: Fix::NotAtRunTime(""),
        persist: &[Lasting::built_with("HWLAT_TRACER"), Lasting::built_with("OSNOISE_TRACER")],
        cost: "None while the tracer does not run; one CPU while it runs.",
        sources: &["kernel trace/hwlat_detector.rst", "kernel 7.3 core-api/real-time/hardware.rst"],
        ..KNOB
    },
];

fn count(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has system management mode")?;
    case.not_a_guest()?;
    let is_not_intel = case.cpu_field("vendor_id")? != "GenuineIntel";
    Doubt::unknown_if(
        is_not_intel,
        "only Intel's CPUs count system management interrupts; the hwlat tracer finds the gaps that they cause on any \
        CPU",
    )?;
    let missing =
        TellsNothing("the counter of system management interrupts is not shown: load the module msr, and read as root");
    let text = case.text(COUNT, missing)?;
    let Ok(count) = text.parse::<u64>() else {
        return Doubt::unknown(format!("{COUNT} holds '{text}'"));
    };
    if count == 0 {
        return Ok(true);
    }
    let uptime = case.text("/proc/uptime", TellsNothing("the time since boot is not shown"))?;
    let seconds = uptime.split(['.', ' ']).next().and_then(|seconds| seconds.parse::<u64>().ok());
    let Some(minutes) = seconds.map(|seconds| seconds / 60) else {
        return Doubt::unknown(format!("/proc/uptime holds '{uptime}'"));
    };
    if count > AT_START.saturating_add(minutes) {
        return Ok(false);
    }
    Doubt::unknown(format!(
        "{count} system management interrupts since power-on, all of which may have come while the machine started: \
        read the counter before and after a measurement"
    ))
}

fn can_count(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let folder = "/sys/bus/event_source/devices/msr/events";
    let none = CannotBe("only x86 has system management interrupts that perf can count");
    let events = case.names(folder, none)?;
    let can_count = events.iter().any(|event| event == "smi");
    case.note(folder, if can_count { "smi" } else { "no event smi" });
    Ok(can_count)
}

fn hwlat(case: &Case<'_>) -> Judged {
    let path = "/sys/kernel/tracing/available_tracers";
    let unshown = TellsNothing("the tracers are not shown: tracefs is not mounted, or not for everybody");
    let tracers = case.text(path, unshown)?;
    let is_there = tracers.split_whitespace().any(|tracer| tracer == "hwlat");
    let has_no_tracers = !is_there && !has_tracers(&tracers);
    Doubt::not_applicable_if(has_no_tracers, "kconf.tracers reports a kernel without these tracers")?;
    Ok(is_there)
}
