//! Call stacks of a program's threads at system calls and page faults: the kernel copies registers and the top of the
//! stack, and this module follows them as long as the program is there to be read.

use super::code::{Piece, REGISTERS, Registers, Space, Unwinder};
use crate::sys::samples::{Ring, SampleEvent, Sampled};
use crate::trace::StackEvents;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Record, Seen, StackOf};
use punctual_numbers::trace::{Address, Context};
use punctual_rt::now;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Bytes of the stack that are copied: what the C library uses from `printf` to `write` fits several times.
const STACK_BYTES: u32 = 4096;
/// Pages of each CPU's ring: some 450 samples between two readings. More are dropped, which bounds what the copying costs.
const RING_PAGES: usize = 512;
/// Largest number of pairs of a thread and a CPU. Each needs two open files.
const PAIRS_MAX: usize = 256;
/// Records of perf: `PERF_RECORD_COMM`, `_SAMPLE`, `_MMAP2`.
const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const MAPPED: u32 = 10;
/// `PERF_RECORD_MISC_COMM_EXEC`: the name changed because another program was started.
const BY_EXEC: u16 = 1 << 13;

/// Samples of all threads of a program. The rings are closed after the events that write to them.
pub struct Stacks {
    events: Vec<SampleEvent>,
    rings: Vec<(u32, Ring)>,
    kinds: StackEvents,
    unwinder: Unwinder,
    /// Stacks that were seen before, which many records share.
    seen: BTreeSet<Arc<[Address]>>,
    /// What was written after the rings began to be read. Another ring may hold what comes before it.
    later: Vec<Entry>,
}

/// A record of a ring.
struct Entry {
    at: MonoTime,
    cpu: u32,
    kind: u32,
    flags: u16,
    contents: Vec<u8>,
}

impl Stacks {
    /// Opens events of these threads and of all that they start later. They are off at first.
    pub fn open(kinds: StackEvents, tids: &[u32], cpus: &CpuSet) -> io::Result<Self> {
        if REGISTERS == 0 || tids.len().saturating_mul(cpus.len()) > PAIRS_MAX {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (mut events, mut rings) = (Vec::new(), Vec::new());
        for cpu in cpus.iter() {
            let mut first: Option<SampleEvent> = None;
            for (tid, event) in tids.iter().flat_map(|tid| [kinds.call, kinds.fault].map(|event| (*tid, event))) {
                let Some(event) = event else { continue };
                let tells_mappings = Some(event) == kinds.call;
                let of = Sampled { event, tid, cpu, registers: REGISTERS, stack_bytes: STACK_BYTES, tells_mappings };
                let event = SampleEvent::open(of)?;
                if let Some(first) = &first {
                    event.write_to(first)?;
                    events.push(event);
                } else {
                    rings.push((cpu, Ring::of(&event, RING_PAGES)?));
                    first = Some(event);
                }
            }
            events.extend(first);
        }
        Ok(Self { events, rings, kinds, unwinder: Unwinder::default(), seen: BTreeSet::new(), later: Vec::new() })
    }

    pub fn switch(&self, on: bool) -> io::Result<()> {
        self.events.iter().try_for_each(|event| event.switch(on))
    }

    /// Adds the stacks of the process `pid` that were sampled before now. `space` follows what the process maps.
    pub fn drain(&mut self, pid: u32, space: &mut Space, records: &mut Vec<Record>) {
        let until = now();
        let mut entries = std::mem::take(&mut self.later);
        for (cpu, ring) in &mut self.rings {
            let cpu = *cpu;
            ring.read(|kind, flags, contents| entries.extend(Entry::of(cpu, kind, flags, contents, pid)));
        }
        entries.sort_by_key(|entry| entry.at);
        let ready = entries.partition_point(|entry| entry.at <= until);
        self.later = entries.split_off(ready);
        for entry in &entries {
            match entry.kind {
                COMM if entry.flags & BY_EXEC != 0 => space.clear(),
                MAPPED => mapped(&entry.contents).into_iter().for_each(|piece| space.add(piece)),
                SAMPLE => records.extend(self.record(entry, space)),
                _ => {}
            }
        }
    }

    fn record(&mut self, entry: &Entry, space: &Space) -> Option<Record> {
        let sample = Sample::of(&entry.contents)?;
        let of = if Some(sample.event) == self.kinds.fault { StackOf::Fault } else { StackOf::Call };
        let followed = self.unwinder.follow(space, sample.registers, sample.stack, of == StackOf::Fault);
        let addresses: Arc<[Address]> = followed.into();
        let addresses = self.seen.get(&addresses).cloned().unwrap_or(addresses);
        self.seen.insert(Arc::clone(&addresses));
        let seen = Seen::Stack { of, addresses };
        Some(Record { at: entry.at, cpu: entry.cpu, tid: sample.tid, context: Context::default(), seen })
    }
}

impl Entry {
    /// A record about the process `pid`; `None` for others.
    fn of(cpu: u32, kind: u32, flags: u16, contents: &[u8], pid: u32) -> Option<Self> {
        let its: [u8; 4] = *contents.first_chunk()?;
        if u32::from_ne_bytes(its) != pid || ![COMM, SAMPLE, MAPPED].contains(&kind) {
            return None;
        }
        // Samples have the time behind their ids, and others at their end.
        let time =
            if kind == SAMPLE { contents.get(8..16) } else { contents.last_chunk::<8>().map(<[u8; 8]>::as_slice) };
        let at = MonoTime::from_ns(u64::from_ne_bytes(time?.try_into().ok()?));
        Some(Self { at, cpu, kind, flags, contents: contents.to_vec() })
    }
}

/// Reads the parts of a record one after the other.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(part)
    }

    fn half(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn word(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(8)?.try_into().ok()?))
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

