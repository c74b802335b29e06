//! Which CPUs handle devices. What was written and what is in force differ here more than anywhere.

mod counts;
mod lines;
mod threads;

pub(super) use counts::rises;
pub(super) use lines::intruding;
pub(crate) use lines::{Line, all};

use super::Missing::TellsNothing;
use super::{Blast, Case, Check, Family, Fix, Judged, Knob, Lasting, Missing, Weight, count, joined};
use punctual_facts::finding::Confidence;
use punctual_facts::finding::Severity::{Info, Medium};

const KNOB: Knob = Knob::of(Family::Interrupts);

pub(super) const KNOBS: &[Knob] = &joined::<{ count(LISTS) }>(LISTS);

const LISTS: &[&[Knob]] = &[OWN, lines::KNOBS, threads::KNOBS];

const OWN: &[Knob] = &[
    Knob {
        id: "irq.default",
        title: "New interrupts go to housekeeping CPUs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(default_affinity),
        why: "A device that appears later (a link that comes up, a module loaded) otherwise lands on a real-time CPU.",
        fix: Fix::prose(
            "echo <H mask> > /proc/irq/default_smp_affinity (counts for interrupts requested from now on).",
        ),
        persist: &[Lasting::word("irqaffinity=<H>"), Lasting::other("The boot CPU is always added to it.")],
        undo: Fix::prose("Write back the mask that was there; remove the word."),
        cost: "None.",
        sources: &["kernel 7.3 kernel/irq/irqdesc.c", "tuned#364"],
        ..KNOB
    },
    Knob {
        id: "irq.irqbalance",
        title: "Nobody moves interrupts about",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(irqbalance),
        why: "irqbalance rewrites affinities every ten seconds, and so undoes what was set by hand. It leaves CPUs \
            alone only when the kernel says they are isolated.",
        fix: Fix::prose("systemctl stop irqbalance (stopping it live redistributes interrupts for about a second)."),
        persist: &[
            Lasting::NoService("irqbalance.service"),
            Lasting::other("Or ban the CPUs: IRQBALANCE_BANNED_CPULIST=<I> in its environment file."),
        ],
        cost: "Interrupts must be spread by hand, or all end on one CPU.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["irqbalance#19", "seapath/ansible#985"],
        ..KNOB
    },
];

const UNSEEN: Missing = TellsNothing("the kernel does not show where interrupts go");

/// Whether new interrupts keep off the real-time CPUs.
pub(super) fn default_affinity(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let mask = case.cpu_mask("/proc/irq/default_smp_affinity", UNSEEN)?;
    Ok(mask.intersection(case.rt()).is_empty())
}

/// Whether nobody, or nobody who would touch the real-time CPUs, moves interrupts about.
pub(super) fn irqbalance(case: &Case<'_>) -> Judged {
    if case.daemons(&["irqbalance"])?.is_empty() {
        return Ok(true);
    }
    let isolated = case.isolated()?;
    let tick_free = case.tick_free()?;
    let left_alone = isolated.union(&tick_free);
    case.note(
        "isolated and tick-free CPUs",
        if left_alone.is_empty() { "none".to_owned() } else { left_alone.to_string() },
    );
    Ok(!case.rt().is_empty() && case.rt().is_subset(&left_alone))
}
