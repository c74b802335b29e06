//! Knobs about how the kernel was built and how it preempts. No setting at run time can make up for a wrong build.

pub(super) mod build;

use crate::knobs::prelude::*;
use crate::knobs::seen::groups::{has_rt_group, may_be_real_time};
use punctual_facts::machine::CoreState;

const KNOB: Knob = Knob { blast: Blast::Breaking, ..Knob::of(Family::Kernel) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "kconf.flavour",
        title: "A kernel made for real time",
        severity: Weight::of(Fatal, Medium, Medium)
            .at_most(High, |case| case.need.budget.is_some_and(|budget| budget >= Nanos::from_ms(1))),
        check: Check::Probe(flavour),
        why: "Only PREEMPT_RT runs interrupt handlers in threads and sleeps where other kernels spin with \
            preemption off; without it a driver can hold a CPU for milliseconds, rarely, and no setting prevents \
            it.",
        fix: Fix::boot(
            "Install the distribution's PREEMPT_RT kernel (Debian: linux-image-rt-amd64 or -arm64) and boot it.",
        ),
        persist: &[
            Lasting::built_with("PREEMPT_RT"),
            Lasting::boot("Make the kernel that was installed the default in the boot loader."),
        ],
        undo: Fix::prose("Boot the kernel that ran before."),
        cost: "Some throughput; some drivers are not built for PREEMPT_RT (i915 in particular).",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity fatal)",
            "kernel 7.3 init/Makefile",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.config",
        title: "The kernel's configuration can be read",
        check: Check::Probe(config),
        why: "Without the configuration, several other checks end in 'unknown', and a configuration that was left over \
            from another kernel leads to wrong findings.",
        fix: Fix::prose("Install the configuration that belongs to the running kernel as /boot/config-$(uname -r)."),
        persist: &[Lasting::built_with("IKCONFIG_PROC")],
        undo: Fix::prose("Remove the file, or build without the option."),
        cost: "Tens of kilobytes.",
        blast: Blast::Harmless,
        sources: &["Debian kernel configurations 6.1, 6.12, 7.3"],
        ..KNOB
    },
    Knob {
        id: "dyn.preempt",
        title: "Preemption mode full",
        severity: Weight::of(High, Info, High),
        check: Check::Probe(preempt),
        why: "A kernel whose preemption is chosen at boot cannot be preempted in many of its paths, unless the mode is \
            'full' (or 'lazy', in kernels that have it, which delays preemption for ordinary tasks only).",
        fix: Fix::command("echo full > /sys/kernel/debug/sched/preempt"),
        persist: &[Lasting::word("preempt=full")],
        undo: Fix::prose("Write back the mode that was shown in parentheses; remove the word."),
        cost: "A little throughput.",
        blast: Blast::Disturbing,
        sources: &["kernel 6.12 and 7.3 kernel/sched/core.c", "kernel-parameters.txt: preempt="],
        ..KNOB
    },
    Knob {
        id: "kconf.highres",
        title: "Timers finer than the tick",
        severity: Weight::of(Fatal, High, High),
        check: Check::seen(
            "punctual:/clock/resolution_ns",
            Want::Is(1),
            TellsNothing("the clock was not asked for its resolution"),
        ),
        why: "Without high-resolution timers every sleep ends at a tick: 1 to 10 ms late.",
        fix: Fix::prose(
            "Find out why high-resolution timers are off: CONFIG_HIGH_RES_TIMERS, highres=off on the command line, or \
            an unfit clock source.",
        ),
        persist: &[Lasting::NoWord("highres"), Lasting::built_with("HIGH_RES_TIMERS")],
        cost: "None worth mentioning.",
        confidence: Confidence::Low,
        sources: &["clock_getres(2)", "kernel timers/hrtimers.rst", "unverified: usual advice"],
        ..KNOB
    },
    Knob {
        id: "kconf.debug_heavy",
        title: "No heavy kernel debugging built in",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&[
            "PROVE_LOCKING",
            "DEBUG_LOCK_ALLOC",
            "KASAN",
            "KCSAN",
            "KMSAN",
            "DEBUG_OBJECTS",
            "SLUB_DEBUG_ON",
            "DEBUG_KMEMLEAK",
        ]),
        why: "The lock prover, address sanitisers and similar debugging options add work to every lock and every \
            memory access, partly with interrupts off.",
        fix: Fix::boot("Boot a production kernel; keep the debugging one for soak tests."),
        undo: Fix::prose("Boot the debugging kernel."),
        cost: "Bugs are found later.",
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)"],
        ..KNOB
    },
    Knob {
        id: "kconf.irqsoff_tracer",
        title: "No tracers that cost time even when they are off",
        severity: Weight::all(High),
        check: Check::BuiltWithout(&["IRQSOFF_TRACER", "PREEMPT_TRACER"]),
        why: "The irqsoff and preemptoff tracers hook every change of the interrupt and preemption state, even \
            while no trace is taken.",
        fix: Fix::boot(
            "Boot a kernel without IRQSOFF_TRACER and PREEMPT_TRACER; osnoise and timerlat, if the kernel has them, \
            find causes without this cost.",
        ),
        undo: Fix::prose("Boot the tracing kernel."),
        cost: "No irqsoff traces.",
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)"],
        ..KNOB
    },
    Knob {
        id: "kconf.rt_group",
        title: "No group scheduling of the real-time class",
        // If the caller's group has a budget, it may have real-time threads, and `sched.rt_runtime` judges the budget.
        severity: Weight::all(High).at_most(Info, |case| may_be_real_time(case) == Ok(true)),
        check: Check::Probe(|case| has_rt_group(case).map(|is_on| !is_on)),
        why: "With RT_GROUP_SCHED a thread gets the real-time class only where its control group was given a budget, \
            and is stopped when this budget is used up, on any kernel version.",
        fix: Fix::prose(
            "Give the group that /proc/self/cgroup names, and those above it, a budget in cpu.rt_runtime_us (cgroup \
            v1), or move the work to the root group: echo PID > cgroup.procs at the top of that hierarchy. \
            sched.rt_group says whether the group in which punctual was started may have real-time threads.",
        ),
        persist: &[
            Lasting::word("rt_group_sched=0"),
            Lasting::built_without("RT_GROUP_SCHED"),
            Lasting::other("The word is known to 7.3 and not to 6.1 and 6.12."),
        ],
        cost: "No budgets per group.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel admin-guide/cgroup-v2.rst",
            "kernel 7.3 kernel/sched/core.c",
            "kernel scheduler/sched-rt-group.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "sec.lockdown",
        title: "Kernel not locked down",
        applies: |case| {
            let is_old = case.version().is_ok_and(|version| version < Version::new(5, 4));
            Doubt::not_applicable_if(is_old, "kernels before 5.4 have no lockdown mode")
        },
        check: Check::file(
            "/sys/kernel/security/lockdown",
            Want::Choice { good: &["none"], bad: &[] },
            TellsNothing("securityfs is not mounted, or the kernel has no lockdown"),
        ),
        why: "Under lockdown (usual with Secure Boot) not even root can read or change the scheduler's debug files \
            and MSRs, so some settings stay as they are and some checks end in 'unknown'.",
        fix: Fix::NotAtRunTime("decide whether the machine needs lockdown."),
        persist: &[Lasting::NoWord("lockdown"), Lasting::Firmware("Secure Boot: off, usually under Security or Boot")],
        undo: Fix::prose("Turn Secure Boot on again."),
        cost: "One protection against attackers less.",
        sources: &["kernel 7.3 fs/debugfs/file.c", "kernel_lockdown(7)"],
        ..KNOB
    },
];

