//! Names for the numbers in records: tasks, interrupts, functions of the kernel.
//!
//! Read beside the measurement, on housekeeping CPUs; what is not to be had stays a number.

use punctual_core::trace::{Address, Line, Names, Record, Tid, What};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A function is no longer than this: an address farther behind belongs to nothing we know.
const FUNCTION_MAX: u64 = 1 << 20;

/// What the machine calls things.
#[derive(Debug, Default)]
pub struct NameBook {
    /// Functions by address.
    functions: Vec<(u64, Box<str>)>,
    lines: BTreeMap<u32, Line>,
}

/// The kernel's mark of its own threads.
const PF_KTHREAD: u64 = 0x0020_0000;

impl NameBook {
    /// Reads the names of functions: some tenths of a second.
    pub fn read() -> Self {
        Self { functions: functions(&fs::read("/proc/kallsyms").unwrap_or_default()), lines: BTreeMap::new() }
    }

    /// Names of what occurs in these records; `seen` is what the records themselves said.
    pub fn of<'a>(&mut self, records: impl Iterator<Item = &'a Record>, mut seen: Names) -> Names {
        let (mut tasks, mut irqs, mut addresses) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut current = BTreeSet::new();
        for record in records {
            current.insert(record.tid);
            tasks.insert(record.tid);
            note(&record.what, &mut tasks, &mut irqs, &mut addresses);
        }
        let kernel_threads = current.into_iter().filter(|tid| is_kernel_thread(*tid)).collect();
        let mut names = Names { kernel_threads, ..Names::default() };
        for tid in tasks {
            let name = seen.tasks.remove(&tid).or_else(|| comm(tid));
            names.tasks.extend(name.map(|name| (tid, name)));
        }
        for irq in irqs {
            let action = seen.irqs.remove(&irq).map(|line| line.action).unwrap_or_default();
            names.irqs.insert(irq, self.line(irq, action));
        }
        for address in addresses {
            names.functions.extend(self.function(address).map(|name| (address, name.to_owned())));
        }
        names
    }

    fn line(&mut self, irq: u32, action: String) -> Line {
        let line = self.lines.entry(irq).or_insert_with(|| Line {
            action: String::new(),
            affinity: text(&format!("/proc/irq/{irq}/smp_affinity_list")).unwrap_or_default(),
            managed: text(&format!("/sys/kernel/debug/irq/irqs/{irq}"))
                .is_some_and(|text| text.contains("IRQD_AFFINITY_MANAGED")),
        });
        Line { action, ..line.clone() }
    }

    fn function(&self, address: Address) -> Option<&str> {
        let after = self.functions.partition_point(|(start, _)| *start <= address.0);
        let (start, name) = self.functions.get(after.checked_sub(1)?)?;
        (address.0 - start < FUNCTION_MAX).then_some(name)
    }
}

fn note(what: &What, tasks: &mut BTreeSet<Tid>, irqs: &mut BTreeSet<u32>, addresses: &mut BTreeSet<Address>) {
    match what {
        What::Switch { prev, next, .. } => tasks.extend([*prev, *next]),
        What::Waking { tid, .. } | What::Migrate { tid, .. } => tasks.extend([*tid]),
        What::IrqEntry { irq } | What::IrqExit { irq } => irqs.extend([*irq]),
        What::HrtimerStart { function, .. }
        | What::HrtimerEntry { function, .. }
        | What::TimerEntry { function, .. }
        | What::WorkStart { function }
        | What::CallEntry { function } => addresses.extend([*function]),
        What::Nmi { handler, .. } => addresses.extend([*handler]),
        What::IpiSend { callsite, callback, .. } => addresses.extend([*callsite, *callback]),
        What::Fault { ip, user: false, .. } => addresses.extend([*ip]),
        _ => {}
    }
}

/// The code symbols of `/proc/kallsyms`, sorted. Where the kernel hides addresses there are none.
fn functions(text: &[u8]) -> Vec<(u64, Box<str>)> {
    let symbol = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address > 0)?;
        let code = matches!(words.next()?, "t" | "T" | "w" | "W");
        code.then_some((address, words.next()?.into()))
    };
    let mut functions: Vec<_> = text.split(|byte| *byte == b'\n').filter_map(symbol).collect();
    functions.sort_by_key(|(address, _)| *address);
    functions.dedup_by_key(|(address, _)| *address);
    functions
}

fn comm(tid: Tid) -> Option<String> {
    if tid > 0 { text(&format!("/proc/{tid}/comm")) } else { None }
}

/// Whether a task that is still there is a thread of the kernel.
fn is_kernel_thread(tid: Tid) -> bool {
    tid > 0 && text(&format!("/proc/{tid}/stat")).is_some_and(|stat| flags(&stat) & PF_KTHREAD != 0)
}

/// The flags in a task's `stat`; its name, which may hold anything, ends with the last parenthesis.
fn flags(stat: &str) -> u64 {
    let mut words = stat.rsplit_once(')').map_or("", |(_, words)| words).split_whitespace();
    words.nth(6).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_kernel_are_told_by_their_flags() {
        assert_eq!(flags("16 (a) b) S 2 0 0 0 -1 69238848 0") & PF_KTHREAD, PF_KTHREAD);
        assert_eq!(flags("700 (bash) S 1 700 700 0 -1 4194304 0") & PF_KTHREAD, 0);
        assert_eq!(flags(""), 0);
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!is_kernel_thread(own) && !is_kernel_thread(0));
    }

    #[test]
    fn an_address_is_named_by_the_function_it_is_in() {
        let text = b"ffffffff81000100 T second\nffffffff81000000 t first\nffffffff81000180 D data\n0 T hidden\nnoise\n";
        let book = NameBook { functions: functions(text), lines: BTreeMap::new() };
        let name = |address| book.function(Address(address));
        assert_eq!(name(0xffff_ffff_8100_00ff), Some("first"));
        assert_eq!(name(0xffff_ffff_8100_0190), Some("second"));
        assert_eq!((name(0), name(0xffff_ffff_8000_0000), name(u64::MAX)), (None, None, None));
        assert_eq!(functions(b"0 T a\n0 T b\n"), []);
    }
}
