//! Knobs about the scheduler: which tasks may run, and for how long.

pub(super) mod balance;
pub(super) mod classes;

use crate::knobs::case::FAIR_SERVER_SINCE;
use crate::knobs::prelude::*;
use crate::knobs::seen::groups::{counted, has_rt_group};

const KNOB: Knob = Knob::of(Family::Scheduler);

const NO_STATISTICS: Missing =
    CannotBe("this kernel has neither scheduler statistics nor delay accounting that could be switched off");

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "sched.rt_runtime",
        title: "Real-time threads not throttled",
        severity: Weight::of(Medium, High, Info),
        check: Check::Probe(rt_runtime),
        why: "Real-time threads that together use 95 % of a second are stopped for the rest of it, which is 50 ms.",
        fix: Fix::prose(
            "sysctl kernel.sched_rt_runtime_us=-1, but only if every real-time thread is known to sleep: a thread that \
            spins would lock the machine up.",
        ),
        persist: &[Lasting::sysctl("kernel.sched_rt_runtime_us", "-1")],
        cost: "The safety net.",
        blast: Blast::Breaking,
        sources: &[
            "kernel 6.1 kernel/sched/rt.c",
            "kernel 6.12 kernel/sched/rt.c, deadline.c",
            "kernel 7.3 scheduler/sched-rt-group.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "sched.fair_server",
        title: "No fair server on the real-time CPUs",
        severity: Weight::of(Medium, High, Info),
        applies: |case| {
            if case.version()? < FAIR_SERVER_SINCE {
                return Doubt::not_applicable(
                    "kernels before 6.12 have no fair server; they throttle, see sched.rt_runtime",
                );
            }
            Ok(())
        },
        check: Check::file(
            "/sys/kernel/debug/sched/fair_server/cpu<I>/runtime",
            Want::ZERO,
            TellsNothing(
                "the scheduler's debug files are not there: debugfs is not mounted, is forbidden by lockdown, or is \
                not built into the kernel",
            ),
        ),
        why: "From 6.12 on, an ordinary task that starves on a CPU is given up to 50 ms of every second there, \
            ahead of any FIFO priority. sched_rt_runtime_us=-1 no longer prevents it.",
        fix: Fix::prose(
            "echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime for N in <I>, if the application is known to \
            sleep, or no ordinary task can run there.",
        ),
        persist: &[Lasting::other(
            "The kernel has neither a sysctl nor a command-line word for the fair server, and resets it when a CPU is \
                plugged in.",
        )],
        cost: "Ordinary tasks can starve on these CPUs for good.",
        blast: Blast::Breaking,
        sources: &["kernel 6.12, 7.3 kernel/sched/deadline.c, debug.c", "ni/meta-nilrt#864"],
        ..KNOB
    },
    Knob {
        id: "sched.autogroup",
        title: "No automatic grouping by terminal",
        applies: |case| case.only_for(Kind::Audio, "automatic groups only concern ordinary tasks"),
        check: Check::sysctl(
            "kernel.sched_autogroup_enabled",
            Want::ZERO,
            CannotBe("this kernel has no automatic grouping"),
        ),
        excused: |case| {
            Doubt::not_applicable_if(
                matches!(counted(case), Ok(Some(_))),
                "the control group of this shell counts CPU time by itself, so automatic groups have no effect",
            )
        },
        why: "With automatic groups, the nice values of an audio program only matter within its own session.",
        persist: &[Lasting::word("noautogroup")],
        cost: "A compilation in one terminal takes a larger share from all other programs.",
        confidence: Confidence::Medium,
        sources: &["sched(7)", "kernel 6.1, 6.12, 7.3 kernel/sched/autogroup.c"],
        ..KNOB
    },
    Knob {
        id: "sched.ext",
        title: "No BPF scheduler loaded",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::seen(
            "/sys/kernel/sched_ext/state",
            Want::Word { good: &["disabled"], bad: &[] },
            CannotBe("this kernel cannot load a scheduler"),
        ),
        why: "A scheduler loaded at run time places ordinary tasks by its own rules and brings a reservation of \
            its own that goes ahead of FIFO threads.",
        fix: Fix::prose("Stop the program that loaded the scheduler (scx_*)."),
        cost: "What that scheduler was loaded for is lost.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["kernel scheduler/sched-ext.rst", "kernel 7.3 kernel/sched/debug.c (ext_server)"],
        ..KNOB
    },
    Knob {
        id: "sched.energy_aware",
        title: "Tasks are not placed to save energy",
        check: Check::Probe(energy_aware),
        why: "On chips with big and little cores, energy-aware scheduling moves work to the core that needs the least \
            energy, not to the one that finishes it first.",
        persist: &[Lasting::sysctl("kernel.sched_energy_aware", "0")],
        cost: "Power.",
        confidence: Confidence::Low,
        sources: &[
            "kernel scheduler/sched-energy.rst",
            "kernel 6.1, 6.12, 7.3 kernel/sched/topology.c",
            "unverified: the effect on pinned real-time threads",
        ],
        ..KNOB
    },
    Knob {
        id: "sched.stats",
        title: "No extra book-keeping at every switch between threads",
        check: Check::All(&[
            Check::sysctl("kernel.sched_schedstats", Want::ZERO, NO_STATISTICS),
            Check::sysctl("kernel.task_delayacct", Want::ZERO, NO_STATISTICS),
        ]),
        why: "Scheduler statistics and delay accounting add work to every switch and wake-up.",
        persist: &[Lasting::NoWord("schedstats"), Lasting::NoWord("delayacct")],
        cost: "perf sched and iotop lose detail.",
        confidence: Confidence::Low,
        sources: &[
            "kernel admin-guide/sysctl/kernel.rst: sched_schedstats, task_delayacct",
            "unverified: size of the effect",
        ],
        ..KNOB
    },
];

fn rt_runtime(case: &Case<'_>) -> Judged {
    let missing = TellsNothing("the kernel does not show its limit for real-time threads");
    let runtime = case.number("/proc/sys/kernel/sched_rt_runtime_us", missing)?;
    Doubt::not_applicable_if(
        case.version()? >= FAIR_SERVER_SINCE && !has_rt_group(case)?,
        "from 6.12 the setting only limits what SCHED_DEADLINE may reserve; FIFO threads are now stopped by the fair \
        server, see sched.fair_server",
    )?;
    let period = case.number("/proc/sys/kernel/sched_rt_period_us", missing)?;
    Ok(runtime < 0 || runtime >= period)
}

fn energy_aware(case: &Case<'_>) -> Judged {
    let missing = CannotBe("this kernel has no energy-aware placement for this machine");
    let path = "/proc/sys/kernel/sched_energy_aware";
    let is_on = match case.text(path, missing)?.trim() {
        // From 6.12 on, the file is empty on a chip that lacks the feature.
        "" => return Doubt::not_applicable("this machine cannot place tasks to save energy"),
        text => text.parse::<i64>().or_else(|_| Doubt::unknown(format!("{path} holds '{text}', not a number")))? != 0,
    };
    let online = case.online().cloned().unwrap_or_default();
    let alike = CannotBe("the kernel treats all CPUs as equal");
    if case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity", &online, alike)?.len() == 1 {
        return Doubt::not_applicable("all CPUs are alike");
    }
    Ok(!is_on)
}
