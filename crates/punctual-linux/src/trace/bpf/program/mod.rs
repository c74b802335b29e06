//! An engine that records what the threads of one program do, by a program in the kernel.
//!
//! The kernel asks a set of bits whether it follows a thread, which takes a few nanoseconds. Records are read from each CPU's
//! ring in batches; nobody is woken for one. All of it belongs to open files of this process, so the kernel ends it together
//! with the process, however that ends.

mod decode;

use super::lanes::{LANE_WORDS, Lanes};
use super::object::{Object, btf, chain, lane_of, refused};
use super::record::{RECORD_BYTES, RECORD_WORDS};
use crate::sys::shared_words::SharedWords;
use crate::trace::engine::ProgramEngine;
use crate::trace::error::TraceError;
use crate::trace::place::numbers_are_ours;
use aya::{Btf, EbpfLoader, include_bytes_aligned};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Engine, Record, Seen};
use punctual_numbers::trace::{Context, FLAG_HARDIRQ, FLAG_SOFTIRQ, Tid};
use rustix::thread::{ClockId, clock_nanosleep_relative, gettid};
use rustix::time::Timespec;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/program.bpf.o"));
/// Bytes of the rings of all CPUs, and of one: 130,000 records between two readings 20 ms apart.
const ALL_BYTES: u64 = 64 << 20;
const LANE_BYTES: std::ops::RangeInclusive<u64> = (256 << 10)..=(8 << 20);
/// The set of bits has room for as many threads, the most that a kernel can have (`PID_MAX_LIMIT`).
const THREADS: usize = 4 << 20;
/// Events without which there are no cycles, and those that are missed where they are missing. The remaining programs keep count
/// of interrupts, of which each architecture has its own.
const NEEDED: [&str; 4] =
    ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch", "sched:sched_waking"];
const OTHERS: [&str; 7] = [
    "timer:hrtimer_start",
    "exceptions:page_fault_user",
    "signal:signal_deliver",
    "task:task_newtask",
    "task:task_rename",
    "sched:sched_process_exit",
    "sched:sched_process_exec",
];
/// How often the self-test sleeps. A timer that expires before the thread is asleep wakes nobody.
const ATTEMPTS: u32 = 5;
const TEST_SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000 };

pub struct Follower {
    object: Object,
    cpus: Vec<u32>,
    lanes: Lanes,
    followed: SharedWords,
    /// Of each lane, the number of the record to be read next, and the time of the last one.
    read: Vec<(u64, MonoTime)>,
    overwritten: u64,
    /// Runs of programs that the kernel had skipped before recording began.
    skipped_before: u64,
    blind: Vec<String>,
}

impl Follower {
    /// Loads and attaches the programs, and tries them on this thread. Nothing is recorded afterwards.
    pub fn open(cpus: &CpuSet) -> Result<Self, TraceError> {
        numbers_are_ours()?;
        let cpus: Vec<u32> = cpus.iter().collect();
        let mut follower = Self::load(cpus)?;
        follower.test()?;
        Ok(follower)
    }

    fn load(cpus: Vec<u32>) -> Result<Self, TraceError> {
        let btf = btf()?;
        let bytes = (ALL_BYTES / cpus.len().max(1) as u64).clamp(*LANE_BYTES.start(), *LANE_BYTES.end());
        let shift = (bytes / RECORD_BYTES).ilog2();
        let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let records = count.checked_mul(1 << shift).ok_or_else(|| refused("too many CPUs"))?;
        let ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            .set_max_entries("lanes", count)
            .set_max_entries("ring", records)
            .set_global("lane_of", &lane_of(&cpus)?[..], true)
            .set_global("shift", &shift, true)
            .load(OBJECT)
            .map_err(|error| refused(&chain(&error)))?;
        let mut object = Object::new(ebpf);
        let (of_lanes, ring) = (
            object.words("lanes", cpus.len() * LANE_WORDS)?,
            object.words("ring", (cpus.len() << shift) * RECORD_WORDS)?,
        );
        let followed = object.words("followed", THREADS / 64)?;
        let lanes = Lanes::new(of_lanes, ring, cpus.len(), shift);
        let blind = begin(&mut object, &btf)?;
        let read = vec![(0, MonoTime::default()); cpus.len()];
        Ok(Self { object, cpus, lanes, followed, read, overwritten: 0, skipped_before: 0, blind })
    }

