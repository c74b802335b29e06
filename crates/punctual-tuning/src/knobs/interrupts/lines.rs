//! Interrupt lines: where each may go, where it goes, and who handles it.

use super::UNSEEN;
use super::counts::rises;
use crate::knobs::Missing::{CannotBe, TellsNothing};
use crate::knobs::case::Kept;
use crate::knobs::{Blast, Case, Check, Doubt, Family, Fix, Judged, Knob, Lasting, Want, Weight};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::finding::Confidence;
use punctual_facts::finding::Severity::{self, High, Info, Medium};
use punctual_facts::machine::Arch;
use std::cell::OnceCell;
use std::collections::BTreeSet;

const KNOB: Knob = Knob::of(Family::Interrupts);

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "irq.affinity",
        title: "No device interrupts the real-time CPUs",
        severity: Weight::of(High, High, Info).adjusted(one_device),
        check: Check::Probe(affinity),
        why: "Each interrupt costs the real-time CPU microseconds and cold caches, at the device's rate. Where all of \
            them are one device's, that may be the real-time device, there on purpose.",
        fix: Fix::prose(
            "echo <H> > /proc/irq/N/smp_affinity_list for each of them, but not for the real-time device's own. A \
            line that cannot be moved so refuses with EIO on 6.1 and with EPERM from 6.12 on, where the file has \
            mode 444: timers, interrupts between CPUs, and queues the kernel manages (irq.managed says which). \
            Those last go to other CPUs with isolcpus=managed_irq, unless a queue's mask holds isolated CPUs only: \
            then fewer queues help, or no I/O from these CPUs.",
        ),
        persist: &[
            Lasting::word("irqaffinity=<H>"),
            Lasting::other(
                "A unit after the network that writes the lists; look again after link changes and module loads.",
            ),
        ],
        cost: "Other CPUs get the load.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel core-api/irq/irq-affinity.rst",
            "kernel 6.1, 6.12, 7.3 kernel/irq/proc.c: write_irq_affinity",
            "kernel core-api/irq/managed_irq.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.requested",
        title: "No device may move to the real-time CPUs",
        severity: Weight::of(Info, Info, Info),
        check: Check::Probe(requested),
        why: "An interrupt that is delivered elsewhere today, but may go to a real-time CPU, does so when a CPU is \
            plugged, vectors run short or the device is set up anew.",
        fix: Fix::prose("echo <H> > /proc/irq/N/smp_affinity_list for each of them."),
        persist: &[
            Lasting::word("irqaffinity=<H>"),
            Lasting::other(
                "A unit after the network that writes the lists; look again after link changes and module loads.",
            ),
        ],
        cost: "None.",
        sources: &[
            "kernel core-api/irq/irq-affinity.rst",
            "kernel 7.3 kernel/irq/proc.c (requested and effective masks)",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.managed",
        title: "No managed interrupt on the real-time CPUs",
        severity: Weight::of(Medium, High, Info),
        check: Check::Probe(managed),
        why: "The kernel itself spreads the queues of NVMe, SCSI and virtio devices over all CPUs, and refuses to let \
            anybody move them.",
        fix: Fix::prose(
            "Give the device fewer queues (ethtool -L IF combined N; module parameters) and boot with \
            isolcpus=managed_irq, which moves a queue that has another CPU too. A queue of real-time CPUs only stays, \
            and interrupts when they themselves do I/O.",
        ),
        persist: &[
            Lasting::word("isolcpus=managed_irq,domain,<I>"),
            Lasting::other(
                "isolcpus=managed_irq does not help a queue all of whose CPUs are isolated; no I/O from these CPUs \
                    does.",
            ),
        ],
        cost: "Fewer queues: less storage throughput.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel core-api/irq/managed_irq.rst",
            "kernel-parameters.txt: isolcpus=managed_irq",
            "kernel 6.1, 7.3 kernel/irq/debugfs.c",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.shared",
        title: "No shared line on the real-time CPUs",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::Probe(shared),
        why: "On a shared line each interrupt runs every driver's handler, so the punctual device waits for the \
            other, and their threads share a priority.",
        fix: Fix::prose("Unbind the other device, or plug one of them elsewhere."),
        persist: &[Lasting::other("Let the driver use MSI (a module parameter of it, or leave out pci=nomsi).")],
        undo: Fix::prose("Bind the device again."),
        cost: "The other device is gone.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 kernel/irq/manage.c (IRQF_SHARED)", "Xenomai 3.3 (cannot share a line with Linux)"],
        ..KNOB
    },
    Knob {
        id: "irq.gic_target",
        title: "Interrupts spread over the housekeeping CPUs",
        severity: Weight::of(Info, Info, Info),
        check: Check::Probe(gic_target),
        why: "On arm64 an interrupt that may go to several CPUs goes to one of them, usually the first; then CPU 0 \
            handles every device, and what runs there waits.",
        fix: Fix::prose("echo ONE-CPU > /proc/irq/N/smp_affinity_list, another of <H> for each busy line."),
        persist: &[Lasting::other("A unit that writes the lists at boot.")],
        cost: "None.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 drivers/irqchip/irq-gic-v3.c: gic_set_affinity",
            "seen on an arm64 board: asked for 0-3, delivered to 0",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.spurious_ipi",
        title: "Other CPUs leave the real-time CPUs alone",
        severity: Weight::of(Info, Medium, Info),
        check: Check::Probe(ipis),
        why: "Function calls, TLB shootdowns and rescheduling from other CPUs interrupt whatever runs, for others' \
            sake: a kernel that patches itself, a program that unmaps memory it shares, membarrier.",
        fix: Fix::prose(
            "Find who: trace-cmd record -e ipi:ipi_send_cpu -e ipi:ipi_send_cpumask, or -e csd:csd_queue_cpu (6.12 \
            knows them; 6.1 only ipi:ipi_raise).",
        ),
        persist: &[Lasting::other(
            "Mend what was found: no shared address space with ordinary threads, no profiling, isolation complete.",
        )],
        undo: Fix::prose("Nothing to undo."),
        cost: "None.",
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 arch/x86/kernel/irq.c, arch/arm64/kernel/smp.c", "rtla, tuned's rtentsk"],
        ..KNOB
    },
    Knob {
        id: "irq.fixup",
        title: "No search for lost interrupts",
        severity: Weight::all(High),
        check: Check::parameter(
            "spurious",
            "irqfixup",
            Want::ZERO,
            CannotBe("this kernel cannot search for lost interrupts"),
        ),
        why: "With irqfixup or irqpoll the kernel runs the handlers of other lines too when nobody claims an \
            interrupt, with irqpoll at every tick. PREEMPT_RT refuses both words, with a warning; its file can \
            still be written.",
        persist: &[Lasting::NoWord("irqpoll"), Lasting::NoWord("irqfixup")],
        cost: "A machine with broken interrupt routing stops working.",
        blast: Blast::Breaking,
        sources: &[
            "kernel 6.1, 6.12, 7.3 kernel/irq/spurious.c",
            "kernel-parameters.txt: irqpoll, irqfixup",
            "LinuxCNC#4044",
        ],
        ..KNOB
    },
];

