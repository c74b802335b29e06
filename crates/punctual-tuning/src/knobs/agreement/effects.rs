//! Settings that look right but do not have the effect they promise.

use super::not_told_by;
use crate::knobs::case::{FAIR_SERVER_SINCE, INTERRUPTS, INTERRUPTS_LATER, InterruptCounts, device_lines};
use crate::knobs::prelude::*;
use std::collections::BTreeMap;

const KNOB: Knob = Knob::of(Family::Agreement);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.throttling",
        title: "Nothing replaces RT throttling that was turned off",
        // The knob `sched.fair_server` judges the fair server itself, with its own severity.
        applies: |case| {
            Doubt::not_applicable_if(
                case.version()? < FAIR_SERVER_SINCE,
                "before 6.12, sched_rt_runtime_us = -1 really turns throttling off",
            )?;
            let missing = CannotBe("this kernel has no throttling of real-time threads");
            let runtime_us = case.number("/proc/sys/kernel/sched_rt_runtime_us", missing)?;
            Doubt::not_applicable_if(runtime_us != -1, "throttling of real-time threads was not turned off")
        },
        check: Check::seen(
            "/sys/kernel/debug/sched/fair_server/cpu<I>/runtime",
            Want::ZERO,
            TellsNothing(
                "throttling of real-time threads was turned off, but the fair server, which replaced it, is not shown: \
                debugfs not mounted, or locked down",
            ),
        ),
        why: "Guides turn throttling off with sched_rt_runtime_us = -1. From 6.12 on this no longer helps ordinary \
            real-time threads: the fair server takes time from them (50 ms of each second by default), and the setting \
            does not turn the fair server off.",
        fix: Fix::prose(
            "echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime for N in <I>, but only if the real-time thread \
            sleeps now and then: one that never sleeps would then starve the CPU's kernel threads.",
        ),
        persist: &[Lasting::write("/sys/kernel/debug/sched/fair_server/cpu<I>/runtime", "0")],
        cost: "A runaway thread locks its CPU up.",
        blast: Blast::Breaking,
        sources: &["kernel 6.12, 7.3 kernel/sched/deadline.c, rt.c, debug.c", "meta-nilrt#864"],
        ..KNOB
    },
    Knob {
        id: "agree.irq_counts",
        title: "No device interrupt comes to the real-time CPUs",
        severity: Weight::of(High, High, Info),
        check: Check::Probe(irq_counts),
        why: "An affinity is only a request: some interrupt controllers cannot move an interrupt, and some changes \
            wait for the next interrupt, so a CPU may still be interrupted whatever the files say. The interrupt \
            counts show what really happens; irq.affinity reports what the files allow.",
        fix: Fix::prose(
            "Find the interrupt's number N and its device in /proc/interrupts; echo <H> > \
            /proc/irq/N/smp_affinity_list. The real-time device's own interrupt may stay.",
        ),
        persist: &[Lasting::word("irqaffinity=<H>"), Lasting::word("isolcpus=managed_irq,domain,<I apart>")],
        undo: Fix::prose("Write back each list that was there; remove the words."),
        cost: "Other CPUs get the load.",
        blast: Blast::Disturbing,
        sources: &["kernel 6.12, 7.3 kernel/irq/proc.c: show_interrupts", "kernel core-api/irq/irq-affinity.rst"],
        ..KNOB
    },
    Knob {
        id: "agree.idle_usage",
        title: "Idle states that were excluded at boot are not entered",
        severity: Weight::of(High, Medium, Info),
        check: Check::Probe(idle_usage),
        why: "intel_idle.max_cstate=0 only turns off the driver intel_idle; the ACPI driver then takes its place, with \
            all of its states. processor.max_cstate has no effect on intel_idle. If the counters of deep states are \
            not zero, the word did not keep the CPU out of them.",
        fix: Fix::prose(
            "Disable the states: echo 1 > /sys/devices/system/cpu/cpuN/cpuidle/stateM/disable, or hold /dev/cpu_dma_latency \
            open.",
        ),
        persist: &[Lasting::other("Kernel command line: both intel_idle.max_cstate=1 and processor.max_cstate=1.")],
        undo: Fix::prose("echo 0 > disable; remove the words."),
        cost: "Power and heat.",
        sources: &["kernel admin-guide/pm/intel_idle.rst", "kernel admin-guide/pm/cpuidle.rst: usage"],
        ..KNOB
    },
];

