//! Knobs about limits on the depth of idle states, and about limits without the effect that their owner meant.

use crate::knobs::prelude::*;
use crate::knobs::seen::idle::{LATENCY_DEVICE, NO_LIMIT_US, read_latency_device_us, tolerable_us};

const KNOB: Knob = Knob::of(Family::Idle);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.qos_global",
        title: "The limit in /dev/cpu_dma_latency keeps all CPUs out of deep sleep",
        check: Check::Probe(of_all),
        why: "A program limits sleep by writing to /dev/cpu_dma_latency. Four bytes are taken as a binary number, \
            anything else as hexadecimal text: echo 100 is four bytes, and allows 170 seconds of sleep.",
        fix: Fix::prose(
            "Write the limit in microseconds as a binary number of 32 bits, and keep the file open: the limit ends \
            when the file is closed.",
        ),
        persist: &[Lasting::other("The application itself, which keeps the file open while it runs.")],
        undo: Fix::prose("Close the file."),
        cost: "Every CPU stays warm; less room for turbo.",
        resort: Some(Resort::LimitSleep),
        sources: &["kernel 6.1, 7.3 kernel/power/qos.c", "kernel 7.3 include/linux/pm_qos.h"],
        ..KNOB
    },
    Knob {
        id: "pm.qos_percpu",
        title: "Each real-time CPU has a limit on its wake-up latency from idle",
        check: Check::Probe(of_each),
        why: "The limit is set for each CPU, so that one CPU is easily forgotten. The value 0 means that there is no \
            limit, not that no latency is allowed. The value n/a means that no latency at all is allowed: on x86 the \
            CPU then spins while idle, on ARM it uses WFI only. The value 2 allows the first sleep state.",
        persist: &[Lasting::write("/sys/devices/system/cpu/cpu<I>/power/pm_qos_resume_latency_us", "2")],
        cost: "Power and heat of these CPUs.",
        sources: &[
            "kernel 7.3 drivers/base/power/sysfs.c: pm_qos_resume_latency_us",
            "kernel 6.1, 6.12, 7.3 drivers/cpuidle/governors/menu.c: latency_req == 0",
            "kernel admin-guide/pm/cpuidle.rst",
        ],
        ..KNOB
    },
];

fn of_all(case: &Case<'_>) -> Judged {
    let number = read_latency_device_us(case);
    case.cite(LATENCY_DEVICE, &number.as_ref().map(|limit| format!("{limit} us")));
    let unseen = TellsNothing("it cannot be seen whether a program limits the sleep of all CPUs");
    let limit = case.known(LATENCY_DEVICE, number, unseen)?;
    if limit == NO_LIMIT_US {
        return Doubt::not_applicable(
            "no program limits the sleep of all CPUs now; pm.idle_state judges the states that may therefore be \
            entered",
        );
    }
    if limit.to_le_bytes().iter().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace()) {
        case.note(LATENCY_DEVICE, "the four bytes in /dev/cpu_dma_latency are text that was taken for a binary number");
        return Ok(false);
    }
    Ok(u64::try_from(limit).is_ok_and(|limit_us| limit_us <= tolerable_us(case)))
}

fn of_each(case: &Case<'_>) -> Judged {
    let none = CannotBe("this kernel has no latency limit for single CPUs");
    let limits = case.of_rt("power/pm_qos_resume_latency_us", none)?;
    Doubt::not_applicable_if(
        limits.iter().all(|limit| limit.value == "0"),
        "no limit is set for single CPUs (0 means none); pm.idle_state judges the states that may therefore be entered",
    )?;
    let mut all_help = true;
    for OfCpus { value: limit, .. } in &limits {
        all_help &= match (limit.as_str(), limit.parse::<u64>()) {
            ("n/a", _) => true,
            (_, Ok(limit_us)) => limit_us > 0 && limit_us <= tolerable_us(case),
            (text, Err(_)) => {
                return Doubt::unknown(format!("pm_qos_resume_latency_us holds '{text}', which is no valid limit"));
            }
        };
    }
    Ok(all_help)
}
