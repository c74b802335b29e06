//! Interrupt lines: to which CPUs each line is delivered, and which handlers serve it.

use super::{Case, Doubt, INTERRUPTS, Kept, Missing, device_lines, out_of_band_lines};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use std::cell::OnceCell;

#[derive(Clone, Debug)]
pub(crate) struct InterruptLine {
    pub(crate) number: u32,
    /// The CPUs to which the interrupt is delivered; `None` if the kernel does not show them.
    pub(crate) delivered: Option<CpuSet>,
    handlers: Kept<Vec<String>>,
}

impl InterruptLine {
    /// The device that the name of a handler begins with: `eth0-TxRx-3` and `nvme0q1` are queues of `eth0` and `nvme0`.
    pub(crate) fn device(handler: &str) -> &str {
        let name = handler.split(['-', '@', ':', ' ', '.']).next().unwrap_or(handler);
        match name.rsplit_once('q') {
            Some((name, queue)) if !queue.is_empty() && queue.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => name,
        }
    }

    /// The names of the line's handlers. The kernel has a folder with the name of each handler beside its files about
    /// the line.
    pub(crate) fn handlers(&self, case: &Case<'_>) -> &[String] {
        const FILES: &str = "smp_affinity smp_affinity_list effective_affinity effective_affinity_list affinity_hint node \
            spurious affinity_list affinity_hint_list";
        let handlers: &Vec<String> = case.kept(&self.handlers, || {
            let names = case.list(&format!("/proc/irq/{}", self.number)).known().cloned().unwrap_or_default();
            names.into_iter().filter(|name| !FILES.split(' ').any(|file| file == name)).collect()
        });
        handlers
    }

    /// Whether every handler is a queue whose driver always leaves the affinity to the kernel (a managed interrupt).
    /// Most kernels before 6.12 show nowhere else that an interrupt is managed.
    pub(crate) fn is_managed_queue(&self, case: &Case<'_>) -> bool {
        let handlers = self.handlers(case);
        !handlers.is_empty() && handlers.iter().all(|handler| is_managed_queue(handler))
    }

    pub(crate) fn is_ours(&self, case: &Case<'_>) -> bool {
        self.delivered.as_ref().is_some_and(|cpus| !cpus.intersection(case.rt()).is_empty())
    }

    /// Whether the line is delivered to one of the real-time CPUs and has a handler.
    pub(crate) fn intrudes(&self, case: &Case<'_>) -> bool {
        self.is_ours(case) && !self.handlers(case).is_empty()
    }
}

/// Whether this is the name of a queue's handler: `nvme0q1` (not `nvme0q0`, which administers the drive) or
/// `virtio0-req.1`.
fn is_managed_queue(handler: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let nvme = handler.strip_prefix("nvme").and_then(|rest| rest.split_once('q'));
    let virtio = handler.strip_prefix("virtio").and_then(|rest| rest.split_once("-req."));
    nvme.is_some_and(|(drive, queue)| is_number(drive) && is_number(queue) && queue != "0")
        || virtio.is_some_and(|(disk, queue)| is_number(disk) && is_number(queue))
}

impl Case<'_> {
    /// The interrupt lines of Linux in the order of their numbers, read once: on large machines there are thousands. Lines
    /// that a second kernel handles are left out.
    pub(crate) fn interrupt_lines(&self) -> Result<&[InterruptLine], Doubt> {
        let lines = self.kept(&self.lines, || {
            let names = self.list("/proc/irq");
            if let Some(trouble) = names.trouble() {
                self.note("/proc/irq", trouble);
            }
            let unseen = Missing::TellsNothing("the kernel does not show where interrupts go");
            let names = self.known("/proc/irq", names, unseen)?;
            let others = self.lines_of_second_kernel()?;
            let is_of_linux = |name: &&String| !others.contains(name);
            let mut numbers: Vec<u32> = names.iter().filter(is_of_linux).filter_map(|name| name.parse().ok()).collect();
            numbers.sort_unstable();
            let line = |number: u32| {
                let path = format!("/proc/irq/{number}/effective_affinity_list");
                let delivered = match self.peek(&path) {
                    Fact::Known(list) => match CpuSet::parse_list(&list) {
                        Ok(cpus) => Some(cpus),
                        Err(_) => return Doubt::unknown(format!("{path} holds '{list}'")),
                    },
                    _ => None,
                };
                Ok(InterruptLine { number, delivered, handlers: OnceCell::new() })
            };
            numbers.into_iter().map(line).collect()
        });
        lines.as_deref().map_err(Clone::clone)
    }

    /// The lines that a second kernel handles. Only the table of interrupts tells them.
    fn lines_of_second_kernel(&self) -> Result<Vec<String>, Doubt> {
        let missing = Missing::TellsNothing("which interrupts the second kernel handles is not shown");
        if self.known("/proc/xenomai", self.machine.second_kernel.as_ref(), missing)?.is_none() {
            return Ok(Vec::new());
        }
        self.known(INTERRUPTS, self.interrupts().clone(), missing).map(|table| out_of_band_lines(&table))
    }

    /// Fails unless every device interrupt is shown whole: its folder, its handlers and the CPUs it is delivered to. Only
    /// then can a probe say that no line is bad.
    pub(crate) fn shows_every_line(&self) -> Result<(), Doubt> {
        let lines = self.interrupt_lines()?;
        let is_hidden = |line: &InterruptLine| {
            let has_files = self.list(&format!("/proc/irq/{}", line.number)).known().is_some();
            !has_files || line.delivered.is_none() && !line.handlers(self).is_empty()
        };
        let mut hidden: Vec<String> =
            lines.iter().filter(|line| is_hidden(line)).map(|line| line.number.to_string()).collect();
        let table = self.interrupts().known().map(|table| device_lines(table)).unwrap_or_default();
        let has_folder = |name: &str| lines.iter().any(|line| name.parse() == Ok(line.number));
        hidden.extend(table.into_iter().map(|row| row.name).filter(|name| !has_folder(name)));
        Doubt::unknown_if(
            !hidden.is_empty(),
            format!(
                "/proc/irq shows interrupts {} incompletely (no folder, or no effective_affinity_list)",
                hidden.join(", ")
            ),
        )
    }

    /// The lines whose effective affinity the kernel shows.
    pub(crate) fn delivered_lines(&self) -> Result<Vec<&InterruptLine>, Doubt> {
        let lines: Vec<&InterruptLine> =
            self.interrupt_lines()?.iter().filter(|line| line.delivered.is_some()).collect();
        Doubt::unknown_if(
            lines.is_empty(),
            "the kernel does not show where interrupts really go (effective_affinity_list)",
        )?;
        Ok(lines)
    }
}
