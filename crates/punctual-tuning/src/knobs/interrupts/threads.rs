//! Knobs about interrupt handlers that run in threads, and about the priorities of these threads.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob { severity: Weight::of(Medium, Info, High), ..Knob::of(Family::Interrupts) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "irq.threadirqs",
        title: "Interrupt handlers run in threads",
        check: Check::Probe(threadirqs),
        why: "An interrupt handler that runs in a thread has a priority and can be preempted; any other handler keeps \
            the CPU until it returns.",
        persist: &[Lasting::word("threadirqs")],
        cost: "Slightly slower interrupts.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/irq/manage.c"],
        ..KNOB
    },
    Knob {
        id: "irq.prio",
        title: "Interrupt threads have sensible priorities",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::Probe(order),
        why: "The threads of all interrupts start at FIFO 50. A thread above 95 holds up the kernel's own helper \
            threads; a thread without a real-time class waits for every real-time thread; and sound crackles if its \
            interrupt has the same priority as the disk's.",
        fix: Fix::prose(
            "chrt -f -p PRIORITY PID: give the thread of the device that feeds the real-time work a priority next to \
                that of the work, and leave the other threads at 50.",
        ),
        persist: &[Lasting::other(
            "A unit or udev rule that sets these priorities by the thread's name, not its number, after the driver \
                was loaded and after suspend (rtirq does this).",
        )],
        undo: Fix::command("chrt -f -p 50 PID"),
        cost: "On PREEMPT_RT the soft interrupts that a thread raises run at its priority, too.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["kernel 6.1, 6.12, 7.3 kernel/sched (sched_set_fifo: 50), kernel/irq/manage.c", "rtirq"],
        ..KNOB
    },
];

/// The number of the interrupt line that a thread `irq/N-NAME` belongs to.
fn line_of(name: &str) -> Option<u32> {
    name.strip_prefix("irq/")?.split('-').next()?.parse().ok()
}

/// Good if most interrupt lines have a thread. A single thread proves nothing, since some drivers always create one.
fn threadirqs(case: &Case<'_>) -> Judged {
    let flavour = case.flavour()?;
    Doubt::not_applicable_if(
        flavour.is_dual(),
        "threads of the second kernel do not wait for Linux's interrupt handlers",
    )?;
    Doubt::not_applicable_if(
        flavour == Flavour::Rt,
        "PREEMPT_RT always runs handlers in threads, and does not know the word threadirqs",
    )?;
    let used: Vec<u32> =
        case.interrupt_lines()?.iter().filter(|line| !line.handlers(case).is_empty()).map(|line| line.number).collect();
    Doubt::unknown_if(used.is_empty(), "no interrupt line shows a handler")?;
    let threads = case.tasks(|task| task.is_kernel && line_of(&task.name).is_some())?;
    let threaded = used.iter().filter(|line| threads.iter().any(|task| line_of(&task.name) == Some(**line))).count();
    case.note("interrupt lines with a thread irq/N-NAME", format!("{threaded} of {}", used.len()));
    Ok(threaded * 2 > used.len())
}

/// The highest priority for interrupt threads. With a higher one, they would delay the kernel's own helper threads.
const HIGHEST: u32 = 95;

fn order(case: &Case<'_>) -> Judged {
    let threads = case.tasks(|task| task.is_kernel && line_of(&task.name).is_some())?;
    if threads.is_empty() {
        case.note("kernel threads irq/N-NAME", "none");
        return Doubt::not_applicable("no interrupt has a thread, see irq.threadirqs");
    }
    let wrong: Vec<String> = threads
        .iter()
        .filter(|task| task.rt_priority == 0 || task.rt_priority > HIGHEST)
        .map(|task| format!("{} at {}", task.name, task.rt_priority))
        .collect();
    let is_sound = |name: &str| ["snd", "xhci", "hci_hcd", "hda"].iter().any(|part| name.contains(part));
    let highest =
        |sound: bool| threads.iter().filter(|task| is_sound(&task.name) == sound).map(|task| task.rt_priority).max();
    let sound_behind =
        case.is(Kind::Audio) && matches!((highest(true), highest(false)), (Some(sound), Some(rest)) if sound <= rest);
    let lowest = threads.iter().map(|task| task.rt_priority).min().unwrap_or_default();
    let shown = match (wrong.is_empty(), sound_behind) {
        (false, _) => wrong.join(", "),
        (true, true) => "the threads of sound and USB have no higher priority than those of other devices".to_owned(),
        (true, false) => format!(
            "{} threads, from {lowest} to {}",
            threads.len(),
            highest(true).max(highest(false)).unwrap_or_default()
        ),
    };
    case.note("kernel threads irq/N-NAME", shown);
    Ok(wrong.is_empty() && !sound_behind)
}
