//! An engine that reads the kernel's trace of the measured CPUs. It consists of a tracing instance, its events and its
//! pages.

use super::elsewhere::{self, Elsewhere};
use super::engine::{Covered, Engine, MeasuredThread, Span, Wish};
use super::events::{self, Events};
use super::instance::{Instance, Recorded};
use super::memory;
use super::pages::Pages;
use super::place::tracefs;
use super::{TraceError, timerlat};
use punctual_facts::cpu_set::CpuSet;
use punctual_numbers::trace::{Blind, Names, PageLayout, RefusedRung, RemoteRecord, Rung, TraceRecord, TraceTotal};
use punctual_rt::now;

/// With more measured CPUs, their effects on each other are not looked for, because of the cost of decoding.
const MEASURED_TOO: usize = 8;

/// The trace of the measured CPUs. The order of fields matters: files must be closed before the instance is removed.
pub struct Tracefs {
    pages: Vec<Pages>,
    layout: PageLayout,
    events: Events,
    instance: Instance,
    elsewhere: Option<Elsewhere>,
    enabled: bool,
    buffer_bytes: u64,
    /// The reason why the kernel's latency tracers are not used; `None` if they are used.
    no_timerlat: Option<String>,
}

impl Tracefs {
    /// Opens the engine, with the kernel's noise tracer if requested. Events are on, and nothing is recorded yet.
    pub fn open(wish: &Wish<'_>, noise: bool) -> Result<Self, TraceError> {
        let Wish { cpus, online, buffer_bytes, .. } = *wish;
        let tracefs = tracefs()?;
        let suffix = if noise { timerlat::TracerOptions::read(&tracefs)?.suffix()? } else { String::new() };
        let no_timerlat = (!noise).then(|| timerlat::unused(&tracefs));
        let instance = Instance::new(&tracefs, &suffix)?;
        let others: CpuSet = online.iter().filter(|cpu| !cpus.contains(*cpu)).collect();
        let beside = (others.len() as u64).saturating_mul(elsewhere::BUFFER_BYTES);
        let default = || memory::default_bytes(cpus.len() as u64, beside);
        let asked = buffer_bytes.unwrap_or_else(default).max(memory::BUFFER_BYTES_MIN);
        let granted = instance.set_up(cpus, asked)?;
        let events = Events::learn(instance.folder(), noise)?;
        let header = tracefs.read("events/header_page")?;
        let layout = PageLayout::parse(&header).map_err(|error| TraceError::NotUnderstood(error.to_string()))?;
        if noise {
            timerlat::start(&tracefs, instance.folder(), cpus)?;
        }
        let pages =
            |cpu| Ok(Pages::new(cpu, instance.raw(cpu)?, layout.size(), granted.saturating_mul(memory::READ_PART)));
        let pages = cpus.iter().map(pages).collect::<Result<Vec<_>, TraceError>>()?;
        // Without this trace the senders of interrupts stay unknown, which is better than no trace at all.
        let elsewhere = (!others.is_empty()).then(|| Elsewhere::open(&tracefs, &others, cpus, &layout).ok()).flatten();
        let (enabled, buffer_bytes) = (false, granted);
        let mut engine = Self { pages, layout, events, instance, elsewhere, enabled, buffer_bytes, no_timerlat };
        engine.enable();
        Ok(engine)
    }

    fn pages(&self, cpu: u32) -> Option<&Pages> {
        self.pages.iter().find(|pages| pages.cpu == cpu)
    }
}

impl Engine for Tracefs {
    fn cpus(&self) -> Vec<u32> {
        self.pages.iter().map(|pages| pages.cpu).collect()
    }

    fn begin(&mut self) -> Result<(), TraceError> {
        let at = now();
        self.instance.switch(true)?;
        // Records of an earlier stretch are dropped.
        self.pages.iter_mut().for_each(|pages| {
            pages.drain(&self.layout, now);
            pages.begin(at);
        });
        self.elsewhere.as_mut().map_or(Ok(()), |elsewhere| elsewhere.begin(&self.layout))
    }

    fn end(&mut self) {
        let _ = self.instance.switch(false);
        self.drain();
        self.elsewhere.iter_mut().for_each(|elsewhere| elsewhere.end(&self.layout));
    }

    fn drain(&mut self) {
        self.pages.iter_mut().for_each(|pages| pages.drain(&self.layout, now));
        self.elsewhere.iter_mut().for_each(|elsewhere| elsewhere.drain(&self.layout));
    }

    fn enable(&mut self) {
        if !std::mem::replace(&mut self.enabled, true) {
            self.events.enable(self.instance.folder());
            self.elsewhere.iter().for_each(|elsewhere| elsewhere.enable(true));
        }
    }

    fn disable(&mut self) {
        if std::mem::replace(&mut self.enabled, false) {
            self.events.disable(self.instance.folder());
            self.elsewhere.iter().for_each(|elsewhere| elsewhere.enable(false));
        }
    }

    fn measures(&mut self, threads: &[MeasuredThread]) {
        let threads: Vec<u32> = threads.iter().map(|thread| thread.tid).collect();
        events::only_ours(self.instance.folder(), &threads);
    }

    fn covered(&self, cpu: u32) -> Option<Covered> {
        let pages = self.pages(cpu)?;
        Some(Covered { span: pages.covered(), warped: pages.warped })
    }

    fn records(&self, cpu: u32, span: Span) -> (Vec<TraceRecord>, Names) {
        let mut names = Names::default();
        let Some(pages) = self.pages(cpu) else { return (Vec::new(), names) };
        (pages.records(span, &self.layout, &self.events.decoder, &mut names), names)
    }

    fn elsewhere(&self, cpu: u32, span: Span, names: &mut Names) -> Vec<RemoteRecord> {
        // Measured CPUs are included only up to the limit [`MEASURED_TOO`].
        let measured = self.pages.iter().take(if self.pages.len() <= MEASURED_TOO { usize::MAX } else { 0 });
        let pages = measured.chain(self.elsewhere.iter().flat_map(Elsewhere::pages));
        elsewhere::aimed_at(cpu, pages, span, &self.layout, &self.events.decoder, names)
    }

    fn rung(&self) -> Rung {
        if self.no_timerlat.is_none() { Rung::Timerlat } else { Rung::Tracefs }
    }

    fn no_better(&self) -> Vec<RefusedRung> {
        self.no_timerlat.iter().map(|why| RefusedRung { rung: Rung::Timerlat, why: why.clone() }).collect()
    }

    fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    fn event_names(&self) -> Vec<String> {
        self.events.names()
    }

    fn blind(&self) -> Vec<Blind> {
        let mut blind = vec![Blind::CriticalSections, Blind::Hypervisor];
        blind.extend(self.events.blind.iter().cloned());
        blind.extend(self.elsewhere.iter().flat_map(|elsewhere| elsewhere.blind.iter().cloned()));
        blind
    }

    fn totals(&self) -> Vec<TraceTotal> {
        let total = |pages: &Pages| {
            let Recorded { records, lost } = self.instance.recorded(pages.cpu);
            let lost = lost.saturating_add(pages.damaged);
            TraceTotal { cpu: pages.cpu, records, lost, bytes: pages.bytes_read }
        };
        self.pages.iter().map(total).collect()
    }
}