/// One interrupt line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its number.
    pub(crate) number: u32,
    /// Where it is delivered, if the kernel shows it.
    pub(crate) delivered: Option<CpuSet>,
    handlers: Kept<Vec<String>>,
}

impl Line {
    /// The device of a handler as far as its name tells: `eth0-TxRx-3` and `nvme0q1` are queues of `eth0` and `nvme0`.
    pub(crate) fn device(handler: &str) -> &str {
        let name = handler.split(['-', '@', ':', ' ', '.']).next().unwrap_or(handler);
        match name.rsplit_once('q') {
            Some((name, queue)) if !queue.is_empty() && queue.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => name,
        }
    }

    /// Names of the handlers: each has a folder among the line's files.
    pub(crate) fn handlers(&self, case: &Case<'_>) -> &[String] {
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
        let handlers: &Vec<String> = case.kept(&self.handlers, || {
            let names = case.list(&format!("/proc/irq/{}", self.number)).known().cloned().unwrap_or_default();
            names.into_iter().filter(|name| !FILES.contains(&name.as_str())).collect()
        });
        handlers
    }

    /// Whether all that handles it is a queue whose driver always leaves its placing to the kernel. Kernels before 6.12
    /// show that nowhere else, unless they were built to.
    pub(crate) fn is_managed_queue(&self, case: &Case<'_>) -> bool {
        let handlers = self.handlers(case);
        !handlers.is_empty() && handlers.iter().all(|handler| is_managed_queue(handler))
    }

    /// Whether it is delivered to one of the real-time CPUs.
    fn is_ours(&self, case: &Case<'_>) -> bool {
        self.delivered.as_ref().is_some_and(|cpus| !cpus.intersection(case.rt()).is_empty())
    }

    /// Whether it is, and somebody handles it.
    fn intrudes(&self, case: &Case<'_>) -> bool {
        self.is_ours(case) && !self.handlers(case).is_empty()
    }
}

