//! Knobs about rights of the caller. Without these rights, the real-time loop runs as an ordinary task on any machine.

use crate::knobs::prelude::*;
use crate::knobs::seen::groups::group_of;

const KNOB: Knob = Knob { cost: "None.", confidence: Confidence::Medium, ..Knob::of(Family::Privileges) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "lim.rtprio",
        title: "Programs started from this shell may use the real-time class",
        severity: Weight::of(Fatal, High, Fatal),
        check: Check::Probe(|case| {
            Ok(has_capability(case, CAP_SYS_NICE)?
                || soft_limit(case, "Max realtime priority")?.is_none_or(|limit| limit > 0))
        }),
        why: "Without this right, a thread that asks for SCHED_FIFO is refused, and then waits for its turn like every \
            ordinary thread.",
        fix: Fix::prose("prlimit --pid PID --rtprio=95 as root (with CAP_SYS_RESOURCE), or run as root."),
        persist: &[Lasting::limit("@realtime - rtprio 95"), Lasting::unit("LimitRTPRIO=95")],
        cost: "A member of the group can lock the machine up; never grant priority 99.",
        sources: &[
            "sched(7)",
            "getrlimit(2): RLIMIT_RTPRIO",
            "the refusal was seen on 6.18; the granting was not tried",
        ],
        ..KNOB
    },
    Knob {
        id: "lim.memlock",
        title: "Programs started from this shell may lock their memory",
        severity: Weight::of(High, Medium, Medium),
        check: Check::Probe(|case| {
            Ok(has_capability(case, CAP_IPC_LOCK)?
                || soft_limit(case, "Max locked memory")?.is_none_or(|limit| limit >= ENOUGH_BYTES))
        }),
        why: "The kernel may take memory away that cannot be locked, and the next access then waits until it is back. \
            Judged bad: a limit on locked memory below 1 GiB.",
        fix: Fix::prose("prlimit --pid PID --memlock=unlimited as root (with CAP_SYS_RESOURCE)."),
        persist: &[Lasting::limit("@realtime - memlock unlimited"), Lasting::unit("LimitMEMLOCK=infinity")],
        cost: "A member of the group can use up the machine's memory.",
        sources: &["mlockall(2)", "the refusal was seen on 6.18; the granting was not tried"],
        ..KNOB
    },
    Knob {
        id: "lim.rttime",
        title: "No time limit on real-time threads",
        severity: Weight::of(Info, High, Info),
        check: Check::Probe(|case| Ok(soft_limit(case, "Max realtime timeout")?.is_none())),
        why: "The kernel ends a real-time thread that uses more CPU time than this limit without a blocking call: it \
            sends SIGXCPU at the soft limit and SIGKILL at the hard one. rtkit sets 200 ms.",
        fix: Fix::command("prlimit --pid PID --rttime=unlimited"),
        persist: &[Lasting::unit("LimitRTTIME=infinity")],
        cost: "A safety net for experiments.",
        confidence: Confidence::High,
        sources: &["getrlimit(2): RLIMIT_RTTIME", "unverified: the limit rtkit sets"],
        ..KNOB
    },
    Knob {
        id: "lim.cpus",
        title: "Programs started from this shell may run on the real-time CPUs",
        severity: Weight::all(Fatal),
        check: Check::Probe(cpus),
        why: "If a cpuset leaves these CPUs out, the kernel refuses to pin a thread to them. An affinity that was \
            merely inherited (as on every machine with isolcpus=) does not prevent pinning.",
        fix: Fix::prose(
            "Start the application in a cpuset, slice or container that contains CPUs <I> (systemd: AllowedCPUs=<I>).",
        ),
        persist: &[Lasting::unit("AllowedCPUs=<I>"), Lasting::other("Or set cpuset in the container's definition.")],
        sources: &["sched_setaffinity(2)", "cpuset(7)", "moby#31086"],
        ..KNOB
    },
    Knob {
        id: "lim.rtprio_max",
        title: "Programs started from this shell may not use priority 99",
        check: Check::Probe(|case| {
            Doubt::not_applicable_if(
                has_capability(case, CAP_SYS_NICE)?,
                "with CAP_SYS_NICE the limit does not apply",
            )?;
            Ok(soft_limit(case, "Max realtime priority")?.is_some_and(|limit| limit < 99))
        }),
        why: "If a thread of priority 99 spins, no process that a user can start pre-empts it: neither a shell nor a \
            watchdog process.",
        fix: Fix::command("prlimit --pid PID --rtprio=95"),
        persist: &[Lasting::limit("@realtime - rtprio 95"), Lasting::unit("LimitRTPRIO=95")],
        sources: &["sched(7)", "unverified: usual advice; the kernel's own stop threads are above every priority"],
        ..KNOB
    },
    Knob {
        id: "lim.stack",
        title: "Stacks of new threads are small",
        check: Check::Probe(stack),
        why: "A new thread gets a stack as large as this limit, and with mlockall(MCL_FUTURE) all of it is locked. \
            Judged bad: more than 16 MiB.",
        fix: Fix::prose("ulimit -s 8192, or pass a stack size each time a thread is created."),
        persist: &[Lasting::limit("@realtime soft stack 8192"), Lasting::unit("LimitSTACK=8M")],
        sources: &["pthread_create(3)", "mlockall(2)"],
        ..KNOB
    },
    Knob {
        id: "lim.cpu_max",
        title: "The control group of this shell has no CPU quota",
        severity: Weight::all(Medium),
        check: Check::Probe(|case| {
            if let Some(is_free) = is_unlimited_v1(case, "cpu", "cpu.cfs_quota_us", |quota_us| quota_us < 0)? {
                return Ok(is_free);
            }
            is_unlimited(case, &["cpu.max"])
        }),
        why: "When the quota is used up, every ordinary thread of the group stops until the next period, even a thread \
            that holds a lock which the real-time thread needs.",
        fix: Fix::command("echo max > /sys/fs/cgroup/GROUP/cpu.max"),
        persist: &[Lasting::unit("CPUQuota="), Lasting::other("In the container's definition: no CPU limit")],
        cost: "The group may use whole CPUs.",
        confidence: Confidence::High,
        sources: &["kernel admin-guide/cgroup-v2.rst: cpu.max", "kernel scheduler/sched-bwc.rst"],
        ..KNOB
    },
    Knob {
        id: "lim.memory_max",
        title: "The control group of this shell has no memory limit",
        check: Check::Probe(|case| {
            let is_free = |limit_bytes| limit_bytes >= NO_LIMIT_BYTES;
            if let Some(is_free) = is_unlimited_v1(case, "memory", "memory.limit_in_bytes", is_free)? {
                return Ok(is_free);
            }
            is_unlimited(case, &["memory.high", "memory.max"])
        }),
        why: "At memory.high, every allocation of the group waits for reclaim; at memory.max, the kernel kills a \
            process of the group.",
        fix: Fix::prose("echo max > /sys/fs/cgroup/GROUP/memory.high; the same for memory.max"),
        persist: &[Lasting::unit("MemoryHigh=infinity"), Lasting::unit("MemoryMax=infinity")],
        cost: "The group may use all memory.",
        confidence: Confidence::High,
        sources: &["kernel admin-guide/cgroup-v2.rst: memory.high, memory.max"],
        ..KNOB
    },
    Knob {
        id: "proc.policy",
        title: "Each real-time thread has a suitable scheduling class and priority",
        severity: Weight::all(High),
        applies: |case| {
            Doubt::not_applicable_if(
                case.flavour().is_ok_and(Flavour::is_dual),
                "the threads that matter belong to the second kernel, which has scheduling classes of its own",
            )
        },
        check: Check::advice(
            "cannot be seen before the application runs: chrt -a -p PID shows the class and priority of every thread; \
            two threads that must not wait for each other should not have the same priority",
        ),
        why: "A thread without a real-time class waits for every real-time thread; of two threads of the same \
            priority, one waits while the other runs.",
        fix: Fix::prose(
            "chrt -a -f -p PRIORITY PID; in the program sched_setscheduler, with SCHED_RESET_ON_FORK if it starts \
            helper processes.",
        ),
        persist: &[Lasting::unit("CPUSchedulingPolicy=fifo"), Lasting::unit("CPUSchedulingPriority=80")],
        undo: Fix::command("chrt -a -o -p 0 PID"),
        cost: "Work of lower priority waits.",
        blast: Blast::Disturbing,
        sources: &["sched(7)"],
        ..KNOB
    },
    Knob {
        id: "proc.affinity",
        title: "Each real-time thread is bound to one CPU",
        severity: Weight::all(Medium),
        applies: |case| Doubt::not_applicable_if(case.rt().len() == 1 && case.has_no_others(), "there is one CPU"),
        check: Check::advice(
            "cannot be seen before the application runs: taskset -a -p PID shows where every thread may run; the \
            numbers of the CPUs may have gaps",
        ),
        why: "A thread that may run on several CPUs is moved between them, and its caches are cold after each move.",
        fix: Fix::prose("taskset -a -c -p <I> PID; in the program sched_setaffinity for each thread."),
        persist: &[Lasting::unit("CPUAffinity=<I>")],
        sources: &["sched_setaffinity(2)", "LinuxCNC#294: a CPU number that did not exist"],
        ..KNOB
    },
    Knob {
        id: "proc.futex_pi",
        title: "Locks of real-time threads inherit priority",
        severity: Weight::all(High),
        applies: |case| case.not_for(Kind::Poll, "work that never sleeps takes no lock that would make it sleep"),
        check: Check::advice(
            "cannot be seen from outside: look in the source for PTHREAD_PRIO_INHERIT on every mutex that a \
                real-time thread takes, and for condition variables",
        ),
        why: "A real-time thread that waits for an ordinary thread also waits for everything that pre-empts the \
            ordinary thread.",
        fix: Fix::prose(
            "pthread_mutexattr_setprotocol(PTHREAD_PRIO_INHERIT) for each such mutex, or exchange the data without \
            locks.",
        ),
        persist: &[Lasting::other("Make this change in the program's source")],
        undo: Fix::prose("PTHREAD_PRIO_NONE"),
        cost: "A little time per contended lock.",
        sources: &["pthread_mutexattr_setprotocol(3)", "pi(7), futex(2): FUTEX_LOCK_PI"],
        ..KNOB
    },
];