struct Sample<'a> {
    tid: i32,
    event: u16,
    registers: Registers,
    stack: &'a [u8],
}

impl<'a> Sample<'a> {
    /// `None` if the kernel could not copy registers, or those of a program of 32 bits.
    fn of(contents: &'a [u8]) -> Option<Self> {
        const OF_64_BITS: u64 = 2;
        let mut parts = Parts(contents);
        parts.half()?;
        let tid = i32::try_from(parts.half()?).ok()?;
        parts.word()?;
        let length = usize::try_from(parts.half()?).ok()?;
        let event = u16::from_ne_bytes(*parts.bytes(length)?.first_chunk()?);
        if parts.word()? != OF_64_BITS {
            return None;
        }
        let count = usize::try_from(REGISTERS.count_ones()).ok()?;
        let values: Vec<u64> = (0..count).map_while(|_| parts.word()).collect();
        let size = usize::try_from(parts.word()?).ok()?;
        let copied = parts.bytes(size)?;
        let filled = parts.word().and_then(|filled| usize::try_from(filled).ok()).unwrap_or(0);
        let stack = copied.get(..filled).unwrap_or(copied);
        Some(Self { tid, event, registers: Registers::of(values.into_iter()), stack })
    }
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
        assert!(Entry::of(0, MAPPED, 0, &contents, 7).is_some());
        assert!(Entry::of(0, MAPPED, 0, &contents, 8).is_none() && Entry::of(0, 2, 0, &contents, 7).is_none());
    }

    #[test]
    fn a_cut_sample_is_none() {
        for length in 0..64 {
            assert!(Sample::of(&vec![0xff; length]).is_none());
        }
    }

    #[test]
    fn too_many_threads_are_refused() {
        let tids: Vec<u32> = (1..=300).collect();
        let kinds = StackEvents { call: Some(1), fault: None };
        assert!(Stacks::open(kinds, &tids, &CpuSet::parse_list("0").unwrap()).is_err());
    }
}
