//! The kernel's trace of the measured CPUs, as one thing: an instance, its events, its pages.

use super::elsewhere::{self, Elsewhere};
use super::events::{self, Events};
use super::instance::Instance;
use super::pages::Pages;
use super::place::{Folder, tracefs};
use super::{TraceError, self_test};
use punctual_core::cpu_set::CpuSet;
use punctual_core::trace::{Blind, Names, PageLayout, Record, Rung, SelfTest, TraceTotal};
use punctual_hist::MonoTime;
use punctual_rt::now;
use std::fs;

/// Room for 400,000 switches of tasks, the longest of the usual records with 72 bytes: of a million a second they are
/// those of 0.4 s, and they are read every 10 ms.
const BUFFER_BYTES: u64 = 32 << 20;
/// The trace may take this part of the memory that is available.
const PART_OF_MEMORY: u64 = 16;
/// One that is asked for may take this part of it.
const PART_IF_ASKED: u64 = 4;
/// A buffer smaller than this holds nothing worth reading.
pub const BUFFER_BYTES_MIN: u64 = 64 << 10;

/// With more measured CPUs, what they do to each other is not looked for.
const MEASURED_TOO: usize = 8;

/// The trace of the measured CPUs. Its files are closed before the instance is removed: the order of fields matters.
pub struct Engine {
    pages: Vec<Pages>,
    layout: PageLayout,
    events: Events,
    instance: Instance,
    elsewhere: Option<Elsewhere>,
    enabled: bool,
    /// Bytes of the kernel's buffer for each CPU.
    pub buffer_bytes: u64,
    /// Why the kernel's own latency tracers are not used.
    pub no_timerlat: String,
}

impl Engine {
    /// Opens it; events are on, nothing is recorded yet.
    pub fn open(cpus: &CpuSet, online: &CpuSet, buffer_bytes: Option<u64>) -> Result<Self, TraceError> {
        let tracefs = tracefs()?;
        let instance = Instance::new(&tracefs, "")?;
        let count = cpus.len() as u64;
        let asked = buffer_bytes.unwrap_or_else(|| default_bytes(count)).max(BUFFER_BYTES_MIN);
        let granted = instance.set_up(cpus, asked)?;
        let events = Events::learn(instance.folder())?;
        let header = tracefs.read("events/header_page")?;
        let layout = PageLayout::parse(&header).map_err(|error| TraceError::NotUnderstood(error.to_string()))?;
        let pages = |cpu| Ok(Pages::new(cpu, instance.raw(cpu)?, layout.size(), granted.saturating_mul(2)));
        let pages = cpus.iter().map(pages).collect::<Result<Vec<_>, TraceError>>()?;
        let others: CpuSet = online.iter().filter(|cpu| !cpus.contains(*cpu)).collect();
        // Without it causes have no senders: no reason to do without the rest.
        let elsewhere = (!others.is_empty()).then(|| Elsewhere::open(&tracefs, &others, cpus, &layout).ok()).flatten();
        let no_timerlat = no_timerlat(&tracefs);
        let mut engine =
            Self { pages, layout, events, instance, elsewhere, enabled: false, buffer_bytes: granted, no_timerlat };
        engine.enable();
        Ok(engine)
    }

    /// Lets known timers fire on every CPU and counts what is seen of them.
    pub fn self_test(&mut self) -> Result<Vec<SelfTest>, TraceError> {
        let cpus: Vec<u32> = self.pages.iter().map(|pages| pages.cpu).collect();
        self.begin()?;
        let mut results = self_test::run(&cpus, self);
        for _ in 0..2 {
            // A busy machine may have kept a thread from sleeping: what is missing once may be there the next time.
            let failed: Vec<u32> = results.iter().filter(|test| !test.passed()).map(|test| test.cpu).collect();
            if failed.is_empty() {
                break;
            }
            for again in self_test::run(&failed, self) {
                results
                    .iter_mut()
                    .filter(|test| test.cpu == again.cpu && again.passed())
                    .for_each(|test| *test = again);
            }
        }
        self.end();
        self_test::believed(results)
    }

    /// Begins to record.
    pub fn begin(&mut self) -> Result<(), TraceError> {
        let at = now();
        self.instance.switch(true)?;
        // What is left of a former stretch goes first.
        self.pages.iter_mut().for_each(|pages| {
            pages.drain(&self.layout, now);
            pages.begin(at);
        });
        self.elsewhere.as_mut().map_or(Ok(()), |elsewhere| elsewhere.begin(&self.layout))
    }

