//! Names for the numbers in records: tasks, interrupts, kernel functions.
//!
//! They are read during the measurement, on housekeeping CPUs. A number whose name cannot be read stays a number.

use punctual_facts::stat_line::StatLine;
use punctual_numbers::trace::{Address, IrqLine, Names, Tid, TraceEvent, TraceRecord, Window};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::PermissionsExt;

/// Longest function in bytes. An address farther behind a symbol belongs to something else.
const FUNCTION_MAX: u64 = 1 << 20;
/// Number of bits of a hash that are dropped. The other 40 bits suffice to distinguish the addresses of a run.
const UNUSED_BITS: u32 = 24;

#[derive(Debug, Default)]
pub struct NameBook {
    functions: Vec<(u64, Box<str>)>,
    /// Interrupts, and whether only the kernel chooses their CPUs.
    managed: BTreeMap<u32, bool>,
    /// Makes the numbers that replace addresses, so that a recording does not reveal where the kernel is in memory.
    disguise: RandomState,
}

const PF_KTHREAD: u64 = 0x0020_0000;

impl NameBook {
    /// Reads the names of functions, which takes some tenths of a second.
    pub fn read() -> Self {
        Self { functions: functions(&fs::read("/proc/kallsyms").unwrap_or_default()), ..Self::default() }
    }

