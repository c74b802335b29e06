//! Knobs about interrupt lines: where each may be delivered, where it is delivered, and which handlers serve it.

use crate::knobs::case::InterruptLine;
use crate::knobs::prelude::*;
use std::collections::BTreeSet;

const KNOB: Knob = Knob { cost: "None.", blast: Blast::Disturbing, ..Knob::of(Family::Interrupts) };

/// Places for a lasting change that keeps device interrupts on the housekeeping CPUs.
const PLACES: &[Lasting] = &[
    Lasting::word("irqaffinity=<H>"),
    Lasting::other(
        "A unit that starts after the network and writes the lists; check them again after a link change or a module \
        load.",
    ),
];

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "irq.affinity",
        title: "No device interrupts the real-time CPUs",
        severity: Weight::of(High, High, Info).at_most(Medium, is_one_device),
        check: Check::Probe(affinity),
        why: "Each interrupt takes microseconds of the real-time CPU and leaves its caches cold, as often as the \
            device interrupts. If all of these interrupts belong to one device, it may be the device that the \
            real-time work uses, and be there on purpose.",
        fix: Fix::prose(
            "echo <H> > /proc/irq/N/smp_affinity_list for each of these interrupts, except that of the real-time \
            device. If an interrupt cannot be moved in this way, the write fails with EIO on 6.1, and with EPERM from \
            6.12 on, where the file has mode 444. This is so for timers, for interrupts between CPUs, and for queues \
            that the kernel manages (irq.managed lists them). isolcpus=managed_irq moves managed queues to other \
            CPUs, unless a queue's mask holds isolated CPUs only: then use fewer queues, or do no I/O from these \
            CPUs.",
        ),
        persist: PLACES,
        cost: "Other CPUs get the load.",
        sources: &[
            "kernel core-api/irq/irq-affinity.rst",
            "kernel 6.1, 6.12, 7.3 kernel/irq/proc.c: write_irq_affinity",
            "kernel core-api/irq/managed_irq.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.requested",
        title: "No device interrupt is allowed to move to the real-time CPUs",
        blast: Blast::Harmless,
        check: Check::Probe(requested),
        why: "An interrupt that is delivered elsewhere today, but may go to a real-time CPU, moves there when a CPU \
            goes online or offline, when interrupt vectors run short or when the device is set up anew.",
        fix: Fix::prose("echo <H> > /proc/irq/N/smp_affinity_list for each of these interrupts."),
        persist: PLACES,
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
        why: "The kernel itself spreads the queues of NVMe, SCSI and virtio devices over all CPUs, and refuses every \
            attempt to move them.",
        fix: Fix::prose(
            "Give the device fewer queues (ethtool -L IF combined N; module parameters) and boot with \
            isolcpus=managed_irq, which moves a queue if its mask also holds a housekeeping CPU. A queue whose mask \
            holds only real-time CPUs stays there, and interrupts them when they do I/O themselves.",
        ),
        persist: &[
            Lasting::word("isolcpus=managed_irq,domain,<I apart>"),
            Lasting::other(
                "isolcpus=managed_irq does not move a queue whose CPUs are all isolated; avoid I/O from these CPUs.",
            ),
        ],
        cost: "Fewer queues: less storage throughput.",
        sources: &[
            "kernel core-api/irq/managed_irq.rst",
            "kernel-parameters.txt: isolcpus=managed_irq",
            "kernel 6.1, 7.3 kernel/irq/debugfs.c",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.shared",
        title: "No shared interrupt line on the real-time CPUs",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::Probe(shared),
        why: "On a shared line each interrupt runs every driver's handler, so the real-time device waits for the \
            handler of the other device, and the threads of both handlers have the same priority.",
        fix: Fix::prose("Unbind the other device, or plug one of the two elsewhere."),
        persist: &[Lasting::other("Let the driver use MSI (by a parameter of its module, or without pci=nomsi).")],
        undo: Fix::prose("Bind the device again."),
        cost: "The device that shared the line cannot be used.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 kernel/irq/manage.c (IRQF_SHARED)", "Xenomai 3.3 (cannot share a line with Linux)"],
        ..KNOB
    },
    Knob {
        id: "irq.gic_target",
        title: "Interrupts spread over the housekeeping CPUs",
        check: Check::Probe(gic_target),
        why: "On arm64, an interrupt that may go to several CPUs always goes to one of them, usually the first. CPU 0 \
            then handles every device, and other work on CPU 0 waits.",
        fix: Fix::prose("echo ONE-CPU > /proc/irq/N/smp_affinity_list, another of <H> for each busy line."),
        persist: &[Lasting::other("A unit that writes the lists at boot.")],
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 drivers/irqchip/irq-gic-v3.c: gic_set_affinity",
            "seen on an arm64 board: asked for 0-3, delivered to 0",
        ],
        ..KNOB
    },
    Knob {
        id: "irq.spurious_ipi",
        title: "Other CPUs do not interrupt the real-time CPUs",
        blast: Blast::Harmless,
        severity: Weight::of(Info, Medium, Info),
        check: Check::Probe(ipis),
        why: "Function calls, TLB shootdowns and rescheduling requests from other CPUs interrupt whatever runs on this \
            CPU. They come from a kernel that patches itself, from a program that unmaps memory shared between its \
            threads, or from membarrier.",
        fix: Fix::prose(
            "Find the sender: trace-cmd record -e ipi:ipi_send_cpu -e ipi:ipi_send_cpumask, or -e csd:csd_queue_cpu \
            (6.12 has these events; 6.1 only has ipi:ipi_raise).",
        ),
        persist: &[Lasting::other(
            "Remove the cause that was found: share no address space with ordinary threads, do not profile, complete \
            the isolation.",
        )],
        undo: Fix::prose("Nothing to undo."),
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
        why: "With irqfixup or irqpoll, the kernel also runs the handlers of other lines when no handler claims an \
            interrupt; with irqpoll it does so at every tick as well. PREEMPT_RT refuses both words with a warning, \
            but the parameter's file can still be written.",
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

/// Adds `found` to the evidence. If it is empty, the evidence says that none of the `of` lines reaches a real-time CPU.
fn tell(case: &Case<'_>, source: &str, found: &[String], of: usize) {
    let shown = if found.is_empty() {
        format!("none found among {of} interrupts, for CPUs {}", case.rt())
    } else {
        found.join("; ")
    };
    case.note(source, shown);
}

/// Whether all interrupts that reach real-time CPUs and could be moved away belong to one device.
fn is_one_device(case: &Case<'_>) -> bool {
    let Ok(lines) = case.delivered_lines() else { return false };
    let ours = lines.iter().filter(|line| line.intrudes(case) && !line.is_managed_queue(case));
    let devices: BTreeSet<&str> =
        ours.flat_map(|line| line.handlers(case)).map(|name| InterruptLine::device(name)).collect();
    devices.len() == 1
}

fn affinity(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let lines = case.delivered_lines()?;
    // The lines whose affinity the kernel manages cannot be moved; `irq.managed` reports them.
    let lines: Vec<&InterruptLine> = lines.into_iter().filter(|line| !line.is_managed_queue(case)).collect();
    let intruder = |line: &&&InterruptLine| line.intrudes(case);
    let show = |line: &&InterruptLine| {
        let cpus = line.delivered.as_ref().map(CpuSet::to_string).unwrap_or_default();
        format!("{} ({}) on {cpus}", line.number, line.handlers(case).join(", "))
    };
    let intruders: Vec<String> = lines.iter().filter(intruder).map(show).collect();
    tell(case, "/proc/irq/*/effective_affinity_list", &intruders, lines.len());
    if intruders.is_empty() { case.shows_every_line().map(|()| true) } else { case.bad_anyway() }
}

fn requested(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let (mut seen, mut found) = (0_usize, Vec::new());
    for line in case.delivered_lines()?.iter().filter(|line| !line.is_ours(case)) {
        let path = format!("/proc/irq/{}/smp_affinity_list", line.number);
        let Fact::Known(list) = case.peek(&path) else { continue };
        let Ok(cpus) = CpuSet::parse_list(&list) else { return Doubt::unknown(format!("{path} holds '{list}'")) };
        seen += 1;
        if !cpus.intersection(case.rt()).is_empty() && !line.handlers(case).is_empty() {
            found.push(format!("interrupt {} ({}): CPUs {cpus}", line.number, line.handlers(case).join(", ")));
        }
    }
    Doubt::unknown_if(seen == 0, "the kernel does not show where interrupts may go")?;
    tell(case, "/proc/irq/*/smp_affinity_list, of interrupts that are delivered to other CPUs", &found, seen);
    if found.is_empty() { case.shows_every_line().map(|()| true) } else { Ok(false) }
}

/// The reason why debugfs does not show which interrupts the kernel manages.
fn unshown(case: &Case<'_>) -> &'static str {
    let debugfs = case.aside(|case| case.list("/sys/kernel/debug"));
    // A folder without names means that debugfs is not mounted there.
    match debugfs.known() {
        Some(names) if !names.is_empty() && !names.iter().any(|name| name == "irq") => {
            "which interrupts the kernel manages itself is only shown in debugfs, and this kernel was built without \
                CONFIG_GENERIC_IRQ_DEBUGFS"
        }
        _ => {
            "only debugfs shows which interrupts the kernel manages itself, and it is locked down, not mounted or not \
            built in"
        }
    }
}

fn managed(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let lines = case.delivered_lines()?;
    let ours: Vec<&&InterruptLine> =
        lines.iter().filter(|line| line.is_ours(case) && !line.handlers(case).is_empty()).collect();
    let (mut found, mut doubt) = (Vec::new(), None);
    for line in &ours {
        // The name of a queue's handler proves that the kernel manages the interrupt, even without debugfs.
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
    tell(
        case,
        "/sys/kernel/debug/irq/irqs/* and the names of queues, of interrupts that are delivered to the real-time CPUs",
        &found,
        ours.len(),
    );
    if found.is_empty() { case.shows_every_line().map(|()| true) } else { Ok(false) }
}

/// Whether debugfs says that the kernel chooses the CPUs of this interrupt (a managed interrupt).
fn is_said_managed(line: &InterruptLine, case: &Case<'_>) -> Result<bool, Doubt> {
    let path = format!("/sys/kernel/debug/irq/irqs/{}", line.number);
    let state = case.peek(&path);
    let because = if state == Fact::Absent { unshown(case) } else { "" };
    Ok(case.known(&path, state, TellsNothing(because))?.contains("IRQD_AFFINITY_MANAGED"))
}

fn shared(case: &Case<'_>) -> Judged {
    let lines = case.delivered_lines()?;
    let ours: Vec<&&InterruptLine> = lines.iter().filter(|line| line.is_ours(case)).collect();
    let is_shared = |line: &&&&InterruptLine| line.handlers(case).len() > 1;
    let show = |line: &&&InterruptLine| format!("{} ({})", line.number, line.handlers(case).join(", "));
    let found: Vec<String> = ours.iter().filter(is_shared).map(show).collect();
    tell(case, "/proc/irq/*/ with more than one handler", &found, ours.len());
    if found.is_empty() { case.shows_every_line().map(|()| true) } else { Ok(false) }
}

fn gic_target(case: &Case<'_>) -> Judged {
    case.only_on(
        Arch::Arm64,
        "only arm64's interrupt controller sends an interrupt to the first of the CPUs that it may go to",
    )?;
    case.has_housekeeping()?;
    let is_single = case.housekeeping().len() == 1;
    Doubt::not_applicable_if(is_single, "one CPU is left to handle devices, and it has to handle all")?;
    let lines = case.delivered_lines()?;
    let busy: Vec<&&InterruptLine> = lines.iter().filter(|line| !line.handlers(case).is_empty()).collect();
    Doubt::not_applicable_if(
        busy.len() < 2,
        "fewer than two interrupt lines have a handler, so there is nothing to spread over CPUs",
    )?;
    let targets: CpuSet = busy.iter().filter_map(|line| line.delivered.as_ref()).flat_map(CpuSet::iter).collect();
    case.note(
        "/proc/irq/*/effective_affinity_list",
        format!("{} lines with handlers, all of them on CPUs {targets}", busy.len()),
    );
    Ok(targets.len() > 1)
}

/// The largest number of interrupts that the two readings may cause themselves.
const MOST_IPIS: u64 = 3;

fn ipis(case: &Case<'_>) -> Judged {
    const NAMES: [&str; 8] = ["RES", "CAL", "TLB", "IWI", "MCE", "NMI", "PMI", "THR"];
    case.has_housekeeping()?;
    let rises = case.rises(|name, _| NAMES.contains(&name) || name.starts_with("IPI"))?;
    let counted = rises.iter().flat_map(|row| row.counts.iter().filter(|one| one.count > 0).map(move |one| (row, one)));
    let shown: Vec<String> =
        counted.map(|(row, one)| format!("{} on CPU {}: {}", row.name, one.cpu, one.count)).collect();
    let shown = if shown.is_empty() { format!("none on CPUs {}", case.rt()) } else { shown.join(", ") };
    case.note("interrupts from CPUs, not from devices, between two readings of /proc/interrupts", shown);
    let of = |cpu: u32| rises.iter().flat_map(|row| &row.counts).filter(move |one| one.cpu == cpu).map(|one| one.count);
    Ok(case.rt().iter().all(|cpu| of(cpu).fold(0, u64::saturating_add) <= MOST_IPIS))
}
