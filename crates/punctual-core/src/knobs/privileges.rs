//! What the caller may do: without it the best machine runs the loop as an ordinary task.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::cpu_set::CpuSet;
use crate::finding::Confidence;
use crate::finding::Severity::{Fatal, High, Info, Medium};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "lim.rtprio",
        title: "The caller may use the real-time class",
        family: Family::Privileges,
        severity: Weight::of(Fatal, High, Fatal),
        probe: Probe::Effective(rtprio),
        why: "Without the right to it, a thread asks for SCHED_FIFO, is refused, and waits its turn with everybody \
            else.",
        fix: "prlimit --pid PID --rtprio=95 as root (with CAP_SYS_RESOURCE), or run as root.",
        persist: &[Lasting::Other(
            "@realtime - rtprio 95 in /etc/security/limits.d/ (log in anew) and LimitRTPRIO=95 in the unit: \
            services ignore limits.d.",
        )],
        undo: "Remove the lines.",
        cost: "A member of the group can lock the machine up; never grant 99.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &[
            "sched(7)",
            "getrlimit(2): RLIMIT_RTPRIO",
            "the refusal was seen on 6.18; the granting was not tried",
        ],
    },
    Knob {
        id: "lim.memlock",
        title: "The caller may lock its memory",
        family: Family::Privileges,
        severity: Weight::of(High, Medium, Medium),
        probe: Probe::Effective(memlock),
        why: "Memory that cannot be locked can be taken away, and the next touch waits for it. Judged bad: less \
            than 64 MiB.",
        fix: "prlimit --pid PID --memlock=unlimited as root (with CAP_SYS_RESOURCE).",
        persist: &[Lasting::Other(
            "@realtime - memlock unlimited in /etc/security/limits.d/ and LimitMEMLOCK=infinity in the unit.",
        )],
        undo: "Remove the lines.",
        cost: "A member of the group can use the memory up.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["mlockall(2)", "the refusal was seen on 6.18; the granting was not tried"],
    },
    Knob {
        id: "lim.rttime",
        title: "No time limit on real-time threads",
        family: Family::Privileges,
        severity: Weight::of(Info, High, Info),
        probe: Probe::Effective(rttime),
        why: "A real-time thread that uses this much CPU time without a blocking call is ended: SIGXCPU at the soft limit, SIGKILL at the hard one. \
            rtkit sets 200 ms.",
        fix: "prlimit --pid PID --rttime=unlimited",
        persist: &[Lasting::Other("LimitRTTIME=infinity in the unit; do not obtain the class through rtkit.")],
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
        probe: Probe::Effective(cpus),
        why: "A cpuset that leaves these CPUs out refuses to pin a thread to them. An affinity that was merely \
            inherited (as on every machine with isolcpus=) does not.",
        fix: "Start it in a cpuset, slice or container that holds <I> (systemd: AllowedCPUs=<I>).",
        persist: &[Lasting::Other("The same in the unit or in the container's definition.")],
        undo: "Remove the line.",
        cost: "None.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["sched_setaffinity(2)", "cpuset(7)", "moby#31086"],
    },
];

const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;
/// What the run-time library wants free under the limit, so that locking memory does not make the next thread fail.
const ENOUGH_BYTES: u64 = 1 << 30;

/// A field of the caller's status, kept as evidence.
pub(super) fn status(case: &Case<'_>, field: &str) -> Result<String, Doubt> {
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

/// The file that says which CPUs the caller's control group may use: its own, or that of the nearest group above which
/// has one.
fn cpuset_file(case: &Case<'_>) -> Option<String> {
    let groups = case.peek("/proc/self/cgroup");
    let groups = groups.known()?;
    let of = |wanted: &str| {
        let is_wanted = |controllers: &str| controllers.split(',').any(|controller| controller == wanted);
        let parts = |line: &'_ str| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((is_wanted(parts.next()?), parts.next()?.to_owned()))
        };
        groups.lines().filter_map(parts).find(|(is_wanted, _)| *is_wanted).map(|(_, group)| group)
    };
    let places = [
        (of("cpuset"), "/sys/fs/cgroup/cpuset", "cpuset.effective_cpus"),
        (of(""), "/sys/fs/cgroup", "cpuset.cpus.effective"),
    ];
    places.into_iter().filter_map(|(group, mount, file)| Some((group?, mount, file))).find_map(
        |(group, mount, file)| {
            let mut group = group.trim_end_matches('/');
            loop {
                let path = format!("{mount}{group}/{file}");
                if case.peek(&path).known().is_some() {
                    return Some(path);
                }
                group = group.rsplit_once('/')?.0;
            }
        },
    )
}

fn cpus(case: &Case<'_>) -> Judged {
    let list = status(case, "Cpus_allowed_list")?;
    let Ok(allowed) = CpuSet::parse_list(&list) else {
        return Doubt::unknown(format!("/proc/self/status Cpus_allowed_list holds '{list}'"));
    };
    if case.rt.is_empty() {
        return Doubt::unknown("which CPUs are online is not known");
    }
    if case.rt.is_subset(&allowed) {
        return Ok(true);
    }
    let Some(file) = cpuset_file(case) else {
        return Doubt::unknown(
            "the inherited affinity leaves CPUs out, and whether a cpuset forbids them is not shown",
        );
    };
    Ok(case.rt.is_subset(&case.cpu_list(&file, Missing::TellsNothing("the cpuset is not shown"))?))
}