/// Good for PREEMPT_RT and for a second kernel that runs. Whoever has a second kernel that does not run needs it started,
/// and no other kernel.
fn flavour(case: &Case<'_>) -> Judged {
    let flavour = case.flavour()?;
    case.cite("/proc/sys/kernel/version", &case.machine.kernel.build);
    case.note("flavour", flavour.name());
    if flavour.is_dual() {
        let is_down = case.core_state()? != CoreState::Running;
        Doubt::not_applicable_if(
            is_down,
            "this kernel has a real-time core, which does not run: see evl.state, cob.state",
        )?;
        return Ok(true);
    }
    Ok(flavour == Flavour::Rt)
}

fn config(case: &Case<'_>) -> Judged {
    let config = &case.machine.config;
    match config.state() {
        Fact::Known(()) => {
            case.note(&config.source, "belongs to the running kernel");
            Ok(true)
        }
        Fact::Denied => Doubt::unknown(case.refusal(&format!("reading {}", config.source))),
        Fact::Garbled(why) if config.is_foreign => {
            case.note(&config.source, why);
            Ok(false)
        }
        Fact::Garbled(why) => Doubt::unknown(format!("{}: {why}", config.source)),
        Fact::Absent if case.list("/proc/sys").known().is_none() => Doubt::unknown("/proc cannot be seen here"),
        Fact::Absent if case.machine.kernel.release.known().is_none() => Doubt::unknown(
            "the kernel's release is not known, and so the name of its configuration file is not known either",
        ),
        Fact::Absent => {
            case.note(format!("/proc/config.gz, {}", config.source), "not there");
            Ok(false)
        }
    }
}

fn preempt(case: &Case<'_>) -> Judged {
    match case.flavour()? {
        Flavour::Dynamic => {
            let because = "the scheduler's debug files are not there: debugfs not mounted, locked down, or not built; \
                           the command line alone does not prove which mode is in force";
            let mode = case.marked("/sys/kernel/debug/sched/preempt", TellsNothing(because))?;
            // Lazy preemption delays real-time work behind no task. But ordinary tasks then preempt one another later,
            // and the audio of a desktop depends on ordinary tasks.
            Ok(mode == "full" || mode == "lazy" && !case.is(Kind::Audio))
        }
        Flavour::Stock => Doubt::not_applicable("this kernel's preemption was decided when it was built"),
        Flavour::Rt => Doubt::not_applicable("PREEMPT_RT can be preempted almost everywhere"),
        Flavour::Cobalt | Flavour::Evl => Doubt::not_applicable("real-time threads run beside Linux here"),
    }
}
