//! The kernel's trace of the measured CPUs, as one thing: an instance, its events, its pages.

use super::elsewhere::{self, Elsewhere};
use super::events::{self, Events};
use super::instance::{self, Instance};
use super::pages::Pages;
use super::place::{Folder, tracefs};
use super::{TraceError, self_test, timerlat};
use punctual_core::cpu_set::CpuSet;
use punctual_core::trace::{Blind, Names, PageLayout, Record, Rung, SelfTest, TraceTotal};
use punctual_hist::MonoTime;
use punctual_rt::now;
use std::fs;

/// Room for 400,000 records of 40 bytes: a million a second are read every 10 ms, with time to spare.
const BUFFER_BYTES: u64 = 16 << 20;
/// The trace may take this part of the memory that is available.
const PART_OF_MEMORY: u64 = 8;
/// A buffer smaller than this holds nothing worth reading.
const BUFFER_BYTES_MIN: u64 = 64 << 10;

/// With more measured CPUs, what they do to each other is not looked for.
const MEASURED_TOO: usize = 8;

/// Which engine is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The kernel's trace.
    #[default]
    Tracefs,
    /// The kernel's trace, and its own noise tracer beside it; where it cannot be had, without it.
    Timerlat,
}

struct Wish<'a> {
    cpus: &'a CpuSet,
    online: &'a CpuSet,
    buffer_bytes: Option<u64>,
}

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
    /// Why the kernel's own latency tracers are not used; `None`: they are.
    pub no_timerlat: Option<String>,
}

impl Engine {
    /// Opens it; events are on, nothing is recorded yet.
    pub fn open(
        cpus: &CpuSet,
        online: &CpuSet,
        buffer_bytes: Option<u64>,
        choice: EngineChoice,
    ) -> Result<Self, TraceError> {
        let tracefs = tracefs()?;
        // What a killed one left behind would be in the way.
        instance::remove_stale(&tracefs);
        let wish = Wish { cpus, online, buffer_bytes };
        let no_timerlat = match choice {
            EngineChoice::Tracefs => timerlat::unused(&tracefs),
            EngineChoice::Timerlat => {
                let suffix = timerlat::Shared::read(&tracefs).and_then(|shared| shared.suffix());
                match suffix.and_then(|suffix| Self::open_with(&tracefs, &wish, Some(&suffix))) {
                    Ok(engine) => return Ok(engine),
                    Err(error) => error.to_string(),
                }
            }
        };
        let engine = Self::open_with(&tracefs, &wish, None)?;
        Ok(Self { no_timerlat: Some(no_timerlat), ..engine })
    }

    /// With the noise tracer if there is a suffix for the name of the instance that tells what was before.
    fn open_with(tracefs: &Folder, wish: &Wish<'_>, noise: Option<&str>) -> Result<Self, TraceError> {
        let Wish { cpus, online, buffer_bytes } = *wish;
        let instance = Instance::new(tracefs, noise.unwrap_or_default())?;
        let count = cpus.len() as u64;
        let asked = buffer_bytes.unwrap_or_else(|| default_bytes(count)).max(BUFFER_BYTES_MIN);
        let granted = instance.set_up(cpus, asked)?;
        if noise.is_some() {
            timerlat::start(tracefs, instance.folder(), cpus)?;
        }
        let events = Events::learn(instance.folder(), noise.is_some())?;
        let header = tracefs.read("events/header_page")?;
        let layout = PageLayout::parse(&header).map_err(|error| TraceError::NotUnderstood(error.to_string()))?;
        let pages = |cpu| Ok(Pages::new(cpu, instance.raw(cpu)?, layout.size(), granted.saturating_mul(4)));
        let pages = cpus.iter().map(pages).collect::<Result<Vec<_>, TraceError>>()?;
        let others: CpuSet = online.iter().filter(|cpu| !cpus.contains(*cpu)).collect();
        // Without it causes have no senders: no reason to do without the rest.
        let elsewhere = (!others.is_empty()).then(|| Elsewhere::open(tracefs, &others, cpus, &layout).ok()).flatten();
        let (buffer_bytes, no_timerlat) = (granted, None);
        let mut engine = Self { pages, layout, events, instance, elsewhere, enabled: false, buffer_bytes, no_timerlat };
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
        Ok(results)
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
        if self.no_timerlat.is_none() { Rung::Timerlat } else { Rung::Tracefs }
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
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    let each = available.map_or(BUFFER_BYTES, |kb| kb.saturating_mul(1024) / PART_OF_MEMORY / cpus.max(1));
    each.min(BUFFER_BYTES)
}
