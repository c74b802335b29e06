//! Records what the threads of a program do by an instance of the kernel's trace, which is removed when the value is dropped.

use super::super::TraceError;
use super::super::engine::ProgramEngine;
use super::super::guard;
use super::super::instance::{Instance, PROGRAM, STACKS};
use super::super::place::{TraceFolder, tracefs};
use super::USER_STACK;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Engine, PROGRAM_EVENTS, ProgramDecoder, Record, Seen};
use punctual_numbers::trace::{Context, PageLayout};
use rustix::io::{Errno, read};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

/// Buffers of each CPU, in bytes: 80,000 records of 100 bytes, between two readings 20 ms apart.
const BUFFER_BYTES: u64 = 8 << 20;
const STACKS_BYTES: u64 = 1 << 20;
/// Pages of one CPU that are read before other CPUs get their turn.
const PAGES_AT_ONCE: usize = 4096;
/// Thread ids in one write; the kernel reads them in pages.
const IDS_AT_ONCE: usize = 256;
/// Events of the instance for stacks.
const STACK_EVENTS: [&str; 2] = ["raw_syscalls:sys_enter", USER_STACK];

/// The instance of all events but stacks.
pub struct Traced {
    watch: Watch,
    blind: Vec<String>,
}

impl Traced {
    pub fn open(cpus: &CpuSet) -> Result<Self, TraceError> {
        let tracefs = tracefs()?;
        let mut blind = Vec::new();
        let is_main = |path: &str| path != USER_STACK;
        let watch = Watch::open(&tracefs, PROGRAM, layout(&tracefs)?, cpus, BUFFER_BYTES, &is_main, &mut blind)?;
        for needed in ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch", "sched:sched_waking"] {
            if !watch.decoder.knows(needed) {
                return Err(TraceError::NotUnderstood(format!("the kernel's event {needed} cannot be read")));
            }
        }
        Ok(Self { watch, blind })
    }
}

impl ProgramEngine for Traced {
    fn engine(&self) -> Engine {
        Engine::Tracefs
    }

    fn follow(&self, tids: &[u32]) -> Result<(), TraceError> {
        self.watch.follow(tids)
    }

    fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.watch.instance.switch(on)
    }

    fn record_only(&self, waits: &BTreeSet<u32>) -> Result<(), TraceError> {
        let folder = self.watch.instance.folder();
        let filter = waits.iter().map(|number| format!("id=={number}")).collect::<Vec<_>>().join("||");
        for event in ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"] {
            folder.write(&format!("events/{event}/filter"), &filter)?;
        }
        for event in ["exceptions/page_fault_user", "signal/signal_deliver"] {
            // The kernel may not have it.
            let _ = folder.write(&format!("events/{event}/enable"), "0");
        }
        Ok(())
    }

    fn drain(&mut self, records: &mut Vec<Record>) {
        self.watch.drain(records, |_| true);
    }

    fn lost(&self) -> u64 {
        self.watch.lost()
    }

    fn blind(&self) -> &[String] {
        &self.blind
    }
}

fn layout(tracefs: &TraceFolder) -> Result<PageLayout, TraceError> {
    let header = tracefs.read("events/header_page")?;
    PageLayout::parse(&header).map_err(|error| TraceError::NotUnderstood(error.to_string()))
}

/// An instance of the stacks that frame pointers show, at system calls other than `waits`.
pub fn stacks(cpus: &CpuSet, waits: &[u32]) -> Result<Watch, TraceError> {
    let tracefs = tracefs()?;
    let is_stack = |path: &str| STACK_EVENTS.contains(&path);
    let mut blind = Vec::new();
    let watch = Watch::open(&tracefs, STACKS, layout(&tracefs)?, cpus, STACKS_BYTES, &is_stack, &mut blind)?;
    if let Some(missing) = blind.first() {
        return Err(TraceError::NotUnderstood(missing.clone()));
    }
    let others: Vec<String> = waits.iter().map(|number| format!("id!={number}")).collect();
    let folder = watch.instance.folder();
    folder.write("events/raw_syscalls/sys_enter/filter", &others.join("&&"))?;
    folder.write("options/userstacktrace", "1")?;
    Ok(watch)
}

