//! Compares the kernel's own CPU masks with the CPUs that this machine keeps free of other work.

use super::{not_told_by, set_apart};
use crate::knobs::case::ROLES_SWAPPED;
use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::{domain, rcu_nocbs, with_rcu_thread};

const KNOB: Knob =
    Knob { severity: Weight::of(Medium, Medium, Info), blast: Blast::Disturbing, ..Knob::of(Family::Agreement) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.tick",
        title: "Tick-free CPUs are isolated too",
        severity: Weight::of(Medium, High, Info).adjusted(tick_severity),
        check: Check::Probe(|case| {
            let apart = set_apart(case)?;
            Doubt::not_applicable_if(apart.tick_free.is_empty(), "no CPU is set to stop its tick (nohz_full)")?;
            Ok(apart.tick_free.is_subset(&apart.domain))
        }),
        why: "The tick stops only while a single task runs on the CPU, and the scheduler moves further tasks onto a \
            CPU that is not isolated. Up to 6.12, nohz_full= alone also kept kernel threads and unbound work away; \
            from 7.x on they stay away from isolated CPUs only.",
        fix: Fix::prose("Put the tick-free CPUs into an isolated cpuset partition, or isolate them at boot."),
        persist: &[Lasting::word("isolcpus=managed_irq,domain,<I apart>")],
        undo: Fix::prose("echo member > GROUP/cpuset.cpus.partition; remove the word and boot again."),
        cost: "Tasks must be placed on these CPUs by hand.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c, kernel/kthread.c",
            "kernel 7.3 admin-guide/cpu-isolation.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "agree.irq_default",
        title: "New interrupts keep off the CPUs set apart",
        blast: Blast::Harmless,
        check: Check::Probe(|case| {
            let apart = set_apart(case)?;
            let missing = TellsNothing("the kernel does not show where new interrupts go");
            let mask = case.cpu_mask("/proc/irq/default_smp_affinity", missing)?;
            not_told_by_knob(case, "irq.default")?;
            Ok(mask.intersection(&apart.all()).is_empty())
        }),
        why: "The default affinity knows nothing of isolation: without irqaffinity= a device that appears later may \
            interrupt an isolated CPU.",
        fix: Fix::command("echo <H mask> > /proc/irq/default_smp_affinity"),
        persist: &[Lasting::word("irqaffinity=<H>")],
        cost: "None.",
        sources: &["kernel 6.12 kernel/irq/irqdesc.c: init_irq_default_affinity"],
        ..KNOB
    },
    Knob {
        id: "agree.watchdog",
        title: "The lockup watchdog keeps off the CPUs set apart",
        check: Check::Probe(watchdog),
        why: "The watchdog leaves out tick-free CPUs, but not isolated ones: on those its timer and thread still run \
            every few seconds.",
        fix: Fix::command("echo <H> > /proc/sys/kernel/watchdog_cpumask"),
        persist: &[Lasting::sysctl("kernel.watchdog_cpumask", "<H>")],
        cost: "A lock-up of these CPUs is not reported.",
        sources: &["kernel 6.12, 7.3 kernel/watchdog.c: housekeeping_cpumask(HK_TYPE_TIMER)"],
        ..KNOB
    },
    Knob {
        id: "agree.workqueues",
        title: "Unbound work keeps off the CPUs set apart",
        check: Check::Probe(|case| {
            let apart = set_apart(case)?;
            let missing = TellsNothing("this kernel does not show where unbound work may run");
            let mask = case.cpu_mask("/sys/devices/virtual/workqueue/cpumask", missing)?;
            not_told_by_knob(case, "wq.unbound")?;
            Ok(mask.intersection(&apart.all()).is_empty())
        }),
        why: "At boot the kernel leaves isolated CPUs out of the mask of unbound work. If the mask was written later, \
            or if from 7.x on only nohz_full= is given, the mask may contain CPUs that should be left alone.",
        persist: &[Lasting::write("/sys/devices/virtual/workqueue/cpumask", "<H mask>")],
        cost: "Rewriting the mask on a busy machine has been seen to stall the network.",
        sources: &["kernel 6.12, 7.3 kernel/workqueue.c: restrict_unbound_cpumask", "seapath/ansible#985"],
        ..KNOB
    },
    Knob {
        id: "agree.rcu",
        title: "RCU callbacks are moved off exactly the CPUs that are set apart",
        blast: Blast::Harmless,
        check: Check::Probe(rcu),
        why: "If rcu_nocbs= names other CPUs than isolcpus= or nohz_full=, some real-time CPUs still run RCU \
            callbacks, and RCU's threads take callbacks from CPUs that do not need it.",
        persist: &[Lasting::word("rcu_nocbs=<I>")],
        cost: "None.",
        confidence: Confidence::Medium,
        sources: &["kernel 6.12, 7.3 kernel/rcu/tree_nocb.h", "kernel-parameters.txt: rcu_nocbs, nohz_full"],
        ..KNOB
    },
];

fn tick_severity(case: &Case<'_>, severity: Severity) -> Severity {
    // If the scheduler balances onto the real-time CPUs, the knob `iso.domain` is bad too, and carries the severity.
    if domain(case) == Ok(false) {
        return Info;
    }
    let is_swapped = case.version().is_ok_and(|version| version >= ROLES_SWAPPED);
    if is_swapped && severity > Info { High } else { severity }
}

/// Like [`not_told_by`]. It asks for the CPUs first, so that this knob is unknown as well if they are not known.
fn not_told_by_knob(case: &Case<'_>, knob: &str) -> Result<(), Doubt> {
    let is_told = case.has_housekeeping().is_ok() && case.is_bad(knob);
    not_told_by(knob, !is_told)
}

fn watchdog(case: &Case<'_>) -> Judged {
    let apart = set_apart(case)?;
    let missing = CannotBe("this kernel has no lockup watchdog");
    Doubt::not_applicable_if(case.number("/proc/sys/kernel/watchdog", missing)? == 0, "the lockup watchdog is off")?;
    let mask = case.cpu_list("/proc/sys/kernel/watchdog_cpumask", missing)?;
    not_told_by("family 'watchdogs and RAS'", mask.intersection(case.rt()).is_empty())?;
    Ok(mask.intersection(&apart.all()).is_empty())
}

fn rcu(case: &Case<'_>) -> Judged {
    let apart = set_apart(case)?;
    let unseen = TellsNothing("the kernel command line, which may name CPUs in rcu_nocbs=, is not shown");
    let line = case.known(CMDLINE, case.machine.cmdline.clone(), unseen)?;
    let Some(named) = line.value("rcu_nocbs").filter(|list| !list.is_empty()) else {
        return Doubt::not_applicable("rcu_nocbs= names no CPUs; the kernel offloads tick-free CPUs anyway");
    };
    case.note(format!("{CMDLINE} rcu_nocbs"), named);
    let possible = case.possible().cloned().unwrap_or_default();
    let named = super::listed(named, &possible).or_else(|e| Doubt::unknown(format!("rcu_nocbs: {e}")))?;
    let with_thread = with_rcu_thread(case)?;
    not_told_by("iso.rcu_nocbs", rcu_nocbs(case) != Ok(false))?;
    let offloaded = named.union(&apart.tick_free);
    Ok(!with_thread.is_empty() && apart.all().is_subset(&offloaded) && named.is_subset(&apart.all()))
}
