//! Knobs about the tick, and about the timers that expire on it.

use crate::knobs::case::CpuCount;
use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::domain;
use punctual_facts::machine::CoreState;

const TIMER_LIST: &str = "/proc/timer_list";

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Isolation) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "tick.skew",
        title: "CPUs tick one after the other",
        severity: Weight::of(Info, Info, Info)
            .at_least(Medium, |case| case.online().is_some_and(|online| online.len() >= 32)),
        check: Check::Probe(skew),
        why: "CPUs that tick at the same moment wait for the same locks, and the more CPUs there are, the longer they \
            wait.",
        persist: &[Lasting::word("skew_tick=1")],
        cost: "A little power: idle CPUs wake one after the other.",
        confidence: Confidence::High,
        sources: &[
            "kernel-parameters.txt: skew_tick",
            "kernel 6.1, 6.12, 7.3 kernel/time/tick-sched.c, timer_list.c",
            "cluster-node-tuning-operator#1564",
        ],
        ..KNOB
    },
    Knob {
        id: "tick.idle",
        title: "The tick continues while a CPU is idle",
        severity: Weight::of(Info, Info, Info).at_least(Medium, is_fast),
        check: Check::Probe(idle),
        why: "A CPU that stops its tick whenever it is idle has to restart the tick at every wake-up, and a fast \
            periodic loop pays for this in each period.",
        persist: &[Lasting::word("nohz=off")],
        cost: "Power: idle CPUs wake 100 to 1000 times a second; nohz_full= does not work together with nohz=off.",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)",
            "kernel timers/no_hz.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "tick.timer_migration",
        title: "Idle CPUs' timers stay off the real-time CPUs",
        applies: |case| case.has_housekeeping(),
        check: Check::sysctl("kernel.timer_migration", Want::ZERO, CannotBe("this kernel never moves timers")),
        excused: timers_come_here,
        why: "With timer migration on, a busy CPU runs the coarse timers of idle CPUs. Up to 6.8, timers only move \
            between CPUs that the scheduler balances. From 6.9 on (seen in 6.12), isolated CPUs take part, too. In \
            7.3, isolated CPUs take no part unless they are tick-free.",
        cost: "Power. If CPUs are set apart for real-time work only from time to time, the value 1 may be better, \
            because timers can then move away from these CPUs.",
        sources: &[
            "kernel 6.1 kernel/sched/core.c: get_nohz_timer_target (within scheduling domains)",
            "kernel 6.12, 7.3 kernel/time/timer_migration.c (7.3: tmigr_is_isolated)",
            "unverified: that 6.9 brought it (6.1 lacks it, 6.12 has it)",
            "tuned network-latency profile (0)",
            "OpenShift node tuning operator (1)",
        ],
        ..KNOB
    },
    Knob {
        id: "tick.stopped",
        title: "Tick-free CPUs hardly tick",
        severity: Weight::of(Info, High, Info),
        check: Check::Probe(stopped),
        why: "nohz_full= only allows the tick to stop: a second runnable task, a POSIX CPU timer or an RCU grace \
            period that waits for this CPU keeps the tick going, and each tick costs microseconds.",
        fix: Fix::prose(
            "Leave one runnable thread on each of CPUs <I>, see the knobs leftovers and kthr.affinity. In a trace, the \
            events timer:timer_expire_entry and timer:tick_stop show the cause.",
        ),
        persist: &[Lasting::word("nohz_full=<I apart>"), Lasting::word("isolcpus=managed_irq,domain,<I apart>")],
        cost: "None beyond that of the isolation.",
        sources: &["kernel timers/no_hz.rst", "kernel 7.3 kernel/time/tick-sched.c"],
        ..KNOB
    },
    Knob {
        id: "cpu.hotplug_dance",
        title: "Each real-time CPU was taken offline once, which moved timers of other work away",
        applies: |case| case.has_housekeeping().and_then(|()| case.not_a_guest()),
        check: Check::advice(
            "the kernel does not show whose timers are queued on the real-time CPUs. If each of these CPUs is taken \
            offline and online once before the application starts, these timers move to other CPUs",
        ),
        why: "A timer that was armed on a CPU before the CPU was set apart stays on this CPU, however often it is \
            armed again.",
        fix: Fix::prose(
            "For N in <I>: echo 0 > /sys/devices/system/cpu/cpuN/online; echo 1 > /sys/devices/system/cpu/cpuN/online",
        ),
        persist: &[Lasting::other(
            "A unit that takes the CPUs offline and online before the application starts; the settings of the fair \
            server and of interrupts must be written after it, because a CPU that comes online loses them.",
        )],
        undo: Fix::prose("Nothing to undo."),
        cost: "All CPUs stop for a moment, and the settings of each CPU that was offline are lost.",
        blast: Blast::Breaking,
        sources: &["kernel admin-guide/kernel-per-CPU-kthreads.rst"],
        ..KNOB
    },
];

