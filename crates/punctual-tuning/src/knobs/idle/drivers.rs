//! Knobs about the drivers that put a CPU to sleep, and about words of the command line that replace a driver.

use crate::knobs::prelude::*;
use crate::knobs::seen::idle::deep_on_first;

const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
const UNSHOWN: Missing = TellsNothing("the idle driver is not shown");

const KNOB: Knob = Knob { cost: "None.", confidence: Confidence::Medium, ..Knob::of(Family::Idle) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.idle_driver",
        title: "An idle driver that knows how long waking takes",
        applies: |case| {
            case.only_on(
                Arch::X86,
                "without a driver a CPU of this architecture only halts (WFI), which is left quickly",
            )?;
            case.not_a_guest()
        },
        check: Check::seen(DRIVER, Want::Word { good: &[], bad: &["none"] }, UNSHOWN),
        why: "Without an idle driver the CPU still sleeps, as deeply as the firmware allows for a plain halt, and no \
            latency limit has an effect.",
        fix: Fix::NotAtRunTime(""),
        persist: &[Lasting::built_with("CPU_IDLE"), Lasting::NoWord("cpuidle.off")],
        sources: &["kernel 7.3 kernel/sched/idle.c", "kernel admin-guide/pm/cpuidle.rst"],
        ..KNOB
    },
    Knob {
        id: "pm.idle_governor",
        title: "An idle governor that fits the tick",
        check: Check::Probe(governor),
        why: "The idle governor predicts how long a CPU will sleep. The governor ladder goes one state deeper at each \
            sleep and does not look at the next timer; it is meant for kernels whose tick never stops. haltpoll is \
            meant for guests.",
        fix: Fix::command("echo menu > /sys/devices/system/cpu/cpuidle/current_governor"),
        persist: &[Lasting::word("cpuidle.governor=menu")],
        sources: &[
            "kernel 7.3 drivers/cpuidle/governors/{ladder,menu,teo,haltpoll}.c: rating",
            "kernel admin-guide/pm/cpuidle.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.intel_idle",
        title: "intel_idle not switched off",
        check: Check::Probe(intel_idle),
        why: "intel_idle.max_cstate=0 does not forbid sleep: it keeps intel_idle from loading, and the ACPI driver \
            takes over with the states the firmware lists, which may be deep ones.",
        persist: &[Lasting::NoWord("intel_idle.max_cstate")],
        confidence: Confidence::High,
        sources: &["kernel 7.3 drivers/idle/intel_idle.c: max_cstate", "kernel admin-guide/pm/intel_idle.rst"],
        ..KNOB
    },
    Knob {
        id: "pm.idle_poll",
        title: "CPUs do not idle by spinning",
        severity: Weight::all(Info).at_least(Medium, slows_others),
        check: Check::Probe(idle_poll),
        why: "idle=poll spins on every idle CPU: it takes execution units from SMT siblings, heats the package until \
            it throttles, and in a guest uses up the host's CPU. No idle driver loads, so latency limits have no \
            effect.",
        fix: Fix::NotAtRunTime(""),
        persist: &[
            Lasting::NoWord("idle"),
            Lasting::write("/sys/devices/system/cpu/cpu<I>/power/pm_qos_resume_latency_us", "2"),
        ],
        cost: "About a microsecond at each wake-up, to leave the first sleep state.",
        sources: &[
            "kernel 7.3 arch/x86/kernel/process.c: idle=",
            "kernel 7.3 drivers/idle/intel_idle.c: boot_option_idle_override",
            "kernel 7.3 core-api/real-time/hardware.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.nohlt",
        title: "ARM CPUs do not idle by spinning",
        check: Check::Probe(|case| {
            case.only_on(Arch::Arm64, "the kernel does not know this word on x86")?;
            if case.word("nohlt")?.is_some() {
                return Ok(false);
            }
            Ok(!matches!(case.word("idle")?.as_deref(), Some("yield" | "nop")))
        }),
        why: "nohlt, and idle=yield or idle=nop of 7.x kernels, are for bringing up a board: every idle CPU spins, \
            heats its neighbours and shortens their time at full speed.",
        persist: &[Lasting::NoWord("nohlt"), Lasting::NoWord("idle")],
        cost: "The time to leave the first sleep state, at each wake-up.",
        sources: &["kernel 7.3 kernel/sched/idle.c: nohlt", "kernel 7.3 arch/arm64/kernel/idle.c"],
        ..KNOB
    },
];

fn governor(case: &Case<'_>) -> Judged {
    let is_guest = case.virtualisation().is_some_and(|v| v.hypervisor.is_some());
    let has_no_driver = case.text(DRIVER, UNSHOWN)? == "none";
    Doubt::not_applicable_if(has_no_driver, "there is no idle driver whose states a governor could choose")?;
    let folder = "/sys/devices/system/cpu/cpuidle";
    let unshown = TellsNothing("the idle governor is not shown");
    // Older kernels show the governor in `current_governor_ro` only.
    let file =
        if case.exists(&format!("{folder}/current_governor")) { "current_governor" } else { "current_governor_ro" };
    match case.text(&format!("{folder}/{file}"), unshown)?.as_str() {
        "menu" | "teo" => Ok(true),
        "haltpoll" => Ok(is_guest),
        "ladder" => Ok(case.config("NO_HZ_COMMON")? == "n"),
        other => Doubt::unknown(format!("the idle governor '{other}' is not known to this program")),
    }
}

fn intel_idle(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "intel_idle is for Intel's CPUs")?;
    Doubt::not_applicable_if(case.cpu_field("vendor_id")? != "GenuineIntel", "intel_idle is for Intel's CPUs")?;
    let none = CannotBe("this kernel has no intel_idle");
    let deepest = case.number("/sys/module/intel_idle/parameters/max_cstate", none)?;
    match case.text(DRIVER, UNSHOWN)?.as_str() {
        "intel_idle" => Ok(true),
        // If all states of acpi_idle are shallow, intel_idle would offer no better ones.
        "acpi_idle" => Ok(deepest != 0 || deep_on_first(case)?.is_none()),
        other => Doubt::not_applicable(format!("the idle driver is {other}")),
    }
}

fn idle_poll(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has the word idle=poll")?;
    if case.word("idle")?.as_deref() != Some("poll") {
        return Ok(true);
    }
    let has_driver = case.text(DRIVER, UNSHOWN)? != "none";
    Doubt::unknown_if(has_driver, "idle=poll was asked for, and yet there is an idle driver")?;
    Ok(false)
}

/// Whether polling in the idle loop slows a sibling CPU or other guests down.
fn slows_others(case: &Case<'_>) -> bool {
    case.machine.topology.smt_active.known() == Some(&true) || case.not_a_guest().is_err()
}