fn irq_counts(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let missing = TellsNothing("how often interrupts came is not shown");
    let first = case.known(INTERRUPTS, case.interrupts().clone(), missing)?;
    let later = case.content(INTERRUPTS_LATER, TellsNothing("/proc/interrupts was only read once"))?;
    let cpus = |table: &str| table.lines().next().map(str::to_owned);
    Doubt::unknown_if(
        !first.trim_start().starts_with("CPU"),
        format!("{INTERRUPTS} is not the table that was expected"),
    )?;
    Doubt::unknown_if(
        cpus(&first) != cpus(&later),
        "CPUs went online or offline between the two readings of /proc/interrupts",
    )?;
    let (before, after) = (device_lines(&first), device_lines(&later));
    let before: BTreeMap<&str, &InterruptCounts> = before.iter().map(|line| (line.name.as_str(), line)).collect();
    let admitted = case.delivered_lines().unwrap_or_default();
    let admitted: Vec<String> =
        admitted.iter().filter(|line| line.intrudes(case)).map(|line| line.number.to_string()).collect();
    let (mut risen, mut is_news) = (Vec::new(), false);
    for line in &after {
        let Some(old) = before.get(line.name.as_str()) else { continue };
        let rise = line.rise(old).into_iter().filter(|one| one.count > 0).map(|one| one.cpu);
        let on: CpuSet = rise.filter(|cpu| case.rt().contains(*cpu)).collect();
        if !on.is_empty() {
            is_news |= !admitted.contains(&line.name);
            risen.push(format!("{} ({}) on {on}", line.name, line.about));
        }
    }
    if !risen.is_empty() {
        case.note(format!("{INTERRUPTS}, twice"), risen.join("; "));
        not_told_by("irq.affinity", is_news)?;
        return Ok(false);
    }
    case.note(format!("{INTERRUPTS}, twice"), format!("none of {} counters rose on CPUs {}", after.len(), case.rt()));
    // No interrupt came between the two readings. The state is good only if no interrupt line may be delivered to a
    // real-time CPU.
    let (mut seen, mut reaching) = (0, Vec::new());
    for line in &after {
        let path = format!("/proc/irq/{}/effective_affinity_list", line.name);
        let Fact::Known(list) = case.peek(&path) else { continue };
        let cpus = CpuSet::parse_list(&list).or_else(|e| Doubt::unknown(format!("{path}: {e}")))?;
        seen += 1;
        if !cpus.intersection(case.rt()).is_empty() {
            reaching.push(line.name.as_str());
        }
    }
    if !reaching.is_empty() {
        return Doubt::unknown(format!(
            "no device interrupt came to the real-time CPUs between the two readings of /proc/interrupts, but \
            interrupts {} may go to these CPUs",
            reaching.join(", ")
        ));
    }
    Doubt::unknown_if(
        seen < after.len(),
        "no device interrupt came to the real-time CPUs between the two readings of /proc/interrupts, but not every \
        interrupt shows where it may go",
    )?;
    case.note("/proc/irq/*/effective_affinity_list", format!("none of {seen} interrupts may go to CPUs {}", case.rt()));
    Ok(true)
}

/// The longest exit latency of a shallow idle state, in microseconds.
const SHALLOW_US: u64 = 10;

fn idle_usage(case: &Case<'_>) -> Judged {
    // Words of the command line, with the values that rule out every deep idle state. Values above 1 allow states
    // deeper than C1.
    const WORDS: [(&str, &[&str]); 4] = [
        ("intel_idle.max_cstate", &["0", "1"]),
        ("processor.max_cstate", &["0", "1"]),
        ("cpuidle.off", &["1"]),
        ("idle", &["poll"]),
    ];
    let line = case.cmdline();
    let asked = WORDS.iter().filter_map(|(word, values)| {
        let value = line?.value(word)?;
        values.contains(&value).then(|| format!("{word}={value}"))
    });
    let asked: Vec<String> = asked.collect();
    Doubt::not_applicable_if(asked.is_empty(), "no idle state was ruled out at boot")?;
    case.note(CMDLINE, asked.join(" "));
    case.known_rt()?;
    let driver = "/sys/devices/system/cpu/cpuidle/current_driver";
    case.cite(driver, &case.peek(driver));
    let (mut states, mut entered) = (0, Vec::new());
    for cpu in case.rt().iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for name in case.list(&folder).known().into_iter().flatten() {
            let field = |field: &str| case.peek(&format!("{folder}/{name}/{field}"));
            let number = |field: Fact<String>| field.known()?.trim().parse::<u64>().ok();
            let (Some(latency), Some(usage)) = (number(field("latency")), number(field("usage"))) else { continue };
            states += 1;
            if latency > SHALLOW_US && usage > 0 {
                let state = field("name").known().cloned().unwrap_or_else(|| name.clone());
                entered.push(format!("CPU {cpu} entered {state} (takes {latency} us to leave) {usage} times"));
            }
        }
    }
    let is_off = case.peek(driver).known().is_some_and(|driver| driver == "none");
    Doubt::unknown_if(states == 0 && !is_off, "which idle states were entered is not shown")?;
    case.none_found(
        "/sys/devices/system/cpu/cpuN/cpuidle/*/usage",
        entered.join("; "),
        format!("no state entered that takes more than {SHALLOW_US} us to leave"),
    )
}
