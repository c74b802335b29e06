//! Splits pages of the kernel's ring buffer, as `trace_pipe_raw` gives them, into raw events with their times.
//!
//! This module does not know what is in an event. Invalid bytes give an error or the end of the page, never a panic or
//! an endless loop: each step goes forward by at least four bytes.

use super::format::{Field, FormatError, FormatFault, Kind, fields};
use punctual_hist::MonoTime;

/// Offsets and sizes of the parts of a page, as the file `events/header_page` gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    stamp: usize,
    commit: usize,
    commit_bytes: usize,
    data: usize,
    size: usize,
}

/// Bits of the commit word, as the kernel's own library reads it: the length of the data, whether records were lost before
/// this page, and whether their number stands behind the data.
const LENGTH: u64 = (1 << 27) - 1;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

impl PageLayout {
    pub fn parse(header_page: &str) -> Result<Self, FormatError> {
        let fault = |why| FormatError { of: "header_page".to_owned(), why };
        if cfg!(target_endian = "big") {
            return Err(fault(FormatFault::BigEndian));
        }
        let fields = fields(header_page).map_err(fault)?;
        let find = |name: &str, fits: &dyn Fn(&Field) -> bool| {
            let field = fields.iter().find(|field| field.name == name);
            let field = field.ok_or_else(|| fault(FormatFault::Missing(name.to_owned())))?;
            if fits(field) { Ok(field) } else { Err(fault(FormatFault::Unfit(name.to_owned()))) }
        };
        let stamp = find("timestamp", &|field| field.size == 8)?;
        let commit = find("commit", &|field| field.size == 4 || field.size == 8)?;
        let data = find("data", &|field| field.size >= 4 && field.kind != Kind::Located)?;
        let data_at = usize::from(data.offset);
        if [stamp, commit].iter().any(|field| usize::from(field.offset) + usize::from(field.size) > data_at) {
            return Err(fault(FormatFault::Unfit("data".to_owned())));
        }
        Ok(Self {
            stamp: stamp.offset.into(),
            commit: commit.offset.into(),
            commit_bytes: commit.size.into(),
            data: data_at,
            size: data_at + usize::from(data.size),
        })
    }

    /// Length in bytes of a whole page (a sub-buffer, which may be several pages of memory). Callers read this much at
    /// once.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Reads the page at the beginning of `bytes`. Bytes behind its end are ignored.
    pub fn page<'a>(&self, bytes: &'a [u8]) -> Result<Page<'a>, PageError> {
        let short = |needs| PageError::TooShort { has: bytes.len(), needs };
        let head = bytes.get(..self.data).ok_or(short(self.data))?;
        let start = little(head.get(self.stamp..).unwrap_or_default(), 8).ok_or(short(self.data))?;
        // The commit word of a 32-bit kernel has its flags at the same bits.
        let commit = little(head.get(self.commit..).unwrap_or_default(), self.commit_bytes).ok_or(short(self.data))?;
        let length = usize::try_from(commit & LENGTH).unwrap_or(usize::MAX);
        let end = self.data.saturating_add(length);
        let data = bytes.get(self.data..end).ok_or(short(end))?;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => None,
            (true, false) => Some(Missed::Unknown),
            (true, true) => Some(self.stored(&bytes[end..])),
        };
        Ok(Page { start: MonoTime::from_ns(start), missed, data })
    }

    /// Reads the number of lost records that stands behind the data. It is a `long`, like the commit word; all ones
    /// stand for an unknown number.
    fn stored(&self, behind: &[u8]) -> Missed {
        match little(behind, self.commit_bytes) {
            Some(u64::MAX) | None => Missed::Unknown,
            Some(number) if self.commit_bytes == 4 && number == u64::from(u32::MAX) => Missed::Unknown,
            Some(number) => Missed::Count(number),
        }
    }
}

/// Reads the first `size` bytes as a little-endian number; `None` if there are fewer.
pub(super) fn little(bytes: &[u8], size: usize) -> Option<u64> {
    let mut number = [0; 8];
    number.get_mut(..size)?.copy_from_slice(bytes.get(..size)?);
    Some(u64::from_le_bytes(number))
}

/// Number of records that the kernel lost, if it states the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    Count(u64),
    Unknown,
}

