//! Cuts stretches out of a small run and checks their contents.

use super::super::sample::{fold, fold_stretch, run};
use super::super::{EndReason, EventKind};
use super::*;
use crate::recording::strategies;
use proptest::prelude::*;

fn s(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

#[test]
fn a_stretch_has_what_happened_in_it_and_nothing_else() {
    let mut frames = run(0, 10, 5, Some(EndReason::Completed));
    let event =
        |at| Frame::Event(Event { at: RecTime::from_secs(at), length: s(1), kind: EventKind::Steal, releases_lost: 3 });
    frames.extend([event(2), event(5), event(9)]);
    let recording = fold_stretch(&frames, Stretch::new(RecTime::from_secs(3), RecTime::from_secs(6)));
    assert_eq!(recording.covered, s(3));
    let cpu = &recording.cpus[&1];
    // The latencies of seconds 3, 4 and 5 are 8, 9 and 10 us. The largest is exact because the run's maximum up to then
    // narrows its bucket.
    assert_eq!((cpu.ran.count(), cpu.ran.max()), (3000, Some(Nanos::from_us(10))));
    assert_eq!(cpu.blocks, 3);
    let worst: Vec<Nanos> = recording.worst[&1].iter().map(|w| w.activation.latency()).collect();
    assert_eq!(worst, [8, 9, 10].map(Nanos::from_us));
    assert_eq!(recording.events.iter().map(|e| e.at).collect::<Vec<_>>(), [RecTime::from_secs(5)]);
    assert!(!recording.stretch.unwrap().is_widened());
}

#[test]
fn it_is_widened_to_the_edges_of_intervals_and_says_so() {
    let frames = run(0, 10, 5, Some(EndReason::Completed));
    let recording = fold_stretch(
        &frames,
        Stretch::new(RecTime::after_epoch(Nanos::from_ms(3_500)), RecTime::after_epoch(Nanos::from_ms(5_001))),
    );
    let stretch = recording.stretch.unwrap();
    let edges = Edges { from: RecTime::from_secs(3), to: RecTime::from_secs(6) };
    assert_eq!((stretch.edges, stretch.is_widened()), (Some(edges), true));
    assert_eq!(recording.covered, s(3));
}

#[test]
fn where_nothing_was_measured_nothing_is_told() {
    let recording = fold_stretch(&run(0, 10, 5, None), Stretch::new(RecTime::from_secs(10), RecTime::from_secs(20)));
    assert_eq!((recording.stretch.unwrap().edges, recording.covered), (None, Nanos::ZERO));
}

proptest! {
    /// Two stretches that meet at the edge of an interval add up to the whole recording.
    #[test]
    fn stretches_add_up(seconds in 1u64..20, cut in 0u64..20, frames in prop::collection::vec(strategies::frame(), 0..4)) {
        let whole: Vec<Frame> = run(0, seconds, 5, None).into_iter().chain(frames.into_iter().filter(|frame| {
            !matches!(frame, Frame::Interval(_) | Frame::FurtherRun(_) | Frame::Tracing(_))
        })).collect();
        let count = |recording: &super::super::Recording| recording.cpus.values().map(|cpu| cpu.ran.count()).sum::<u64>();
        let parts = [Stretch::new(RecTime::from_secs(0), RecTime::from_secs(cut)), Stretch::new(RecTime::from_secs(cut), RecTime::after_epoch(Nanos::MAX))];
        let sum: u64 = parts.map(|part| count(&fold_stretch(&whole, part))).iter().sum();
        prop_assert_eq!(sum, count(&fold(&whole)));
    }
}
