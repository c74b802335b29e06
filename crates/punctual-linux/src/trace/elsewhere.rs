//! What other CPUs do to the measured ones: which tasks they wake there, and which interrupts they send.
//!
//! Uses a separate instance with small buffers on all other CPUs, with filters so that nothing else is recorded.

use super::TraceError;
use super::engine::Span;
use super::instance::{ELSEWHERE, Instance};
use super::pages::Pages;
use super::place::TraceFolder;
use punctual_facts::cpu_set::CpuSet;
use punctual_numbers::trace::{Blind, Decoder, Names, PageLayout, RemoteRecord, TraceEvent};
use punctual_rt::now;

/// Size of the trace buffer of each CPU that is not measured. It can be small, because only events that target measured
/// CPUs are recorded there.
pub const BUFFER_BYTES: u64 = 256 << 10;
/// Events, each with the field that names the targeted CPU or set of CPUs.
const AIMED: [(&str, &str, &str); 6] = [
    ("sched", "sched_waking", "target_cpu"),
    ("ipi", "ipi_send_cpu", "cpu"),
    ("csd", "csd_queue_cpu", "cpu"),
    ("ipi", "ipi_send_cpumask", "cpumask"),
    ("ipi", "ipi_raise", "target_cpus"),
    // The record of a priority change by a lock does not show on which CPU the task runs. All these records are kept,
    // because there are few of them.
    ("sched", "sched_pi_setprio", ANYWHERE),
];
/// Stands for events that have no field with a CPU; the filter on this field lets every record through.
const ANYWHERE: &str = "newprio";
/// Largest number of records of other CPUs that are kept with a window.
const RECORDS_MAX: usize = 400;

/// The trace of the other CPUs. The order of fields matters: files must be closed before the instance is removed.
pub struct Elsewhere {
    pages: Vec<Pages>,
    instance: Instance,
    /// Events of this kernel that cannot be filtered by CPU. Their effects on measured CPUs stay unknown.
    pub blind: Vec<Blind>,
}

impl Elsewhere {
    /// Opens the trace on `others`, for what they do to `measured`.
    pub fn open(
        tracefs: &TraceFolder,
        others: &CpuSet,
        measured: &CpuSet,
        layout: &PageLayout,
    ) -> Result<Self, TraceError> {
        let instance = Instance::new(tracefs, ELSEWHERE)?;
        let granted = instance.set_up(others, BUFFER_BYTES)?;
        let pages = |cpu| Ok(Pages::new(cpu, instance.raw(cpu)?, layout.size(), granted.saturating_mul(2)));
        let pages = others.iter().map(pages).collect::<Result<Vec<_>, TraceError>>()?;
        let mut blind = Vec::new();
        for (group, name, field) in AIMED {
            let file = format!("events/{group}/{name}/filter");
            let known = instance.folder().read(&file).is_ok();
            // Without a filter there would be too many of these events, so they are not recorded.
            if known && instance.folder().write(&file, &filter(field, measured)).is_err() {
                blind.push(Blind::Event(format!("{group}:{name}")));
            }
        }
        Ok(Self { pages, instance, blind })
    }

    pub fn enable(&self, on: bool) {
        for (group, name, _) in AIMED {
            let filtered = self.instance.folder().read(&format!("events/{group}/{name}/filter"));
            if filtered.is_ok_and(|filter| !filter.starts_with("none")) {
                let _ =
                    self.instance.folder().write(&format!("events/{group}/{name}/enable"), if on { "1" } else { "0" });
            }
        }
    }

    pub fn begin(&mut self, layout: &PageLayout) -> Result<(), TraceError> {
        let at = now();
        self.instance.switch(true)?;
        for pages in &mut self.pages {
            pages.drain(layout, now);
            pages.begin(at);
        }
        Ok(())
    }

    pub fn end(&mut self, layout: &PageLayout) {
        let _ = self.instance.switch(false);
        self.drain(layout);
    }

    pub fn drain(&mut self, layout: &PageLayout) {
        self.pages.iter_mut().for_each(|pages| pages.drain(layout, now));
    }

    pub fn pages(&self) -> impl Iterator<Item = &Pages> {
        self.pages.iter()
    }
}

/// A filter for events that target these CPUs.
fn filter(field: &str, cpus: &CpuSet) -> String {
    if field == ANYWHERE {
        return format!("{field}>=-1");
    }
    if field == "cpumask" || field == "target_cpus" {
        // Linux 6.6 and later can compare a field with a set of CPUs.
        return format!("{field} & CPUS{{{cpus}}}");
    }
    cpus.iter().map(|cpu| format!("{field}=={cpu}")).collect::<Vec<_>>().join("||")
}

/// What other CPUs did to `cpu` in a span, in order.
pub fn aimed_at<'a>(
    cpu: u32,
    pages: impl Iterator<Item = &'a Pages>,
    span: Span,
    layout: &PageLayout,
    decoder: &Decoder,
    names: &mut Names,
) -> Vec<RemoteRecord> {
    let mut found: Vec<RemoteRecord> = Vec::new();
    for pages in pages.filter(|pages| pages.cpu != cpu) {
        let records = pages.records(span, layout, decoder, names);
        let aimed = records.into_iter().filter(|record| is_aimed_at(cpu, &record.what));
        found.extend(aimed.map(|record| RemoteRecord { cpu: pages.cpu, record }));
    }
    nearest(found)
}

pub fn nearest(mut found: Vec<RemoteRecord>) -> Vec<RemoteRecord> {
    found.sort_by_key(|other| other.record.at);
    // If there are too many records, the last ones are kept, because they are closest to the wake-up.
    found.drain(..found.len().saturating_sub(RECORDS_MAX));
    found
}

pub fn is_aimed_at(cpu: u32, what: &TraceEvent) -> bool {
    match what {
        TraceEvent::Waking { target, .. } | TraceEvent::IpiSend { target, .. } => *target == cpu,
        TraceEvent::Boost { .. } => true,
        _ => false,
    }
}
