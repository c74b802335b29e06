//! Counters around late activations. They supplement the trace, and replace it where tracing is not permitted.
//!
//! Files stay open, and a thread that does not measure reads them about ten times a second. For each counter that is
//! not available, the reason is reported. `punctual-numbers` interprets the changes; this module only reads.

mod counts;
mod registers;
mod root;
#[cfg(test)]
mod tests;
mod threads;

use super::engine::MeasuredThread;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::MonoTime;
use punctual_numbers::trace::ledger::Ledger;
use punctual_numbers::trace::pulses::Pulses;
use punctual_numbers::trace::{Around, Blind};
use punctual_rt::now;
use registers::Frequency;
use root::Root;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

const FIRMWARE: &str = "SMI count";

/// Reads a file and puts its counters into the ledger. All readings share one buffer.
type Reading = Box<dyn FnMut(&mut Vec<u8>, &mut Ledger) -> io::Result<()> + Send>;
type Opened = Result<Reading, String>;

#[derive(Default)]
pub struct Witness {
    sources: Vec<Source>,
    frequencies: Vec<Frequency>,
    ledger: Ledger,
    pulses: Pulses,
    missing: Missing,
    buffer: Vec<u8>,
}

struct Source {
    name: &'static str,
    cpus: CpuSet,
    read: Reading,
}

