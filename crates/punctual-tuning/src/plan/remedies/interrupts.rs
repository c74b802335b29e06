//! Remedies that move interrupts to housekeeping CPUs.
//!
//! All three of them compute an interrupt's target with the same function, so they never contradict each other.

use super::super::{Expected, Reading, Step};
use super::draft::Draft;
use super::{Found, Site, by_hand};
use crate::knobs::{Doubt, InterruptLine};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Arch;

/// The file with the numbers of the interrupts whose affinity cannot be written, which the reader of the live machine
/// supplies. Before kernel 6.12, opening an affinity file for writing succeeds even for these interrupts, and only the
/// write fails.
const FIXED: &str = "punctual:/irq/fixed";
const RISK: &str = "A device that is busy while its interrupt is moved is served by the new CPU from the next interrupt on; a CPU that gets all interrupts may be too slow for a fast device.";

/// An interrupt that may be moved, with the CPUs it is to be moved to.
struct Movable {
    number: u32,
    handlers: String,
    /// The CPUs to which the interrupt may be delivered now; `None` if the kernel does not show them.
    asked: Option<CpuSet>,
    delivered: Option<CpuSet>,
    wanted: CpuSet,
}

impl Site<'_> {
    /// Whether the user wants this interrupt to stay where it is. The user names the interrupt's number, its handler or
    /// its device.
    fn keeps(&self, number: u32, handlers: &[String]) -> bool {
        let number = number.to_string();
        self.preferences.devices.iter().chain(&self.preferences.keep_irqs).any(|kept| {
            *kept == number || handlers.iter().any(|handler| handler == kept || InterruptLine::device(handler) == kept)
        })
    }

    /// Whether the kernel shows that this interrupt cannot be moved.
    fn is_fixed(&self, line: &InterruptLine) -> bool {
        let (case, number) = (self.case, line.number);
        let fixed = case.aside(|case| case.peek(FIXED));
        let is_listed = |list: &String| list.split_whitespace().any(|one| one.parse() == Ok(number));
        let state = case.aside(|case| case.peek(&format!("/sys/kernel/debug/irq/irqs/{number}")));
        let is_held = |text: &String| {
            ["IRQD_AFFINITY_MANAGED", "IRQD_PER_CPU", "IRQD_NO_BALANCING"].iter().any(|flag| text.contains(flag))
        };
        fixed.known().is_some_and(is_listed) || state.known().is_some_and(is_held) || line.is_managed_queue(case)
    }

    /// Every interrupt that has a handler and may be moved, with its target: all housekeeping CPUs, or one housekeeping
    /// CPU if the controller delivers an interrupt only to the first of several CPUs. Successive interrupts then get
    /// different CPUs.
    fn movable(&self) -> Result<Vec<Movable>, Doubt> {
        let case = self.case;
        case.has_housekeeping()?;
        let one_each = case.arch() == Some(&Arch::Arm64);
        let others: Vec<u32> = case.housekeeping().iter().collect();
        let mut found: Vec<Movable> = Vec::new();
        for line in case.interrupt_lines()? {
            let handlers = line.handlers(case);
            if handlers.is_empty() || self.keeps(line.number, handlers) || self.is_fixed(line) {
                continue;
            }
            let asked = match case.peek(&format!("/proc/irq/{}/smp_affinity_list", line.number)) {
                Fact::Absent | Fact::Garbled(_) => continue,
                Fact::Known(list) => CpuSet::parse_list(&list).ok(),
                Fact::Denied => None,
            };
            let wanted = match others.get(found.len() % others.len()) {
                Some(one) if one_each => CpuSet::from_iter([*one]),
                _ => case.housekeeping().clone(),
            };
            let handlers = handlers.join(", ");
            found.push(Movable { number: line.number, handlers, asked, delivered: line.delivered.clone(), wanted });
        }
        Ok(found)
    }

    fn moves(&self, meant: impl Fn(&Movable) -> bool) -> Found {
        let mut draft = Draft::default();
        for line in self.movable()?.iter().filter(|line| meant(line)) {
            let folder = format!("/proc/irq/{}", line.number);
            // The kernel shows the effective CPUs of an interrupt only after it was delivered once.
            let is_delivered = line.delivered.as_ref().is_some_and(|cpus| !cpus.is_empty());
            let settles_at = is_delivered.then(|| format!("{folder}/effective_affinity_list"));
            let step = Step::Write {
                path: format!("{folder}/smp_affinity_list"),
                value: line.wanted.to_string(),
                expected: Expected { reading: Reading::CpuList, settles_at, or_fewer: true },
            };
            let asked = line.asked.as_ref().map_or("not known".to_owned(), CpuSet::to_string);
            let before = match &line.delivered {
                Some(delivered) if delivered.is_empty() => {
                    format!("not delivered yet; CPUs that it may go to: {asked}")
                }
                Some(delivered) => format!("{delivered} of {asked}"),
                None => asked,
            };
            draft.step(&format!("{} {}", line.number, line.handlers), &before, &line.wanted.to_string(), step);
        }
        Ok(draft.apart(
            RISK,
            "/proc/irq/N/effective_affinity_list names none of the real-time CPUs; some interrupts only move when they \
            next occur",
        ))
    }
}

