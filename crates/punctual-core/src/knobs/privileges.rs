//! What the caller may do: without it the best machine runs the loop as an ordinary task.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Missing, Weight};
use crate::cpu_set::CpuSet;
use crate::finding::Confidence;
use crate::finding::Severity::{Fatal, High, Info, Medium};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "lim.rtprio",
        title: "The caller may use the real-time class",
        family: Family::Privileges,
        severity: Weight::of(Fatal, High, Fatal),
        probe: rtprio,
        why: "Without the right to it, a thread asks for SCHED_FIFO, is refused, and waits its turn with everybody \
            else.",
        fix: "prlimit --pid PID --rtprio=95 as root, or run as root.",
        persist: "@realtime - rtprio 95 in /etc/security/limits.d/ (log in anew) and LimitRTPRIO=95 in the unit: \
            services ignore limits.d.",
        undo: "Remove the lines.",
        cost: "A member of the group can lock the machine up; never grant 99.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["sched(7)", "getrlimit(2): RLIMIT_RTPRIO", "capabilities(7): CAP_SYS_NICE"],
    },
    Knob {
        id: "lim.memlock",
        title: "The caller may lock its memory",
        family: Family::Privileges,
        severity: Weight::of(High, Medium, Medium),
        probe: memlock,
        why: "Memory that cannot be locked can be taken away, and the next touch waits for it. Judged bad: less \
            than 64 MiB.",
        fix: "prlimit --pid PID --memlock=unlimited as root.",
        persist: "@realtime - memlock unlimited in /etc/security/limits.d/ and LimitMEMLOCK=infinity in the unit.",
        undo: "Remove the lines.",
        cost: "A member of the group can use the memory up.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["mlockall(2)", "capabilities(7): CAP_IPC_LOCK"],
    },
    Knob {
        id: "lim.rttime",
        title: "No time limit on real-time threads",
        family: Family::Privileges,
        severity: Weight::of(Info, High, Info),
        probe: rttime,
        why: "A real-time thread that uses this much CPU time without a blocking call gets SIGXCPU, which ends it. \
            rtkit sets 200 ms.",
        fix: "prlimit --pid PID --rttime=unlimited",
        persist: "LimitRTTIME=infinity in the unit; do not obtain the class through rtkit.",
        undo: "prlimit with the limit that was there.",
        cost: "A safety net for experiments.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["getrlimit(2): RLIMIT_RTTIME", "unverified: the limit rtkit sets"],
    },
    Knob {
        id: "lim.cpus",
        title: "The caller may run on the real-time CPUs",
        family: Family::Privileges,
        severity: Weight::all(Fatal),
        probe: cpus,
        why: "A cpuset or an inherited affinity keeps the process off these CPUs; pinning to them is refused.",
        fix: "Start it in a cpuset, slice or container that holds <I> (systemd: AllowedCPUs=<I>).",
        persist: "The same in the unit or in the container's definition.",
        undo: "Remove the line.",
        cost: "None.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["sched_setaffinity(2)", "cpuset(7)", "moby#31086"],
    },
];

const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;
const ENOUGH_BYTES: u64 = 64 << 20;

/// A field of the caller's status, kept as evidence.
fn status(case: &Case<'_>, field: &str) -> Result<String, Doubt> {
    let path = "/proc/self/status";
    let status = case.known(path, case.peek(path), Missing::TellsNothing("/proc/self/status is not there"))?;
    let value = status.lines().find_map(|line| line.split_once(':').filter(|(name, _)| *name == field));
    match value {
        Some((_, value)) => {
            case.note(format!("{path} {field}"), value.trim());
            Ok(value.trim().to_owned())
        }
        None => Doubt::unknown(format!("{path} has no line {field}")),
    }
}

fn has_capability(case: &Case<'_>, bit: u32) -> Result<bool, Doubt> {
    let effective = status(case, "CapEff")?;
    match u64::from_str_radix(&effective, 16) {
        Ok(bits) => Ok(bits & (1 << bit) != 0),
        Err(_) => Doubt::unknown(format!("/proc/self/status CapEff holds '{effective}'")),
    }
}

/// The soft limit of that name; `None` is unlimited.
fn soft_limit(case: &Case<'_>, name: &str) -> Result<Option<u64>, Doubt> {
    let path = "/proc/self/limits";
    let limits = case.known(path, case.peek(path), Missing::TellsNothing("/proc/self/limits is not there"))?;
    let value = limits.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next());
    let Some(value) = value else { return Doubt::unknown(format!("{path} has no line '{name}'")) };
    case.note(format!("{path} {name}"), value);
    match (value, value.parse()) {
        ("unlimited", _) => Ok(None),
        (_, Ok(number)) => Ok(Some(number)),
        (_, Err(_)) => Doubt::unknown(format!("{path} '{name}' holds '{value}'")),
    }
}

fn rtprio(case: &Case<'_>) -> Judged {
    Ok(has_capability(case, CAP_SYS_NICE)? || soft_limit(case, "Max realtime priority")?.is_none_or(|limit| limit > 0))
}

fn memlock(case: &Case<'_>) -> Judged {
    Ok(has_capability(case, CAP_IPC_LOCK)?
        || soft_limit(case, "Max locked memory")?.is_none_or(|limit| limit >= ENOUGH_BYTES))
}

fn rttime(case: &Case<'_>) -> Judged {
    Ok(soft_limit(case, "Max realtime timeout")?.is_none())
}

fn cpus(case: &Case<'_>) -> Judged {
    let list = status(case, "Cpus_allowed_list")?;
    let Ok(allowed) = CpuSet::parse_list(&list) else {
        return Doubt::unknown(format!("/proc/self/status Cpus_allowed_list holds '{list}'"));
    };
    if case.rt.is_empty() {
        return Doubt::unknown("which CPUs are online is not known");
    }
    Ok(case.rt.is_subset(&allowed))
}
