//! Which idle states the real-time CPUs may enter, and how long each takes to leave.

use crate::knobs::case::Missing::{CannotBe, TellsNothing};
use crate::knobs::case::{Case, Doubt};
use punctual_facts::fact::Fact;
use punctual_hist::Nanos;

pub(crate) struct Sleep {
    pub(crate) cpu: u32,
    pub(crate) name: String,
    pub(crate) latency_us: u64,
    pub(crate) folder: String,
}

/// The longest exit latency that the real-time work tolerates, in microseconds: a quarter of its latency budget, or 10
/// us if it states no budget.
pub(crate) fn tolerable_us(case: &Case<'_>) -> u64 {
    case.need.budget.map_or(10, |budget| budget.whole(Nanos::from_us(1)) / 4)
}

/// The idle states of a CPU that are not switched off. A latency limit may still exclude some of them.
pub(crate) fn enabled_states(case: &Case<'_>, cpu: u32) -> Result<Vec<Sleep>, Doubt> {
    states(case, cpu, true)
}

/// All idle states of a CPU, or only the states that are not switched off.
pub(crate) fn states(case: &Case<'_>, cpu: u32, only_enabled: bool) -> Result<Vec<Sleep>, Doubt> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let missing = CannotBe("no idle driver: an idle CPU only halts");
    let names = case.names(&folder, missing)?;
    let mut found = Vec::new();
    for state in names.iter().filter(|name| name.starts_with("state")) {
        let read = |file: &str| {
            let path = format!("{folder}/{state}/{file}");
            let fact = case.peek(&path);
            case.known(&path, fact, TellsNothing("the idle states are not described"))
        };
        if only_enabled && read("disable")? != "0" {
            continue;
        }
        let latency = read("latency")?;
        let Ok(latency_us) = latency.parse() else {
            return Doubt::unknown(format!("{folder}/{state}/latency holds '{latency}'"));
        };
        let folder = format!("{folder}/{state}");
        found.push(Sleep { cpu, name: read("name")?, latency_us, folder });
    }
    Ok(found)
}

/// The limit on the exit latency of one CPU's states, in microseconds; `None` means no limit. The file says `n/a` for a
/// limit of 0 and `0` for no limit.
pub(crate) fn limit_of_cpu_us(case: &Case<'_>, cpu: u32) -> Result<Option<u64>, Doubt> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    Ok(match case.peek(&path) {
        Fact::Absent => None,
        Fact::Known(text) if text == "n/a" => Some(0),
        Fact::Known(text) => text.parse().ok().filter(|limit| *limit > 0),
        refused => return case.known(&path, refused.map(|_| None), TellsNothing("not there")),
    })
}

/// The file that a program keeps open to limit the depth of idle states on all CPUs.
pub(crate) const LATENCY_DEVICE: &str = "/dev/cpu_dma_latency";

/// The number in [`LATENCY_DEVICE`] while no program sets a limit: 2000 seconds, in microseconds.
pub(crate) const NO_LIMIT_US: i32 = 2_000_000_000;

/// The number in [`LATENCY_DEVICE`], in microseconds.
pub(crate) fn read_latency_device_us(case: &Case<'_>) -> Fact<i32> {
    case.peek_bytes(LATENCY_DEVICE).and_then(|bytes| match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => Fact::Known(i32::from_le_bytes(four)),
        Err(_) => Fact::Garbled(format!("holds {} bytes, not 4", bytes.len())),
    })
}

/// The limit that programs set for the exit latency on all CPUs, in microseconds. [`LATENCY_DEVICE`] holds it as a binary
/// number of four bytes.
pub(crate) fn limit_of_all_us(case: &Case<'_>) -> Fact<u64> {
    read_latency_device_us(case)
        .and_then(|limit_us| u64::try_from(limit_us).map_or_else(|e| Fact::Garbled(e.to_string()), Fact::Known))
}

/// The names of the states that the first real-time CPU may enter, ignoring the limit for all CPUs.
pub(crate) fn names_on_first(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    let cpu = case.first_rt()?;
    let limit_us = limit_of_cpu_us(case, cpu)?.unwrap_or(u64::MAX);
    let states = enabled_states(case, cpu)?;
    let names: Vec<String> = states.into_iter().filter(|s| s.latency_us <= limit_us).map(|s| s.name).collect();
    case.note(
        format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle"),
        format!("states that may be entered: {}", names.join(", ")),
    );
    Ok(names)
}

/// The deepest idle state that the first real-time CPU may enter; `None` if the exit latency of that state is
/// tolerable. The first real-time CPU represents all of them here; `pm.idle_state` judges each real-time CPU.
pub(crate) fn deep_on_first(case: &Case<'_>) -> Result<Option<Sleep>, Doubt> {
    let cpu = case.first_rt()?;
    let limit_of_all_us = limit_of_all_us(case).known().copied().unwrap_or(u64::MAX);
    let limit_us = limit_of_cpu_us(case, cpu)?.unwrap_or(u64::MAX).min(limit_of_all_us);
    let is_deep = |state: &Sleep| state.latency_us <= limit_us && state.latency_us > tolerable_us(case);
    let deepest = enabled_states(case, cpu)?.into_iter().filter(is_deep).max_by_key(|state| state.latency_us);
    case.note(
        format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle"),
        match &deepest {
            Some(state) => format!("{} may be entered and takes {} us to leave", state.name, state.latency_us),
            None => format!("no state that takes more than {} us to leave may be entered", tolerable_us(case)),
        },
    );
    Ok(deepest)
}