const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;
/// How much memory the limit on locked memory must allow. The run-time library needs this much so that creating a
/// thread does not fail once memory is locked.
const ENOUGH_BYTES: u64 = 1 << 30;

fn has_capability(case: &Case<'_>, bit: u32) -> Result<bool, Doubt> {
    let effective = case.status("CapEff")?;
    match u64::from_str_radix(&effective, 16) {
        Ok(bits) => Ok(bits & (1 << bit) != 0),
        Err(_) => Doubt::unknown(format!("/proc/self/status CapEff holds '{effective}'")),
    }
}

/// The caller's soft limit with this name in `/proc/self/limits`; `None` means unlimited.
fn soft_limit(case: &Case<'_>, name: &str) -> Result<Option<u64>, Doubt> {
    let path = "/proc/self/limits";
    let limits = case.content(path, TellsNothing("/proc/self/limits is not there"))?;
    let value = limits.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next());
    let Some(value) = value else { return Doubt::unknown(format!("{path} has no line '{name}'")) };
    case.note(format!("{path} {name}"), value);
    match (value, value.parse()) {
        ("unlimited", _) => Ok(None),
        (_, Ok(number)) => Ok(Some(number)),
        (_, Err(_)) => Doubt::unknown(format!("{path} '{name}' holds '{value}'")),
    }
}

