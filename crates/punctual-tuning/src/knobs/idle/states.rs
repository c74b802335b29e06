//! Knobs about the idle states: which states may be entered, and which were entered.

use crate::knobs::prelude::*;
use crate::knobs::seen::idle::{
    Sleep, deep_on_first, enabled_states, limit_of_all_us, limit_of_cpu_us, states, tolerable_us,
};

const KNOB: Knob =
    Knob { cost: "Power and heat; less room for turbo.", confidence: Confidence::Medium, ..Knob::of(Family::Idle) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.idle_state",
        title: "Only shallow sleep on the real-time CPUs",
        confidence: Confidence::High,
        severity: Weight::of(High, Info, Medium),
        check: Check::Probe(idle_state),
        why: "Leaving a deep idle state can take milliseconds, before the first instruction of the wake-up runs. \
            Judged bad: a state that may be entered and takes longer to leave than a quarter of the budget (10 us if \
            no budget is stated).",
        fix: Fix::prose(
            "echo 2 > /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us for N in <I>; or hold \
            /dev/cpu_dma_latency open with the limit while the application runs. On ARM, cpuidle.off=1 leaves only the \
            plain WFI to all CPUs.",
        ),
        persist: &[
            Lasting::write("/sys/devices/system/cpu/cpu<I>/power/pm_qos_resume_latency_us", "2"),
            Lasting::other("Or the application itself holds /dev/cpu_dma_latency open."),
        ],
        undo: Fix::prose("echo 0 > /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us; close the file."),
        resort: Some(Resort::LimitSleep),
        sources: &[
            "kernel admin-guide/pm/cpuidle.rst",
            "kernel 6.1, 7.3 kernel/power/qos.c",
            "kernel 7.3 drivers/base/power/sysfs.c",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.idle_usage",
        title: "No deep idle state that is still allowed was entered",
        check: Check::Probe(usage),
        why: "The counters of the idle states show what happened, not what was requested: a deep state that was \
            entered, and may be entered again, will at some time delay an activation.",
        fix: Fix::prose(
            "Limit the sleep of CPUs <I> as pm.idle_state says, then check that \
            /sys/devices/system/cpu/cpuN/cpuidle/stateM/usage no longer rises.",
        ),
        persist: &[Lasting::write("/sys/devices/system/cpu/cpu<I>/power/pm_qos_resume_latency_us", "2")],
        sources: &["kernel admin-guide/pm/cpuidle.rst: usage", "kernel 7.3 drivers/cpuidle/sysfs.c"],
        ..KNOB
    },
    Knob {
        id: "pm.haltpoll",
        title: "Guest polls before it halts",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::Probe(haltpoll),
        why: "In a guest, going idle hands the CPU to the host, and every wake-up waits for the host to give it \
            back. Polling for a moment first avoids that for short sleeps.",
        fix: Fix::prose(
            "echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns, with the haltpoll driver and \
            governor loaded.",
        ),
        persist: &[
            Lasting::other("Load cpuidle-haltpoll at boot: its name in a file of /etc/modules-load.d."),
            Lasting::module("cpuidle_haltpoll force=1"),
            Lasting::write("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000"),
        ],
        cost: "The host's CPU time.",
        sources: &[
            "kernel virt/guest-halt-polling.rst",
            "kernel 6.1, 6.12, 7.3 drivers/cpuidle/Kconfig: HALTPOLL_CPUIDLE",
        ],
        ..KNOB
    },
];

fn idle_state(case: &Case<'_>) -> Judged {
    case.known_rt()?;
    let tolerable_us = tolerable_us(case);
    let mut deep: Option<Sleep> = None;
    let mut deepest_us = 0;
    for cpu in case.rt().iter() {
        let limit_us = limit_of_cpu_us(case, cpu)?.unwrap_or(u64::MAX);
        for state in enabled_states(case, cpu)?.into_iter().filter(|state| state.latency_us <= limit_us) {
            deepest_us = deepest_us.max(state.latency_us);
            let is_deeper = deep.as_ref().is_none_or(|other| state.latency_us > other.latency_us);
            if state.latency_us > tolerable_us && is_deeper {
                deep = Some(state);
            }
        }
    }
    let Some(deep) = deep else {
        case.note(
            format!("/sys/devices/system/cpu/cpu[{}]/cpuidle", case.rt()),
            format!("no state that takes more than {deepest_us} us to leave may be entered"),
        );
        return Ok(true);
    };
    case.note(
        format!("/sys/devices/system/cpu/cpu{}/cpuidle", deep.cpu),
        format!(
            "{} may be entered and takes {} us to leave; tolerable here: {tolerable_us} us",
            deep.name, deep.latency_us
        ),
    );
    let of_all = limit_of_all_us(case);
    case.cite("/dev/cpu_dma_latency", &of_all.as_ref().map(|limit| format!("{limit} us")));
    let unseen = TellsNothing(
        "it cannot be seen whether a program limits the sleep of all CPUs (/dev/cpu_dma_latency is not there)",
    );
    Ok(case.known("/dev/cpu_dma_latency", of_all, unseen)? <= tolerable_us)
}

fn usage(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let tolerable_us = tolerable_us(case);
    let first = case.first_rt()?;
    let all = states(case, first, false)?;
    let deep: Vec<&Sleep> = all.iter().filter(|state| state.latency_us > tolerable_us).collect();
    if deep.is_empty() {
        return Doubt::not_applicable(format!(
            "the CPUs have no idle state that takes more than {tolerable_us} us to leave"
        ));
    }
    let (mut entries, mut busiest) = (0_u64, String::new());
    for cpu in case.rt().iter() {
        for state in &deep {
            let path = state.folder.replacen(&format!("cpu{first}/"), &format!("cpu{cpu}/"), 1) + "/usage";
            let unseen = TellsNothing("how often an idle state was entered is not shown");
            let text = case.content(&path, unseen)?;
            let Ok(count) = text.parse::<u64>() else {
                return Doubt::unknown(format!("{path} holds '{text}'"));
            };
            if count > entries {
                (entries, busiest) = (count, format!("CPU {cpu}, {}", state.name));
            }
        }
    }
    let place = format!("/sys/devices/system/cpu/cpu[{}]/cpuidle/*/usage", case.rt());
    if entries == 0 {
        case.note(place, format!("no state that takes more than {tolerable_us} us to leave was entered"));
        return Ok(true);
    }
    case.note(place, format!("{busiest}: entered {entries} times"));
    Ok(deep_on_first(case)?.is_none())
}

fn haltpoll(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "the driver haltpoll is for guests on x86")?;
    Doubt::not_applicable_if(case.known_virtualisation()?.hypervisor.is_none(), "this is no guest")?;
    let driver =
        case.text("/sys/devices/system/cpu/cpuidle/current_driver", TellsNothing("the idle driver is not shown"))?;
    if driver != "haltpoll" {
        // The driver haltpoll loads only in guests of KVM, which have kvm-clock.
        let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        let is_kvm = case.peek(clocks).map(|names| names.split_whitespace().any(|name| name == "kvm-clock"));
        Doubt::not_applicable_if(
            is_kvm == Fact::Known(false),
            "the driver haltpoll works on KVM only, and there is no kvm-clock here",
        )?;
        return Ok(false);
    }
    let missing = TellsNothing("how long the idle governor haltpoll polls is not shown");
    Ok(case.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns", missing)? > 0)
}
