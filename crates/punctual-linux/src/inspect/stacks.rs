//! Call stacks of a program's threads at system calls and page faults: the kernel copies registers and the top of the
//! stack, and this module follows them as long as the program is there to be read.

use super::code::{Piece, REGISTERS, Space, Spaces, Unwinder};
use super::sample::{Parts, Sample, time};
use crate::sys::samples::{Event, Ring, SampleEvent, Sampled};
use crate::trace::StackEvents;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Record, Seen, StackOf};
use punctual_numbers::trace::{Address, Context};
use punctual_rt::now;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Bytes of the stack that are copied: what the C library uses from `printf` to `write` fits several times.
const STACK_BYTES: u32 = 4096;
/// Pages of all rings together, and of one: some 1,800 samples between two readings. More are dropped, which bounds what
/// the copying costs. Readings are 20 ms apart, and a few hundred when the search for causes begins.
const ALL_PAGES: usize = 8192;
const RING_PAGES: RangeInclusive<usize> = 64..=2048;
/// Largest number of pairs of a thread and a CPU. Each needs two open files.
const PAIRS_MAX: usize = 256;
/// Records of perf: `PERF_RECORD_LOST`, `_COMM`, `_FORK`, `_SAMPLE`, `_MMAP2`.
const LOST: u32 = 2;
const COMM: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MAPPED: u32 = 10;
/// `PERF_RECORD_MISC_COMM_EXEC`: the name changed because another program was started.
const BY_EXEC: u16 = 1 << 13;

/// Samples of all threads of a program. The rings are closed after the events that write to them.
pub struct Stacks {
    events: Vec<SampleEvent>,
    rings: Vec<(u32, Ring)>,
    kinds: StackEvents,
    unwinders: BTreeMap<u32, Unwinder>,
    /// The only process that is observed; `None` if those that it starts are observed as well.
    only: Option<u32>,
    /// Stacks that were seen before, which many records share.
    seen: BTreeSet<Arc<[Address]>>,
    /// The number of samples that were dropped.
    lost: u64,
    /// What was written after the rings began to be read. Another ring may hold what comes before it.
    later: Vec<Entry>,
}

/// A record of a ring.
struct Entry {
    at: MonoTime,
    cpu: u32,
    /// The process that it is about.
    pid: u32,
    kind: u32,
    flags: u16,
    contents: Vec<u8>,
}