fn touches(cpus: Option<&CpuSet>, site: &Site<'_>) -> bool {
    cpus.is_some_and(|cpus| !cpus.intersection(site.case.rt()).is_empty())
}

/// Moves interrupts that are delivered to real-time CPUs now.
pub(super) fn affinity(site: &Site<'_>) -> Found {
    site.moves(|line| touches(line.delivered.as_ref(), site))
}

/// Moves interrupts that are delivered to other CPUs but may be delivered to real-time CPUs later.
pub(super) fn requested(site: &Site<'_>) -> Found {
    site.moves(|line| !touches(line.delivered.as_ref(), site) && touches(line.asked.as_ref(), site))
}

/// Spreads all interrupts over the housekeeping CPUs, one CPU for each interrupt, on machines whose controller delivers
/// an interrupt to a single CPU.
pub(super) fn spread(site: &Site<'_>) -> Found {
    site.case.only_on(
        Arch::Arm64,
        "only arm64's interrupt controller sends an interrupt to the first of the CPUs that it may go to",
    )?;
    site.moves(|line| line.asked.as_ref() != Some(&line.wanted))
}

pub(super) fn default(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let path = "/proc/irq/default_smp_affinity";
    let before = case.peek(path);
    let has_no_mask = matches!(before, Fact::Absent | Fact::Garbled(_));
    Doubt::not_applicable_if(has_no_mask, "this kernel does not show its default mask for interrupts")?;
    let before = before.known().cloned().unwrap_or_else(|| "not known".to_owned());
    let is_so = CpuSet::parse_mask(&before).is_ok_and(|mask| mask == *case.housekeeping());
    Doubt::not_applicable_if(is_so, "the value is right already")?;
    let mut draft = Draft::default();
    let mask = case.housekeeping().mask();
    let step = Step::Write { path: path.to_owned(), value: mask.clone(), expected: Expected::same(Reading::CpuMask) };
    draft.step("interrupts that drivers request from now on", &before, &mask, step);
    Ok(draft.remedy("None: the mask only applies to interrupts that drivers request from now on.", path))
}

/// Leaves managed interrupts to a person, because the kernel chooses their CPUs and nothing can move them at run time.
pub(super) fn managed(_: &Site<'_>) -> Found {
    by_hand(
        "the kernel does not let any program move these interrupts. Use fewer queues (for a network card, see \
        net.queues; for a disk, a parameter of its driver's module), or do no I/O from these CPUs and set \
        isolcpus=managed_irq for the next boot",
    )
}
