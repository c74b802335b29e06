//! Remedies that limit how deeply the real-time CPUs sleep.

use super::draft::Draft;
use super::{Found, KnobRemedy, Notes, Site};
use crate::knobs::{Case, Doubt, LATENCY_DEVICE, NO_LIMIT_US, read_latency_device_us};
use punctual_facts::fact::Fact;
use punctual_hist::Nanos;

const LIMIT: &str = "/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us";
/// The limit if the work states no latency budget. It allows the first idle state, whose exit takes at most this time.
const FIRST_STATE_US: u64 = 2;

/// The limit to set on the exit latency: a quarter of the latency budget.
fn wanted_us(case: &Case<'_>) -> u64 {
    case.need.budget.map_or(FIRST_STATE_US, |budget| budget.whole(Nanos::from_us(1)) / 4)
}

/// The limit of one CPU, parsed from the text of its file; `None` means no limit.
fn limit_us(text: &str) -> Option<u64> {
    if text == "n/a" { Some(0) } else { text.parse().ok().filter(|limit| *limit > 0) }
}

/// Sets a limit on the exit latency of each real-time CPU. No process has to hold this limit.
pub(super) fn limit(site: &Site<'_>) -> Found {
    let case = site.case;
    let wanted_us = wanted_us(case);
    // In this file 0 means no limit.
    let value = if wanted_us == 0 { "n/a".to_owned() } else { wanted_us.to_string() };
    let (mut draft, mut any) = (Draft::default(), false);
    for cpu in case.rt().iter() {
        let path = LIMIT.replace("{cpu}", &cpu.to_string());
        let now = case.peek(&path);
        any |= now != Fact::Absent;
        if now.known().and_then(|text| limit_us(text)).is_some_and(|limit_us| limit_us <= wanted_us) {
            continue;
        }
        draft.write(case, &format!("CPU {cpu}"), &path, &value);
    }
    Doubt::not_applicable_if(!any, "this kernel has no latency limit for single CPUs; see pm.qos_global")?;
    let risk = if wanted_us == 0 {
        "These CPUs spin while idle: they get hotter, and an SMT sibling gets less of the core. To the kernel, 'n/a' \
        means that no latency at all is allowed."
    } else {
        "More heat; the rest of the package gets less turbo."
    };
    Ok(draft.remedy(
        risk,
        "the counts /sys/devices/system/cpu/cpuN/cpuidle/stateM/usage of states beyond this limit stand still",
    ))
}

/// Lets a process of this program hold a limit for all CPUs, if the kernel has no limit per CPU.
pub(super) fn hold(site: &Site<'_>) -> Found {
    let case = site.case;
    let has_own = |cpu: u32| case.peek(&LIMIT.replace("{cpu}", &cpu.to_string())) != Fact::Absent;
    Doubt::not_applicable_if(case.rt().iter().any(has_own), "each CPU has a limit of its own here, see pm.idle_state")?;
    let now = case.aside(|case| read_latency_device_us(case));
    if now == Fact::Absent {
        return Doubt::not_applicable(format!("{LATENCY_DEVICE} is not there"));
    }
    let wanted_us = u32::try_from(wanted_us(case)).unwrap_or(u32::MAX);
    let limit_us = now.known().and_then(|limit| u32::try_from(*limit).ok());
    let is_held = limit_us.is_some_and(|limit_us| limit_us <= wanted_us);
    Doubt::not_applicable_if(is_held, "another program holds such a limit already")?;
    let before = match limit_us {
        Some(limit_us) if limit_us >= NO_LIMIT_US.unsigned_abs() => "no limit".to_owned(),
        Some(limit_us) => format!("{limit_us} us"),
        None => "not known".to_owned(),
    };
    let notes = Notes {
        before,
        after: format!("{wanted_us} us, while a process of punctual keeps the file open"),
        risk: "All CPUs stay warm, and with them the whole package.".to_owned(),
        proof: format!("the four bytes read from {LATENCY_DEVICE}"),
        ..Notes::default()
    };
    Ok(KnobRemedy::Hold(wanted_us, notes))
}
