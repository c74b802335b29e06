//! Describes the machine on which the figures were measured, so that they can be compared with figures of other
//! machines.

use serde::Serialize;
use std::fs::read_to_string;

/// The machine as the kernel describes it. A value that the kernel does not state is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model name of the CPU.
    pub cpu_model: Option<String>,
    /// Number of CPUs that this process may use.
    pub cpus: usize,
    /// Release and version of the kernel.
    pub kernel: Option<String>,
    /// Name of the hardware clock behind `CLOCK_MONOTONIC`.
    pub clocksource: Option<String>,
    /// Whether the CPU reports a hypervisor; `None` if `/proc/cpuinfo` lists no flags.
    pub virtualised: Option<bool>,
    /// Load average when the run began, because other programs disturb the figures.
    pub load_average: Option<String>,
}

impl Machine {
    pub fn here() -> Self {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let version = first_line("/proc/sys/kernel/version");
        let flags = cpuinfo_value(&cpuinfo, "flags");
        Self {
            cpu_model: cpuinfo_value(&cpuinfo, "model name").or_else(|| first_line("/proc/device-tree/model")),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: first_line("/proc/sys/kernel/osrelease")
                .map(|name| [Some(name), version].map(Option::unwrap_or_default).join(" ")),
            clocksource: first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            virtualised: flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            load_average: first_line("/proc/loadavg").and_then(|line| line.split(' ').next().map(str::to_owned)),
        }
    }
}

fn first_line(path: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim_end_matches('\0').to_owned())
}

fn cpuinfo_value(cpuinfo: &str, key: &str) -> Option<String> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "processor\t: 0\nmodel\t\t: 167\nmodel name\t: A CPU: the one\nflags\t\t: fpu hypervisor\n";
        assert_eq!(cpuinfo_value(text, "model name").as_deref(), Some("A CPU: the one"));
        assert_eq!(cpuinfo_value(text, "name"), None);
    }
}
