//! Reads `samples.raw` of jitterdebugger: records of 28 bytes in the byte order of the machine that wrote them.
//!
//! A record has the thread (4 bytes), seconds and nanoseconds of the wake-up (8 and 8), and the latency (8): in
//! microseconds, or with `-N` in nanoseconds. The file does not state which, so the user must state the unit if the
//! smallest latency is a millisecond or more. Memory is one histogram for each thread.

use super::number::{self, Unit};
use super::run::Stated;
use super::sequence::Sequence;
use super::{ForeignRun, Problem, Series};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

const RECORD: usize = 28;
/// Largest number of threads, to bound memory: each thread has a histogram of 30 KB.
const MOST_THREADS: usize = 1024;

#[derive(Default)]
pub(super) struct Raw {
    unit: Option<Unit>,
    pending: Vec<u8>,
    big: bool,
    threads: BTreeMap<u32, Sequence>,
    instants: BTreeMap<u32, Nanos>,
    records: u64,
    first: Option<Nanos>,
    last: Nanos,
}

/// Whether the bytes begin like `samples.raw`, in one byte order or the other.
pub(super) fn looks_like(first: &[u8]) -> bool {
    order(first).is_some()
}

/// Whether the records are big-endian; `None` if they make sense in neither byte order.
fn order(first: &[u8]) -> Option<bool> {
    let fits = |big: bool| first.chunks_exact(RECORD).take(64).all(|record| sample(record, big).is_some());
    (first.len() >= RECORD).then(|| [false, true].into_iter().find(|big| fits(*big))).flatten()
}

/// Reads a record: (thread, instant, latency in the unit of the file).
fn sample(record: &[u8], big: bool) -> Option<(u32, Nanos, u64)> {
    let (thread, rest) = record.split_first_chunk::<4>()?;
    let (seconds, rest) = rest.split_first_chunk::<8>()?;
    let (nanoseconds, rest) = rest.split_first_chunk::<8>()?;
    let (value, _) = rest.split_first_chunk::<8>()?;
    let long = |bytes: &[u8; 8]| if big { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) };
    let thread = if big { u32::from_be_bytes(*thread) } else { u32::from_le_bytes(*thread) };
    let (seconds, nanoseconds, value) = (long(seconds), long(nanoseconds), long(value));
    // Rejects bytes that cannot be a sample: an instant 272 years after boot, or a latency of a day.
    let sane = (seconds, nanoseconds) != (0, 0)
        && (thread as usize) < MOST_THREADS
        && seconds < 1 << 33
        && nanoseconds < 1_000_000_000
        && value < 86_400_000_000;
    sane.then(|| (thread, Nanos::from_secs(seconds).plus(Nanos::from_ns(nanoseconds)), value))
}

impl Raw {
    /// A reader whose byte order is found from the first bytes of the file.
    pub fn new(first: &[u8], unit: Option<Unit>) -> Result<Self, Problem> {
        number::refuse_coarse(unit, "jitterdebugger")?;
        let what = "the first records are none of jitterdebugger, in neither byte order";
        let big = order(first).ok_or_else(|| Problem::new(what))?;
        Ok(Self { unit, big, ..Self::default() })
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let grain = self.grain();
        let mut records = pending.chunks_exact(RECORD);
        for record in records.by_ref() {
            let Some((thread, at, value)) = sample(record, self.big) else {
                let what =
                    format!("record {} is none of jitterdebugger: the file is damaged or something else", self.records);
                return Err(Problem::new(what));
            };
            if self.instants.insert(thread, at).is_some_and(|last| last >= at) {
                let what = format!(
                    "record {}: thread {thread} did not wake after its record before: the file is damaged or something else",
                    self.records
                );
                return Err(Problem::new(what));
            }
            self.threads.entry(thread).or_default().record(grain.times(value));
            (self.first, self.last) = (Some(self.first.unwrap_or(at)), self.last.max(at));
            self.records = self.records.saturating_add(1);
        }
        self.pending = records.remainder().to_vec();
        Ok(())
    }

    fn grain(&self) -> Nanos {
        Nanos::from_ns(self.unit.unwrap_or(Unit::Us).ns())
    }

    pub fn finish(self) -> Result<ForeignRun, Problem> {
        if self.records == 0 {
            return Err(Problem::new("there is no whole record in it"));
        }
        number::is_in_microseconds(
            self.unit,
            self.threads.values().filter_map(|values| values.counts.min()).min(),
            "jitterdebugger",
        )?;
        let cut = self.pending.len();
        let cut =
            (cut > 0).then(|| format!("doubted: the file ends with {cut} bytes of a record: it was cut off there"));
        let grain = self.grain();
        let series =
            |(thread, values): (&u32, &Sequence)| Series::of_sequence(format!("thread {thread}"), values, grain);
        let said = "jitterdebugger numbers its threads, not the CPUs they ran on, and writes no period";
        Ok(ForeignRun {
            program: Some("jitterdebugger".to_owned()),
            duration: self.first.map(|first| Stated { length: self.last.minus(first), grain: Nanos::from_us(1) }),
            series: self.threads.iter().map(series).collect(),
            notes: std::iter::once(said.to_owned()).chain(cut).collect(),
            ..ForeignRun::default()
        })
    }
}
