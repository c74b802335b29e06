//! Bytes of a recording, as they come, to its frames and to the whole.
//!
//! Knows no files: whoever has bytes feeds them. Memory is one frame and the fold, however long the recording.

use super::wire::{self, Damage, FORMAT, HEAD, MAGIC, PAYLOAD_MAX, TAIL};
use super::{CutOff, Frame, Recording};
use std::fmt;

/// Longest first line: the magic, a number, a line feed.
const PREAMBLE_MAX: usize = MAGIC.len() + 11;

/// Why bytes are not a recording that can be read. A recording that merely ends too early can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// There are no bytes.
    Empty,
    /// They begin like something else.
    NotARecording,
    /// Written in a later format.
    Newer {
        /// Its number.
        format: u32,
    },
    /// Nothing before the end of the header can be shown, because of this.
    HeaderDamaged(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty"),
            Self::NotARecording => write!(f, "it is not a recording of punctual"),
            Self::Newer { format } => {
                write!(f, "written by a newer punctual (format {format}, this one reads up to {FORMAT})")
            }
            Self::HeaderDamaged(why) => write!(f, "its header is damaged: {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Takes bytes in pieces of any size, hands out frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    /// Bytes of a frame that is not complete.
    pending: Vec<u8>,
    /// Length of the first line and all good frames.
    good_bytes: u64,
    begun: bool,
    damage: Option<String>,
}

impl FrameReader {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands each frame they complete to `sink`. After damage, the rest is ignored.
    pub fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(Frame)) -> Result<(), Unreadable> {
        let mut rest = bytes;
        // What is pending is joined with just the bytes it lacks, so that most frames are read where they lie.
        while !self.pending.is_empty() && !rest.is_empty() && self.damage.is_none() {
            let lacking = self.lacking();
            let (more, later) = rest.split_at(lacking.min(rest.len()));
            self.pending.extend_from_slice(more);
            rest = later;
            let pending = std::mem::take(&mut self.pending);
            let used = self.read(&pending, &mut sink)?;
            self.pending = pending;
            self.pending.drain(..used);
        }
        if self.damage.is_none() {
            let used = self.read(rest, &mut sink)?;
            self.pending.extend_from_slice(rest.get(used..).unwrap_or_default());
        }
        if self.damage.is_some() {
            self.pending = Vec::new();
        }
        Ok(())
    }

    /// Bytes that are good, and what follows them if it is not.
    pub fn finish(self) -> (u64, Option<String>) {
        let cut = (!self.pending.is_empty()).then(|| "the file ends in the middle of a frame".to_owned());
        (self.good_bytes, self.damage.or(cut))
    }

    /// How many bytes the pending piece lacks at least; never zero.
    fn lacking(&self) -> usize {
        let have = self.pending.len();
        let want = match self.pending.first_chunk::<4>() {
            _ if !self.begun => have + 1,
            Some(length) => HEAD + TAIL + (u32::from_le_bytes(*length) as usize).min(PAYLOAD_MAX),
            None => HEAD,
        };
        want.saturating_sub(have).max(1)
    }

    /// Reads whole frames from the start of `bytes`; gives how many bytes they were.
    fn read(&mut self, bytes: &[u8], sink: &mut impl FnMut(Frame)) -> Result<usize, Unreadable> {
        let mut used = 0;
        if !self.begun {
            used = preamble(bytes)?;
            self.begun = used > 0;
            self.good_bytes = used as u64;
        }
        while self.begun {
            match next_frame(bytes.get(used..).unwrap_or_default()) {
                Ok(Some((frame, length))) => {
                    frame.into_iter().for_each(&mut *sink);
                    used += length;
                    self.good_bytes = self.good_bytes.saturating_add(length as u64);
                }
                Ok(None) => break,
                Err(Damage(reason)) => {
                    self.damage = Some(reason.to_owned());
                    break;
                }
            }
        }
        Ok(used)
    }
}

/// Length of the first line, or 0 when more bytes are needed to tell.
fn preamble(bytes: &[u8]) -> Result<usize, Unreadable> {
    if !bytes.iter().zip(MAGIC).all(|(a, b)| a == b) {
        return Err(Unreadable::NotARecording);
    }
    let Some(end) = bytes.iter().take(PREAMBLE_MAX).position(|b| *b == b'\n') else {
        return if bytes.len() < PREAMBLE_MAX { Ok(0) } else { Err(Unreadable::NotARecording) };
    };
    let number = bytes.get(MAGIC.len()..end).and_then(|digits| std::str::from_utf8(digits).ok());
    match number.and_then(|digits| digits.parse().ok()) {
        Some(FORMAT) => Ok(end + 1),
        Some(format) if format > FORMAT => Err(Unreadable::Newer { format }),
        _ => Err(Unreadable::NotARecording),
    }
}

/// The frame `bytes` begin with, if it is complete, and its length. Its frame is `None` if of an unknown kind.
#[allow(clippy::type_complexity, reason = "is it damaged, is it complete, is it known: three questions, three layers")]
fn next_frame(bytes: &[u8]) -> Result<Option<(Option<Frame>, usize)>, Damage> {
    let Some([a, b, c, d, kind]) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    if length > PAYLOAD_MAX {
        return Err(Damage("a frame has an impossible length"));
    }
    let Some((framed, rest)) = bytes.split_at_checked(HEAD + length) else { return Ok(None) };
    let Some(checksum) = rest.first_chunk::<TAIL>() else { return Ok(None) };
    if crc32fast::hash(framed) != u32::from_le_bytes(*checksum) {
        return Err(Damage("a frame's checksum is wrong"));
    }
    let frame = wire::decode(*kind, framed.get(HEAD..).unwrap_or_default())?;
    Ok(Some((frame, HEAD + length + TAIL)))
}

/// Takes the bytes of a recording in pieces of any size and folds them.
#[derive(Debug, Default)]
pub struct RecordingReader {
    frames: FrameReader,
    recording: Option<Recording>,
    headless: bool,
    empty: bool,
}

impl RecordingReader {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self { empty: true, ..Self::default() }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.empty &= bytes.is_empty();
        let (recording, headless) = (&mut self.recording, &mut self.headless);
        self.frames.feed(bytes, |frame| match (recording.as_mut(), frame) {
            (Some(recording), frame) => recording.add(frame),
            (None, Frame::Header(header)) if !*headless => *recording = Some(Recording::new(*header)),
            (None, _) => *headless = true,
        })
    }

    /// The whole, as far as it is good.
    pub fn finish(self) -> Result<Recording, Unreadable> {
        if self.empty {
            return Err(Unreadable::Empty);
        }
        let (good_bytes, damage) = self.frames.finish();
        let Some(mut recording) = self.recording else {
            let why = damage.unwrap_or_else(|| "the file does not begin with one".to_owned());
            return Err(Unreadable::HeaderDamaged(why));
        };
        let unfinished = recording.end.is_none().then(|| "the run was never finished".to_owned());
        recording.cut_off = damage.or(unfinished).map(|reason| CutOff { good_bytes, reason });
        Ok(recording)
    }
}

/// The recording these bytes hold.
pub fn read(bytes: &[u8]) -> Result<Recording, Unreadable> {
    let mut reader = RecordingReader::new();
    reader.feed(bytes)?;
    reader.finish()
}