    /// Ends recording; what was recorded is still there.
    pub fn end(&mut self) {
        let _ = self.instance.switch(false);
        self.drain();
        self.elsewhere.iter_mut().for_each(|elsewhere| elsewhere.end(&self.layout));
    }

    /// Takes what the kernel has.
    pub fn drain(&mut self) {
        self.pages.iter_mut().for_each(|pages| pages.drain(&self.layout, now));
        self.elsewhere.iter_mut().for_each(|elsewhere| elsewhere.drain(&self.layout));
    }

    /// Switches its events on. Stops every CPU for moments: not while measuring.
    pub fn enable(&mut self) {
        if !std::mem::replace(&mut self.enabled, true) {
            self.events.enable(self.instance.folder());
            self.elsewhere.iter().for_each(|elsewhere| elsewhere.enable(true));
        }
    }

    /// Switches its events off, so that nothing at all is paid for them.
    pub fn disable(&mut self) {
        if std::mem::replace(&mut self.enabled, false) {
            self.events.disable(self.instance.folder());
            self.elsewhere.iter().for_each(|elsewhere| elsewhere.enable(false));
        }
    }

    /// Of timers that are armed and of page faults, records only those of these threads.
    pub fn only_ours(&self, threads: &[u32]) {
        events::only_ours(self.instance.folder(), threads);
    }

    /// The pages of a CPU.
    pub fn pages(&self, cpu: u32) -> Option<&Pages> {
        self.pages.iter().find(|pages| pages.cpu == cpu)
    }

    /// Records of a CPU between two instants, and the names in them.
    pub fn records(&self, cpu: u32, span: (MonoTime, MonoTime)) -> (Vec<Record>, Names) {
        let mut names = Names::default();
        let Some(pages) = self.pages(cpu) else { return (Vec::new(), names) };
        (pages.records(span, &self.layout, &self.events.decoder, &mut names), names)
    }

    /// What other CPUs did to one between two instants; names go into `names`.
    pub fn elsewhere(&self, cpu: u32, span: (MonoTime, MonoTime), names: &mut Names) -> Vec<(u32, Record)> {
        // Of very many measured CPUs only those that are not measured are looked at: each costs decoding.
        let measured = self.pages.iter().take(if self.pages.len() <= MEASURED_TOO { usize::MAX } else { 0 });
        let pages = measured.chain(self.elsewhere.iter().flat_map(Elsewhere::pages));
        elsewhere::aimed_at(cpu, pages, span, &self.layout, &self.events.decoder, names)
    }

    /// The rung this is.
    pub fn rung(&self) -> Rung {
        Rung::Tracefs
    }

    /// Events recorded: `group:name`.
    pub fn event_names(&self) -> Vec<String> {
        self.events.names()
    }

    /// What it cannot see.
    pub fn blind(&self) -> Vec<Blind> {
        let mut blind = vec![Blind::CriticalSections, Blind::Firmware, Blind::Hypervisor];
        blind.extend(self.events.blind.iter().cloned());
        blind
    }

    /// What it came to.
    pub fn totals(&self) -> Vec<TraceTotal> {
        let total = |pages: &Pages| {
            let (records, lost) = self.instance.records(pages.cpu);
            TraceTotal { cpu: pages.cpu, records, lost, bytes: pages.bytes_read }
        };
        self.pages.iter().map(total).collect()
    }
}

fn default_bytes(cpus: u64) -> u64 {
    let each = available_memory().map_or(BUFFER_BYTES, |available| available / PART_OF_MEMORY / cpus.max(1));
    each.min(BUFFER_BYTES)
}

/// The most bytes that may be asked for, for each of so many CPUs: the kernel would grant all there are, and then the
/// machine has none left. `None` where it cannot be told.
pub fn largest_buffer(cpus: u64) -> Option<u64> {
    available_memory().map(|available| available / PART_IF_ASKED / cpus.max(1))
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn no_timerlat(tracefs: &Folder) -> String {
    let available = tracefs.read("available_tracers").unwrap_or_default();
    if available.split_whitespace().any(|tracer| tracer == "timerlat") {
        "its options are shared by all instances: using it could disturb another's tracing".to_owned()
    } else {
        "the kernel was built without CONFIG_TIMERLAT_TRACER".to_owned()
    }
}
