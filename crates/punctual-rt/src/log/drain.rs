//! The ordinary end of the log: gathers the records of all writers, puts them in order and writes them out.

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

/// How long a record is held back for older ones that a thread may have been kept from storing.
const HOLD: Nanos = Nanos::from_ms(10);

/// One writer, seen from here.
struct Source {
    thread: Arc<Thread>,
    receiver: Receiver<LogRecord>,
    lost: u64,
}

impl Source {
    /// Whether nothing will come any more. The order matters: the sending end is asked for first.
    fn is_done(&self) -> bool {
        self.receiver.is_abandoned() && self.receiver.is_empty() && self.receiver.refused() == self.lost
    }
}

/// Where new writers are announced, from whatever thread.
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

/// What a drain has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records written out.
    pub records: u64,
    /// Records lost because a log was full.
    pub lost: u64,
}

/// Gathers the records of any number of [`LogWriter`]s and writes them, ordered by time, as text, as a trace, or both.
///
/// Either [`start`](Self::start) a thread that does so, or call [`drain`](Self::drain) now and then. Records are held
/// back for 10 ms, so that those of several threads come out in order; one that its thread stored later than that is
/// written when it comes.
///
/// An output that fails is given up while the others go on; the first failure is reported by
/// [`finish`](Self::finish). Records are taken from the writers in any case, so a full disk does not fill the logs.
#[derive(Default)]
pub struct Drain {
    pub(super) arrivals: Arc<Arrivals>,
    sources: Vec<Source>,
    /// Lines that are held back, in order of time.
    held: Vec<LogLine>,
    outputs: Vec<Box<dyn Output>>,
    failure: Option<io::Error>,
    drained: Drained,
}

impl Drain {
    /// A drain without outputs: what it gathers is dropped.
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

    /// Writes a trace to `output`, which <https://ui.perfetto.dev> shows: a row per thread with what began and ended
    /// in it, messages as instants, a graph per counter. Buffer it if it is a file.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
    #[must_use]
    pub fn trace(mut self, output: impl Write + Send + 'static) -> Self {
        self.outputs.push(Box::new(Perfetto::new(output)));
        self
    }

    /// A log of `capacity` records for the thread that `name` describes.
    ///
    /// # Panics
    /// When memory for `capacity` records (about 100 bytes each) cannot be had.
    ///
    /// # Real-time
    /// Allocates: call before the loop.
    pub fn writer(&mut self, name: &str, capacity: usize) -> LogWriter {
        self.arrivals.writer(name, capacity)
    }

    /// Takes what the writers have stored and writes out what is older than 10 ms.
    ///
    /// # Real-time
    /// Allocates, locks, and blocks as long as the outputs do: never call it from a loop.
    pub fn drain(&mut self) {
        let now = now();
        self.gather(now);
        let ready = self.held.partition_point(|line| line.at <= now - HOLD);
        self.write(ready);
    }

    /// Writes out what is left, and reports.
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
            // No more than waits now: a thread that writes faster than this reads must not keep it here.
            for _ in 0..source.receiver.len() {
                let Some(record) = source.receiver.pop() else { break };
                // An instant that is still to come would be held back for ever.
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
