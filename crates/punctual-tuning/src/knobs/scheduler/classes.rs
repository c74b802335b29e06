//! Knobs about other tasks in the real-time classes, and about how these tasks share the CPUs.

use crate::knobs::case::{DEADLINE, FIFO, RR};
use crate::knobs::prelude::*;
use crate::knobs::seen::groups::{has_rt_group, may_be_real_time};
use std::collections::BTreeMap;

const KNOB: Knob =
    Knob { severity: Weight::of(Medium, Medium, Info), blast: Blast::Disturbing, ..Knob::of(Family::Scheduler) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "sched.rt_group",
        title: "The control group of this shell may have real-time threads",
        severity: Weight::all(High),
        check: Check::Probe(|case| {
            Doubt::not_applicable_if(
                !has_rt_group(case)?,
                "this kernel does not grant the real-time class by control groups",
            )?;
            may_be_real_time(case)
        }),
        why: "If the kernel grants the real-time class by control groups, a group without a budget cannot have \
            real-time threads (EPERM). With cgroup v2, only the root group can have a budget.",
        fix: Fix::prose(
            "cgroup v1: echo 400000 > GROUP/cpu.rt_runtime_us, from the root down. cgroup v2: echo PID > \
            /sys/fs/cgroup/cgroup.procs, or echo -cpu > cgroup.subtree_control in each of the groups above.",
        ),
        persist: &[
            Lasting::word("rt_group_sched=0"),
            Lasting::built_without("RT_GROUP_SCHED"),
            Lasting::other("The word is known to 7.3 and not to 6.1 and 6.12."),
        ],
        undo: Fix::prose("Write back the budget that was there; echo PID > GROUP/cgroup.procs of its former group."),
        cost: "In the root group, the other controllers (memory, I/O) do not limit the work either.",
        sources: &[
            "kernel admin-guide/cgroup-v2.rst",
            "kernel 7.3 kernel/sched/syscalls.c, core.c",
            "kernel scheduler/sched-rt-group.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "sched.deadline",
        title: "No deadline task ahead of FIFO threads",
        check: Check::Probe(deadline),
        why: "A SCHED_DEADLINE task runs ahead of every FIFO priority, 99 included, until it has used the time that it \
            reserved.",
        fix: Fix::prose(
            "Keep deadline tasks and FIFO threads on different CPUs: an isolated partition for each, or \
            one class for all.",
        ),
        persist: &[Lasting::other(
            "Two cpuset partitions; SCHED_DEADLINE refuses an affinity smaller than its root domain.",
        )],
        undo: Fix::command("echo member > GROUP/cpuset.cpus.partition"),
        cost: "The CPUs of one class stay idle when it has nothing to run, even if the other class has too much.",
        sources: &["sched(7)", "kernel scheduler/sched-deadline.rst", "kernel 6.1, 6.12, 7.3 kernel/sched/deadline.c"],
        ..KNOB
    },
    Knob {
        id: "sched.dl_period",
        title: "Periods that SCHED_DEADLINE accepts",
        severity: Weight::all(Info),
        blast: Blast::Harmless,
        check: Check::Probe(dl_period),
        why: "A reservation with a period outside these limits is refused with EINVAL.",
        persist: &[
            Lasting::sysctl("kernel.sched_deadline_period_min_us", "100"),
            Lasting::sysctl("kernel.sched_deadline_period_max_us", "4194304"),
        ],
        cost: "Shorter periods mean more work for the scheduler.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 kernel/sched/deadline.c (100 us to 4.2 s)",
            "kernel scheduler/sched-deadline.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "sched.rr",
        title: "No SCHED_RR threads that take turns",
        check: Check::Probe(round_robin),
        why: "SCHED_RR threads of one priority on one CPU take turns of sched_rr_timeslice_ms (100 ms by default): \
            each thread may wait this long for each of the others.",
        fix: Fix::prose("Give each thread a priority of its own (chrt -f -p PRIORITY PID), or a CPU of its own."),
        persist: &[Lasting::unit("CPUSchedulingPolicy=fifo"), Lasting::unit("CPUSchedulingPriority=PRIORITY")],
        undo: Fix::command("chrt -r -p PRIORITY PID"),
        cost: "None.",
        sources: &["sched(7)", "kernel 6.1, 6.12, 7.3 kernel/sched/rt.c"],
        ..KNOB
    },
    Knob {
        id: "sched.stalld",
        title: "No daemon boosts starving threads",
        check: Check::Service,
        why: "stalld gives a starving thread a reservation ahead of FIFO priorities. From 6.12 on, the fair server \
            does the same, and the times of both add up.",
        fix: Fix::prose(
            "systemctl stop stalld, once no ordinary task starves on CPUs <I> (see the knobs leftovers and \
            kthr.affinity).",
        ),
        cost: "Before 6.12, and where the fair server is off, kernel threads that wait for a spinning real-time thread \
            starve for good.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &[
            "stalld(8)",
            "performance-addon-operators#462, #481",
            "unverified: whether newer stalld looks at the fair server",
        ],
        ..KNOB
    },
];