    /// Sleeps, and looks whether the records tell of it.
    fn test(&mut self) -> Result<(), TraceError> {
        let own = gettid().as_raw_nonzero().get();
        let tid = u32::try_from(own).unwrap_or_default();
        self.mark(tid, true);
        self.lanes.switch(true);
        let mut records = Vec::new();
        for _ in 0..ATTEMPTS {
            let _ = clock_nanosleep_relative(ClockId::Monotonic, &TEST_SLEEP);
            self.drain(&mut records);
            if untold(&records, own).is_none() {
                break;
            }
        }
        self.lanes.switch(false);
        self.mark(tid, false);
        self.drain(&mut Vec::new());
        (self.overwritten, self.skipped_before) = (0, self.object.skipped());
        match untold(&records, own) {
            Some(what) => Err(refused(&format!("its self-test slept, and its records do not tell {what}"))),
            None => Ok(()),
        }
    }

    fn word(&self, tid: u32) -> Option<&AtomicU64> {
        self.followed.words().get(usize::try_from(tid / 64).ok()?)
    }

    fn mark(&self, tid: u32, on: bool) {
        let bit = 1 << (tid % 64);
        if let Some(word) = self.word(tid) {
            if on {
                word.fetch_or(bit, Relaxed)
            } else {
                word.fetch_and(!bit, Relaxed)
            };
        }
    }
}

/// What records of a sleep of this thread should tell and do not.
fn untold(records: &[Record], own: Tid) -> Option<&'static str> {
    let number = u32::try_from(libc::SYS_clock_nanosleep).unwrap_or_default();
    let arguments = [u64::from(libc::CLOCK_MONOTONIC.unsigned_abs()), 0];
    let in_interrupt = |record: &Record| record.context.flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ) != 0;
    let of_own = |is: &dyn Fn(&Seen) -> bool| records.iter().any(|record| record.tid == own && is(&record.seen));
    let left_the_cpu = |seen: &Seen| matches!(*seen, Seen::Switch { prev, prev_state: 1, .. } if prev == own);
    let woken = |record: &Record| record.seen == Seen::Waking { tid: own } && in_interrupt(record);
    let tests = [
        ("that it entered the call", of_own(&|seen| *seen == Seen::Enter { number, arguments })),
        ("that it armed a timer", of_own(&|seen| matches!(seen, Seen::Armed { .. }))),
        ("that it left the CPU", of_own(&left_the_cpu)),
        ("that an interrupt woke it", records.iter().any(woken)),
        ("that it left the call", of_own(&|seen| *seen == Seen::Exit { number, result: 0 })),
    ];
    tests.into_iter().find(|(_, is_told)| !is_told).map(|(what, _)| what)
}

/// Loads and attaches the programs. Returns the events that are not seen.
fn begin(object: &mut Object, btf: &Btf) -> Result<Vec<String>, TraceError> {
    let mut blind = Vec::new();
    for name in object.names() {
        let begun = object.load(&name, btf).and_then(|()| object.attach(&name));
        let of = |paths: &[&'static str]| paths.iter().copied().find(|path| path.ends_with(&format!(":{name}")));
        match begun {
            Err(error) if of(&NEEDED).is_some() => return Err(refused(&format!("{name}: {}", chain(&error)))),
            Err(_) => blind.extend(of(&OTHERS).map(str::to_owned)),
            Ok(()) => {}
        }
    }
    Ok(blind)
}

impl ProgramEngine for Follower {
    fn engine(&self) -> Engine {
        Engine::Bpf
    }

    fn follow(&self, tids: &[u32]) -> Result<(), TraceError> {
        for tid in tids {
            self.mark(*tid, true);
        }
        Ok(())
    }

    fn forget(&self, tid: u32) {
        self.mark(tid, false);
    }

    fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.lanes.switch(on);
        Ok(())
    }

    fn drain(&mut self, records: &mut Vec<Record>) {
        let Self { cpus, lanes, read, overwritten, .. } = self;
        for (lane, (cpu, (next, last))) in cpus.iter().zip(read).enumerate() {
            let before = records.len();
            let lost = lanes.read_on(lane, next, |raw| {
                let context = Context { flags: raw.flags, preempt: 0 };
                let record = |seen| Record { at: raw.at(), cpu: *cpu, tid: raw.tid, context, seen };
                records.extend(decode::seen(&raw).map(record));
            });
            if lost > 0 {
                *overwritten += lost;
                let lost = Record { at: *last, cpu: *cpu, tid: 0, context: Context::default(), seen: Seen::Lost };
                records.insert(before, lost);
            }
            *last = records.get(before..).and_then(|new| new.last()).map_or(*last, |record| record.at.max(*last));
        }
    }

    fn lost(&self) -> u64 {
        self.overwritten + self.object.skipped().saturating_sub(self.skipped_before)
    }

    fn blind(&self) -> &[String] {
        &self.blind
    }
}

#[cfg(test)]
mod tests;
