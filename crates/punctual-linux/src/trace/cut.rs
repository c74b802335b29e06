//! Cuts the window of one activation out of the trace of its CPU.

use super::engine::{Covered, Engine, Span};
use super::names::NameBook;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::keep::WindowSlot;
use punctual_numbers::trace::{Incomplete, Kept, Names, Tid, TraceEvent, TraceRecord, Window};

/// A switch at least this long before the release shows which task ran at the release.
const LEAD: Nanos = Nanos::from_us(200);
/// How far before the release to look for that switch, and for the arming of our timer. Later values are tried only if
/// necessary, because decoding is costly.
const LOOK_BACK: [Nanos; 3] = [Nanos::from_us(1_250), Nanos::from_ms(5), Nanos::from_ms(20)];
/// How long after the wake-up records are kept, because they end operations that were under way.
pub const TRAIL: Nanos = Nanos::from_us(20);
/// Largest number of records kept for one activation.
const RECORDS_MAX: usize = 4000;

#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub cpu: u32,
    pub tid: Tid,
    pub release: MonoTime,
    pub woke: MonoTime,
    pub phase: u16,
    /// Why the self-test doubts all windows of this CPU; `None` if it does not.
    pub doubted: Option<Incomplete>,
}

/// Cuts the window of an activation. Without an engine the window has no records and reports this.
pub fn cut(a: &Target, place: WindowSlot, engine: Option<&dyn Engine>, book: &mut NameBook) -> Window {
    let Some(engine) = engine else { return window(a, place, Vec::new(), Names::default(), Some(Incomplete::NoTrace)) };
    let (mut records, mut seen) = (Vec::new(), Names::default());
    for back in LOOK_BACK {
        (records, seen) = engine.records(a.cpu, Span { from: a.release.minus(back), to: a.woke.plus(TRAIL) });
        if last_arming(&records, a).is_some() && beginning(&records, a.release.minus(LEAD)) > 0 {
            break;
        }
    }
    let armed = last_arming(&records, a);
    records.drain(..beginning(&records, a.release.minus(LEAD)));
    if records.len() > RECORDS_MAX {
        records.drain(..beginning(&records, a.release));
    }
    // Our timer was armed before the window begins. The record of this shows which expiry is ours, so it is added in
    // front.
    if let Some(armed) = armed.filter(|armed| records.first().is_none_or(|first| armed.at < first.at)) {
        records.insert(0, armed);
    }
    let span = Span { from: a.release.minus(LEAD), to: a.woke };
    let lost = engine.missed(span);
    let incomplete = missing(engine.covered(a.cpu).unwrap_or_default(), lost, &records, a);
    shorten(&mut records);
    let elsewhere = engine.elsewhere(a.cpu, span, &mut seen);
    let names = book.of(records.iter().chain(elsewhere.iter().map(|other| &other.record)), seen);
    let mut window = Window { elsewhere, ..window(a, place, records, names, incomplete) };
    book.disguise(&mut window);
    window
}

fn missing(covered: Covered, missed: bool, records: &[TraceRecord], a: &Target) -> Option<Incomplete> {
    let lost = |record: &TraceRecord| matches!(record.what, TraceEvent::Lost { .. }) && record.at <= a.woke;
    match () {
        () if covered.warped || a.doubted == Some(Incomplete::Warped) => Some(Incomplete::Warped),
        () if covered.span.from > a.release => Some(Incomplete::Late),
        () if covered.span.to < a.woke => Some(Incomplete::Short),
        () if missed || records.iter().any(lost) => Some(Incomplete::Lost),
        () if records.len() > RECORDS_MAX => Some(Incomplete::TooLong),
        () => a.doubted,
    }
}

