//! What time is read from.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::fact::Fact;
use crate::finding::Confidence;
use crate::finding::Severity::{High, Medium};
use crate::machine::{Arch, CLOCKSOURCE};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "clk.source",
        title: "Clock source in the CPU",
        family: Family::Clocks,
        severity: Weight::all(High),
        probe: Probe::Effective(source),
        why: "A clock in the CPU is read in tens of nanoseconds; HPET and the ACPI timer are reached over a bus, \
            in microseconds, by one CPU at a time.",
        fix: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is among the \
            available ones; if not, the kernel found it unstable and its log says why.",
        persist: &[Lasting::Other("Kernel command line: clocksource=tsc")],
        undo: "Write back the name that was there.",
        cost: "None, unless the kernel was right to refuse it: then time itself is wrong.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &["kernel timers/timekeeping.rst", "kernel-parameters.txt: clocksource="],
    },
    Knob {
        id: "clk.vdso",
        title: "Clock read without entering the kernel",
        family: Family::Clocks,
        severity: Weight::all(Medium),
        probe: Probe::Effective(vdso),
        why: "Every look at the clock that enters the kernel costs several times as much and is one more place to \
            be delayed. Judged bad: more than 150 ns for one reading.",
        fix: "Use a clock source the vDSO can read: tsc, arch_sys_counter, kvm-clock, hyperv_clocksource_tsc_page.",
        persist: &[Lasting::Other("Kernel command line: clocksource=tsc")],
        undo: "Boot as before.",
        cost: "None.",
        blast: Blast::Disturbing,
        confidence: Confidence::Low,
        sources: &["vdso(7)", "measured by this program when it reads the machine", "unverified: the threshold"],
    },
    Knob {
        id: "clk.tsc_check",
        title: "TSC keeps its pace and does not stop",
        family: Family::Clocks,
        severity: Weight::all(Medium),
        probe: Probe::Effective(tsc),
        why: "A TSC that changes its pace with the CPU's frequency, or stops when it sleeps, is dropped by the \
            kernel sooner or later, for a clock that is slow to read.",
        fix: "None by software; in a guest the host can pass the flags on (invtsc).",
        persist: &[Lasting::Other("Another CPU, or the host's configuration of the guest.")],
        undo: "Nothing to undo.",
        cost: "None.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel-parameters.txt: tsc=", "kernel arch/x86/kernel/tsc.c"],
    },
];

fn source(case: &Case<'_>) -> Judged {
    let name = case.text(CLOCKSOURCE, Missing::TellsNothing("the clock source is not shown"))?;
    match name.as_str() {
        "tsc" | "arch_sys_counter" | "kvm-clock" | "hyperv_clocksource_tsc_page" => Ok(true),
        "tsc-early" | "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit" | "hyperv_clocksource_msr" => {
            Ok(false)
        }
        other => Doubt::unknown(format!("the clock source '{other}' is not known to this program")),
    }
}

fn vdso(case: &Case<'_>) -> Judged {
    let missing = Missing::TellsNothing("the cost of reading the clock was not measured");
    Ok(case.number("punctual:/clock/read_cost_ns", missing)? <= 150)
}

fn tsc(case: &Case<'_>) -> Judged {
    let arch = case.known(
        "/proc/sys/kernel/arch",
        case.machine.kernel.arch.clone(),
        Missing::TellsNothing("the architecture is not known"),
    )?;
    if arch != Arch::X86 {
        return Doubt::not_applicable("only x86 has a TSC");
    }
    let flags = cpu_flags(case)?;
    let wanted = ["constant_tsc", "nonstop_tsc"];
    let there: Vec<&str> = wanted.into_iter().filter(|flag| flags.split_whitespace().any(|f| f == *flag)).collect();
    case.note(
        "/proc/cpuinfo flags",
        if there.is_empty() { format!("none of {}", wanted.join(", ")) } else { there.join(" ") },
    );
    Ok(there.len() == wanted.len())
}

/// The flags of the first CPU, which no evidence is made of: there are over a hundred.
pub(super) fn cpu_flags(case: &Case<'_>) -> Result<String, Doubt> {
    let path = "/proc/cpuinfo";
    let flags = case.peek(path).and_then(|info| {
        let flags = info.lines().find(|line| line.starts_with("flags")).and_then(|line| line.split_once(':'));
        flags.map_or(Fact::Absent, |(_, flags)| Fact::Known(flags.to_owned()))
    });
    case.known(path, flags, Missing::TellsNothing("the CPU's flags are not shown"))
}
