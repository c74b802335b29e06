//! Small recordings are merged, and the merged recording is checked.

use super::super::sample::{fold, header, run};
use super::super::{EndReason, Merging, Recording, Unmergeable};
use super::*;
use crate::recording::strategies;
use crate::recording::{CutReason, Mismatch, encode};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

fn merged(files: &[Vec<Frame>]) -> Result<Vec<Frame>, Vec<Unmergeable>> {
    let recordings: Vec<Recording> = files.iter().map(|frames| fold(frames)).collect();
    let mut whole = Vec::new();
    for part in Merging::of(&recordings)?.parts {
        let mut number = 0;
        for frame in &files[part.recording] {
            number += usize::from(matches!(frame, Frame::FurtherRun(_)));
            if number == part.run {
                whole.push(part.place.map_or(frame.clone(), |place| place.put(frame.clone())));
            }
        }
    }
    Ok(whole)
}

fn done(later_s: u64, seconds: u64, latency_us: u64) -> Vec<Frame> {
    run(later_s, seconds, latency_us, Some(EndReason::Completed))
}

#[test]
fn runs_lie_apart_as_the_wall_clock_has_them_and_lose_nothing() {
    let whole = merged(&[done(3600, 5, 40), done(0, 10, 5)]).unwrap();
    let recording = fold(&whole);
    let runs: Vec<_> = recording.runs.iter().map(|run| (run.at, run.covered, run.until)).collect();
    let (s, at) = (Nanos::from_secs, RecTime::from_secs);
    assert_eq!(runs, [(at(0), s(10), at(10)), (at(3600), s(5), at(3605))]);
    assert_eq!((recording.covered, recording.cut_off.is_none()), (s(15), true));
    let cpu = &recording.cpus[&1];
    assert_eq!((cpu.ran.count(), cpu.ran.max(), cpu.blocks), (15_000, Some(Nanos::from_us(44)), 15));
    assert_eq!(cpu.worst_block, Some((3604, Nanos::from_us(44))));
    // The lists of worst activations are merged and sorted by latency, with times from the start of the merged
    // recording.
    let list: Vec<(Nanos, Nanos)> = recording.worst[&1]
        .iter()
        .map(|w| (w.activation.latency(), w.activation.release.since(recording.header.epoch)))
        .collect();
    assert_eq!(list.len(), 15);
    assert_eq!(list[0], (Nanos::from_us(44), s(3604)));
    assert_eq!(list[14], (Nanos::from_us(5), s(0)));
    // No slice of the time line spans the hour between the two runs.
    assert!(recording.slices.iter().all(
        |slice| slice.start.plus(slice.length) <= RecTime::from_secs(10) || slice.start >= RecTime::from_secs(3600)
    ));
}

#[test]
fn what_was_merged_can_be_merged_again_in_any_order() {
    let (a, b, c) = (done(0, 10, 5), done(100, 10, 6), done(200, 10, 7));
    let at_once = merged(&[a.clone(), b.clone(), c.clone()]).unwrap();
    let later = merged(&[b.clone(), merged(&[c, a]).unwrap()]).unwrap();
    assert_eq!(at_once, later);
    assert_eq!(fold(&at_once).runs.len(), 3);
}

#[test]
fn a_run_that_was_cut_off_stays_one_that_was() {
    let recording = fold(&merged(&[run(0, 4, 5, None), done(50, 5, 5)]).unwrap());
    assert_eq!(recording.cut_off, None);
    let ends: Vec<bool> = recording.runs.iter().map(|run| run.end.is_some()).collect();
    assert_eq!(ends, [false, true]);
    let last = fold(&merged(&[done(0, 5, 5), run(50, 4, 5, None)]).unwrap());
    assert_eq!(last.cut_off.unwrap().reason, CutReason::Unfinished);
}

/// If the runs changed their order, the merged file could begin with a further run, which has no header, and could not
/// be read.
#[test]
fn runs_of_one_recording_keep_their_order_though_the_clock_was_set_back() {
    let mut set_back = merged(&[done(1000, 10, 5), done(2000, 10, 6)]).unwrap();
    for frame in &mut set_back {
        if let Frame::FurtherRun(further) = frame {
            further.header.started_unix_ns = header(10).started_unix_ns;
        }
    }
    let whole = fold(&merged(&[set_back, done(5000, 10, 7)]).unwrap());
    let ran: Vec<u64> = whole.runs.iter().map(|run| run.ran).collect();
    assert_eq!(ran, [10_000, 10_000, 10_000]);
    assert!(whole.runs.windows(2).all(|pair| pair[0].until <= pair[1].at), "{:?}", whole.runs);
}

