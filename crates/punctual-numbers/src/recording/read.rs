//! Decodes the bytes of a recording into frames, and folds the frames into a [`Recording`].
//!
//! This module opens no files: the caller feeds the bytes in pieces of any size. It needs memory for one frame and the
//! fold, however long the recording is.

use super::stretch::{Filter, Stretch};
use super::wire::{self, Damage, FORMAT, HEAD, MAGIC, PAYLOAD_MAX, TAIL};
use super::{CutOff, CutReason, Frame, Recording};

/// Longest first line: the magic, a number, a line feed.
const PREAMBLE_MAX: usize = MAGIC.len() + 11;

/// Why bytes cannot be read as a recording. A recording that merely ends too early can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is empty")]
    Empty,
    #[error("it is not a recording of punctual")]
    NotARecording,
    #[error("written by a newer punctual (format {format}, this one reads up to {FORMAT})")]
    Newer { format: u32 },
    /// The file ends before its header does: the run was ended before it began to measure.
    #[error("it ends before its header does")]
    NoHeader,
    /// The header cannot be read, for this reason; without a header nothing can be shown.
    #[error("its header is damaged: {0}")]
    HeaderDamaged(String),
}

/// Whether a file that begins with these bytes is a recording. This is also true if the file was cut off within the
/// first line of a recording.
pub fn begins_like_a_recording(first: &[u8]) -> bool {
    first.iter().zip(MAGIC).all(|(a, b)| a == b)
}

/// Takes the bytes of a recording in pieces of any size and hands out its frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    pending: Vec<u8>,
    good_bytes: u64,
    fed_bytes: u64,
    begun: bool,
    damage: Option<&'static str>,
}

/// The part of a file that can be read: its first line and all frames before the first damage. `then` describes what
/// follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Good {
    pub bytes: u64,
    /// Number of bytes behind the good part, which are not read.
    pub lost_bytes: u64,
    pub then: Option<CutReason>,
}

impl FrameReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands each frame that is complete to `sink`. All bytes after a damaged frame are
    /// ignored.
    pub fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(Frame)) -> Result<(), Unreadable> {
        self.fed_bytes = self.fed_bytes.saturating_add(bytes.len() as u64);
        let mut rest = bytes;
        // Only a frame that began in an earlier call is copied together in `pending`; all others are decoded directly
        // from `bytes`.
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

    pub fn finish(self) -> Good {
        let cut = (!self.pending.is_empty()).then_some(CutReason::InAFrame);
        let lost_bytes = self.fed_bytes.saturating_sub(self.good_bytes);
        Good { bytes: self.good_bytes, lost_bytes, then: self.damage.map(CutReason::Damaged).or(cut) }
    }

    /// The least number of further bytes without which the frame in `pending` cannot be complete; never zero.
    fn lacking(&self) -> usize {
        let have = self.pending.len();
        let want = match self.pending.first_chunk::<4>() {
            _ if !self.begun => have + 1,
            Some(length) => HEAD + TAIL + (u32::from_le_bytes(*length) as usize).min(PAYLOAD_MAX),
            None => HEAD,
        };
        want.saturating_sub(have).max(1)
    }

    /// Reads whole frames from the start of `bytes` and returns the number of bytes they take.
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
                    self.damage = Some(reason);
                    break;
                }
            }
        }
        Ok(used)
    }
}

/// Length of the first line, or 0 if `bytes` end before the line does.
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

/// Decodes the frame at the beginning of `bytes`, with its length; `None` if bytes are missing. The inner `Option` is
/// `None` if the kind of the frame is unknown.
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
    filter: Option<Filter>,
    headless: bool,
    empty: bool,
}

impl RecordingReader {
    pub fn new() -> Self {
        Self { empty: true, ..Self::default() }
    }

    /// A reader that folds only what happened in `stretch`.
    pub fn of_stretch(stretch: Stretch) -> Self {
        Self { filter: Some(Filter::new(stretch)), ..Self::new() }
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.empty &= bytes.is_empty();
        let Self { recording, headless, filter, .. } = self;
        self.frames.feed(bytes, |frame| match (recording.as_mut(), frame) {
            (Some(recording), frame) => {
                let frame = match filter {
                    Some(filter) => filter.pass(frame),
                    None => Some(frame),
                };
                if let Some(frame) = frame {
                    recording.add(frame);
                }
            }
            (None, Frame::Header(header)) if !*headless => {
                if let Some(filter) = filter {
                    filter.epoch = header.epoch;
                }
                *recording = Some(Recording::new(*header));
            }
            (None, _) => *headless = true,
        })
    }

    /// The recording, up to the place where the file is cut off or damaged.
    pub fn finish(self) -> Result<Recording, Unreadable> {
        if self.empty {
            return Err(Unreadable::Empty);
        }
        if self.recording.is_none() && !self.headless && self.frames.damage.is_none() {
            return Err(Unreadable::NoHeader);
        }
        let Good { bytes: good_bytes, lost_bytes, then } = self.frames.finish();
        let Some(mut recording) = self.recording else {
            let why = then.map_or_else(|| "the file does not begin with one".to_owned(), |reason| reason.to_string());
            return Err(Unreadable::HeaderDamaged(why));
        };
        let unfinished = recording.end.is_none().then_some(CutReason::Unfinished);
        recording.stretch = self.filter.map(|filter| filter.stretch);
        recording.cut_off = then.or(unfinished).map(|reason| CutOff { good_bytes, lost_bytes, reason });
        Ok(recording)
    }
}

pub fn read(bytes: &[u8]) -> Result<Recording, Unreadable> {
    let mut reader = RecordingReader::new();
    reader.feed(bytes)?;
    reader.finish()
}

