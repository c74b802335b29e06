//! Tests of the whole module: condensing loses no count, and the history accounts for all time.

use super::*;
use crate::made_up;
use crate::recording::{
    BOOT_ID, CpuInterval, CutOff, CutReason, End, EndReason, Event, EventKind, Frame, Header, InForce, Interval,
    Moment, RecTime, Recording, WatchedProgram, Worst, strategies,
};
use crate::trace::Kept;
use proptest::prelude::*;
use punctual_hist::{Activation, Counts, MonoTime};

const S: u64 = 1_000_000_000;
/// Midnight UTC of a day.
const MIDNIGHT: u64 = 20_000 * 86_400 * S;

fn header(later_s: u64) -> Header {
    let mut header = made_up::header(1, DAY);
    header.started_unix_ns = MIDNIGHT + later_s * S;
    header.epoch = MonoTime::from_ns(500 * S + later_s * S);
    header
}

fn fold(frames: impl IntoIterator<Item = Frame>) -> Recording {
    let mut frames = frames.into_iter();
    let Some(Frame::Header(header)) = frames.next() else { panic!("no header first") };
    let mut recording = Recording::new(*header);
    frames.for_each(|frame| recording.add(frame));
    recording
}

fn boot(id: &str) -> Frame {
    Frame::InForce(InForce { moment: Moment::Before, values: vec![(BOOT_ID, id).into()] })
}

fn end(at_s: u64, reason: EndReason) -> Frame {
    Frame::End(End { at: RecTime::from_secs(at_s), reason, write_error: None })
}

/// Intervals of ten seconds with ten thousand activations each; the latency is that of the number of the interval.
fn intervals(count: u64, latency: impl Fn(u64) -> u64) -> Vec<Frame> {
    let of = |n: u64| {
        let (us, mut counts) = (latency(n), Counts::new());
        counts.record_n(Nanos::from_us(3), 9_999);
        counts.record(Nanos::from_us(us));
        let seconds = (n * 10..n * 10 + 10).map(|s| (u32::try_from(s).unwrap(), Nanos::from_us(us)));
        let largest = (0..=n).map(&latency).max().map(Nanos::from_us);
        let cpu = CpuInterval {
            block_max: seconds.collect(),
            ran_max: largest,
            over_budget: u64::from(us > 50),
            ..CpuInterval::of(0, &counts, &Counts::new())
        };
        let (start, length) = (RecTime::from_secs(n * 10), Nanos::from_secs(10));
        Frame::Interval(Interval { start, length, phase: 0, cpus: vec![cpu] })
    };
    (0..count).map(of).collect()
}

/// A run of `count` ten-second intervals that began `later_s` seconds after midnight.
fn run(later_s: u64, count: u64, boot_id: &str, ended: Option<EndReason>) -> Vec<Frame> {
    let mut frames = vec![Frame::Header(Box::new(header(later_s))), boot(boot_id)];
    frames.extend(intervals(count, |n| 10 + n % 7));
    frames.extend(ended.map(|reason| end(count * 10, reason)));
    frames
}

fn segment(number: u64, frames: Vec<Frame>) -> Segment {
    Segment::of(number, &fold(frames))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn condensing_loses_no_count(intervals in prop::collection::vec(strategies::interval(), 0..12), level in 0_usize..3) {
        let mut at = RecTime::EPOCH;
        let in_order = intervals.into_iter().map(|mut interval| {
            (interval.start, interval.length) = (at, Nanos::from_ns(interval.length.as_ns() % (400 * S)));
            at = at.plus(interval.length);
            Frame::Interval(interval)
        });
        let frames: Vec<Frame> = std::iter::once(Frame::Header(Box::new(header(7)))).chain(in_order).collect();
        let short = condensed(frames.clone(), Detail::LEVELS[level]);
        prop_assert!(short.len() <= frames.len());
        let (then, now) = (fold(frames), fold(short));
        prop_assert_eq!(then.covered, now.covered);
        for (cpu, totals) in &then.cpus {
            let kept = &now.cpus[cpu];
            let counts = |of: &Counts| of.nonzero().collect::<Vec<_>>();
            prop_assert_eq!(counts(&totals.ran), counts(&kept.ran));
            prop_assert_eq!(counts(&totals.skipped), counts(&kept.skipped));
            prop_assert_eq!(
                (totals.over_budget, totals.early, totals.longest_gap, totals.counters, totals.ran.sum()),
                (kept.over_budget, kept.early, kept.longest_gap, kept.counters, kept.ran.sum())
            );
            prop_assert_eq!(totals.worst_block.map(|(_, max)| max), kept.worst_block.map(|(_, max)| max));
        }
    }

    #[test]
    fn condensing_twice_is_condensing_once(windows in prop::collection::vec(strategies::window(), 0..9), level in 0_usize..3) {
        let detail = Detail::LEVELS[level];
        let mut frames = run(0, 40, "a", Some(EndReason::Completed));
        let windows = windows.into_iter().map(|window| Frame::Window(Box::new(window)));
        frames.splice(3..3, windows);
        let once = condensed(frames.clone(), detail);
        prop_assert_eq!(&condensed(once.clone(), detail), &once);
        let is_late = |frame: &&Frame| matches!(frame, Frame::Window(window) if window.kept != Kept::Ordinary);
        prop_assert!(once.iter().filter(is_late).count() <= detail.worst);
        prop_assert!(matches!(once.last(), Some(Frame::End(_))));
        // The finest level first and a coarser one later comes to the same.
        let via = condensed(condensed(frames, Detail::LEVELS[0]), detail);
        prop_assert_eq!(&via, &once);
    }
}