/// Whether the name of a handler is that of such a queue: `nvme0q1` (not `nvme0q0`, which administers the drive) and
/// `virtio0-req.1`.
fn is_managed_queue(handler: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let nvme = handler.strip_prefix("nvme").and_then(|rest| rest.split_once('q'));
    let virtio = handler.strip_prefix("virtio").and_then(|rest| rest.split_once("-req."));
    nvme.is_some_and(|(drive, queue)| is_number(drive) && is_number(queue) && queue != "0")
        || virtio.is_some_and(|(disk, queue)| is_number(disk) && is_number(queue))
}

/// The lines, in the order of their numbers.
pub(crate) fn all<'a>(case: &'a Case<'_>) -> Result<&'a [Line], Doubt> {
    case.interrupt_lines(|| {
        let names = case.list("/proc/irq");
        if let Some(trouble) = names.trouble() {
            case.note("/proc/irq", trouble);
        }
        let names = case.known("/proc/irq", names, UNSEEN)?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let line = |number: u32| {
            let path = format!("/proc/irq/{number}/effective_affinity_list");
            let delivered = match case.peek(&path) {
                Fact::Known(list) => match CpuSet::parse_list(&list) {
                    Ok(cpus) => Some(cpus),
                    Err(_) => return Doubt::unknown(format!("{path} holds '{list}'")),
                },
                _ => None,
            };
            Ok(Line { number, delivered, handlers: OnceCell::new() })
        };
        numbers.into_iter().map(line).collect()
    })
}

/// The lines of which the kernel shows where they go.
fn delivered<'a>(case: &'a Case<'_>) -> Result<Vec<&'a Line>, Doubt> {
    let lines: Vec<&Line> = all(case)?.iter().filter(|line| line.delivered.is_some()).collect();
    if lines.is_empty() {
        return Doubt::unknown("the kernel does not show where interrupts really go (effective_affinity_list)");
    }
    Ok(lines)
}

/// Says which lines were found, or that none of so many was.
fn tell(case: &Case<'_>, source: &str, found: &[String], of: usize) {
    let shown = if found.is_empty() { format!("none of {of} on CPUs {}", case.rt()) } else { found.join("; ") };
    case.note(source, shown);
}

/// Numbers of the lines that come to the real-time CPUs, as the kernel itself has it.
pub(in crate::knobs) fn intruding(case: &Case<'_>) -> Result<Vec<u32>, Doubt> {
    Ok(delivered(case)?.iter().filter(|line| line.intrudes(case)).map(|line| line.number).collect())
}

fn one_device(case: &Case<'_>, severity: Severity) -> Severity {
    let Ok(lines) = delivered(case) else { return severity };
    let ours = lines.iter().filter(|line| line.intrudes(case) && !line.is_managed_queue(case));
    let devices: BTreeSet<&str> = ours.flat_map(|line| line.handlers(case)).map(|name| Line::device(name)).collect();
    if devices.len() == 1 { severity.min(Medium) } else { severity }
}

fn affinity(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let lines = delivered(case)?;
    // What nobody can move is irq.managed's to tell.
    let lines: Vec<&Line> = lines.into_iter().filter(|line| !line.is_managed_queue(case)).collect();
    let intruder = |line: &&&Line| line.intrudes(case);
    let show = |line: &&Line| {
        let cpus = line.delivered.as_ref().map(CpuSet::to_string).unwrap_or_default();
        format!("{} ({}) on {cpus}", line.number, line.handlers(case).join(", "))
    };
    let intruders: Vec<String> = lines.iter().filter(intruder).map(show).collect();
    tell(case, "/proc/irq/*/effective_affinity_list", &intruders, lines.len());
    if intruders.is_empty() { Ok(true) } else { case.bad_anyway() }
}

fn requested(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let (mut seen, mut found) = (0_usize, Vec::new());
    for line in delivered(case)?.iter().filter(|line| !line.is_ours(case)) {
        let path = format!("/proc/irq/{}/smp_affinity_list", line.number);
        let Fact::Known(list) = case.peek(&path) else { continue };
        let Ok(cpus) = CpuSet::parse_list(&list) else { return Doubt::unknown(format!("{path} holds '{list}'")) };
        seen += 1;
        if !cpus.intersection(case.rt()).is_empty() && !line.handlers(case).is_empty() {
            found.push(format!("{} ({}) may go to {cpus}", line.number, line.handlers(case).join(", ")));
        }
    }
    if seen == 0 {
        return Doubt::unknown("the kernel does not show where interrupts may go");
    }
    tell(case, "/proc/irq/*/smp_affinity_list, of lines delivered elsewhere", &found, seen);
    Ok(found.is_empty())
}

