//! Knobs about the kernel's reaction to trouble: it may panic, or interrupt every CPU for a trace.

use crate::knobs::prelude::*;

const UNSHOWN: Missing = TellsNothing("this kernel does not show what it does after a panic");

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Watchdogs) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "wd.panic",
        title: "A panic ends in a reboot",
        applies: |case| match number(case, "panic")? {
            0 => Ok(()),
            _ => Doubt::not_applicable("a panic ends in a reboot"),
        },
        check: Check::advice(
            "you have to decide what is safe for the equipment that this machine controls: the value is 0 now",
        ),
        why: "With the value 0, a machine that has panicked stays halted, with its outputs unchanged, until a person \
            restarts it.",
        persist: &[Lasting::sysctl("kernel.panic", "10")],
        cost: "The panic's stack trace is on the screen for ten seconds only; keep it in pstore.",
        confidence: Confidence::Low,
        sources: &[
            "kernel admin-guide/sysctl/kernel.rst: panic",
            "kernel 7.3 kernel/panic.c",
            "unverified: a matter of judgement",
        ],
        ..KNOB
    },
    Knob {
        id: "wd.panic_on_oops",
        title: "An oops stops the machine",
        applies: |case| {
            Doubt::not_applicable_if(case.is(Kind::Audio), "on a desktop, unsaved work is worth more")?;
            match number(case, "panic_on_oops")? {
                0 => Ok(()),
                _ => Doubt::not_applicable("an oops stops the machine"),
            }
        },
        check: Check::advice(
            "you have to decide what is safe for the equipment that this machine controls: the value is 0 now",
        ),
        why: "After an oops, the kernel kills the thread, wherever it was, and goes on: locks may stay held for ever, \
            and delays are no longer bounded. For control work, a clean stop is safer.",
        persist: &[Lasting::sysctl("kernel.panic_on_oops", "1")],
        cost: "A bug in any driver stops the machine.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/sysctl/kernel.rst: panic_on_oops", "unverified: a matter of judgement"],
        ..KNOB
    },
    Knob {
        id: "wd.softlockup_panic",
        title: "A soft lock-up does not stop the machine",
        severity: Weight::of(Info, Medium, Info),
        check: Check::sysctl(
            "kernel.softlockup_panic",
            Want::ZERO,
            CannotBe("this kernel has no soft lock-up detector"),
        ),
        why: "A real-time thread that keeps its CPU on purpose looks like a soft lock-up; with softlockup_panic=1 it \
            ends in a panic.",
        cost: "A true lock-up is only reported.",
        sources: &["kernel 7.3 kernel/watchdog.c: softlockup_panic", "kernel admin-guide/lockup-watchdogs.rst"],
        ..KNOB
    },
    Knob {
        id: "wd.hung_task_panic",
        title: "A task that waits for long does not stop the machine",
        check: Check::sysctl(
            "kernel.hung_task_panic",
            Want::ZERO,
            CannotBe("this kernel does not look for hung tasks"),
        ),
        why: "A task that waits uninterruptibly (D) for a task which a FIFO thread starves looks hung; with \
            hung_task_panic=1, the machine panics.",
        cost: "A true hang is only reported.",
        sources: &["kernel 7.3 kernel/hung_task.c: hung_task_panic"],
        ..KNOB
    },
    Knob {
        id: "wd.rcu_panic",
        title: "A stalled RCU grace period does not stop the machine",
        severity: Weight::of(Info, Medium, Info),
        check: Check::sysctl("kernel.panic_on_rcu_stall", Want::ZERO, UNSHOWN),
        why: "A thread that spins in the kernel, or starves RCU's threads, stalls a grace period; with \
            panic_on_rcu_stall=1 it ends in a panic.",
        cost: "A true stall is only reported.",
        sources: &["kernel admin-guide/sysctl/kernel.rst: panic_on_rcu_stall", "kernel RCU/stallwarn.rst"],
        ..KNOB
    },
    Knob {
        id: "wd.backtrace",
        title: "No stack traces of all CPUs when one task hangs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::seen("/proc/sys/kernel/*_all_cpu_backtrace", Want::ZERO, UNSHOWN),
        why: "One task that hangs, or one oops, makes every CPU, isolated or not, print its stack from an NMI: tens of \
            milliseconds on a slow console.",
        persist: &[
            Lasting::sysctl("kernel.hung_task_all_cpu_backtrace", "0"),
            Lasting::sysctl("kernel.oops_all_cpu_backtrace", "0"),
            Lasting::sysctl("kernel.softlockup_all_cpu_backtrace", "0"),
            Lasting::sysctl("kernel.hardlockup_all_cpu_backtrace", "0"),
        ],
        cost: "Less information about a lock-up.",
        sources: &[
            "kernel 7.3 kernel/{watchdog,hung_task,panic}.c: all_cpu_backtrace",
            "unverified: how long the traces take",
        ],
        ..KNOB
    },
];

fn number(case: &Case<'_>, name: &str) -> Result<i64, Doubt> {
    case.number(&format!("/proc/sys/kernel/{name}"), UNSHOWN)
}