#[test]
fn five_minutes_keep_their_exact_maximum() {
    let mut frames = run(0, 0, "a", None);
    frames.extend(intervals(90, |n| if n == 40 { 812 } else { 9 }));
    let short = condensed(frames, Detail::LEVELS[0]);
    let maxima: Vec<(u64, Vec<(u32, Nanos)>)> = short
        .iter()
        .filter_map(|frame| match frame {
            Frame::Interval(interval) => Some((interval.start.as_ns() / S, interval.cpus[0].block_max.clone())),
            _ => None,
        })
        .collect();
    let nine = |second| vec![(second, Nanos::from_us(9))];
    assert_eq!(maxima.len(), 3);
    assert_eq!(maxima[1], (300, vec![(409, Nanos::from_us(812))]));
    assert_eq!((maxima[0].0, maxima[0].1.len(), maxima[2].0), (0, 1, 600));
    assert_eq!(maxima[2].1, nine(899));
}

#[test]
fn steps_begin_at_whole_five_minutes_of_the_wall_clock_and_events_are_added_up() {
    let mut frames = vec![Frame::Header(Box::new(header(250)))];
    frames.extend(intervals(40, |_| 5));
    let steal = |s: u64| {
        Frame::Event(Event {
            releases_lost: 2,
            ..Event::new(RecTime::from_secs(s), Nanos::from_ms(s), EventKind::Steal)
        })
    };
    frames.splice(3..3, [steal(11), steal(19)]);
    let recording = fold(condensed(frames, Detail::LEVELS[0]));
    let starts: Vec<u64> = recording.slices.iter().map(|slice| slice.start.as_ns() / S).collect();
    assert_eq!(starts, [0, 50, 350], "00:04:10, 00:05:00 and 00:10:00");
    let totals = recording.event_totals[&EventKind::Steal];
    assert_eq!((totals.length, totals.releases_lost), (Nanos::from_ms(30), 4));
}

#[test]
fn days_are_those_of_utc_and_the_worst_is_found() {
    let worst = |us| {
        let release = header(0).epoch.plus(Nanos::from_secs(5));
        let activation = Activation { release, woke: release.plus(Nanos::from_us(us)), ..Activation::default() };
        Frame::Worst(vec![Worst { cpu: 0, activation }])
    };
    let mut first = run(86_000, 40, "a", Some(EndReason::Completed));
    let second = run(86_400, 8_640, "a", Some(EndReason::Completed));
    let mut third = run(172_800, 6, "a", None);
    first.push(worst(700));
    third.extend(intervals(1, |_| 812));
    third.push(worst(812));
    let history = History::of(vec![segment(3, third), segment(1, first), segment(2, second)]).unwrap();
    assert_eq!(
        history.days.iter().map(|day| (day.number, day.segments.clone())).collect::<Vec<_>>(),
        [(1, vec![1]), (2, vec![2]), (3, vec![3])]
    );
    assert_eq!(history.days[1].watched_ns, DAY);
    assert_eq!(history.days[1].ran(), 86_400_000);
    let (day, worst) = history.worst().unwrap();
    assert_eq!((day.number, worst.latency_ns, worst.segment), (3, Nanos::from_us(812), 3));
    assert!(history.is_open && history.damaged.is_empty());
    assert_eq!(history.unwatched_ns, Nanos::ZERO);
    assert_eq!(History::of(Vec::new()), None);
}