/// One instance with the events that it records.
pub struct Watch {
    readers: Vec<Reader>,
    layout: PageLayout,
    pub decoder: ProgramDecoder,
    buffer: Box<[u8]>,
    pub instance: Instance,
}

struct Reader {
    cpu: u32,
    fd: OwnedFd,
    /// Time of the latest record.
    last: MonoTime,
}

impl Watch {
    pub fn open(
        tracefs: &TraceFolder,
        suffix: &str,
        layout: PageLayout,
        cpus: &CpuSet,
        bytes: u64,
        wanted: &dyn Fn(&str) -> bool,
        blind: &mut Vec<String>,
    ) -> Result<Self, TraceError> {
        let instance = Instance::new(tracefs, suffix)?;
        guard::start();
        instance.set_up(cpus, bytes)?;
        let folder = instance.folder();
        let mut decoder = ProgramDecoder::default();
        for event in PROGRAM_EVENTS.iter().filter(|event| wanted(&event.path())) {
            let format = tracefs.read(&format!("events/{}/{}/format", event.group, event.name));
            let learned = format.is_ok_and(|format| decoder.learn(event, &format).is_ok());
            let enable = || folder.write(&format!("events/{}/{}/enable", event.group, event.name), "1");
            if !learned || (event.switchable && enable().is_err()) {
                blind.push(event.path());
            }
        }
        // Without this option, threads that the program starts later are not seen until they are listed.
        let _ = folder.write("options/event-fork", "1");
        let reader = |cpu| Ok(Reader { cpu, fd: instance.raw(cpu)?, last: MonoTime::default() });
        let readers = cpus.iter().map(reader).collect::<Result<Vec<_>, TraceError>>()?;
        let buffer = vec![0; layout.size()].into_boxed_slice();
        Ok(Self { readers, layout, decoder, buffer, instance })
    }

    pub fn lost(&self) -> u64 {
        self.readers.iter().map(|reader| self.instance.recorded(reader.cpu).lost).sum()
    }

    pub fn follow(&self, tids: &[u32]) -> Result<(), TraceError> {
        for (index, some) in tids.chunks(IDS_AT_ONCE).enumerate() {
            let ids: Vec<String> = some.iter().map(u32::to_string).collect();
            let (folder, text) = (self.instance.folder(), ids.join(" "));
            if index == 0 { folder.write("set_event_pid", &text) } else { folder.append("set_event_pid", &text) }?;
        }
        Ok(())
    }

    pub fn drain(&mut self, records: &mut Vec<Record>, keeps: impl Fn(&Seen) -> bool) {
        let Self { readers, layout, decoder, buffer, .. } = self;
        for reader in readers {
            for _ in 0..PAGES_AT_ONCE {
                match read(&reader.fd, &mut **buffer) {
                    Ok(0) | Err(Errno::AGAIN) => break,
                    Ok(length) => {
                        reader.take(buffer.get(..length).unwrap_or_default(), layout, decoder, records, &keeps);
                    }
                    Err(Errno::INTR) => {}
                    // The CPU is offline, so its trace ends here.
                    Err(_) => break,
                }
            }
        }
    }
}

impl Reader {
    fn take(
        &mut self,
        bytes: &[u8],
        layout: &PageLayout,
        decoder: &ProgramDecoder,
        records: &mut Vec<Record>,
        keeps: &impl Fn(&Seen) -> bool,
    ) {
        let cpu = self.cpu;
        let lost = |at| Record { at, cpu, tid: 0, context: Context::default(), seen: Seen::Lost };
        let Ok(page) = layout.page(bytes) else {
            records.extend(keeps(&Seen::Lost).then(|| lost(self.last)));
            return;
        };
        if page.missed.is_some() && keeps(&Seen::Lost) {
            records.push(lost(self.last));
        }
        for event in page.events() {
            let Ok(event) = event else {
                records.extend(keeps(&Seen::Lost).then(|| lost(self.last)));
                return;
            };
            self.last = self.last.max(event.at);
            if let Some((tid, context, seen)) = decoder.decode(&event).filter(|(.., seen)| keeps(seen)) {
                records.push(Record { at: event.at, cpu, tid, context, seen });
            }
        }
    }
}