/// The state of one CPU's tick, as `/proc/timer_list` shows it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tick {
    cpu: u32,
    /// The time at which the CPU's next tick is due or, if the tick is stopped, at which the last tick came.
    at_ns: Option<u64>,
    /// Whether the CPU may stop its tick when idle.
    may_stop: Option<bool>,
}

fn ticks(list: &str) -> Vec<Tick> {
    let mut found: Vec<Tick> = Vec::new();
    let mut is_tick = false;
    let number = |text: &str| text.trim().split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
    let mut last_tick = None;
    for line in list.lines() {
        if let Some(cpu) = line.strip_prefix("cpu: ").and_then(|cpu| cpu.trim().parse().ok()) {
            found.push(Tick { cpu, ..Tick::default() });
            (is_tick, last_tick) = (false, None);
            continue;
        }
        let Some(current) = found.last_mut() else { continue };
        let line = line.trim_start();
        if line.starts_with('#') && line.contains('<') {
            // The timer's function was renamed between 6.1 and 6.12.
            is_tick = line.contains("tick_sched_timer") || line.contains("tick_nohz_handler");
        } else if let Some(expiry) = line.strip_prefix("# expires at ").filter(|_| is_tick) {
            current.at_ns = number(expiry);
            is_tick = false;
        } else if let Some((name, value)) = line.split_once(':') {
            match (name.trim(), number(value)) {
                (".nohz" | ".nohz_mode", Some(mode)) => current.may_stop = Some(mode != 0),
                (".last_tick", when) => last_tick = when,
                // While the tick is stopped, its timer expires at another event, so the time of the last tick is used.
                (".tick_stopped", Some(1)) => current.at_ns = last_tick,
                _ => {}
            }
        }
    }
    found
}

fn timer_list(case: &Case<'_>) -> Result<Vec<Tick>, Doubt> {
    Ok(ticks(&case.content_or_trouble(TIMER_LIST, TellsNothing("the kernel does not show its timers"))?))
}

fn skew(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.online().is_some_and(|online| online.len() == 1), "there is one CPU")?;
    let ticks = timer_list(case)?;
    let hz = case.config("HZ")?;
    let hz: u64 = hz
        .parse()
        .ok()
        .filter(|hz| *hz > 0)
        .map_or_else(|| Doubt::unknown(format!("CONFIG_HZ is '{hz}', not a positive number")), Ok)?;
    // The tick's period is rounded as in the kernel (`TICK_NSEC`).
    let period = (1_000_000_000 + hz / 2) / hz;
    let phases: Vec<(u32, u64)> =
        ticks.iter().filter_map(|tick| Some((tick.cpu, tick.at_ns? % period.max(1)))).collect();
    let Some(((_, first), rest)) = phases.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Doubt::unknown("no two CPUs show when they tick");
    };
    let is_skewed = rest.iter().any(|(_, phase)| phase != first);
    let shown: Vec<String> = phases.iter().take(8).map(|(cpu, phase)| format!("CPU {cpu} at {phase} ns")).collect();
    case.note(format!("{TIMER_LIST}, in a tick of {period} ns"), shown.join(", "));
    Ok(is_skewed)
}

/// Whether the work is periodic with a period below 1 ms, which makes the tick more severe. The kernel's own guide
/// recommends to stop the tick for loops of 100 us.
fn is_fast(case: &Case<'_>) -> bool {
    case.is(Kind::Periodic) && case.need.period.is_some_and(|period| period < Nanos::from_ms(1))
}