/// If there are too many records, keeps the first and the last of them, which show how the latency began and ended.
fn shorten(records: &mut Vec<TraceRecord>) {
    let half = RECORDS_MAX / 2;
    let Some(more) = records.len().checked_sub(RECORDS_MAX).filter(|more| *more > 0) else { return };
    let left_out = TraceEvent::Lost { count: Some(more as u64 + 1) };
    let before = records.get(half - 1).map(|record| TraceRecord { what: left_out, ..record.clone() });
    records.splice(half..=half + more, before);
}

/// Whether the thread was woken and ran although the trace has no switch to it. Then a record is missing that the
/// kernel did not count as lost.
pub fn lacks_switch(a: &Window) -> bool {
    let span = a.release..=a.woke;
    // A thread that is woken while it still runs, on its way to sleep, needs no switch. Only wake-ups by other tasks
    // count.
    let woken = |record: &&TraceRecord| {
        record.tid != a.tid
            && matches!(record.what, TraceEvent::Waking { tid, target, .. } if tid == a.tid && target == a.cpu)
    };
    let records = &a.records;
    let Some(woken) = records.iter().find(|record| span.contains(&record.at) && woken(record)) else { return false };
    let switched = |record: &TraceRecord| matches!(record.what, TraceEvent::Switch { next, .. } if next == a.tid);
    !records.iter().any(|record| (woken.at..=a.woke).contains(&record.at) && switched(record))
}

fn last_arming(records: &[TraceRecord], a: &Target) -> Option<TraceRecord> {
    let ours = |record: &&TraceRecord| record.tid == a.tid && matches!(record.what, TraceEvent::HrtimerStart { .. });
    records.iter().rev().filter(|record| record.at < a.release).find(ours).cloned()
}

/// Index of the first record to keep: the last switch before `by`, or otherwise the record after the last loss before
/// it. A loss before that switch does not matter.
fn beginning(records: &[TraceRecord], by: MonoTime) -> usize {
    let before = records.partition_point(|record| record.at < by);
    let before = records.get(..before).unwrap_or_default();
    before
        .iter()
        .rposition(|record| matches!(record.what, TraceEvent::Switch { .. } | TraceEvent::Lost { .. }))
        .unwrap_or(0)
}

pub fn window(
    a: &Target,
    place: WindowSlot,
    records: Vec<TraceRecord>,
    names: Names,
    incomplete: Option<Incomplete>,
) -> Window {
    let WindowSlot { slot, kept } = place;
    let &Target { cpu, tid, release, woke, phase, doubted: _ } = a;
    Window {
        slot,
        kept,
        cpu,
        tid,
        release,
        woke,
        phase,
        records,
        elsewhere: Vec::new(),
        names,
        incomplete,
        around: None,
    }
}

/// Approximate size of the window in a file, in bytes.
pub fn bytes(window: &Window) -> u64 {
    const EACH_RECORD: u64 = 12;
    EACH_RECORD * (window.records.len() + window.elsewhere.len()) as u64 + 512
}

