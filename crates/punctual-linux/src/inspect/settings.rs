//! Reads how a thread is set up.

use super::procfs::{number_after, text};
use crate::sys::sched;
use punctual_hist::Nanos;
use punctual_numbers::inspect::{CpuMax, Policy, Setup};
use rustix::process::Pid;

/// The settings of a thread; `status` and `limits` are those files of its process. `None` if the thread is gone.
pub fn settings(tid: u32, status: &str, limits: &str) -> Option<Setup> {
    let pid = Pid::from_raw(i32::try_from(tid).ok()?)?;
    let attributes = sched::attributes(pid).ok()?;
    let cpus = sched::cpus(Some(pid)).ok()?;
    let bytes = |label: &str| number_after(status, label).map(|kib| u64::from(kib) * 1024);
    let number = |path: String| text(&path)?.trim().parse().ok();
    Some(Setup {
        policy: Policy::of(attributes.policy),
        priority: attributes.priority,
        cpus,
        locked_bytes: bytes("VmLck:"),
        resident_bytes: bytes("VmRSS:"),
        timer_slack: number(format!("/proc/{tid}/timerslack_ns")).map(Nanos::from_ns),
        cpu_max: cpu_max(tid),
        uclamp_max: text(&format!("/proc/{tid}/sched")).and_then(|sched| uclamp_max(&sched)),
        rtprio_limit: limit(limits, "Max realtime priority"),
        memlock_limit: limit(limits, "Max locked memory"),
    })
}

/// The soft limit in a line of `/proc/PID/limits`; `None` if it is unlimited.
fn limit(limits: &str, label: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(label)?.split_whitespace().next()?.parse().ok())
}

fn uclamp_max(sched: &str) -> Option<u32> {
    let line = sched.lines().find(|line| line.starts_with("effective uclamp.max"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// The limit of the closest control group that has one.
fn cpu_max(tid: u32) -> Option<CpuMax> {
    let groups = text(&format!("/proc/{tid}/cgroup"))?;
    let mut group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    loop {
        let limit = text(&format!("/sys/fs/cgroup{group}/cpu.max"));
        if let Some(limit) = limit.and_then(|limit| parse_cpu_max(&limit)) {
            return Some(limit);
        }
        (group, _) = group.rsplit_once('/')?;
    }
}

fn parse_cpu_max(text: &str) -> Option<CpuMax> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some(CpuMax { quota: Nanos::from_us(quota.parse().ok()?), period: Nanos::from_us(period.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_absent_ones_are_none() {
        let limits = "Max realtime priority     95                   95\nMax locked memory         unlimited            unlimited            bytes\n";
        assert_eq!(limit(limits, "Max realtime priority"), Some(95));
        assert_eq!(limit(limits, "Max locked memory"), None);
        let max = CpuMax { quota: Nanos::from_ms(50), period: Nanos::from_ms(100) };
        assert_eq!(parse_cpu_max("50000 100000\n"), Some(max));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max(""), None);
        let sched = "uclamp.max                                   :                 1024\neffective uclamp.max                         :                  512\n";
        assert_eq!(uclamp_max(sched), Some(512));
        assert_eq!(uclamp_max("policy : 0\n"), None);
    }
}
