//! Counters that exist only in registers of the CPU: interruptions by firmware, and cycles at actual and nominal
//! frequency.
//!
//! Reading a register of another CPU interrupts that CPU. So the firmware counter is read on a CPU that does not
//! measure, because firmware stops all CPUs at once. The frequency is read once at the beginning and when a late
//! activation is examined, but never periodically.

use super::Opened;
use super::counts::slots_of;
use super::root::Root;
use crate::sys::perf::CounterGroup;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::ledger::{Counted, Ledger, Slot};
use punctual_numbers::trace::{Counter, Growth};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};

/// The kernel's event source for counters that are plain registers.
const REGISTERS: &str = "/sys/bus/event_source/devices/msr";
/// Intel's register with the number of system management interrupts; its upper half is reserved.
const SMI_COUNT: u64 = 0x34;
/// Longest time between two readings whose ratio is used. A ratio over a longer time says nothing about a single
/// activation.
const TELLING: Nanos = Nanos::from_secs(2);
/// Shortest time between two readings of a frequency, each of which interrupts its CPU.
const AT_MOST: Nanos = Nanos::from_ms(100);

pub(super) fn firmware(root: &Root, cpus: &CpuSet, ledger: &mut Ledger) -> Opened {
    let asked = unmeasured(root, cpus).or_else(|| cpus.first()).ok_or("no CPU")?;
    let by_kernel = counters(root, ["smi"], asked);
    let mut read: Box<dyn FnMut() -> io::Result<u64> + Send> = match by_kernel {
        Ok(counters) => Box::new(move || counters.read().map(|[count]| count)),
        Err(refused) => {
            let device = register(root, asked).map_err(|e| format!("{refused}; {e}"))?;
            Box::new(device)
        }
    };
    let slots = slots_of(cpus, Counted::Plain(Counter::Smi), ledger);
    Ok(Box::new(move |_, ledger| {
        let count = read()?;
        for slot in slots.values() {
            ledger.put(*slot, count);
        }
        Ok(())
    }))
}

fn unmeasured(root: &Root, measured: &CpuSet) -> Option<u32> {
    let online = CpuSet::parse_list(&root.text("/sys/devices/system/cpu/online").ok()?).ok()?;
    online.difference(measured).first()
}

/// The register in its device file, which exists if the module `msr` is loaded.
fn register(root: &Root, cpu: u32) -> Result<impl FnMut() -> io::Result<u64> + Send + use<>, String> {
    let path = format!("/dev/cpu/{cpu}/msr");
    // Only in a character device is the offset the number of a register.
    let told = |e: io::Error| format!("{path}: {e}");
    if !std::fs::metadata(root.path(&path)).map_err(told)?.file_type().is_char_device() {
        return Err(format!("{path}: not the device of a CPU's registers"));
    }
    let file = root.open(&path)?.0;
    let read = move || {
        let mut register = [0; 8];
        file.read_exact_at(&mut register, SMI_COUNT)?;
        Ok(u64::from_le_bytes(register) & u64::from(u32::MAX))
    };
    read().map_err(told)?;
    Ok(read)
}

/// Counters of the kernel that are registers, by name.
fn counters<const N: usize>(root: &Root, names: [&str; N], cpu: u32) -> Result<CounterGroup<N>, String> {
    let kind = root.text(&format!("{REGISTERS}/type"))?;
    let kind = kind.parse().map_err(|_| format!("{REGISTERS}/type: not a number"))?;
    let mut events = [0; N];
    for (event, name) in events.iter_mut().zip(names) {
        let path = format!("{REGISTERS}/events/{name}");
        let text = root.text(&path)?;
        *event = configuration(&text).ok_or_else(|| format!("{path}: not understood"))?;
    }
    if !root.is_this_machine() {
        return Err("files of another machine".to_owned());
    }
    let opened = CounterGroup::open(kind, events, cpu).and_then(|counters| counters.read().map(|_| counters));
    opened.map_err(|e| format!("perf_event_open: {e}"))
}

/// Parses text such as `event=0x04`.
fn configuration(text: &str) -> Option<u64> {
    let value = text.trim().strip_prefix("event=")?;
    value.strip_prefix("0x").map_or_else(|| value.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

pub(super) struct Frequency {
    cpu: u32,
    read: Box<dyn FnMut() -> io::Result<[u64; 2]> + Send>,
    /// The readings of this frequency. They are not in the common ledger, because frequencies are read at other times.
    ledger: Ledger,
    slots: [Slot; 2],
}

impl Frequency {
    pub(super) fn open(root: &Root, cpu: u32) -> Result<Self, String> {
        let counters = counters(root, ["aperf", "mperf"], cpu)?;
        Ok(Self::new(cpu, Box::new(move || counters.read())))
    }

    fn new(cpu: u32, read: Box<dyn FnMut() -> io::Result<[u64; 2]> + Send>) -> Self {
        let mut ledger = Ledger::default();
        let slots = [Counted::Actual, Counted::Nominal].map(|counted| {
            let counter = ledger.counter(counted);
            ledger.slot(cpu, counter)
        });
        Self { cpu, read, ledger, slots }
    }

    pub(super) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// The ratio of frequencies around an activation. The counters are read now unless they were read after it.
    pub(super) fn around(&mut self, release: MonoTime, woke: MonoTime, now: MonoTime) -> io::Result<Option<Growth>> {
        if self.ledger.last().is_some_and(|last| last < woke && now.since(last) >= AT_MOST) {
            self.look(now)?;
        }
        let around = self.ledger.around(self.cpu, release, woke);
        Ok(around.filter(|around| around.to.since(around.from) <= TELLING).and_then(|mut around| around.changes.pop()))
    }

    /// Reads the counters, which interrupts the CPU.
    pub(super) fn look(&mut self, at: MonoTime) -> io::Result<()> {
        let values = (self.read)()?;
        self.ledger.begin(at);
        for (slot, value) in self.slots.iter().zip(values) {
            self.ledger.put(*slot, value);
        }
        self.ledger.close(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_understood() {
        assert_eq!((configuration("event=0x04\n"), configuration("event=3")), (Some(4), Some(3)));
        assert_eq!((configuration("event=0x"), configuration("umask=1"), configuration("")), (None, None, None));
    }

    #[test]
    fn a_frequency_is_read_only_when_it_is_needed() {
        let reads = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let seen = std::sync::Arc::clone(&reads);
        let count = move || reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut frequency = Frequency::new(
            2,
            Box::new(move || {
                let n = count();
                Ok([n * 700, n * 1_000])
            }),
        );
        let ms = |ms: u64| MonoTime::from_ns(1_000_000 * ms);
        frequency.look(ms(1_000)).unwrap();
        let change = frequency.around(ms(2_300), ms(2_301), ms(2_400)).unwrap();
        assert_eq!(change, Some(Growth { counter: Counter::FrequencyRatio, by: 700, usually: None }));
        assert_eq!(frequency.around(ms(2_310), ms(2_311), ms(2_410)).unwrap().map(|change| change.by), Some(700));
        assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 2, "looked at once for both");
        assert_eq!(frequency.around(ms(2_420), ms(2_430), ms(2_450)).unwrap(), None, "not so soon again");
        assert_eq!(frequency.around(ms(9_000), ms(9_001), ms(9_005)).unwrap(), None, "a ratio of 6.6 s tells nothing");
    }
}
