//! The recording format: converts frames to bytes and back, and opens no files.
//!
//! A recording is one line of text (the words of `MAGIC` and the number of the format) followed by frames. A frame is
//! `[u32 length][u8 kind][payload][u32 crc32]`, little endian. The length is that of the payload, and the checksum
//! covers all that stands before it in the frame. Nothing is rewritten in place: if a file is cut off, the frames
//! before the cut can still be read.

mod bits;
mod interval;
#[cfg(test)]
pub(crate) mod strategies;
mod trace;
mod values;

pub(super) use bits::Damage;

use super::Frame;
use crate::trace::Window;
use bits::{BitReader, BitWriter};
use values::Wire;

/// Number of the format that this module writes, and of the newest format that it reads.
pub const FORMAT: u32 = 1;
/// First words of a recording. The number of the format and a line feed follow.
pub(super) const MAGIC: &[u8] = b"punctual recording ";
/// Number of bytes before and after a frame's payload.
pub(super) const HEAD: usize = 5;
pub(super) const TAIL: usize = 4;
/// Longest payload, so that a damaged length does not make a reader wait for gigabytes. An interval of 8192 CPUs fits.
pub(super) const PAYLOAD_MAX: usize = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unencodable {
    #[error("a frame would be longer than 8 MiB")]
    TooLong,
    #[error("an interval's CPUs, buckets or seconds are out of range or out of order")]
    Unordered,
}

pub fn encode_preamble(to: &mut Vec<u8>) {
    to.extend_from_slice(MAGIC);
    to.extend_from_slice(FORMAT.to_string().as_bytes());
    to.push(b'\n');
}

/// Appends `frame` to `to`, which is unchanged if the frame cannot be written.
pub fn encode(frame: &Frame, to: &mut Vec<u8>) -> Result<(), Unencodable> {
    if matches!(frame, Frame::Interval(interval) if !interval::is_ordered(interval)) {
        return Err(Unencodable::Unordered);
    }
    let start = to.len();
    to.extend_from_slice(&[0; HEAD]);
    let kind = put_payload(frame, to);
    let length = to.len() - start - HEAD;
    let Some(length) = u32::try_from(length).ok().filter(|_| length <= PAYLOAD_MAX) else {
        to.truncate(start);
        return Err(Unencodable::TooLong);
    };
    if let Some(head) = to.get_mut(start..start + HEAD) {
        let [a, b, c, d] = length.to_le_bytes();
        head.copy_from_slice(&[a, b, c, d, kind]);
    }
    let checksum = crc32fast::hash(to.get(start..).unwrap_or_default());
    to.extend_from_slice(&checksum.to_le_bytes());
    Ok(())
}

pub(super) fn pack(window: &Window) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = BitWriter::new(&mut bytes);
    window.put(&mut to);
    to.align();
    bytes
}

pub(super) fn unpack(bytes: &[u8]) -> Option<Window> {
    Window::take(&mut BitReader::new(bytes)).ok()
}

/// Kind number of both events and lost maxima, because the first versions wrote lost maxima as events.
const HAPPENED: u8 = 8;

/// The kind numbers of all other frames, for writing and for reading.
macro_rules! kinds {
    ($($number:literal => $variant:ident),+) => {
        fn put_payload(frame: &Frame, to: &mut Vec<u8>) -> u8 {
            let mut to = BitWriter::new(to);
            let kind = match frame {
                $( Frame::$variant(value) => { value.put(&mut to); $number } )+
                Frame::Event(event) => { event.put(&mut to); HAPPENED }
                Frame::MaximaLost(lost) => { lost.put(&mut to); HAPPENED }
            };
            to.align();
            kind
        }

        /// The frame of this kind with this payload; `None` for a kind that later versions may have added.
        pub(super) fn decode(kind: u8, payload: &[u8]) -> Result<Option<Frame>, Damage> {
            let mut from = BitReader::new(payload);
            let frame = match kind {
                $( $number => Frame::$variant(Wire::take(&mut from)?), )+
                HAPPENED => values::take_happened(&mut from)?,
                _ => return Ok(None),
            };
            from.finish()?;
            Ok(Some(frame))
        }

        #[cfg(test)]
        impl strategies::Made for Frame {
            fn made(of: &mut strategies::Numbers) -> Self {
                match of.one(&[$( $number, )+ HAPPENED, 0]) {
                    $( $number => Self::$variant(strategies::Made::made(of)), )+
                    HAPPENED => Self::Event(strategies::Made::made(of)),
                    _ => Self::MaximaLost(strategies::Made::made(of)),
                }
            }
        }
    };
}

