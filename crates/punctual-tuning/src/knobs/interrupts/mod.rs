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
        why: "Otherwise the interrupt of a device that appears later (a link comes up, a module is loaded) may go to a \
            real-time CPU.",
        fix: Fix::prose(
            "echo <H mask> > /proc/irq/default_smp_affinity (applies to interrupts that drivers request from now on).",
        ),
        persist: &[
            Lasting::word("irqaffinity=<H>"),
            Lasting::other("The kernel always adds the boot CPU to this mask."),
        ],
        undo: Fix::prose("Write back the mask that was there; remove the word."),
        cost: "None.",
        sources: &["kernel 7.3 kernel/irq/irqdesc.c", "tuned#364"],
        ..KNOB
    },
    Knob {
        id: "irq.irqbalance",
        title: "No daemon moves interrupts",
        check: Check::Probe(irqbalance),
        why: "irqbalance rewrites affinities every ten seconds, which undoes affinities that were set by hand. It \
            leaves a CPU alone only if the kernel says that the CPU is isolated.",
        persist: &[Lasting::other("Or ban the CPUs: IRQBALANCE_BANNED_CPULIST=<I> in its environment file.")],
        cost: "Interrupts are redistributed for about a second; from then on they must be spread by hand, or all of \
            them end up on one CPU.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["irqbalance#19", "seapath/ansible#985"],
        ..KNOB
    },
];