/// The counters that cannot be read, with reasons and the CPUs concerned.
#[derive(Default)]
struct Missing(BTreeMap<(&'static str, String), CpuSet>);

impl Missing {
    fn add(&mut self, name: &'static str, cpus: &CpuSet, why: &str) {
        // One entry covers all CPUs with the same reason.
        let why = match cpus.first() {
            Some(cpu) if cpus.len() == 1 => why.replace(&format!("/cpu{cpu}/"), "/cpuN/"),
            _ => why.to_owned(),
        };
        let known = self.0.entry((name, why)).or_default();
        *known = known.union(cpus);
    }
}

impl Witness {
    pub fn new(cpus: &CpuSet, threads: &[MeasuredThread]) -> Self {
        Self::below(Path::new("/"), cpus, threads)
    }

    /// Makes a witness from the files below a folder. It lacks the counters that are not in files.
    pub fn below(root: &Path, cpus: &CpuSet, threads: &[MeasuredThread]) -> Self {
        let mut witness = Self::default();
        let root = Root::new(root);
        witness.open_for_all(&root, cpus);
        for MeasuredThread { cpu, tid } in threads {
            witness.open_for_thread(&root, *cpu, *tid);
        }
        for cpu in cpus.iter() {
            witness.open_for_cpu(&root, cpu);
        }
        let why = "not counted by the kernel; its log says when it first happened";
        witness.missing.add("real-time throttling", cpus, why);
        witness
    }

    fn open_for_all(&mut self, root: &Root, cpus: &CpuSet) {
        let ledger = &mut self.ledger;
        let all = [
            ("interrupts", counts::interrupts(root, cpus)),
            ("softirqs", counts::softirqs(root, cpus)),
            ("stolen time", counts::steal(root, cpus, ledger)),
            ("run delay", counts::run_delay(root, cpus, ledger)),
            (FIRMWARE, registers::firmware(root, cpus, ledger)),
            ("throttling of the control group", threads::throttling(root, cpus, ledger)),
        ];
        for (name, opened) in all {
            self.add(name, cpus, opened);
        }
    }

    fn open_for_thread(&mut self, root: &Root, cpu: u32, tid: u32) {
        let (of_it, ledger) = (CpuSet::from_iter([cpu]), &mut self.ledger);
        let all = [
            ("faults of the measuring thread", threads::faults(root, cpu, tid, ledger)),
            ("switches of the measuring thread", threads::switches(root, cpu, tid, ledger)),
            ("run delay of the measuring thread", threads::run_delay(root, cpu, tid, ledger)),
        ];
        for (name, opened) in all {
            self.add(name, &of_it, opened);
        }
    }

    fn open_for_cpu(&mut self, root: &Root, cpu: u32) {
        let of_it: CpuSet = [cpu].into_iter().collect();
        let heat = counts::heat(root, cpu, &mut self.ledger);
        self.add("throttling by heat", &of_it, heat);
        match counts::idle_states(root, cpu, &mut self.ledger) {
            Ok(states) => states.into_iter().for_each(|state| self.add("idle states", &of_it, Ok(state))),
            Err(why) => self.missing.add("idle states", &of_it, &why),
        }
        match Frequency::open(root, cpu) {
            Ok(frequency) => self.frequencies.push(frequency),
            Err(why) => self.missing.add("frequency", &of_it, &why),
        }
    }

    fn add(&mut self, name: &'static str, cpus: &CpuSet, opened: Opened) {
        match opened {
            Ok(read) => self.sources.push(Source { name, cpus: cpus.clone(), read }),
            Err(why) => self.missing.add(name, cpus, &why),
        }
    }

    /// The counters that could not be opened or can no longer be read, each with the reason.
    pub fn missing(&self) -> Vec<Blind> {
        let told = |((name, why), cpus): (&(&str, String), &CpuSet)| {
            Blind::Witness(format!("{name} (CPU {cpus})"), why.clone())
        };
        self.missing.0.iter().map(told).collect()
    }

    pub fn is_blind(&self) -> bool {
        self.sources.is_empty() && self.frequencies.is_empty()
    }

    pub fn counts_firmware(&self) -> bool {
        self.sources.iter().any(|source| source.name == FIRMWARE)
    }

    /// Stops reading the counters whose reading disturbs a measured CPU.
    pub fn leave_alone(&mut self) {
        for frequency in self.frequencies.drain(..) {
            let of_it = [frequency.cpu()].into_iter().collect();
            self.missing.add("frequency", &of_it, "reading it interrupts the CPU: done beside the kernel's trace only");
        }
    }

    /// Begins a stretch. This may disturb the measured CPUs, so it must not be called while measuring.
    pub fn begin(&mut self, at: MonoTime) {
        let Self { frequencies, missing, .. } = self;
        frequencies.retain_mut(|frequency| {
            let of_it = [frequency.cpu()].into_iter().collect();
            frequency.look(at).map_err(|e| missing.add("frequency", &of_it, &e.to_string())).is_ok()
        });
    }

    /// Reads all counters that can be read without disturbing a measured CPU; `at` is the present time. To be called
    /// about ten times a second from a thread that does not measure, and soon after each late activation, so that the
    /// differences contain few other events.
    pub fn sample(&mut self, at: MonoTime) {
        self.sample_by(at, now);
    }

    fn sample_by(&mut self, at: MonoTime, clock: impl Fn() -> MonoTime) {
        let Self { sources, ledger, pulses, missing, buffer, .. } = self;
        pulses.saw(at);
        ledger.begin(at);
        sources.retain_mut(|source| {
            let read = (source.read)(buffer, ledger);
            read.map_err(|e| missing.add(source.name, &source.cpus, &e.to_string())).is_ok()
        });
        ledger.close(clock());
    }

    /// Notes that a thread of this program that does not measure ran at this instant, which proves that the machine did
    /// not stand still. [`sample`](Self::sample) does this for its caller.
    pub fn saw(&mut self, at: MonoTime) {
        self.pulses.saw(at);
    }

    /// Whether a sample was taken after `woke`, which [`around`](Self::around) needs.
    pub fn reaches(&self, woke: MonoTime) -> bool {
        self.ledger.last().is_some_and(|last| last >= woke)
    }

    /// Changes of a CPU's counters around an activation; `None` unless there is a sample before and one after it.
    pub fn around(&mut self, cpu: u32, release: MonoTime, woke: MonoTime) -> Option<Around> {
        self.around_by(cpu, release, woke, now)
    }

    fn around_by(
        &mut self,
        cpu: u32,
        release: MonoTime,
        woke: MonoTime,
        clock: impl Fn() -> MonoTime,
    ) -> Option<Around> {
        let mut around = self.ledger.around(cpu, release, woke)?;
        let frequency = self.frequencies.iter_mut().find(|frequency| frequency.cpu() == cpu);
        // If reading fails here, the next sample reports the counter as missing.
        let ratio = frequency.and_then(|frequency| frequency.around(release, woke, clock()).ok().flatten());
        around.changes.extend(ratio);
        around.standstill = self.pulses.standstill(release, woke);
        Some(around)
    }
}
