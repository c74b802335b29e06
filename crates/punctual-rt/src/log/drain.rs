//! The reading end of a log, which an ordinary thread uses: collects the records of all writers, sorts them by time and
//! writes them out.

use super::line::{LogLine, Noted, Output};
use super::perfetto::Perfetto;
use super::record::LogRecord;
use super::text::Text;
use super::writer::{LogWriter, Thread};
use crate::sys::now;
use crate::{Receiver, spsc};
use punctual_hist::{MonoTime, Nanos};
use std::io::{self, Write};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

/// How long a record is held back, because a delayed thread may still store an older one.
const HOLD: Nanos = Nanos::from_ms(10);

/// One writer of the log, as the drain knows it.
struct Source {
    thread: Arc<Thread>,
    receiver: Receiver<LogRecord>,
    lost: u64,
}

impl Source {
    /// Whether no more records will come. The order matters: whether the writer was dropped has to be asked first.
    fn is_done(&self) -> bool {
        self.receiver.is_abandoned() && self.receiver.is_empty() && self.receiver.refused() == self.lost
    }
}

/// The number of writers so far, and the writers that were added since the drain last collected. Any thread may add
/// one.
#[derive(Default)]
pub(super) struct Arrivals(Mutex<(u64, Vec<Source>)>);

impl Arrivals {
    pub(super) fn writer(&self, name: &str, capacity: usize) -> LogWriter {
        let (sender, receiver) = spsc(capacity);
        let mut arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, sources) = &mut *arrivals;
        *count = count.saturating_add(1);
        let thread = Arc::new(Thread { number: *count, name: name.to_owned(), id: AtomicU32::new(0) });
        sources.push(Source { thread: Arc::clone(&thread), receiver, lost: 0 });
        LogWriter::new(sender, thread)
    }
}

/// Counts of a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records written out.
    pub records: u64,
    /// Records lost because a log was full.
    pub lost: u64,
}

/// Collects the records of any number of [`LogWriter`]s and writes them, ordered by time, as text, as a trace, or both.
///
/// Either [`start`](Self::start) a thread for this, or call [`drain`](Self::drain) from time to time. Records are held
/// back for 10 ms, so that records of several threads come out in order. A record that its thread stores later than
/// that is written when it arrives.
///
/// An output that fails is no longer written to; the others continue. [`finish`](Self::finish) reports the first
/// failure. Records are taken from the writers in any case, so a full disk does not fill the logs.
#[derive(Default)]
pub struct Drain {
    pub(super) arrivals: Arc<Arrivals>,
    sources: Vec<Source>,
    /// Lines that are held back, ordered by time.
    held: Vec<LogLine>,
    outputs: Vec<Box<dyn Output>>,
    failure: Option<io::Error>,
    drained: Drained,
}

impl Drain {
    /// A drain without outputs, which drops the records that it collects.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes lines of text to `output`: seconds of `CLOCK_MONOTONIC`, thread, text.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
    #[must_use]
    pub fn text(mut self, output: impl Write + Send + 'static) -> Self {
        self.outputs.push(Box::new(Text(output)));
        self
    }

    /// Writes a trace for <https://ui.perfetto.dev> to `output`: a row per thread with its spans, messages as instants,
    /// and a graph per counter. Wrap a file in a buffer.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
    #[must_use]
    pub fn trace(mut self, output: impl Write + Send + 'static) -> Self {
        self.outputs.push(Box::new(Perfetto::new(output)));
        self
    }

    /// Makes a log of `capacity` records for the thread that `name` describes.
    ///
    /// # Panics
    /// If memory for `capacity` records (about 100 bytes each) cannot be allocated.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
    pub fn writer(&mut self, name: &str, capacity: usize) -> LogWriter {
        self.arrivals.writer(name, capacity)
    }

    /// Takes the stored records from the writers, and writes out those that are older than 10 ms.
    ///
    /// # Real-time
    /// Allocates, locks, and blocks as long as the outputs do: never call it from a loop.
    pub fn drain(&mut self) {
        let now = now();
        self.gather(now);
        let ready = self.held.partition_point(|line| line.at <= now - HOLD);
        self.write(ready);
    }

    /// Writes out all remaining records, and returns the counts.
    ///
    /// # Errors
    /// The first failure of an output.
    ///
    /// # Real-time
    /// Allocates, locks, and blocks as long as the outputs do: call after the loop.
    pub fn finish(mut self) -> io::Result<Drained> {
        self.gather(now());
        self.write(self.held.len());
        self.failure.map_or(Ok(self.drained), Err)
    }

    fn gather(&mut self, now: MonoTime) {
        let mut arrivals = self.arrivals.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.sources.append(&mut arrivals.1);
        drop(arrivals);
        for source in &mut self.sources {
            // Only the records waiting at this moment are read: a thread that writes faster than this loop reads must
            // not keep it here.
            for _ in 0..source.receiver.len() {
                let Some(record) = source.receiver.pop() else { break };
                // A record with an instant in the future would be held back for ever.
                let at = record.at.min(now);
                self.held.push(LogLine { at, thread: Arc::clone(&source.thread), what: Noted::Record(record) });
            }
            let lost = source.receiver.refused().wrapping_sub(source.lost);
            if lost != 0 {
                source.lost = source.lost.wrapping_add(lost);
                self.held.push(LogLine { at: now, thread: Arc::clone(&source.thread), what: Noted::Lost(lost) });
            }
        }
        self.sources.retain(|source| !source.is_done());
        self.held.sort_by_key(|line| line.at);
    }

    fn write(&mut self, ready: usize) {
        let Self { held, outputs, failure, drained, .. } = self;
        let lines: Vec<LogLine> = held.drain(..ready).collect();
        if lines.is_empty() {
            return;
        }
        for line in &lines {
            match line.what {
                Noted::Record(_) => drained.records = drained.records.saturating_add(1),
                Noted::Lost(lost) => drained.lost = drained.lost.saturating_add(lost),
            }
        }
        outputs.retain_mut(|output| {
            let result = lines.iter().try_for_each(|line| output.write(line)).and_then(|()| output.flush());
            result.map_err(|error| failure.get_or_insert(error)).is_ok()
        });
    }
}