kinds! {
    1 => Header, 2 => Threads, 3 => Findings, 4 => InForce, 5 => WarmUp, 6 => Interval, 7 => Mark,
    9 => Worst, 10 => LoadDone, 11 => End, 12 => Tracing, 13 => Window, 14 => Late, 15 => TraceTotals,
    16 => FurtherRun, 17 => InBand, 18 => Earliest, 19 => Program
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::RecTime;
    use proptest::prelude::*;

    fn encoded(frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(frame, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(frame in strategies::frame()) {
            let bytes = encoded(&frame);
            let payload = &bytes[HEAD..bytes.len() - TAIL];
            prop_assert_eq!(decode(bytes[4], payload), Ok(Some(frame)));
        }

        #[test]
        fn any_payload_is_decoded_or_refused(kind in 0u8..20, payload in prop::collection::vec(any::<u8>(), 0..300)) {
            // Every frame that `decode` accepts must also be one that `encode` can write.
            if let Ok(Some(frame)) = decode(kind, &payload) {
                let mut again = Vec::new();
                prop_assert_eq!(encode(&frame, &mut again), Ok(()));
                prop_assert_eq!(decode(kind, &again[HEAD..again.len() - TAIL]), Ok(Some(frame)));
            }
        }

        #[test]
        fn a_damaged_payload_is_decoded_or_refused(frame in strategies::frame(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = encoded(&frame);
            let kind = bytes[4];
            let end = bytes.len() - TAIL;
            let payload = &mut bytes[HEAD..end];
            prop_assume!(!payload.is_empty());
            let at = at.index(payload.len());
            payload[at] ^= 1 << bit;
            if let Ok(Some(frame)) = decode(kind, payload) {
                prop_assert!(encode(&frame, &mut Vec::new()).is_ok());
            }
        }
    }

    #[test]
    fn an_interval_out_of_order_is_refused_and_leaves_no_trace() {
        use super::super::{CpuInterval, Interval};
        use punctual_hist::Nanos;
        let with = |cpu: CpuInterval| {
            Frame::Interval(Interval { start: RecTime::EPOCH, length: Nanos::ZERO, phase: 0, cpus: vec![cpu] })
        };
        let wrong = [
            CpuInterval { ran: vec![(5, 1), (5, 1)], ..CpuInterval::default() },
            CpuInterval { skipped: vec![(3776, 1)], ..CpuInterval::default() },
            CpuInterval { block_max: vec![(2, Nanos::ZERO), (1, Nanos::ZERO)], ..CpuInterval::default() },
            CpuInterval { cpu: 8192, ..CpuInterval::default() },
        ];
        for cpu in wrong {
            let mut bytes = b"before".to_vec();
            assert_eq!(encode(&with(cpu), &mut bytes), Err(Unencodable::Unordered));
            assert_eq!(bytes, b"before");
        }
    }

    #[test]
    fn a_frame_no_reader_would_take_is_refused() {
        use super::super::{Mark, MarkKind};
        let note = Mark {
            at: RecTime::after_epoch(punctual_hist::Nanos::ZERO),
            kind: MarkKind::Note("x".repeat(PAYLOAD_MAX)),
        };
        assert_eq!(encode(&Frame::Mark(note), &mut Vec::new()), Err(Unencodable::TooLong));
    }

    /// Lost maxima are written as an event of kind 7, whose length is one second for each lost maximum.
    #[test]
    fn lost_maxima_of_an_old_recording_are_as_many_as_its_event_has_seconds() {
        use super::super::MaximaLost;
        use punctual_hist::Nanos;
        let mut payload = Vec::new();
        let mut to = BitWriter::new(&mut payload);
        Nanos::from_ms(1_500).put(&mut to);
        Nanos::from_secs(3).put(&mut to);
        to.number(3, 7);
        0_u64.put(&mut to);
        to.align();
        let lost = Frame::MaximaLost(MaximaLost { at: RecTime::after_epoch(Nanos::from_ms(1_500)), blocks: 3 });
        assert_eq!(decode(8, &payload), Ok(Some(lost.clone())));
        assert_eq!(encoded(&lost)[HEAD..][..payload.len()], payload);
    }

    #[test]
    fn a_kind_from_the_future_is_skipped() {
        assert_eq!(decode(200, b"anything"), Ok(None));
    }
}
