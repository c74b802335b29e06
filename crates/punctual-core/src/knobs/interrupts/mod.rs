//! Which CPUs handle devices. What was written and what is in force differ here more than anywhere.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::cpu_set::CpuSet;
use crate::fact::Fact;
use crate::finding::Confidence;
use crate::finding::Severity::{High, Info, Medium};
use crate::machine::Flavour;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "irq.default",
        title: "New interrupts go to housekeeping CPUs",
        family: Family::Interrupts,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(default_affinity),
        why: "A device that appears later (a link that comes up, a module loaded) otherwise lands on a real-time CPU.",
        fix: "echo <H mask> > /proc/irq/default_smp_affinity (counts for interrupts requested from now on).",
        persist: &[Lasting::Other("Kernel command line: irqaffinity=<H> (the boot CPU is always added).")],
        undo: "Write back the mask that was there; remove the word.",
        cost: "None.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel 7.3 kernel/irq/irqdesc.c", "tuned#364"],
    },
    Knob {
        id: "irq.affinity",
        title: "No device interrupts the real-time CPUs",
        family: Family::Interrupts,
        severity: Weight::of(High, High, Info),
        probe: Probe::Effective(affinity),
        why: "Each interrupt costs the real-time CPU microseconds and cold caches, at the device's rate.",
        fix: "echo <H> > /proc/irq/N/smp_affinity_list for each of them, but not for the real-time device's own. \
            EIO means the kernel manages it: use fewer queues, or isolcpus=managed_irq.",
        persist: &[Lasting::Other(
            "irqaffinity=<H> on the command line and a unit after the network; look again after link changes \
            and module loads.",
        )],
        undo: "Write back each list that was there.",
        cost: "Other CPUs get the load.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &[
            "kernel core-api/irq/irq-affinity.rst",
            "kernel 7.3 kernel/irq/proc.c",
            "kernel core-api/irq/managed_irq.rst",
        ],
    },
    Knob {
        id: "irq.irqbalance",
        title: "Nobody moves interrupts about",
        family: Family::Interrupts,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(irqbalance),
        why: "irqbalance rewrites affinities every ten seconds, and so undoes what was set by hand. It leaves CPUs \
            alone only when the kernel says they are isolated.",
        fix: "systemctl stop irqbalance (stopping it live redistributes interrupts for about a second).",
        persist: &[Lasting::Other(
            "systemctl mask irqbalance, or ban the CPUs: IRQBALANCE_BANNED_CPULIST=<I> in its environment file.",
        )],
        undo: "systemctl unmask irqbalance; systemctl start irqbalance",
        cost: "Interrupts must be spread by hand, or all end on one CPU.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["irqbalance#19", "seapath/ansible#985"],
    },
    Knob {
        id: "irq.threadirqs",
        title: "Interrupt handlers run in threads",
        family: Family::Interrupts,
        severity: Weight::of(Medium, Info, High),
        probe: Probe::Effective(threadirqs),
        why: "A handler in a thread has a priority and can be preempted; a hard one holds the CPU for as long as \
            it likes.",
        fix: "None at run time.",
        persist: &[Lasting::Other("Kernel command line: threadirqs")],
        undo: "Remove the word and boot again.",
        cost: "Slightly slower interrupts.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel 6.1, 6.12, 7.3 kernel/irq/manage.c"],
    },
];

const UNSEEN: Missing = Missing::TellsNothing("the kernel does not show where interrupts go");

fn default_affinity(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let mask = case.cpu_mask("/proc/irq/default_smp_affinity", UNSEEN)?;
    Ok(mask.intersection(&case.rt).is_empty())
}

/// Numbers of the interrupt lines.
fn lines(case: &Case<'_>) -> Result<Vec<u32>, Doubt> {
    let names = case.list("/proc/irq");
    if let Some(trouble) = names.trouble() {
        case.note("/proc/irq", trouble);
    }
    let names = case.known("/proc/irq", names, UNSEEN)?;
    let mut lines: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// Names of the handlers on a line: each has a folder among the line's files.
fn handlers(case: &Case<'_>, line: u32) -> Vec<String> {
    const FILES: [&str; 9] = [
        "smp_affinity",
        "smp_affinity_list",
        "effective_affinity",
        "effective_affinity_list",
        "affinity_hint",
        "node",
        "spurious",
        "affinity_list",
        "affinity_hint_list",
    ];
    let names = case.list(&format!("/proc/irq/{line}"));
    names
        .known()
        .map(|names| names.iter().filter(|n| !FILES.contains(&n.as_str())).cloned().collect())
        .unwrap_or_default()
}

fn affinity(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let (mut seen, mut intruders) = (0_usize, Vec::new());
    for line in lines(case)? {
        let path = format!("/proc/irq/{line}/effective_affinity_list");
        let Fact::Known(list) = case.peek(&path) else { continue };
        let Ok(cpus) = CpuSet::parse_list(&list) else { return Doubt::unknown(format!("{path} holds '{list}'")) };
        seen += 1;
        let names = if cpus.intersection(&case.rt).is_empty() { Vec::new() } else { handlers(case, line) };
        if !names.is_empty() {
            intruders.push(format!("{line} ({}) on {cpus}", names.join(", ")));
        }
    }
    if seen == 0 {
        return Doubt::unknown("the kernel does not show where interrupts really go (effective_affinity_list)");
    }
    let shown = if intruders.is_empty() { format!("none of {seen} on CPUs {}", case.rt) } else { intruders.join("; ") };
    case.note("/proc/irq/*/effective_affinity_list", shown);
    Ok(intruders.is_empty())
}

fn irqbalance(case: &Case<'_>) -> Judged {
    if case.daemons(&["irqbalance"])?.is_empty() {
        return Ok(true);
    }
    let isolated = case.machine.isolated.known().cloned().unwrap_or_default();
    let tick_free = case.machine.nohz_full.known().cloned().unwrap_or_default();
    let left_alone = isolated.union(&tick_free);
    case.note(
        "isolated and tick-free CPUs",
        if left_alone.is_empty() { "none".to_owned() } else { left_alone.to_string() },
    );
    Ok(!case.rt.is_empty() && case.rt.is_subset(&left_alone))
}

/// Some drivers bring their own handler thread, so one thread proves nothing; most lines having one does.
fn threadirqs(case: &Case<'_>) -> Judged {
    if case.flavour()? == Flavour::Rt {
        return Doubt::not_applicable("PREEMPT_RT always does, and does not know the word threadirqs");
    }
    let used: Vec<u32> = lines(case)?.into_iter().filter(|line| !handlers(case, *line).is_empty()).collect();
    if used.is_empty() {
        return Doubt::unknown("no interrupt line shows a handler");
    }
    let line_of = |name: &str| name.strip_prefix("irq/")?.split('-').next()?.parse::<u32>().ok();
    let threads = case.tasks(|task| task.is_kernel && line_of(&task.name).is_some())?;
    let threaded = used.iter().filter(|line| threads.iter().any(|task| line_of(&task.name) == Some(**line))).count();
    case.note("interrupt lines with a thread irq/N-NAME", format!("{threaded} of {}", used.len()));
    Ok(threaded * 2 > used.len())
}