fn names(tasks: &[&Task]) -> String {
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn deadline(case: &Case<'_>) -> Judged {
    // Kernel threads are left out: a frequency governor's threads (sugov:N) are deadline tasks by design, and run only
    // briefly.
    let ours = case
        .tasks(|task| !task.is_kernel && case.rt().contains(task.cpu) && [FIFO, RR, DEADLINE].contains(&task.policy))?;
    let (deadline, fixed): (Vec<&Task>, Vec<&Task>) = ours.iter().partition(|task| task.policy == DEADLINE);
    case.note(format!("deadline tasks on CPUs {}", case.rt()), names(&deadline));
    Doubt::not_applicable_if(deadline.is_empty(), "no deadline task runs on these CPUs")?;
    case.note(format!("FIFO and RR tasks on CPUs {}", case.rt()), names(&fixed));
    Ok(fixed.is_empty())
}

fn dl_period(case: &Case<'_>) -> Judged {
    // Kernel threads are left out: a frequency governor's threads are deadline tasks as well, but do not depend on this
    // limit of the period.
    let users = case.tasks(|task| !task.is_kernel && task.policy == DEADLINE)?;
    case.note("deadline tasks", names(&users.iter().collect::<Vec<_>>()));
    Doubt::not_applicable_if(users.is_empty(), "no task with a deadline runs here")?;
    let missing = CannotBe("this kernel does not limit the periods");
    let least = case.number("/proc/sys/kernel/sched_deadline_period_min_us", missing)?;
    let most = case.number("/proc/sys/kernel/sched_deadline_period_max_us", missing)?;
    let micros = |us: i64| Nanos::from_ns(u64::try_from(us).unwrap_or_default().saturating_mul(1000));
    Ok(match case.need.period {
        Some(period) => micros(least) <= period && period <= micros(most),
        None => least <= 100 && most >= 1_000_000,
    })
}

fn round_robin(case: &Case<'_>) -> Judged {
    let ours = case.tasks(|task| !task.is_kernel && case.rt().contains(task.cpu) && task.policy == RR)?;
    if ours.is_empty() {
        case.note(format!("SCHED_RR tasks on CPUs {}", case.rt()), "none");
        return Doubt::not_applicable("no task with SCHED_RR runs on these CPUs");
    }
    let mut turns: BTreeMap<(u32, u32), Vec<&Task>> = BTreeMap::new();
    for task in &ours {
        turns.entry((task.cpu, task.rt_priority)).or_default().push(task);
    }
    let crowded = turns.iter().filter(|(_, tasks)| tasks.len() > 1);
    let shown: Vec<String> = crowded
        .map(|((cpu, priority), tasks)| format!("{} at priority {priority} on CPU {cpu}", names(tasks)))
        .collect();
    case.none_found(
        format!("SCHED_RR tasks on CPUs {}", case.rt()),
        shown.join("; "),
        format!("{}, no two of the same priority on one CPU", ours.len()),
    )
}