    /// Names for everything that these records mention; `seen` are names from the records themselves.
    pub fn of<'a>(&mut self, records: impl Iterator<Item = &'a TraceRecord>, mut seen: Names) -> Names {
        let (mut tasks, mut irqs, mut addresses) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
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
        for (address, points) in addresses {
            names.functions.extend(self.function(address, points).map(|name| (address, name.to_owned())));
        }
        names
    }

    /// Replaces addresses by other numbers, with the same number for the same address within a run. Readers of a
    /// recording get functions only by name.
    pub fn disguise(&self, window: &mut Window) {
        let other = |address: &mut Address| *address = self.other(*address);
        let records = window.records.iter_mut().chain(window.elsewhere.iter_mut().map(|other| &mut other.record));
        records.for_each(|record| each_address(&mut record.what, other));
        let names = std::mem::take(&mut window.names.functions).into_iter();
        window.names.functions = names.map(|(address, name)| (self.other(address), name)).collect();
    }

    /// The number that replaces an address. Address 0 means that there is no address, and stays 0.
    fn other(&self, Address(address): Address) -> Address {
        let other = self.disguise.hash_one(address) >> UNUSED_BITS;
        Address(if address == 0 { 0 } else { other.max(1) })
    }

    fn line(&mut self, irq: u32, action: String) -> IrqLine {
        let path = format!("/proc/irq/{irq}/smp_affinity_list");
        // The CPUs of an interrupt may change at any time, so they are always read. Whether only the kernel chooses
        // them never changes.
        let affinity = text(&path).unwrap_or_default();
        let managed = *self.managed.entry(irq).or_insert_with(|| {
            // Newer kernels make the file read-only if writing would be refused.
            let fixed = fs::metadata(&path).is_ok_and(|file| file.permissions().mode() & 0o222 == 0);
            let told = text(&format!("/sys/kernel/debug/irq/irqs/{irq}"));
            fixed || told.is_some_and(|text| text.contains("IRQD_AFFINITY_MANAGED"))
        });
        IrqLine { action, affinity, managed }
    }

    fn function(&self, address: Address, points: Points) -> Option<&str> {
        let after = self.functions.partition_point(|(start, _)| *start <= address.0);
        let (start, name) = self.functions.get(after.checked_sub(1)?)?;
        let behind = address.0 - start;
        match points {
            Points::AtIt => behind == 0,
            Points::Into => behind < FUNCTION_MAX,
        }
        .then_some(name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    AtIt,
    Into,
}

fn each_address(what: &mut TraceEvent, mut each: impl FnMut(&mut Address)) {
    match what {
        TraceEvent::HrtimerStart { timer: a, function: b, .. }
        | TraceEvent::HrtimerEntry { timer: a, function: b }
        | TraceEvent::TimerEntry { timer: a, function: b }
        | TraceEvent::IpiSend { callsite: a, callback: b, .. }
        | TraceEvent::Fault { address: a, ip: b, .. } => [a, b].into_iter().for_each(each),
        TraceEvent::HrtimerExit { timer: a }
        | TraceEvent::TimerExit { timer: a }
        | TraceEvent::Nmi { handler: a, .. }
        | TraceEvent::WorkStart { function: a }
        | TraceEvent::CallEntry { function: a } => each(a),
        TraceEvent::Stack { addresses } => addresses.iter_mut().for_each(each),
        _ => {}
    }
}

fn note(
    what: &TraceEvent,
    tasks: &mut BTreeSet<Tid>,
    irqs: &mut BTreeSet<u32>,
    addresses: &mut BTreeMap<Address, Points>,
) {
    match what {
        TraceEvent::Switch { prev, next, .. } => tasks.extend([*prev, *next]),
        TraceEvent::Waking { tid, .. } | TraceEvent::Migrate { tid, .. } | TraceEvent::Boost { tid, .. } => {
            tasks.extend([*tid]);
        }
        TraceEvent::IrqEntry { irq } | TraceEvent::IrqExit { irq } => irqs.extend([*irq]),
        TraceEvent::HrtimerStart { function, .. }
        | TraceEvent::HrtimerEntry { function, .. }
        | TraceEvent::TimerEntry { function, .. }
        | TraceEvent::WorkStart { function }
        | TraceEvent::CallEntry { function } => addresses.extend([(*function, Points::AtIt)]),
        TraceEvent::Nmi { handler, .. } => addresses.extend([(*handler, Points::AtIt)]),
        TraceEvent::IpiSend { callsite, callback, .. } => {
            addresses.extend([(*callsite, Points::Into), (*callback, Points::AtIt)]);
        }
        TraceEvent::Stack { addresses: stack } => addresses.extend(stack.iter().map(|at| (*at, Points::Into))),
        TraceEvent::Fault { ip, user: false, .. } => addresses.extend([(*ip, Points::Into)]),
        _ => {}
    }
}

/// The code symbols of `/proc/kallsyms`, sorted; empty if the kernel hides addresses.
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

/// Whether a task that still exists is a kernel thread.
fn is_kernel_thread(tid: Tid) -> bool {
    tid > 0 && text(&format!("/proc/{tid}/stat")).is_some_and(|stat| flags(&stat) & PF_KTHREAD != 0)
}

/// The flags in a task's `stat`.
fn flags(stat: &str) -> u64 {
    StatLine::parse(stat).and_then(|line| line.number(9)).unwrap_or(0)
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::cut::{self, Target};
    use punctual_hist::MonoTime;
    use punctual_numbers::trace::keep::WindowSlot;
    use punctual_numbers::trace::{Context, Kept};

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
        let book = NameBook { functions: functions(text), ..NameBook::default() };
        let name = |address| book.function(Address(address), Points::Into);
        let exact = |address| book.function(Address(address), Points::AtIt);
        assert_eq!(exact(0xffff_ffff_8100_0100), Some("second"));
        assert_eq!(exact(0xffff_ffff_8100_0101), None, "a pointer to a function that has no name is not its neighbour");
        assert_eq!(name(0xffff_ffff_8100_00ff), Some("first"));
        assert_eq!(name(0xffff_ffff_8100_0190), Some("second"));
        assert_eq!((name(0), name(0xffff_ffff_8000_0000), name(u64::MAX)), (None, None, None));
        assert_eq!(functions(b"0 T a\n0 T b\n"), []);
    }

    #[test]
    fn no_address_of_the_kernel_is_told_and_the_same_ones_stay_the_same() {
        let book = NameBook { functions: functions(b"ffffffff81000100 T tick\n"), ..NameBook::default() };
        let (timer, function) = (Address(0xffff_8881_0000_0040), Address(0xffff_ffff_8100_0100));
        let record = |what| TraceRecord { at: MonoTime::default(), tid: 0, context: Context::default(), what };
        let records = vec![
            record(TraceEvent::HrtimerEntry { timer, function }),
            record(TraceEvent::HrtimerExit { timer }),
            record(TraceEvent::CallEntry { function: Address(0) }),
        ];
        let names = NameBook { functions: functions(b"ffffffff81000100 T tick\n"), ..NameBook::default() }
            .of(records.iter(), Names::default());
        let at = MonoTime::default();
        let target = Target { cpu: 0, tid: 1, release: at, woke: at, phase: 0, doubted: None };
        let mut window = cut::window(&target, WindowSlot { slot: 0, kept: Kept::Sampled }, records, names, None);
        book.disguise(&mut window);
        let [entry, exit, call] = [0, 1, 2].map(|n| window.records[n].what.clone());
        let TraceEvent::HrtimerEntry { timer: entered, function: called } = entry else { panic!("{entry:?}") };
        assert!(entered != timer && called != function && called.0 < 1 << 40);
        assert_eq!(exit, TraceEvent::HrtimerExit { timer: entered });
        assert_eq!(call, TraceEvent::CallEntry { function: Address(0) });
        assert_eq!(window.names.functions, [(called, "tick".to_owned())].into());
    }
}
