//! Knobs about what board makers' kernels add to Linux.

use crate::knobs::prelude::*;

const KNOB: Knob =
    Knob { severity: Weight::of(Medium, Medium, Info), confidence: Confidence::Medium, ..Knob::of(Family::Boards) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "board.fiq_debugger",
        title: "No FIQ debugger on the console",
        applies: |case| {
            Doubt::not_applicable_if(
                case.arch() == Some(&Arch::X86),
                "only kernels for Arm boards have an FIQ debugger",
            )
        },
        check: Check::NoDevice { class: "tty", start: "ttyFIQ" },
        why: "Rockchip's and Android's kernels put a debugger between the serial line and the console. It prints with \
            interrupts off and waits for each character to leave, unless it was built with a console thread, and each \
            character that arrives on the line interrupts a CPU even if interrupts are masked.",
        fix: Fix::NotAtRunTime("a console level of 4 or less (log.level) leaves only errors to print."),
        persist: &[
            Lasting::built_without("FIQ_DEBUGGER"),
            Lasting::boot(
                "Device tree: the node fiq-debugger with status = \"disabled\" and the plain UART with \"okay\"; then \
                 console=ttyS2 in place of console=ttyFIQ0.",
            ),
        ],
        undo: Fix::prose("Boot with the former device tree."),
        cost: "The debugger.",
        blast: Blast::Breaking,
        sources: &[
            "Rockchip's 4.4 to 6.1 kernels drivers/staging/android/fiq_debugger/fiq_debugger.c: fiq_debugger_console_write",
            "Rockchip's kernels drivers/soc/rockchip/rk_fiq_debugger.c",
        ],
        ..KNOB
    },
    Knob {
        id: "board.pseudo_nmi",
        title: "Interrupts are masked without pseudo-NMIs",
        severity: Weight::of(Info, Info, Info).at_least(Medium, is_forced),
        check: Check::Probe(pseudo_nmi),
        why: "With irqchip.gicv3_pseudo_nmi=1 the kernel masks interrupts by priority. On some machines the firmware \
            forces it to wait each time it unmasks them (the log then says 'Pseudo-NMIs enabled using forced'). \
            Interrupts of the performance counters are delivered everywhere, even where the kernel has masked \
            interrupts.",
        fix: Fix::NotAtRunTime("the way interrupts are masked is chosen at boot."),
        persist: &[Lasting::NoWord("irqchip.gicv3_pseudo_nmi")],
        cost: "Profiles no longer see code that runs with interrupts off.",
        sources: &[
            "kernel 6.1, 6.12 drivers/irqchip/irq-gic-v3.c: gic_enable_nmi_support",
            "kernel-parameters.txt: irqchip.gicv3_pseudo_nmi",
        ],
        ..KNOB
    },
];

/// What the kernel logs when it switches pseudo-NMIs on.
const ENABLED: &str = "Pseudo-NMIs enabled";

fn is_forced(case: &Case<'_>) -> bool {
    let log = case.aside(|case| case.peek(LOG));
    log.known().is_some_and(|log| log.contains("Pseudo-NMIs enabled using forced"))
}

fn pseudo_nmi(case: &Case<'_>) -> Judged {
    case.only_on(Arch::Arm64, "only arm64 has pseudo-NMIs")?;
    let asked = case.word("irqchip.gicv3_pseudo_nmi")?;
    // The kernel takes what kstrtobool takes.
    let is_asked = asked.is_some_and(|value| {
        matches!(value.as_bytes().first(), Some(b'1' | b'y' | b'Y' | b't' | b'T')) || value == "on"
    });
    if !is_asked {
        return Ok(true);
    }
    if case.lacks("ARM64_PSEUDO_NMI") {
        case.note("CONFIG_ARM64_PSEUDO_NMI", "not set, so irqchip.gicv3_pseudo_nmi has no effect");
        return Ok(true);
    }
    let log = case.aside(|case| case.peek(LOG));
    match log.known().and_then(|log| log.lines().find(|line| line.contains(ENABLED)).map(str::to_owned)) {
        Some(line) => {
            case.note("the kernel's log", line);
            Ok(false)
        }
        None => Doubt::unknown(
            "the command line asks for it, but the part of the kernel's log that shows the result is missing",
        ),
    }
}
