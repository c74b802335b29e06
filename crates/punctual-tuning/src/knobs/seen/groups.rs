//! Whether control groups limit the real-time class, and which budget the caller's group has.

use crate::knobs::case::{Case, Doubt, Judged};

/// The topmost groups of systemd, which hold everything that systemd starts.
pub(crate) const SLICES: [&str; 4] = ["init.scope", "system.slice", "user.slice", "machine.slice"];

/// Where the CPU controller of cgroup v1 is usually mounted.
const V1_MOUNTS: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/// The path of the caller's group. `First` is the hierarchy of the CPU controller in cgroup v1, `Second` is cgroup v2.
enum Group {
    First(String),
    Second(String),
}

/// The path of a process's group for a controller (`""` for cgroup v2), found in the text of the process's `cgroup`
/// file.
pub(crate) fn group_of<'t>(cgroup: &'t str, controller: &str) -> Option<&'t str> {
    cgroup.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let is_wanted = parts.next()?.split(',').any(|name| name == controller);
        parts.next().filter(|_| is_wanted)
    })
}

fn caller(case: &Case<'_>) -> Result<Group, Doubt> {
    let groups = case.peek("/proc/self/cgroup");
    let Some(lines) = groups.known() else {
        case.cite("/proc/self/cgroup", &groups);
        return Doubt::unknown("the control group of this shell is not known");
    };
    let path = |controller| group_of(lines, controller).map(|group| group.trim_end_matches('/').to_owned());
    match path("cpu").map(Group::First).or_else(|| path("").map(Group::Second)) {
        Some(group) => Ok(group),
        None => Doubt::unknown("/proc/self/cgroup names no group"),
    }
}

/// The file with the real-time budget of the caller's group, and the file's content; `None` if cgroup v1 is not
/// mounted.
fn budget(case: &Case<'_>) -> Option<(String, String)> {
    let group = match caller(case) {
        Ok(Group::First(group)) => group,
        _ => String::new(),
    };
    V1_MOUNTS.iter().find_map(|mount| {
        let file = format!("{mount}{group}/cpu.rt_runtime_us");
        case.peek(&file).known().cloned().map(|budget| (file, budget))
    })
}

pub(crate) fn has_rt_group(case: &Case<'_>) -> Result<bool, Doubt> {
    if let Some((file, budget)) = budget(case) {
        case.note(file, budget);
        return Ok(true);
    }
    let is_on = case.config("RT_GROUP_SCHED")? != "n";
    if is_on && (case.config("RT_GROUP_SCHED_DEFAULT_DISABLED")? != "n" || case.requested("rt_group_sched")) {
        return Doubt::unknown(
            "RT_GROUP_SCHED is built in and can be switched at boot; the kernel does not show whether it is on",
        );
    }
    if !is_on {
        case.has_whole_config()?;
    }
    Ok(is_on)
}

/// Whether the caller's group may have real-time threads. A group in cgroup v2 cannot be given a real-time budget, so
/// it may not have real-time threads once the CPU controller is enabled for it.
pub(crate) fn may_be_real_time(case: &Case<'_>) -> Judged {
    if let Some((file, budget)) = budget(case) {
        return budget
            .trim()
            .parse()
            .map(|budget: i64| budget != 0)
            .or_else(|_| Doubt::unknown(format!("{file} holds '{budget}', not a number")));
    }
    Ok(counted(case)?.is_none())
}

/// The path of the `cpu.max` file of the cgroup v2 group that accounts for the caller's CPU time; `None` if that is the
/// root group.
pub(crate) fn counted(case: &Case<'_>) -> Result<Option<String>, Doubt> {
    let group = match caller(case)? {
        Group::Second(group) => group,
        Group::First(_) => return Doubt::unknown("the group of this shell in the CPU controller cannot be seen here"),
    };
    let is_mount = |mount: &&&str| case.exists(&format!("{mount}/cgroup.controllers"));
    let Some(mount) = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].iter().find(is_mount).copied() else {
        return Doubt::unknown("the control groups cannot be seen here");
    };
    // The root group has no `cpu.max`, and a group without the controller is accounted in its parent.
    let parts: Vec<&str> = group.split('/').filter(|part| !part.is_empty()).collect();
    let files = (1..=parts.len()).rev().map(|n| format!("{mount}/{}/cpu.max", parts[..n].join("/")));
    let found = files.into_iter().find(|file| case.exists(file));
    case.note("/proc/self/cgroup", if group.is_empty() { "/" } else { &group });
    match &found {
        Some(file) => case.note(file, "exists: the CPU controller is on for this group"),
        None => {
            case.note(format!("{mount}{group}/cpu.max"), "does not exist: the CPU controller is off for this group");
        }
    }
    Ok(found)
}
