//! Knobs about keeping other work off CPUs: by the scheduler, the tick, RCU and the work queues.

pub(super) mod cpusets;
pub(super) mod rcu;
pub(super) mod threads;
pub(super) mod tick;
pub(super) mod workqueues;

use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::{domain, rcu_nocbs};

const KNOB: Knob = Knob { severity: Weight::of(High, High, Info), ..Knob::of(Family::Isolation) };

const RCU_UNSHOWN: Missing = TellsNothing("the kernel does not show how RCU behaves");

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "iso.domain",
        title: "Real-time CPUs set apart from the scheduler",
        check: Check::Probe(domain),
        why: "If the scheduler may move tasks onto a CPU, other tasks, their timers and their kernel work run there \
            between two activations and delay the next one.",
        fix: Fix::prose(
            "Make a cpuset partition of the CPUs (cgroup v2: echo <I apart> > GROUP/cpuset.cpus; echo isolated > \
            GROUP/cpuset.cpus.partition) and leave at least one CPU out of it.",
        ),
        persist: &[
            Lasting::word("isolcpus=managed_irq,domain,<I apart>"),
            Lasting::other("From 6.1 to 6.12, kernel threads may still run on these CPUs; see kthr.affinity."),
        ],
        undo: Fix::prose("echo member > GROUP/cpuset.cpus.partition; remove the word and boot again."),
        cost: "These CPUs do nothing else, and tasks must be placed on them by hand.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c",
            "kernel admin-guide/cgroup-v2.rst",
            "kernel 7.3 admin-guide/cpu-isolation.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "iso.nohz_full",
        title: "The tick is stopped for busy-polling work only",
        severity: Weight::of(Medium, High, Medium),
        check: Check::Probe(nohz_full),
        why: "A thread that never enters the kernel gains from a stopped tick. A thread that sleeps and wakes pays for \
            it at every entry into the kernel; for this reason the kernel's own guide advises against it for periodic \
            loops.",
        persist: &[Lasting::Either {
            when: When::Polls,
            then: &Lasting::word("nohz_full=<I apart>"),
            otherwise: &Lasting::NoWord("nohz_full"),
        }],
        cost: "With nohz_full=: slower kernel entry on these CPUs. Without it: 100 to 1000 ticks a second, and up to \
            6.12 unbound kernel threads then return to these CPUs (kthr.affinity).",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)",
            "kernel 7.3 kernel/time/tick-sched.c",
        ],
        ..KNOB
    },
    Knob {
        id: "iso.rcu_nocbs",
        title: "RCU callbacks off the real-time CPUs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(rcu_nocbs),
        why: "Otherwise RCU frees the memory of other threads on the real-time CPU, in bursts.",
        persist: &[
            Lasting::word("rcu_nocbs=<I>"),
            Lasting::other("nohz_full= implies it; a malformed list offloads all CPUs."),
        ],
        cost: "Memory is freed later; the threads that free it must be kept off these CPUs.",
        sources: &[
            "kernel 7.3 kernel/rcu/tree_nocb.h",
            "kernel admin-guide/kernel-per-CPU-kthreads.rst",
            "kernel 6.1, 6.12, 7.3 kernel/rcu/tree_nocb.h: once one CPU is offloaded, threads are made for every CPU",
            "seen on 6.1: rcu_nocbs=3 on four CPUs makes rcuop/0 to rcuop/3",
            "unverified: kernels before 6.1",
        ],
        ..KNOB
    },
    Knob {
        id: "rcu.normal",
        title: "RCU grace periods are not expedited",
        severity: Weight::of(Medium, Medium, Info).at_least(High, is_expedited),
        applies: |case| {
            let is_single = case.online().is_some_and(|online| online.len() == 1);
            Doubt::not_applicable_if(is_single, "there is no other CPU to interrupt this one")
        },
        check: Check::All(&[
            Check::seen("/sys/kernel/rcu_normal", Want::Not { bad: 0, write: 1 }, RCU_UNSHOWN),
            Check::seen("/sys/kernel/rcu_expedited", Want::ZERO, RCU_UNSHOWN),
        ]),
        why: "An expedited grace period interrupts every busy CPU so that it ends sooner, which delays the real-time \
            work.",
        fix: Fix::command("echo 1 > /sys/kernel/rcu_normal; echo 0 > /sys/kernel/rcu_expedited"),
        persist: &[Lasting::word("rcupdate.rcu_normal_after_boot=1"), Lasting::NoWord("rcupdate.rcu_expedited")],
        cost: "Slower administration: module loading, network set-up.",
        sources: &["kernel-parameters.txt: rcupdate.rcu_normal, rcu_expedited", "kernel 7.3 kernel/rcu/update.c"],
        ..KNOB
    },
];

fn nohz_full(case: &Case<'_>) -> Judged {
    let tick_free = case.cpu_list(NOHZ_FULL, CannotBe("this kernel cannot stop its tick (no CONFIG_NO_HZ_FULL)"));
    if case.is(Kind::Poll) {
        return Ok(!case.rt().is_empty() && case.rt().is_subset(&or_absent(tick_free, CpuSet::new())?));
    }
    Ok(case.rt().intersection(&tick_free?).is_empty())
}

fn is_expedited(case: &Case<'_>) -> bool {
    case.peek("/sys/kernel/rcu_expedited").known().is_some_and(|value| value != "0")
}