#[test]
fn time_that_a_thrifty_watch_left_out_is_accounted_for() {
    let mut frames = run(0, 10, "a", Some(EndReason::Completed));
    let program = WatchedProgram { pid: 7, name: "loop".to_owned(), threads: Vec::new() };
    frames.insert(1, Frame::Program(program));
    // After the first ten seconds, one of ten is watched.
    for frame in frames.iter_mut().skip(4) {
        if let Frame::Interval(interval) = frame {
            interval.length = Nanos::from_secs(1);
        }
    }
    let history = History::of(vec![segment(1, frames), segment(2, run(100, 1, "a", None))]).unwrap();
    let seconds = |time: Nanos| time.as_ns() / S;
    // Nine seconds after the last interval of the first segment belong to the gap behind it.
    assert_eq!((seconds(history.spared_ns), seconds(history.gaps[0].length_ns)), (72, 9));
    assert_eq!((seconds(history.watched_ns), seconds(history.unwatched_ns)), (29, 81));
    assert_eq!(history.to_unix_ns - history.from_unix_ns, 110 * S);
}

/// The gap between a run of 100 s and the next one, which began `wall_s` seconds after it by the wall clock, and `mono_s`
/// seconds by the monotonic clock.
fn gap_after(ended: Option<EndReason>, boots: [&str; 2], wall_s: u64, mono_s: u64) -> Gap {
    let first = segment(1, run(1_000, 10, boots[0], ended));
    let mut second = segment(2, run(1_000 + wall_s, 10, boots[1], None));
    second.epoch = first.epoch.plus(Nanos::from_secs(mono_s));
    let history = History::of(vec![first, second]).unwrap();
    assert_eq!(history.gaps.len(), 1);
    history.gaps[0]
}

#[test]
fn every_gap_has_a_length_and_a_reason() {
    use GapReason::{Failed, Killed, MachineDown, NextSegment, Stopped, StoppedWhenLate};
    let told = |gap: Gap| (gap.reason, gap.length_ns.as_ns() / S, gap.clocks_differ);
    let same = ["a", "a"];
    assert_eq!(told(gap_after(Some(EndReason::Completed), same, 100, 100)), (NextSegment, 0, false));
    assert_eq!(told(gap_after(Some(EndReason::Interrupted), same, 400, 400)), (Stopped, 300, false));
    assert_eq!(told(gap_after(Some(EndReason::LimitExceeded), same, 400, 400)), (StoppedWhenLate, 300, false));
    assert_eq!(told(gap_after(Some(EndReason::Stalled), same, 160, 160)), (Failed, 60, false));
    assert_eq!(told(gap_after(None, same, 112, 112)), (Killed, 12, false));
    assert_eq!(told(gap_after(None, ["a", "b"], 220, 3)), (MachineDown, 120, false));
    assert_eq!(gap_after(None, ["a", "b"], 220, 3).is_new_boot, Some(true));
    // The machine slept for an hour, during which the monotonic clock stood still.
    assert_eq!(told(gap_after(Some(EndReason::Interrupted), same, 3_800, 200)), (Stopped, 3_700, true));
    // The wall clock was set back by an hour, so the next run seems to have begun before this one ended.
    let mut second = segment(2, run(500, 10, "a", None));
    second.epoch = header(1_000).epoch.plus(Nanos::from_secs(160));
    let history = History::of(vec![segment(1, run(1_000, 10, "a", None)), second]).unwrap();
    assert_eq!(told(history.gaps[0]), (Killed, 60, true));
    // With another boot in between, nothing tells how long it took.
    let set_back = vec![segment(1, run(1_000, 10, "a", None)), segment(2, run(500, 10, "b", None))];
    assert_eq!(told(History::of(set_back).unwrap().gaps[0]), (MachineDown, 0, true));
}

#[test]
fn what_is_damaged_or_missing_is_said() {
    let damaged = CutOff { good_bytes: 9, lost_bytes: 7, reason: CutReason::Damaged("a frame's checksum is wrong") };
    let first = Segment { cut_off: Some(damaged), ..segment(1, run(0, 10, "a", None)) };
    let history =
        History::of(vec![first, segment(2, run(100, 10, "a", None)), segment(4, run(300, 1, "a", None))]).unwrap();
    assert_eq!(history.damaged, [1]);
    let reasons: Vec<GapReason> = history.gaps.iter().map(|gap| gap.reason).collect();
    assert_eq!(reasons, [GapReason::Unknown, GapReason::SegmentsMissing]);
}
