//! Knobs about the kernel's own threads: the CPUs they may run on, and their priorities.

use crate::knobs::case::ROLES_SWAPPED;
use crate::knobs::prelude::*;

const KNOB: Knob = Knob {
    cost: "None.",
    severity: Weight::of(Medium, Medium, Info),
    confidence: Confidence::Medium,
    blast: Blast::Disturbing,
    ..Knob::of(Family::Isolation)
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "kthr.affinity",
        title: "No roaming kernel thread on the real-time CPUs",
        confidence: Confidence::High,
        severity: Weight::of(Medium, Medium, Info).at_most(Info, is_best_placed),
        check: Check::Probe(roaming),
        why: "Kernel threads that may run anywhere also run on the real-time CPUs. Up to 6.12 only nohz_full= keeps \
            them away and isolcpus= does not; in 7.3 it is the other way round. Periodic work is better off without \
            nohz_full= (see iso.nohz_full), so up to 6.12 each new kernel thread may again run on these CPUs.",
        fix: Fix::prose(
            "taskset -cp <H> PID for each of these threads; threads that are created later start with the kernel's \
            own mask again.",
        ),
        persist: &[Lasting::Either {
            when: When::ThreadsKeepOffIsolated,
            then: &Lasting::word("isolcpus=managed_irq,domain,<I apart>"),
            otherwise: &Lasting::other(
                "Up to 6.12 isolcpus= does not move kernel threads: nohz_full=<I apart> where the work polls; else a \
                        timer that runs taskset again and again, since threads made later start on the kernel's own \
                        mask.",
            ),
        }],
        sources: &[
            "kernel 6.1, 6.12 kernel/kthread.c (HK_TYPE_KTHREAD)",
            "kernel 7.3 kernel/kthread.c (HK_TYPE_DOMAIN)",
        ],
        ..KNOB
    },
    Knob {
        id: "kthr.prio",
        title: "Kernel threads of the real-time CPUs have low priorities",
        check: Check::Probe(priorities),
        why: "Timers, soft interrupts and RCU callbacks of everybody run in these threads. If their priority is that \
            of the interrupts' threads (50) or higher, they delay the device that the real-time work waits for.",
        fix: Fix::prose(
            "chrt -f -p 1 PID for ktimers/N and irq_work/N, chrt -o -p 0 PID for ksoftirqd/N, with N in <I>.",
        ),
        persist: &[Lasting::other(
            "A unit that sets these priorities at boot and again after a CPU was plugged in; the kernel's command \
            line can only set the priority of RCU's threads (rcutree.kthread_prio=).",
        )],
        cost: "Networking and coarse timers on these CPUs wait for the real-time work.",
        sources: &[
            "kernel 7.3 kernel/softirq.c (ktimers: FIFO 1), irq_work.c (FIFO 1), sched/syscalls.c (interrupts: FIFO \
                50)",
            "OpenShift node tuning operator (11)",
        ],
        ..KNOB
    },
    Knob {
        id: "leftovers",
        title: "No ordinary process on the real-time CPUs",
        check: Check::Probe(leftovers),
        why: "A process that was on these CPUs before, or was pinned there by its owner, shares caches and timers with \
            the real-time work, and starves when the real-time work is busy.",
        fix: Fix::prose("taskset -acp <H> PID for each of these processes."),
        persist: &[Lasting::other(
            "Set the CPUs in the unit or slice that starts the process: AllowedCPUs=<H> for system.slice and \
            user.slice, or an isolated partition.",
        )],
        sources: &["proc_pid_stat(5): processor", "netdata#6741"],
        ..KNOB
    },
];

/// Good if no kernel thread that is free to use several CPUs may run on a real-time CPU.
fn roaming(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    // The thread of an interrupt runs where that interrupt is delivered, which `irq.affinity` judges.
    let movable = case.tasks(|task| task.is_kernel && task.cpus.is_some() && !task.name.starts_with("irq/"))?;
    Doubt::unknown_if(movable.is_empty(), "where kernel threads may run was not read")?;
    let cpus = |task: &Task| task.cpus.clone().unwrap_or_default();
    // A thread that may run on one CPU only was bound to that CPU on purpose.
    let intrudes = |task: &&Task| {
        let cpus = cpus(task);
        cpus.len() > 1 && !cpus.intersection(case.rt()).is_empty()
    };
    let found: Vec<String> =
        movable.iter().filter(intrudes).map(|task| format!("{} on {}", task.name, cpus(task))).collect();
    case.none_found(
        format!("kernel threads that may run on CPUs {}", case.rt()),
        found.join(", "),
        format!("none of {} threads", movable.len()),
    )
}

/// Whether the placement of kernel threads is the best possible one for periodic work: its CPUs are isolated and keep
/// their tick, on a kernel before 7.0. Nothing keeps kernel threads off such CPUs for good, and stopping the tick costs
/// periodic work more.
fn is_best_placed(case: &Case<'_>) -> bool {
    let is_in = |set: &Fact<CpuSet>| set.known().is_some_and(|set| case.rt().is_subset(set));
    let is_older = case.machine.kernel.version.known().is_some_and(|version| *version < ROLES_SWAPPED);
    let is_best = is_in(&case.machine.isolated) && !is_in(&case.machine.nohz_full);
    case.is(Kind::Periodic) && is_older && is_best
}

/// The default priority of interrupt threads.
const INTERRUPTS: u32 = 50;

fn priorities(case: &Case<'_>) -> Judged {
    const NAMES: [&str; 6] = ["ksoftirqd", "ktimers", "rcuc", "irq_work", "backlog_napi", "kworker"];
    let of_our_cpus = |task: &Task| {
        let (name, cpu) = task.name.split_once('/')?;
        let cpu: u32 = cpu.split(':').next()?.parse().ok()?;
        (NAMES.contains(&name) && case.rt().contains(cpu)).then_some(())
    };
    let threads = case.tasks(|task| task.is_kernel && of_our_cpus(task).is_some())?;
    Doubt::unknown_if(
        threads.is_empty(),
        "no kernel thread of the real-time CPUs is among the tasks that were examined",
    )?;
    let high: Vec<String> = threads
        .iter()
        .filter(|task| task.rt_priority >= INTERRUPTS)
        .map(|task| format!("{} at {}", task.name, task.rt_priority))
        .collect();
    let highest = threads.iter().map(|task| task.rt_priority).max().unwrap_or_default();
    case.none_found(
        format!("ksoftirqd, ktimers, rcuc, irq_work, backlog_napi and kworker of CPUs {}", case.rt()),
        high.join(", "),
        format!("{} threads, the highest at priority {highest}", threads.len()),
    )
}

fn leftovers(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let is_ours = |name: &str| ["punctual", "punctual-reader"].contains(&name);
    // A sleeping task stays listed on the CPU where it last ran, even if it may no longer run there.
    let may_run = |task: &Task| task.cpus.as_ref().is_none_or(|cpus| !cpus.intersection(case.rt()).is_empty());
    let is_there = |task: &Task| case.rt().contains(task.cpu) && may_run(task);
    let found =
        case.tasks(|task| !task.is_kernel && task.rt_priority == 0 && is_there(task) && !is_ours(&task.name))?;
    let names: Vec<String> = found.iter().map(|task| format!("{} on {}", task.name, task.cpu)).collect();
    case.none_found(format!("processes on CPUs {}", case.rt()), names.join(", "), "none")
}