/// Why debugfs does not show what becomes of an interrupt.
fn unshown(case: &Case<'_>) -> &'static str {
    let debugfs = case.aside(|case| case.list("/sys/kernel/debug"));
    // Where it is not mounted the folder is empty.
    match debugfs.known() {
        Some(names) if !names.is_empty() && !names.iter().any(|name| name == "irq") => {
            "which interrupts the kernel manages itself is only shown in debugfs, and this kernel was built without \
                CONFIG_GENERIC_IRQ_DEBUGFS"
        }
        _ => {
            "which interrupts the kernel manages itself is only shown in debugfs: not mounted, locked down, or not \
                built"
        }
    }
}

fn managed(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let lines = delivered(case)?;
    let ours: Vec<&&Line> = lines.iter().filter(|line| line.is_ours(case) && !line.handlers(case).is_empty()).collect();
    let (mut found, mut doubt) = (Vec::new(), None);
    for line in &ours {
        // The name alone suffices, and needs no debugfs.
        let said = if line.is_managed_queue(case) { Ok(true) } else { is_said_managed(line, case) };
        match said {
            Ok(true) => found.push(format!("{} ({})", line.number, line.handlers(case).join(", "))),
            Ok(false) => {}
            Err(why) => doubt = doubt.or(Some(why)),
        }
    }
    if let Some(doubt) = doubt.filter(|_| found.is_empty()) {
        return Err(doubt);
    }
    tell(case, "/sys/kernel/debug/irq/irqs/* and names of queues, of lines delivered here", &found, ours.len());
    Ok(found.is_empty())
}

/// Whether the kernel says that it places this one itself.
fn is_said_managed(line: &Line, case: &Case<'_>) -> Result<bool, Doubt> {
    let path = format!("/sys/kernel/debug/irq/irqs/{}", line.number);
    let state = case.peek(&path);
    let because = if state == Fact::Absent { unshown(case) } else { "" };
    Ok(case.known(&path, state, TellsNothing(because))?.contains("IRQD_AFFINITY_MANAGED"))
}

fn shared(case: &Case<'_>) -> Judged {
    let lines = delivered(case)?;
    let ours: Vec<&&Line> = lines.iter().filter(|line| line.is_ours(case)).collect();
    let is_shared = |line: &&&&Line| line.handlers(case).len() > 1;
    let show = |line: &&&Line| format!("{} ({})", line.number, line.handlers(case).join(", "));
    let found: Vec<String> = ours.iter().filter(is_shared).map(show).collect();
    tell(case, "/proc/irq/*/ with more than one handler", &found, ours.len());
    Ok(found.is_empty())
}

fn gic_target(case: &Case<'_>) -> Judged {
    let arch = case.known("/proc/sys/kernel/arch", case.machine.kernel.arch.clone(), UNSEEN)?;
    if arch != Arch::Arm64 {
        return Doubt::not_applicable("only arm64's interrupt controller delivers to the first CPU of many");
    }
    case.has_housekeeping()?;
    if case.housekeeping().len() == 1 {
        return Doubt::not_applicable("one CPU is left to handle devices, and it has to handle all");
    }
    let lines = delivered(case)?;
    let busy: Vec<&&Line> = lines.iter().filter(|line| !line.handlers(case).is_empty()).collect();
    if busy.len() < 2 {
        return Doubt::not_applicable("there are too few devices to spread");
    }
    let targets: CpuSet = busy.iter().filter_map(|line| line.delivered.as_ref()).flat_map(CpuSet::iter).collect();
    case.note(
        "/proc/irq/*/effective_affinity_list",
        format!("{} lines with handlers, all of them on CPUs {targets}", busy.len()),
    );
    Ok(targets.len() > 1)
}

/// So many between two looks may be chance: the looks themselves wake things up.
const MOST_IPIS: u64 = 3;

fn ipis(case: &Case<'_>) -> Judged {
    const NAMES: [&str; 8] = ["RES", "CAL", "TLB", "IWI", "MCE", "NMI", "PMI", "THR"];
    case.has_housekeeping()?;
    let rises = rises(case, |name, _| NAMES.contains(&name) || name.starts_with("IPI"))?;
    let shown: Vec<String> = rises
        .iter()
        .flat_map(|row| {
            row.counts
                .iter()
                .filter(|(_, rise)| *rise > 0)
                .map(|(cpu, rise)| format!("{} on CPU {cpu}: {rise}", row.name))
        })
        .collect();
    let shown = if shown.is_empty() { format!("none on CPUs {}", case.rt()) } else { shown.join(", ") };
    case.note("interrupts from other CPUs, between two looks at /proc/interrupts", shown);
    let of = |cpu: u32| {
        rises.iter().flat_map(|row| &row.counts).filter(move |(number, _)| *number == cpu).map(|(_, rise)| *rise)
    };
    Ok(case.rt().iter().all(|cpu| of(cpu).fold(0, u64::saturating_add) <= MOST_IPIS))
}