const LARGE_STACK_BYTES: u64 = 16 << 20;

/// Good if the limit on the stack is set and not large. Without a limit the C library uses a small default size.
fn stack(case: &Case<'_>) -> Judged {
    Ok(soft_limit(case, "Max stack size")?.is_none_or(|limit| limit <= LARGE_STACK_BYTES))
}

/// The file that lists the CPUs of the caller's control group, or of the nearest group above it that has this file.
fn cpuset_file(case: &Case<'_>) -> Option<String> {
    let groups = case.peek("/proc/self/cgroup");
    let groups = groups.known()?;
    let places = [
        (group_of(groups, "cpuset"), "/sys/fs/cgroup/cpuset", "cpuset.effective_cpus"),
        (group_of(groups, ""), "/sys/fs/cgroup", "cpuset.cpus.effective"),
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

/// Whether no cpuset limits the caller, so that a restricted affinity must have been inherited from the parent process:
/// the kernel has no cpusets, or the caller is in the root group outside a container.
fn is_unconfined(case: &Case<'_>) -> bool {
    let config = &case.machine.config;
    if case.lacks("CPUSETS") {
        case.note(format!("{} CONFIG_CPUSETS", config.source), "n");
        return true;
    }
    let is_own = case.virtualisation().is_some_and(|v| v.container.is_none());
    let groups = case.peek("/proc/self/cgroup");
    let at_root = |line: &str| line.splitn(3, ':').nth(2) == Some("/");
    let unconfined = groups.known().is_some_and(|lines| !lines.is_empty() && lines.lines().all(at_root));
    if is_own && unconfined {
        case.cite("/proc/self/cgroup", &groups);
    }
    is_own && unconfined
}

fn cpus(case: &Case<'_>) -> Judged {
    let list = case.status("Cpus_allowed_list")?;
    let Ok(allowed) = CpuSet::parse_list(&list) else {
        return Doubt::unknown(format!("/proc/self/status Cpus_allowed_list holds '{list}'"));
    };
    case.known_rt()?;
    if case.rt().is_subset(&allowed) {
        return Ok(true);
    }
    if is_unconfined(case) {
        return Ok(true);
    }
    let Some(file) = cpuset_file(case) else {
        return Doubt::unknown(
            "the inherited affinity leaves some CPUs out, and it is not shown whether a cpuset forbids them",
        );
    };
    Ok(case.rt().is_subset(&case.cpu_list(&file, TellsNothing("the cpuset is not shown"))?))
}

/// The control group of the caller for a controller (`""` for cgroup v2), followed by the groups above it.
fn groups(case: &Case<'_>, controller: &str) -> Result<Option<Vec<String>>, Doubt> {
    let path = "/proc/self/cgroup";
    let table = case.content(path, CannotBe("this kernel has no control groups"))?;
    let Some(own) = group_of(&table, controller) else { return Ok(None) };
    if !own.starts_with('/') || own.contains("..") {
        return Doubt::unknown(format!("the control group of this shell, '{own}', is outside of what can be seen"));
    }
    let mut group = own.trim_end_matches('/');
    let mut all = vec![group.to_owned()];
    while let Some((above, _)) = group.rsplit_once('/') {
        all.push(above.to_owned());
        group = above;
    }
    Ok(Some(all))
}

/// Whether the caller's groups in cgroup v1 have no limit; `None` if cgroup v1 is not in use.
fn is_unlimited_v1(
    case: &Case<'_>,
    controller: &str,
    file: &str,
    is_free: fn(i64) -> bool,
) -> Result<Option<bool>, Doubt> {
    let Some(groups) = groups(case, controller)? else { return Ok(None) };
    let (mut seen, mut all_free) = (0, true);
    for group in &groups {
        let path = format!("/sys/fs/cgroup/{controller}{group}/{file}");
        let Some(limit) = case.peek(&path).known().and_then(|text| text.parse().ok()) else { continue };
        seen += 1;
        if !is_free(limit) {
            case.note(path, limit.to_string());
            all_free = false;
        }
    }
    Doubt::unknown_if(seen == 0, format!("the limits of the controller {controller} are not shown"))?;
    if all_free {
        case.note(
            format!("/sys/fs/cgroup/{controller}/**/{file}"),
            format!("none of {seen} control groups has a limit"),
        );
    }
    Ok(Some(all_free))
}

/// Good if no file with one of these names, in the caller's cgroup v2 groups, holds a limit. `max` in a file means no
/// limit.
fn is_unlimited(case: &Case<'_>, files: &[&str]) -> Judged {
    let root = "/sys/fs/cgroup";
    let Some(groups) = groups(case, "")? else { return Doubt::unknown("the control group of this shell is not shown") };
    let names = case.names(root, TellsNothing("control groups cannot be seen here"))?;
    Doubt::unknown_if(!names.iter().any(|name| name == "cgroup.procs"), "control groups cannot be seen here")?;
    let (mut seen, mut is_free) = (0, true);
    for path in groups.iter().flat_map(|group| files.iter().map(move |file| format!("{root}{group}/{file}"))) {
        match case.peek(&path) {
            Fact::Known(text) if text.split_whitespace().next() == Some("max") => seen += 1,
            Fact::Known(text) => {
                case.note(path, text);
                is_free = false;
            }
            // A group for which the controller is not enabled has no limit.
            Fact::Absent => {}
            fact => {
                case.known(&path, fact, TellsNothing("the limit of a control group is not shown"))?;
            }
        }
    }
    if is_free {
        case.note(
            format!("{root}: {}", files.join(", ")),
            format!("max in {seen} files; none of {} control groups has a limit", groups.len()),
        );
    }
    Ok(is_free)
}

/// The value in cgroup v1 files that means "no limit": the largest number of bytes that is a whole number of pages.
const NO_LIMIT_BYTES: i64 = i64::MAX >> 16 << 16;