#[test]
fn what_does_not_follow_is_refused() {
    let refused = |files: &[Vec<Frame>]| merged(files).unwrap_err();
    assert_eq!(refused(&[done(0, 10, 5), done(0, 10, 5)]), [Unmergeable::Same { earlier: 0, later: 1 }]);
    let [Unmergeable::Overlap { earlier: 0, later: 1, until_unix_ns: until, from_unix_ns: from }] =
        refused(&[done(0, 10, 5), done(5, 10, 5)])[..]
    else {
        panic!("not an overlap")
    };
    assert_eq!(until - from, 5_000_000_000);
    // An overlap of at most `OVERLAP_MAX` is accepted, and the later run is moved behind the earlier one.
    let recording = fold(&merged(&[done(0, 10, 5), done(9, 10, 5)]).unwrap());
    assert_eq!(recording.runs[1].at, RecTime::from_secs(10));
    let nothing = vec![Frame::Header(Box::new(header(70)))];
    assert_eq!(refused(&[done(0, 10, 5), nothing]), [Unmergeable::Nothing(1)]);
}

#[test]
fn runs_of_another_kind_are_refused_with_each_difference() {
    let mut other = header(60);
    other.machine = vec![("kernel", "6.13").into(), ("model", "board").into()];
    other.scenario.budget = None;
    other.scenario.policy = crate::scenario::Policy::Fifo(80);
    other.scenario.length = crate::scenario::Amount::Time(Nanos::from_secs(99));
    let mut frames = done(60, 5, 5);
    frames[0] = Frame::Header(Box::new(other));
    let against = merged(&[done(0, 10, 5), frames]).unwrap_err();
    let [Unmergeable::Mismatch(1, all)] = &against[..] else { panic!("{against:?}") };
    let kernel = Mismatch::Machine("kernel".to_owned(), Some("6.12".to_owned()), Some("6.13".to_owned()));
    let model = Mismatch::Machine("model".to_owned(), None, Some("board".to_owned()));
    let policy = Mismatch::Policy(crate::scenario::Policy::Fifo(90), crate::scenario::Policy::Fifo(80));
    assert_eq!(all[..], [kernel, model, policy, Mismatch::Budget(Some(Nanos::from_us(50)), None)]);
}

#[test]
fn slots_of_windows_do_not_collide_and_traces_add_up() {
    let window = |slot| {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut window = strategies::window().new_tree(&mut runner).unwrap().current();
        window.slot = slot;
        Frame::Window(Box::new(window))
    };
    let with = |later_s, slots: &[u32]| {
        let mut frames = done(later_s, 5, 5);
        frames.extend(slots.iter().map(|slot| window(*slot)));
        frames.push(Frame::TraceTotals(vec![TraceTotal { cpu: 1, records: 7, lost: 1, bytes: 70 }]));
        frames
    };
    let recording = fold(&merged(&[with(0, &[0, 4]), with(60, &[0, 1])]).unwrap());
    let slots: Vec<u32> = recording.causes.windows.iter().map(|window| window.slot).collect();
    assert_eq!(slots, [0, 4, 5, 6]);
    assert_eq!(recording.causes.totals, [TraceTotal { cpu: 1, records: 14, lost: 2, bytes: 140 }]);
}

proptest! {
    #[test]
    fn a_frame_moved_is_a_frame_that_can_be_written(
        frame in strategies::frame(), first in strategies::header(), of in strategies::header(),
        later in any::<u64>(), slots in any::<u32>(),
    ) {
        let place = Shift::new(&first, &of, Nanos::from_ns(later), slots);
        prop_assert!(encode(&place.put(frame), &mut Vec::new()).is_ok());
    }

    #[test]
    fn any_recordings_are_merged_or_refused(
        frames in prop::collection::vec(prop::collection::vec(strategies::frame(), 0..6), 1..4),
        headers in prop::collection::vec(strategies::header(), 4), same in any::<bool>(),
    ) {
        let files: Vec<Vec<Frame>> = frames.into_iter().enumerate().map(|(number, frames)| {
            let mut header = headers[if same { 0 } else { number }].clone();
            header.started_unix_ns = headers[number].started_unix_ns;
            std::iter::once(Frame::Header(Box::new(header))).chain(frames).collect()
        }).collect();
        if let Ok(whole) = merged(&files) {
            let sum = |frames: &[Frame]| frames.iter().filter(|f| matches!(f, Frame::Interval(_))).count();
            prop_assert_eq!(sum(&whole), files.iter().map(|f| sum(f)).sum::<usize>());
            fold(&whole);
        }
    }
}
