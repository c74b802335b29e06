//! Small runs for tests that merge or continue recordings.

use super::{
    CpuInterval, End, EndReason, Frame, Header, Interval, Mark, MarkKind, Recording, RecordingReader, Worst, encode,
    encode_preamble,
};
use crate::made_up;
use crate::recording::{RecTime, Stretch};
use crate::scenario::ProbeThread;
use punctual_hist::{Activation, Counts, MonoTime, Nanos};

/// Wall clock of the first run.
pub(super) const STARTED: u64 = 1_800_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// The header of a run of 10 s on CPU 1 that began `later_s` seconds after the first, with an epoch of its own.
pub(crate) fn header(later_s: u64) -> Header {
    let mut header = made_up::header(1, Nanos::from_secs(10));
    header.started_unix_ns = STARTED + later_s * SECOND;
    header.epoch = MonoTime::from_ns(7 * SECOND + 13 * later_s);
    header.scenario.threads = vec![ProbeThread { cpu: 1, period: Nanos::from_ms(1) }];
    header.machine = vec![("kernel", "6.12").into()];
    header.clock.source = Some("tsc".to_owned());
    header
}

/// The interval of one second with 1000 activations, which all have this latency.
pub(crate) fn second(second: u64, latency: Nanos) -> Frame {
    let mut counts = Counts::new();
    counts.record_n(latency, 1000);
    let block_max = vec![(u32::try_from(second).unwrap(), latency)];
    interval(second, 0, vec![CpuInterval { block_max, ..CpuInterval::of(1, &counts, &Counts::new()) }])
}

/// The interval of one second.
pub(crate) fn interval(second: u64, phase: u16, cpus: Vec<CpuInterval>) -> Frame {
    Frame::Interval(Interval { start: RecTime::from_secs(second), length: Nanos::from_secs(1), phase, cpus })
}

pub(super) fn worst(header: &Header, at: Nanos, latency: Nanos) -> Worst {
    let release = header.epoch.plus(at);
    Worst { cpu: 1, activation: Activation { release, woke: release.plus(latency), cpu: 1, ..Activation::default() } }
}

/// The frames of a run of this many seconds; in second `n` each latency is `latency_us + n` microseconds.
pub(crate) fn run(later_s: u64, seconds: u64, latency_us: u64, end: Option<EndReason>) -> Vec<Frame> {
    let header = header(later_s);
    let mut frames = vec![Frame::Header(Box::new(header.clone()))];
    frames.push(Frame::Mark(Mark { at: RecTime::EPOCH, kind: MarkKind::PhaseStart(0) }));
    for n in 0..seconds {
        let latency = Nanos::from_us(latency_us + n);
        frames.push(second(n, latency));
        let so_far = (0..=n).map(|n| worst(&header, Nanos::from_secs(n), Nanos::from_us(latency_us + n)));
        frames.push(Frame::Worst(so_far.collect()));
    }
    let at = Nanos::from_secs(seconds);
    frames.push(Frame::Mark(Mark { at: RecTime::after_epoch(at), kind: MarkKind::PhaseEnd(0) }));
    frames.extend(end.map(|reason| Frame::End(End { at: RecTime::after_epoch(at), reason, write_error: None })));
    frames
}

pub(super) fn bytes(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    for frame in frames {
        encode(frame, &mut bytes).unwrap();
    }
    bytes
}

pub(crate) fn fold(frames: &[Frame]) -> Recording {
    super::read(&bytes(frames)).unwrap()
}

pub(super) fn fold_stretch(frames: &[Frame], stretch: Stretch) -> Recording {
    let mut reader = RecordingReader::of_stretch(stretch);
    reader.feed(&bytes(frames)).unwrap();
    reader.finish().unwrap()
}