#[cfg(test)]
mod tests {
    use super::super::wire::strategies;
    use super::super::{encode, encode_preamble};
    use super::*;
    use proptest::prelude::*;

    /// The bytes of a recording of these frames, and the offsets at which its first line and each frame end.
    fn file_of(header: super::super::Header, frames: &[Frame]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        encode_preamble(&mut bytes);
        let mut ends = vec![bytes.len()];
        for frame in std::iter::once(&Frame::Header(Box::new(header))).chain(frames) {
            encode(frame, &mut bytes).unwrap();
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn frames_of(pieces: &[&[u8]]) -> (Vec<Frame>, Good) {
        let (mut reader, mut frames) = (FrameReader::new(), Vec::new());
        for piece in pieces {
            reader.feed(piece, |frame| frames.push(frame)).unwrap();
        }
        (frames, reader.finish())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn pieces_of_any_size_make_the_same_frames(
            header in strategies::header(),
            frames in prop::collection::vec(strategies::frame(), 0..6),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let (bytes, _) = file_of(header, &frames);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let (got, end) = frames_of(&pieces);
            prop_assert_eq!(&got[1..], &frames[..]);
            prop_assert_eq!(end, Good { bytes: bytes.len() as u64, lost_bytes: 0, then: None });
        }

        #[test]
        fn cut_off_anywhere_the_frames_before_stand(
            header in strategies::header(), frames in prop::collection::vec(strategies::frame(), 0..4)
        ) {
            let (bytes, ends) = file_of(header, &frames);
            for length in 0..bytes.len() {
                let whole = ends.iter().filter(|end| **end <= length).count();
                let (got, Good { bytes: good, lost_bytes, then: reason }) = frames_of(&[&bytes[..length]]);
                prop_assert_eq!(good + lost_bytes, length as u64);
                prop_assert_eq!(got.len(), whole.saturating_sub(1));
                let expected = whole.checked_sub(1).map_or(0, |last| ends[last]);
                prop_assert_eq!(good, expected as u64);
                prop_assert_eq!(reason.is_some(), length != expected, "at {}", length);
                match read(&bytes[..length]) {
                    Ok(recording) => match recording.cut_off {
                        Some(cut) => prop_assert_eq!(cut.good_bytes, good),
                        None => prop_assert!(reason.is_none() && recording.end.is_some()),
                    },
                    Err(Unreadable::Empty) => prop_assert_eq!(length, 0),
                    Err(Unreadable::NoHeader | Unreadable::HeaderDamaged(_)) => prop_assert!(whole < 2),
                    Err(other) => prop_assert!(false, "{}", other),
                }
            }
        }

        #[test]
        fn a_flipped_bit_spoils_its_frame_and_none_before(
            header in strategies::header(),
            frames in prop::collection::vec(strategies::frame(), 1..5),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let (mut bytes, ends) = file_of(header, &frames);
            let at = ends[0] + at.index(bytes.len() - ends[0]);
            bytes[at] ^= 1 << bit;
            let whole = ends.iter().filter(|end| **end <= at).count() - 1;
            let (got, Good { bytes: good, lost_bytes, then: reason }) = frames_of(&[&bytes]);
            prop_assert_eq!(good + lost_bytes, bytes.len() as u64);
            prop_assert_eq!(got.len(), whole);
            prop_assert_eq!(good, ends[whole] as u64);
            prop_assert!(reason.is_some());
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400), dressed in any::<bool>()) {
            if dressed {
                let mut file = Vec::new();
                encode_preamble(&mut file);
                file.append(&mut bytes);
                bytes = file;
            }
            prop_assert!(read(&bytes).is_err(), "no header has ever come out of random bytes");
        }
    }

    #[test]
    fn what_is_no_recording_is_named() {
        let refused = |bytes: &[u8]| read(bytes).map(|_| ()).unwrap_err();
        assert_eq!(refused(b""), Unreadable::Empty);
        assert_eq!(refused(b"\x7fELF and more"), Unreadable::NotARecording);
        assert_eq!(refused(b"punctual recording 7\nwhatever"), Unreadable::Newer { format: 7 });
        assert_eq!(refused(b"punctual recording 0\n"), Unreadable::NotARecording);
        assert_eq!(refused(b"punctual recording 99999999999999999999\n"), Unreadable::NotARecording);
        assert_eq!(refused(b"punctual rec"), Unreadable::NoHeader);
        assert_eq!(refused(b"punctual recording 1\n"), Unreadable::NoHeader);
        let newer = Unreadable::Newer { format: 7 }.to_string();
        assert_eq!(newer, "written by a newer punctual (format 7, this one reads up to 1)");
    }

    #[test]
    fn unknown_frames_are_passed_over_and_what_is_no_frame_is_damage() {
        let mut unknown = vec![3, 0, 0, 0, 250, 1, 2, 3];
        unknown.extend(crc32fast::hash(&unknown).to_le_bytes());
        for (frame, damage) in [
            (&unknown[..], None),
            (&[0xff; 16], Some("a frame has an impossible length")),
            // After a crash of the machine, the last blocks of a file can be zeros.
            (&[0; 4096], Some("a frame's checksum is wrong")),
        ] {
            let mut bytes = Vec::new();
            encode_preamble(&mut bytes);
            bytes.extend(frame);
            let good = bytes.len() - if damage.is_some() { frame.len() } else { 0 };
            let lost_bytes = (bytes.len() - good) as u64;
            let end = Good { bytes: good as u64, lost_bytes, then: damage.map(CutReason::Damaged) };
            assert_eq!(frames_of(&[&bytes]), (Vec::new(), end));
        }
    }
}
