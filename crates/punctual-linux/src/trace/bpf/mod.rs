//! An engine with a BPF program: it gives the same records as the kernel's trace at lower cost, and stacks.
//!
//! ```text
//! flight.bpf.c -> object, programs (loads, attaches)  in the kernel
//!              -> lanes (shared memory) -> record     here
//! program.bpf.c -> object -> lanes -> program         what the threads of one program do
//! ```
//! Each CPU has a ring that the kernel overwrites. Records are read in place, and only when a window needs them. The
//! engine is off by default, because it needs clang to build and BTF to run.

mod lanes;
mod object;
mod program;
mod programs;
mod record;

pub use self::program::Follower;

use self::lanes::{Lanes, RecordRead};
use self::programs::Programs;
use super::elsewhere::{is_aimed_at, nearest};
use super::engine::{Covered, Engine, MeasuredThread, Span};
use super::error::TraceError;
use super::memory::default_bytes;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::{
    Blind, Context, Names, RefusedRung, RemoteRecord, Rung, TraceEvent, TraceRecord, TraceTotal, Wanted,
};
use punctual_rt::now;
use std::collections::VecDeque;

/// Interval of reading the kernel's count of skipped program runs. Records are trusted up to the last reading.
const CHECK: Nanos = Nanos::from_ms(50);
/// How long periods with skipped runs are remembered.
const REMEMBERED: Nanos = Nanos::from_secs(10);
/// Largest disorder of records. A record that interrupts the writing of another is finished first.
const DISORDER: Nanos = Nanos::from_us(50);

pub struct Bpf {
    cpus: Vec<u32>,
    lanes: Lanes,
    programs: Programs,
    begun: MonoTime,
    covered_to: MonoTime,
    missed: u64,
    /// Periods in which program runs were skipped.
    gaps: VecDeque<Span>,
}

impl Bpf {
    /// Loads and attaches the programs. Nothing is recorded yet.
    pub fn open(cpus: &CpuSet, buffer_bytes: Option<u64>) -> Result<Self, TraceError> {
        let cpus: Vec<u32> = cpus.iter().collect();
        // One more lane, for what other CPUs do to the measured ones.
        let each = buffer_bytes.unwrap_or_else(|| default_bytes(cpus.len() as u64 + 1, 0));
        let (mut programs, lanes) = Programs::load(&cpus, each)?;
        programs.attach()?;
        let missed = programs.missed();
        Ok(Self {
            cpus,
            lanes,
            programs,
            begun: MonoTime::default(),
            covered_to: MonoTime::default(),
            missed,
            gaps: VecDeque::new(),
        })
    }

    /// Reads the count of skipped runs. Records are complete up to now, or a gap is noted.
    fn check(&mut self) {
        let at = now();
        let missed = self.programs.missed();
        if missed != std::mem::replace(&mut self.missed, missed) {
            self.gaps.push_back(Span { from: self.covered_to, to: at });
        }
        while self.gaps.front().is_some_and(|gap| at.since(gap.to) > REMEMBERED) {
            self.gaps.pop_front();
        }
        self.covered_to = at;
    }

    fn lane(&self, cpu: u32) -> Option<usize> {
        self.cpus.iter().position(|measured| *measured == cpu)
    }

    /// Records of a lane in order. Names are added to `names`.
    fn read(&self, lane: usize, Span { from, to }: Span, names: &mut Names) -> Vec<RemoteRecord> {
        let mut found: Vec<RemoteRecord> = Vec::new();
        let mut last = from;
        for read in self.lanes.read(lane, from.minus(DISORDER)) {
            let raw = match read {
                RecordRead::Whole(raw) => raw,
                RecordRead::Overwritten => continue,
                RecordRead::Unfinished => {
                    let what = TraceEvent::Lost { count: Some(1) };
                    let record = TraceRecord { at: last, tid: 0, context: Context::default(), what };
                    found.push(RemoteRecord { cpu: u32::MAX, record });
                    continue;
                }
            };
            last = raw.at();
            if last > to.plus(DISORDER) {
                break;
            }
            let continues = |before: &mut RemoteRecord| raw.continues(&mut before.record);
            if (from..=to).contains(&last) && !found.last_mut().is_some_and(continues) {
                found.extend(raw.record(names).map(|record| RemoteRecord { cpu: raw.cpu(), record }));
            }
        }
        found.sort_by_key(|found| found.record.at);
        found
    }
}

