//! The raw pages of one CPU's trace from the last seconds.
//!
//! Pages are only copied when read. They are decoded when a window needs them, and dropped when they are old.

use super::engine::Span;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::{Context, Decoder, Missed, Names, PageLayout, TraceEvent, TraceRecord};
use rustix::io::{Errno, read};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

const KEPT: Nanos = Nanos::from_secs(3);
/// Largest number of pages of one CPU that are read before other CPUs get their turn.
const PAGES_AT_ONCE: usize = 4096;

/// One page and the time of its first record. A page that could not be parsed has no bytes; its time is the instant up
/// to which everything before it was read.
struct KeptPage {
    start: MonoTime,
    bytes: Box<[u8]>,
}

pub struct Pages {
    pub cpu: u32,
    fd: OwnedFd,
    read: VecDeque<KeptPage>,
    bytes: u64,
    bytes_max: u64,
    /// All pages of this span were read and are still held.
    covered: Span,
    /// Whether a page had a time in the future.
    pub warped: bool,
    pub bytes_read: u64,
    pub damaged: u64,
    buffer: Box<[u8]>,
}

impl Pages {
    /// A reader for pages of `size` bytes, which holds at most `bytes_max`.
    pub fn new(cpu: u32, fd: OwnedFd, size: usize, bytes_max: u64) -> Self {
        Self {
            cpu,
            fd,
            read: VecDeque::new(),
            bytes: 0,
            bytes_max,
            covered: Span::default(),
            warped: false,
            bytes_read: 0,
            damaged: 0,
            buffer: vec![0; size].into_boxed_slice(),
        }
    }

    /// Marks the beginning of recording. Pages that were read before are dropped.
    pub fn begin(&mut self, at: MonoTime) {
        self.read.clear();
        self.bytes = 0;
        self.covered = Span { from: at, to: at };
    }

    /// Reads all available pages without waiting; `now` reads the clock.
    pub fn drain(&mut self, layout: &PageLayout, now: impl Fn() -> MonoTime) {
        let before = now();
        for _ in 0..PAGES_AT_ONCE {
            match read(&self.fd, &mut *self.buffer) {
                Ok(0) | Err(Errno::AGAIN) => {
                    self.covered.to = self.covered.to.max(before);
                    break;
                }
                Ok(n) => self.keep(layout, n),
                Err(Errno::INTR) => {}
                // The CPU is offline, so its trace ends here.
                Err(_) => break,
            }
        }
        if self.read.back().is_some_and(|page| page.start > now()) {
            self.warped = true;
        }
        self.forget(before);
    }

    fn keep(&mut self, layout: &PageLayout, length: usize) {
        let bytes: Box<[u8]> = self.buffer.get(..length).unwrap_or_default().into();
        let Ok(page) = layout.page(&bytes) else {
            self.damaged += 1;
            // The content cannot be parsed, so the page stays as a hole in its place.
            self.read.push_back(KeptPage { start: self.covered.to, bytes: Box::default() });
            return;
        };
        if page.is_empty() && page.missed.is_none() {
            return;
        }
        let start = page.start;
        self.covered.to = self.covered.to.max(start);
        self.bytes += bytes.len() as u64;
        self.bytes_read += bytes.len() as u64;
        self.read.push_back(KeptPage { start, bytes });
    }

    fn forget(&mut self, now: MonoTime) {
        while self.bytes > self.bytes_max || self.read.get(1).is_some_and(|next| now.since(next.start) > KEPT) {
            let Some(old) = self.read.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(old.bytes.len() as u64);
            self.covered.from = self.read.front().map_or(self.covered.to, |page| page.start);
        }
    }

    pub fn covered(&self) -> Span {
        self.covered
    }

    /// The records of a span in order. Lost records are represented by one record, with the time of the last instant
    /// before the loss; the loss extends to the next record.
    pub fn records(
        &self,
        Span { from, to }: Span,
        layout: &PageLayout,
        decoder: &Decoder,
        names: &mut Names,
    ) -> Vec<TraceRecord> {
        let begun = self.read.partition_point(|page| page.start <= from);
        // A page that could not be parsed hides records from the end of the page before it. So that page is included.
        let first = self.read.range(..begun).rposition(|page| !page.bytes.is_empty()).unwrap_or(0);
        let mut records = Vec::new();
        // Time of the latest event, and whether records after it are missing.
        let (mut last, mut hole) = (from, None);
        for kept in self.read.range(first..) {
            let Ok(page) = layout.page(&kept.bytes) else {
                hole = Some(None);
                continue;
            };
            hole = page.missed.map(Missed::count).or(hole);
            if let Some(count) = hole.take_if(|_| kept.start >= from) {
                records.push(lost(last, count));
            }
            if kept.start > to {
                return records;
            }
            hole = None;
            for event in page.events() {
                let Ok(event) = event else {
                    // The rest of this page cannot be parsed.
                    hole = Some(None);
                    break;
                };
                if event.at > to {
                    return records;
                }
                last = last.max(event.at);
                if event.at >= from {
                    decoder.decode_each(&event, names, |record| records.push(record));
                }
            }
        }
        // No later page shows where the hole ends.
        records.extend(hole.map(|count| lost(last, count)));
        records
    }
}

fn lost(at: MonoTime, count: Option<u64>) -> TraceRecord {
    TraceRecord { at, tid: 0, context: Context::default(), what: TraceEvent::Lost { count } }
}

#[cfg(test)]
mod tests;