impl Stacks {
    /// Opens events of these threads and of all that they start later. They are off at first. With `only`, other processes
    /// are ignored.
    pub fn open(kinds: StackEvents, tids: &[u32], cpus: &CpuSet, only: Option<u32>) -> io::Result<Self> {
        if REGISTERS == 0 || tids.len().saturating_mul(cpus.len()) > PAIRS_MAX {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (mut events, mut rings) = (Vec::new(), Vec::new());
        for cpu in cpus.iter() {
            let mut first: Option<SampleEvent> = None;
            for (tid, event) in tids.iter().flat_map(|tid| [kinds.call, kinds.fault].map(|event| (*tid, event))) {
                let Some(event) = event else { continue };
                let tells_mappings = Some(event) == kinds.call;
                let event = SampleEvent::open(Sampled {
                    event: Event::Trace(event),
                    tid,
                    cpu: Some(cpu),
                    registers: REGISTERS,
                    stack_bytes: STACK_BYTES,
                    tells_mappings,
                })?;
                if let Some(first) = &first {
                    event.write_to(first)?;
                    events.push(event);
                } else {
                    rings.push((cpu, Ring::of(&event, ring_pages(cpus.len()))?));
                    first = Some(event);
                }
            }
            events.extend(first);
        }
        let unwinders = BTreeMap::new();
        Ok(Self { events, rings, kinds, unwinders, only, seen: BTreeSet::new(), lost: 0, later: Vec::new() })
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    pub fn switch(&self, on: bool) -> io::Result<()> {
        self.events.iter().try_for_each(|event| event.switch(on))
    }

    /// Adds the stacks that were sampled before now. `spaces` follow what each process maps.
    pub fn drain(&mut self, spaces: &mut Spaces, records: &mut Vec<Record>) {
        let until = now();
        let mut entries = std::mem::take(&mut self.later);
        let (only, own, mut lost) = (self.only, std::process::id(), 0);
        for (cpu, ring) in &mut self.rings {
            let cpu = *cpu;
            ring.read(|kind, flags, contents| {
                lost += if kind == LOST { lost_samples(contents) } else { 0 };
                let entry = Entry::of(cpu, kind, flags, contents);
                // A program is started from a thread of ours, which is followed until then.
                entries.extend(entry.filter(|entry| entry.pid != own && only.is_none_or(|only| only == entry.pid)));
            });
        }
        self.lost += lost;
        entries.sort_by_key(|entry| entry.at);
        let ready = entries.partition_point(|entry| entry.at <= until);
        self.later = entries.split_off(ready);
        for entry in &entries {
            let space = spaces.entry(entry.pid).or_insert_with(|| Space::of(entry.pid));
            match entry.kind {
                COMM if entry.flags & BY_EXEC != 0 => space.clear(),
                MAPPED => mapped(&entry.contents).into_iter().for_each(|piece| space.add(piece)),
                FORK => copied(entry, spaces),
                SAMPLE => records.extend(self.record(entry, space)),
                _ => {}
            }
        }
    }

    fn record(&mut self, entry: &Entry, space: &Space) -> Option<Record> {
        let sample = Sample::of(&entry.contents)?;
        let of = if Some(sample.event) == self.kinds.fault { StackOf::Fault } else { StackOf::Call };
        let unwinder = self.unwinders.entry(entry.pid).or_default();
        let followed = unwinder.follow(space, sample.registers, sample.stack, of == StackOf::Fault);
        let addresses: Arc<[Address]> = followed.into();
        let addresses = self.seen.get(&addresses).cloned().unwrap_or(addresses);
        self.seen.insert(Arc::clone(&addresses));
        let seen = Seen::Stack { of, addresses };
        Some(Record { at: entry.at, cpu: entry.cpu, tid: sample.tid, context: Context::default(), seen })
    }
}

/// The largest power of two that fits.
fn ring_pages(cpus: usize) -> usize {
    let share = (ALL_PAGES / cpus.max(1)).clamp(*RING_PAGES.start(), *RING_PAGES.end());
    1 << share.ilog2()
}

/// The number of samples in the contents of a `PERF_RECORD_LOST`, behind the id of the event.
fn lost_samples(contents: &[u8]) -> u64 {
    contents.get(8..).and_then(|bytes| bytes.first_chunk()).map_or(0, |count| u64::from_ne_bytes(*count))
}

/// A process that was copied from another has the same code at first.
fn copied(entry: &Entry, spaces: &mut Spaces) {
    let parent = entry.contents.get(4..).and_then(|bytes| bytes.first_chunk()).map(|pid| u32::from_ne_bytes(*pid));
    if let Some(parent) = parent.filter(|parent| *parent != entry.pid).and_then(|parent| spaces.get(&parent)) {
        let space = parent.copied_to(entry.pid);
        spaces.insert(entry.pid, space);
    }
}

impl Entry {
    /// `None` for records of other kinds.
    fn of(cpu: u32, kind: u32, flags: u16, contents: &[u8]) -> Option<Self> {
        let pid = u32::from_ne_bytes(*contents.first_chunk()?);
        if ![COMM, FORK, SAMPLE, MAPPED].contains(&kind) {
            return None;
        }
        // Samples have the time behind their ids, and others at their end.
        let at = if kind == SAMPLE { time(contents) } else { contents.last_chunk().map(|at| u64::from_ne_bytes(*at)) };
        let at = MonoTime::from_ns(at?);
        Some(Self { at, cpu, pid, kind, flags, contents: contents.to_vec() })
    }
}

/// The new mapping in the contents of a `PERF_RECORD_MMAP2`.
fn mapped(contents: &[u8]) -> Option<Piece> {
    let mut parts = Parts(contents.get(8..)?);
    let (from, length, offset) = (parts.word()?, parts.word()?, parts.word()?);
    // The device, the file's number and its generation, and the rights.
    parts.bytes(32)?;
    let name = parts.0.split(|byte| *byte == 0).next()?;
    let path = String::from_utf8_lossy(name).into_owned();
    Some(Piece { from, to: from.checked_add(length)?, offset, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_read_and_a_cut_one_is_none() {
        let words = [(7_u64 << 32) | 7, 0x4000, 0x1000, 0x2000, 0, 0, 0, 0];
        let mut contents: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(mapped(&contents[..60]), None);
        contents.extend(b"/usr/bin/a b\0\0\0\0");
        let piece = Piece { from: 0x4000, to: 0x5000, offset: 0x2000, path: "/usr/bin/a b".to_owned() };
        assert_eq!(mapped(&contents), Some(piece));
        assert!(Entry::of(0, MAPPED, 0, &contents).is_some_and(|entry| entry.pid == 7));
        assert!(Entry::of(0, 2, 0, &contents).is_none() && Entry::of(0, MAPPED, 0, &contents[..3]).is_none());
    }

    #[test]
    fn a_copied_process_has_the_code_of_the_other_one() {
        let piece = Piece { from: 0x4000, to: 0x5000, offset: 0, path: "/none/loop".to_owned() };
        let mut spaces = Spaces::from([(7, Space::of(7))]);
        spaces.entry(7).and_modify(|space| space.add(piece));
        let fork = |pid: u32, parent: u32| {
            let words = [pid, parent, pid, parent, 0, 0];
            Entry::of(0, FORK, 0, &words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>()).unwrap()
        };
        copied(&fork(8, 7), &mut spaces);
        assert!(spaces[&8].find(Address(0x4001)).is_some());
        copied(&fork(9, 10), &mut spaces);
        copied(&fork(7, 7), &mut spaces);
        assert_eq!(spaces.keys().copied().collect::<Vec<_>>(), [7, 8], "a thread, or a copy of somebody unknown");
    }

    #[test]
    fn rings_share_their_memory_and_say_what_was_dropped() {
        assert_eq!([1, 2, 4, 6, 64, 1024].map(ring_pages), [2048, 2048, 2048, 1024, 128, 64]);
        let contents: Vec<u8> = [1_u64, 42, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!((lost_samples(&contents), lost_samples(&contents[..9])), (42, 0));
    }

    #[test]
    fn too_many_threads_are_refused() {
        let tids: Vec<u32> = (1..=300).collect();
        let kinds = StackEvents { call: Some(1), fault: None };
        assert!(Stacks::open(kinds, &tids, &CpuSet::parse_list("0").unwrap(), None).is_err());
    }
}