impl Engine for Bpf {
    fn cpus(&self) -> Vec<u32> {
        self.cpus.clone()
    }

    fn begin(&mut self) -> Result<(), TraceError> {
        self.lanes.switch(true);
        self.begun = now();
        self.covered_to = self.begun;
        self.missed = self.programs.missed();
        Ok(())
    }

    fn end(&mut self) {
        self.lanes.switch(false);
        self.check();
    }

    fn drain(&mut self) {
        if now().since(self.covered_to) >= CHECK {
            self.check();
        }
    }

    fn enable(&mut self) {
        // Attaching worked before. If it fails now, windows are empty and report it.
        let _ = self.programs.attach();
    }

    fn disable(&mut self) {
        self.programs.detach();
    }

    fn measures(&mut self, threads: &[MeasuredThread]) {
        for MeasuredThread { cpu, tid } in threads {
            self.lane(*cpu).into_iter().for_each(|lane| self.lanes.set_thread(lane, *tid));
        }
    }

    fn late_is(&mut self, cpu: u32, threshold: Nanos) {
        // Taking a stack is slow enough to delay activations, so it is done only above the threshold.
        self.lane(cpu).into_iter().for_each(|lane| self.lanes.set_stack_over(lane, threshold));
    }

    fn covered(&self, cpu: u32) -> Option<Covered> {
        let from = self.begun.max(self.lanes.oldest(self.lane(cpu)?));
        Some(Covered { span: Span { from, to: self.covered_to }, warped: false })
    }

    fn records(&self, cpu: u32, span: Span) -> (Vec<TraceRecord>, Names) {
        let mut names = Names::default();
        let span = Span { from: span.from.max(self.begun), ..span };
        let found = self.lane(cpu).map(|lane| self.read(lane, span, &mut names)).unwrap_or_default();
        (found.into_iter().map(|found| found.record).collect(), names)
    }

    fn missed(&self, Span { from, to }: Span) -> bool {
        self.gaps.iter().any(|gap| gap.from <= to && gap.to >= from)
    }

    fn elsewhere(&self, cpu: u32, span: Span, names: &mut Names) -> Vec<RemoteRecord> {
        let others = (0..=self.cpus.len()).filter(|lane| self.cpus.get(*lane) != Some(&cpu));
        let found = others.flat_map(|lane| self.read(lane, span, names)).collect::<Vec<_>>();
        nearest(found.into_iter().filter(|found| is_aimed_at(cpu, &found.record.what)).collect())
    }

    fn rung(&self) -> Rung {
        Rung::Bpf
    }

    fn no_better(&self) -> Vec<RefusedRung> {
        let refused = |rung| RefusedRung { rung, why: "the engine bpf was asked for".to_owned() };
        [Rung::Timerlat, Rung::Tracefs].map(refused).to_vec()
    }

    fn buffer_bytes(&self) -> u64 {
        self.lanes.lane_bytes()
    }

    fn event_names(&self) -> Vec<String> {
        self.programs.events().map(Wanted::path).collect()
    }

    fn blind(&self) -> Vec<Blind> {
        let mut blind = vec![Blind::CriticalSections, Blind::Hypervisor];
        blind.extend(self.programs.absent().map(|event| Blind::Event(event.path())));
        blind
    }

    fn totals(&self) -> Vec<TraceTotal> {
        let total = |(lane, cpu): (usize, &u32)| {
            let records = self.lanes.written(lane);
            // The kernel's count of skipped runs is not per CPU, so the whole count is reported for the first CPU.
            let lost = if lane == 0 { self.programs.missed() } else { 0 };
            TraceTotal { cpu: *cpu, records, lost, bytes: records * record::RECORD_BYTES }
        };
        self.cpus.iter().enumerate().map(total).collect()
    }
}