impl Missed {
    pub fn count(self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(count),
            Self::Unknown => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The instant to which the time difference of the first event is added.
    pub start: MonoTime,
    /// Records lost between the page before and this one.
    pub missed: Option<Missed>,
    data: &'a [u8],
}

impl<'a> Page<'a> {
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub fn events(&self) -> Events<'a> {
        Events { data: self.data, at: 0, now: self.start.as_ns() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("a page of the trace has {has} bytes and should have {needs}")]
    TooShort { has: usize, needs: usize },
    /// The event at this offset of the data is longer than the page, or has no valid length. The events behind it
    /// cannot be read.
    #[error("the event at byte {offset} of a page of the trace is cut off")]
    Event { offset: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    pub at: MonoTime,
    /// The bytes of the event, beginning with its common fields. Zeros may follow up to a multiple of four bytes.
    pub payload: &'a [u8],
}

/// Iterates over the events of a page and ends after the first error.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    data: &'a [u8],
    at: usize,
    now: u64,
}

/// Kinds of entries that are no records. A smaller kind is the length of a record in words of 4 bytes; 0 means that the
/// next word holds the length in bytes.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const WORD: usize = 4;
/// Number of bits of an absolute time; higher bits are taken from the time of the entry before.
const STAMP_BITS: u32 = 59;

impl<'a> Events<'a> {
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at.checked_add(WORD)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Reads the next entry; `Ok(None)` if it is no record.
    fn step(&mut self) -> Result<Option<RawEvent<'a>>, PageError> {
        let offset = self.at;
        let cut_off = PageError::Event { offset };
        let head = self.word(offset).ok_or(cut_off)?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let body = offset + WORD;
        match kind {
            PADDING if delta == 0 => self.at = self.data.len(),
            PADDING => {
                let length = self.word(body).ok_or(cut_off)?;
                self.at = self.past(body, length).ok_or(cut_off)?;
                // The time of a discarded record still counts. A delta of 0 would end the page, so 1 stands for it.
                self.now = self.now.saturating_add(if delta == 1 { 0 } else { delta });
            }
            TIME_EXTEND | TIME_STAMP => {
                let high = u64::from(self.word(body).ok_or(cut_off)?);
                let value = (high << 27) | delta;
                self.at = body + WORD;
                // The clocks of two CPUs may differ a little; the time never steps back, so that records stay in order.
                let now = if kind == TIME_EXTEND { self.now.saturating_add(value) } else { absolute(self.now, value) };
                self.now = self.now.max(now);
            }
            0 => {
                let length = self.word(body).filter(|length| *length >= 4).ok_or(cut_off)?;
                let next = self.past(body, length).ok_or(cut_off)?;
                return Ok(Some(self.record(delta, body + WORD, next)));
            }
            words => {
                let next = self.past(body, words * 4).ok_or(cut_off)?;
                return Ok(Some(self.record(delta, body, next)));
            }
        }
        Ok(None)
    }

    fn record(&mut self, delta: u64, from: usize, next: usize) -> RawEvent<'a> {
        self.now = self.now.saturating_add(delta);
        self.at = next;
        RawEvent { at: MonoTime::from_ns(self.now), payload: &self.data[from..next] }
    }

    /// Offset of the end of an entry of `length` bytes that begins at `body`; `None` if it exceeds the data.
    fn past(&self, body: usize, length: u32) -> Option<usize> {
        let length = usize::try_from(length).ok()?.checked_next_multiple_of(WORD)?;
        body.checked_add(length).filter(|end| *end <= self.data.len())
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<RawEvent<'a>, PageError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            match self.step() {
                Ok(None) => {}
                Ok(Some(event)) => return Some(Ok(event)),
                Err(error) => {
                    self.at = self.data.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// The time whose lower bits are `stamp` and whose upper bits are those of `now`, with a wrap of the stamp taken into
/// account.
fn absolute(now: u64, stamp: u64) -> u64 {
    let stamp = stamp & ((1 << STAMP_BITS) - 1);
    let whole = stamp | (now >> STAMP_BITS << STAMP_BITS);
    // A time more than half the range ago means that the stamp has wrapped.
    if now.saturating_sub(whole) > 1 << (STAMP_BITS - 1) { whole.saturating_add(1 << STAMP_BITS) } else { whole }
}