pub fn moved(window: Window, WindowSlot { slot, kept }: WindowSlot) -> Window {
    debug_assert_eq!(kept, Kept::Worst, "only the worst move");
    Window { slot, kept, ..window }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::trace::Context;

    fn record(at_us: u64, what: TraceEvent) -> TraceRecord {
        TraceRecord { at: MonoTime::from_ns(at_us * 1_000), tid: 0, context: Context::default(), what }
    }

    fn target(release: u64, woke: u64) -> Target {
        let (release, woke) = (MonoTime::from_ns(release), MonoTime::from_ns(woke));
        Target { cpu: 1, tid: 7, release, woke, phase: 0, doubted: None }
    }

    #[test]
    fn a_switch_that_nobody_recorded_is_missed() {
        let a = target(10_000, 90_000);
        let place = WindowSlot { slot: 0, kept: Kept::Sampled };
        let lacks =
            |records: &[TraceRecord]| lacks_switch(&window(&a, place, records.to_vec(), Names::default(), None));
        let woken = || record(20, TraceEvent::Waking { tid: 7, prio: 9, target: 1 });
        let switch =
            |at, next| record(at, TraceEvent::Switch { prev: 1, prev_prio: 120, prev_state: 0, next, next_prio: 9 });
        assert!(!lacks(&[switch(5, 1)]), "a thread that polls is not woken");
        assert!(lacks(&[woken(), switch(30, 3)]));
        assert!(!lacks(&[woken(), switch(30, 3), switch(80, 7)]));
        assert!(lacks(&[woken(), switch(95, 7)]), "it ran before that");
        assert!(!lacks(&[TraceRecord { tid: 7, ..woken() }]), "it was still awake");
    }

    #[test]
    fn what_is_missing_is_said() {
        let (a, early, behind) = (target(10_000, 90_000), target(500, 90_000), target(10_000, 9_000_000));
        let span = Span { from: MonoTime::from_ns(1_000), to: MonoTime::from_ns(1_000_000) };
        let covered = Covered { span, warped: false };
        let missing = |records: &[TraceRecord], a: &Target| missing(covered, false, records, a);
        let lost = |us| record(us, TraceEvent::Lost { count: None });
        assert_eq!(missing(&[], &a), None);
        assert_eq!(missing(&[], &early), Some(Incomplete::Late));
        assert_eq!(missing(&[], &behind), Some(Incomplete::Short));
        assert_eq!(missing(&[lost(90)], &a), Some(Incomplete::Lost));
        assert_eq!(missing(&[lost(91)], &a), None, "our thread ran already");
        let many = vec![record(20, TraceEvent::WorkEnd); RECORDS_MAX + 1];
        assert_eq!(missing(&many, &a), Some(Incomplete::TooLong));
        let doubted = |doubt| Target { doubted: Some(doubt), ..a };
        assert_eq!(missing(&[], &doubted(Incomplete::Holes)), Some(Incomplete::Holes));
        assert_eq!(missing(&[lost(20)], &doubted(Incomplete::Warped)), Some(Incomplete::Warped));
        assert_eq!(super::missing(Covered { warped: true, ..covered }, false, &[], &a), Some(Incomplete::Warped));
        assert_eq!(super::missing(covered, true, &[], &a), Some(Incomplete::Lost), "the engine says so");
    }

    #[test]
    fn of_too_many_records_the_first_and_the_last_stay() {
        let mut records: Vec<TraceRecord> = (0..9_000).map(|us| record(us, TraceEvent::WorkEnd)).collect();
        shorten(&mut records);
        assert_eq!(records.len(), RECORDS_MAX);
        let half = RECORDS_MAX / 2;
        assert_eq!(records[half - 1].what, TraceEvent::WorkEnd);
        assert_eq!(records[half].what, TraceEvent::Lost { count: Some(9_000 - RECORDS_MAX as u64 + 1) });
        assert_eq!(
            (&records[half].at, records.last().unwrap().at),
            (&records[half - 1].at, record(8_999, TraceEvent::WorkEnd).at)
        );
        let before = records.clone();
        shorten(&mut records);
        assert_eq!(records, before, "once is enough");
    }

    #[test]
    fn a_window_begins_with_the_last_switch_before_or_the_last_loss() {
        let switch = || TraceEvent::Switch { prev: 1, prev_prio: 120, prev_state: 0, next: 2, next_prio: 120 };
        let lost = || TraceEvent::Lost { count: None };
        let records = [record(1, lost()), record(2, switch()), record(3, TraceEvent::WorkEnd), record(9, switch())];
        let by = MonoTime::from_ns(5_000);
        assert_eq!(beginning(&records, by), 1, "the loss is before the switch");
        let records = [record(2, switch()), record(3, lost()), record(4, TraceEvent::WorkEnd), record(9, switch())];
        assert_eq!(beginning(&records, by), 1);
        assert_eq!(beginning(&records[2..], by), 0);
        assert_eq!(beginning(&[], by), 0);
    }
}
