//! What the kernel writes, and what is watched: both are paid for by whoever runs at that moment.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{Info, Medium};
use crate::machine::{Flavour, Version};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "log.level",
        title: "Only errors go to the console",
        family: Family::Console,
        severity: Weight::all(Medium),
        probe: Probe::Effective(level),
        why: "On consoles of the old kind every message is written out with interrupts off, by the CPU that \
            happened to log it.",
        fix: "sysctl kernel.printk=4 (the log itself keeps everything).",
        persist: &[Lasting::Other("The same line in /etc/sysctl.d/, or quiet on the command line.")],
        undo: "sysctl kernel.printk with the first number that was there.",
        cost: "Fewer hints on the screen.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/sysctl/kernel.rst: printk", "unverified: the effect on a given console driver"],
    },
    Knob {
        id: "log.console",
        title: "No serial console",
        family: Family::Console,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(serial),
        why: "At 115200 baud each character takes 87 us, and most drivers wait for it.",
        fix: "None at run time; a console level of 4 or less (log.level) leaves only errors.",
        persist: &[Lasting::Other("Remove console=tty[S|AMA|...] from the command line.")],
        undo: "Put the word back and boot again.",
        cost: "No serial log of a crash.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 kernel/printk/printk.c",
            "unverified: which drivers wait (newer ones print in a thread)",
        ],
    },
    Knob {
        id: "trace.active",
        title: "No tracing left on",
        family: Family::Console,
        severity: Weight::all(Medium),
        probe: Probe::Effective(tracing),
        why: "Every traced event costs where it happens, and turning tracing on or off interrupts all CPUs.",
        fix: "echo nop > /sys/kernel/tracing/current_tracer; echo > /sys/kernel/tracing/set_event",
        persist: &[Lasting::Other("Find out who turned it on; no ftrace= or trace_event= on the command line.")],
        undo: "Write back what was there.",
        cost: "The trace.",
        blast: Blast::Disturbing,
        confidence: Confidence::High,
        sources: &["kernel trace/ftrace.rst"],
    },
    Knob {
        id: "sec.audit",
        title: "No auditing of system calls",
        family: Family::Console,
        severity: Weight::all(Info),
        probe: Probe::Effective(auditing),
        why: "While auditing is on, every system call of every task does extra work at entry and exit.",
        fix: "auditctl -e 0",
        persist: &[Lasting::Other("Kernel command line: audit=0; systemctl mask auditd")],
        undo: "auditctl -e 1; remove the word; unmask.",
        cost: "Compliance, where it is demanded.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel-parameters.txt: audit=", "auditctl(8)"],
    },
];

fn level(case: &Case<'_>) -> Judged {
    let path = "/proc/sys/kernel/printk";
    let levels = case.text(path, Missing::CannotBe("this kernel does not print"))?;
    match levels.split_whitespace().next().and_then(|first| first.parse::<u32>().ok()) {
        Some(console) => Ok(console <= 4),
        None => Doubt::unknown(format!("{path} holds '{levels}'")),
    }
}

fn serial(case: &Case<'_>) -> Judged {
    let consoles =
        case.text("/sys/class/tty/console/active", Missing::TellsNothing("which consoles are active is not shown"))?;
    // Serial drivers call their lines ttyS0, ttyAMA0, ttymxc0; the screens are tty0, tty1.
    let is_serial =
        |name: &str| name.strip_prefix("tty").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    Ok(!consoles.split_whitespace().any(is_serial))
}

fn tracing(case: &Case<'_>) -> Judged {
    let folder = "/sys/kernel/tracing";
    if !case.exists(folder) && case.list("/sys/kernel").known().is_some_and(|names| !names.is_empty()) {
        return Doubt::not_applicable("this kernel cannot trace");
    }
    let unseen = Missing::TellsNothing("tracefs is not mounted");
    let tracer = case.text(&format!("{folder}/current_tracer"), unseen)?;
    let events = case.text(&format!("{folder}/set_event"), unseen)?;
    Ok(tracer == "nop" && events.trim().is_empty())
}

/// The switch itself can only be asked over netlink; the threads around it prove the two ends.
fn auditing(case: &Case<'_>) -> Judged {
    if case.flavour()? == Flavour::Evl {
        return Doubt::not_applicable("out-of-band threads make no in-band system calls");
    }
    if !case.daemons(&["auditd"])?.is_empty() {
        return Ok(false);
    }
    // Older kernels start the thread late, so its absence proves nothing there.
    if case.version()? < Version::new(5, 0) {
        return Doubt::unknown("nothing but netlink tells whether this kernel audits (auditctl -s)");
    }
    if case.tasks(|task| task.is_kernel && task.name == "kauditd")?.is_empty() {
        case.note("kernel thread kauditd", "none");
        return Ok(true);
    }
    Doubt::unknown("the kernel can audit, and nothing but netlink tells whether it does (auditctl -s)")
}