fn idle(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(
        !case.is(Kind::Periodic),
        "stopping the tick of idle CPUs only matters for loops that sleep and wake often",
    )?;
    Doubt::not_applicable_if(
        !case.tick_free()?.is_empty(),
        "nohz_full= is in force and does not work with nohz=off; see iso.nohz_full",
    )?;
    let of_ours = |tick: &Tick| case.rt().contains(tick.cpu).then_some(tick.may_stop?).map(|may| (tick.cpu, may));
    let seen: Vec<(u32, bool)> = timer_list(case)?.iter().filter_map(of_ours).collect();
    Doubt::unknown_if(
        seen.is_empty(),
        format!("{TIMER_LIST} does not say whether the real-time CPUs stop their tick"),
    )?;
    let stopping: CpuSet = seen.iter().filter(|(_, may)| *may).map(|(cpu, _)| *cpu).collect();
    let shown = if stopping.is_empty() { "none".to_owned() } else { stopping.to_string() };
    case.note(format!("{TIMER_LIST}: CPUs that stop their tick when idle"), shown);
    Ok(stopping.is_empty())
}

fn timers_come_here(case: &Case<'_>) -> Result<(), Doubt> {
    let is_isolated = domain(case) == Ok(true);
    let stays_in_domain = is_isolated && case.version()? < Version::new(6, 9);
    Doubt::not_applicable_if(stays_in_domain, "before 6.9, timers move only between CPUs that the scheduler balances")?;
    let from_7_3 = is_isolated && case.version()? >= Version::new(7, 3);
    let takes_no_part = from_7_3 && case.tick_free()?.intersection(case.rt()).is_empty();
    Doubt::not_applicable_if(
        takes_no_part,
        "from 7.3 on, isolated CPUs take no part in timer migration unless they are tick-free",
    )
}

/// The largest number of ticks between the two readings with which the tick counts as stopped.
const MOST_TICKS: u64 = 2;

fn stopped(case: &Case<'_>) -> Judged {
    let sleeps = !case.is(Kind::Poll);
    Doubt::not_applicable_if(sleeps, "work that sleeps and wakes is better off with a tick, see iso.nohz_full")?;
    let tick_free = case.cpu_list(NOHZ_FULL, CannotBe("this kernel cannot stop its tick"))?;
    let ours = case.rt().intersection(&tick_free);
    Doubt::not_applicable_if(
        ours.is_empty(),
        "nohz_full= does not name the real-time CPUs, so they keep their tick; see iso.nohz_full",
    )?;
    // x86 counts its local timer in a row `LOC`, arm64 in the row of the timer's interrupt. Where a second kernel drives the
    // timer, its own wake-ups are counted there, too, and the ticks of Linux have a row of their own.
    let is_proxied = case.second_kernel().is_ok() && case.core_state()? == CoreState::Running;
    let is_timer = |name: &str, rest: &str| {
        let device = rest.trim_end();
        if is_proxied { device.ends_with("proxy tick") } else { name == "LOC" || device.ends_with("arch_timer") }
    };
    let rises = case.rises(is_timer)?;
    let rises: Vec<&CpuCount> = rises.iter().flat_map(|row| &row.counts).filter(|one| ours.contains(one.cpu)).collect();
    let shown: Vec<String> = rises.iter().take(16).map(|one| format!("CPU {}: {}", one.cpu, one.count)).collect();
    case.note("timer interrupts between two readings of /proc/interrupts", shown.join(", "));
    Ok(rises.iter().all(|one| one.count <= MOST_TICKS))
}

#[cfg(test)]
mod tests {
    use super::{Tick, ticks};

    #[test]
    fn reads_both_kinds_of_timer_list() {
        let list = "now at 5 nsecs\n\ncpu: 0\n clock 0:\nactive timers:\n #0: <0>, tick_sched_timer, S:01\n # expires at \
                    4000000-4000000 nsecs [in 1 to 1 nsecs]\n  .nohz_mode      : 2\n  .last_tick      : 7 nsecs\n  \
                    .tick_stopped   : 0\ncpu: 1\n #0: <0>, hrtimer_wakeup, S:01\n # expires at 9-9 nsecs\n #1: <0>, \
                    tick_nohz_handler, S:01\n # expires at 8000000-8000000 nsecs\n  .nohz           : 0\n  .last_tick      \
                    : 5000000 nsecs\n  .tick_stopped   : 1\n";
        let tick = |cpu, at_ns, may_stop| Tick { cpu, at_ns: Some(at_ns), may_stop: Some(may_stop) };
        assert_eq!(ticks(list), [tick(0, 4_000_000, true), tick(1, 5_000_000, false)]);
    }
}
