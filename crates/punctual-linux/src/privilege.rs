//! Explains why the kernel refused something: by which limit, control group or capability.

use std::fs;

/// The reason why the kernel refused a real-time or deadline policy with `errno`, and what would grant it; empty for
/// another `errno`.
pub fn explain_policy(errno: i32) -> String {
    match errno {
        libc::EPERM => explain_permission(),
        libc::EBUSY => "the deadline class has no room left: the sum of run time over period of all deadline threads \
             would exceed what /proc/sys/kernel/sched_rt_runtime_us allows; ask for less run time"
            .to_owned(),
        libc::EINVAL => "the kernel does not take these parameters (a deadline run time must be at least 1024 ns and \
             fit into the period)"
            .to_owned(),
        _ => String::new(),
    }
}

fn explain_permission() -> String {
    if let Some(text) = group_without_budget().or_else(refused_despite_capability) {
        return text;
    }
    let limit = limit("Max realtime priority");
    format!(
        "this user may not use real-time priorities: RLIMIT_RTPRIO is {limit} (/proc/self/limits, \"Max realtime \
         priority\") and CAP_SYS_NICE is missing. Run as root, or give the user `@realtime - rtprio 95` in \
         /etc/security/limits.d/ and log in again"
    )
}

/// The soft limit in the line of `/proc/self/limits` that begins with `name`.
fn limit(name: &str) -> String {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(3).unwrap_or("unknown").to_owned()
}

/// The explanation if the control group of this process has no real-time run time. With `RT_GROUP_SCHED`, such a group
/// refuses every user, root included.
fn group_without_budget() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|c| c == "cpu").then_some(path)
    })?;
    let file = ["cpu", "cpu,cpuacct"]
        .iter()
        .map(|mount| format!("/sys/fs/cgroup/{mount}{}/cpu.rt_runtime_us", path.trim_end_matches('/')))
        .find(|file| fs::metadata(file).is_ok())?;
    let budget = fs::read_to_string(&file).ok()?;
    (budget.trim() == "0").then(|| {
        format!(
            "the kernel has RT_GROUP_SCHED and this control group has no real-time run time: {file} holds 0. Write \
             a budget there (950000), move this shell to the root group, or boot with rt_group_sched=0"
        )
    })
}

/// The explanation if this process is refused although it has the capability: its control group has no real-time run
/// time. With `RT_GROUP_SCHED` and cgroup v2, that is true of every group except the root.
fn refused_despite_capability() -> Option<String> {
    const CAP_SYS_NICE: u64 = 1 << 23;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(effective.trim(), 16).ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    (effective & CAP_SYS_NICE != 0 && group != "/").then(|| {
        format!(
            "this process has CAP_SYS_NICE, so its control group must be what refuses: {group} (/proc/self/cgroup). With \
             RT_GROUP_SCHED and cgroup v2 only the root group has real-time run time: move this shell there (echo $$ > \
             /sys/fs/cgroup/cgroup.procs), or boot with rt_group_sched=0"
        )
    })
}

pub fn explain_memory_lock() -> String {
    let limit = limit("Max locked memory");
    format!(
        "RLIMIT_MEMLOCK is {limit} bytes (/proc/self/limits) and CAP_IPC_LOCK is missing: run as root or raise `memlock` in \
         /etc/security/limits.d/"
    )
}
