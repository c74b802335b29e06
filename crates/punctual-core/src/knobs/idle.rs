//! How deep a CPU sleeps: the deeper, the later it wakes.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::fact::Fact;
use crate::finding::Confidence;
use crate::finding::Severity::{High, Info, Medium};
use crate::machine::Arch;
use punctual_hist::Nanos;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.idle_state",
        title: "Only shallow sleep on the real-time CPUs",
        family: Family::Idle,
        severity: Weight::of(High, Info, Medium),
        probe: Probe::Effective(idle_state),
        why: "Leaving a deep idle state takes up to milliseconds, before the first instruction of the wake-up \
            runs. Judged bad: a state that may be entered and takes longer to leave than a quarter of the budget \
            (10 us where none is stated).",
        fix: "echo n/a > /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us for N in <I>; or hold \
            /dev/cpu_dma_latency open with the limit while the application runs (punctual measure --dma-latency \
            shows the effect).",
        persist: &[Lasting::Other("A unit that writes it at boot, or the application itself.")],
        undo: "echo 0 > /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us; close the file.",
        cost: "Power and heat; less room for turbo.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &[
            "kernel admin-guide/pm/cpuidle.rst",
            "kernel 6.1, 7.3 kernel/power/qos.c",
            "kernel 7.3 drivers/base/power/sysfs.c",
        ],
    },
    Knob {
        id: "pm.haltpoll",
        title: "Guest polls before it halts",
        family: Family::Idle,
        severity: Weight::of(Medium, Info, Medium),
        probe: Probe::Effective(haltpoll),
        why: "In a guest, going idle hands the CPU to the host, and every wake-up waits for the host to give it \
            back. Polling for a moment first avoids that for short sleeps.",
        fix: "echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns, with the haltpoll driver and \
            governor loaded.",
        persist: &[Lasting::Other(
            "Load cpuidle-haltpoll at boot (force=1 where the host does not offer it) and set \
            haltpoll.guest_halt_poll_ns=200000.",
        )],
        undo: "Write back the value that was there.",
        cost: "The host's CPU time.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel virt/guest-halt-polling.rst"],
    },
];

/// An idle state as one CPU shows it.
struct Sleep {
    cpu: u32,
    name: String,
    latency_us: u64,
}

/// Longest time to leave a state that the need can live with.
fn tolerable_us(case: &Case<'_>) -> u64 {
    case.need.budget.map_or(10, |budget| budget.whole(Nanos::from_us(1)) / 4)
}

/// The states a CPU may enter, whatever limits are in force besides.
fn enabled_states(case: &Case<'_>, cpu: u32) -> Result<Vec<Sleep>, Doubt> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let missing = Missing::CannotBe("no idle driver: an idle CPU only halts");
    let names = case.known(&folder, case.list(&folder), missing)?;
    let mut states = Vec::new();
    for state in names.iter().filter(|name| name.starts_with("state")) {
        let read = |file: &str| {
            let path = format!("{folder}/{state}/{file}");
            let fact = case.peek(&path);
            case.known(&path, fact, Missing::TellsNothing("the idle states are not described"))
        };
        if read("disable")? != "0" {
            continue;
        }
        let latency = read("latency")?;
        let Ok(latency_us) = latency.parse() else {
            return Doubt::unknown(format!("{folder}/{state}/latency holds '{latency}'"));
        };
        states.push(Sleep { cpu, name: read("name")?, latency_us });
    }
    Ok(states)
}

/// The limit set for one CPU; `n/a` allows no latency at all and `0` means no limit.
fn limit_of_cpu_us(case: &Case<'_>, cpu: u32) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    match case.peek(&path) {
        Fact::Known(text) if text == "n/a" => Some(0),
        Fact::Known(text) => text.parse().ok().filter(|limit| *limit > 0),
        _ => None,
    }
}

/// The limit for all CPUs that programs hold in force: a binary number of four bytes.
fn limit_of_all_us(case: &Case<'_>) -> Fact<u64> {
    case.peek_bytes("/dev/cpu_dma_latency").and_then(|bytes| match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => u64::try_from(i32::from_le_bytes(four)).map_or_else(|e| Fact::Garbled(e.to_string()), Fact::Known),
        Err(_) => Fact::Garbled(format!("holds {} bytes, not 4", bytes.len())),
    })
}

fn idle_state(case: &Case<'_>) -> Judged {
    if case.rt.is_empty() {
        return Doubt::unknown("which CPUs are online is not known");
    }
    let tolerable_us = tolerable_us(case);
    let mut deep: Option<Sleep> = None;
    let mut deepest_us = 0;
    for cpu in case.rt.iter() {
        let limit_us = limit_of_cpu_us(case, cpu).unwrap_or(u64::MAX);
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
            format!("/sys/devices/system/cpu/cpu[{}]/cpuidle", case.rt),
            format!("no state above {deepest_us} us may be entered"),
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
    let unseen = Missing::TellsNothing(
        "whether a program limits the sleep of all CPUs cannot be seen (/dev/cpu_dma_latency is not there)",
    );
    Ok(case.known("/dev/cpu_dma_latency", of_all, unseen)? <= tolerable_us)
}

fn haltpoll(case: &Case<'_>) -> Judged {
    let missing = Missing::TellsNothing("whether this is a guest is not known");
    let virtualisation = case.known("/proc/cpuinfo", case.machine.virtualisation.clone(), missing)?;
    if virtualisation.hypervisor.is_none() {
        return Doubt::not_applicable("this is no guest");
    }
    let driver = case.text(
        "/sys/devices/system/cpu/cpuidle/current_driver",
        Missing::TellsNothing("the idle driver is not shown"),
    )?;
    if driver != "haltpoll" {
        // On x86 the driver refuses every host that is not KVM.
        let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        let is_kvm = case.peek(clocks).map(|names| names.split_whitespace().any(|name| name == "kvm-clock"));
        if is_kvm == Fact::Known(false) && case.machine.kernel.arch == Fact::Known(Arch::X86) {
            return Doubt::not_applicable("it works on KVM only, and there is no kvm-clock here");
        }
        return Ok(false);
    }
    let missing = Missing::TellsNothing("the governor's time is not shown");
    Ok(case.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns", missing)? > 0)
}
