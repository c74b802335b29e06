//! Knobs about the CPUs that handle device interrupts. The affinity that was written often differs from the effective
//! one.

pub(super) mod lines;
pub(super) mod threads;

use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::irqbalance;

const KNOB: Knob = Knob { severity: Weight::of(Medium, Medium, Info), ..Knob::of(Family::Interrupts) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "irq.default",
        title: "New interrupts go to housekeeping CPUs",
        applies: |case| case.has_housekeeping(),
        check: Check::seen(
            "/proc/irq/default_smp_affinity",
            Want::MaskWithoutRt,
            TellsNothing("the kernel does not show where interrupts go"),
        ),
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
        title: "No daemon moves interrupts",
        check: Check::Probe(irqbalance),
        why: "irqbalance rewrites affinities every ten seconds, and so undoes what was set by hand. It leaves CPUs \
            alone only when the kernel says they are isolated.",
        persist: &[Lasting::other("Or ban the CPUs: IRQBALANCE_BANNED_CPULIST=<I> in its environment file.")],
        cost: "Interrupts are redistributed for about a second; from then on they must be spread by hand, or all end on \
            one CPU.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["irqbalance#19", "seapath/ansible#985"],
        ..KNOB
    },
];
