//! Histories of watches as text, as one line and as a document. `BLESS=1 cargo test` rewrites the golden files.

use super::*;
use crate::render::document::schema::assert_valid;
use crate::render::explain;
use crate::render::golden::{assert_fits, assert_golden};
use crate::render::lang::leftover::assert_chinese;
use punctual_hist::Nanos;
use punctual_numbers::watch::{DAY, Gap, GapReason, WatchedCpu, WorstOfSegment};

/// Noon of a day in 2026.
const NOON_NS: u64 = 20_500 * DAY.as_ns() + DAY.as_ns() / 2;
const REASONS: [GapReason; 9] = [
    GapReason::NextSegment,
    GapReason::Stopped,
    GapReason::StoppedWhenLate,
    GapReason::Failed,
    GapReason::ProgramEnded,
    GapReason::Killed,
    GapReason::MachineDown,
    GapReason::Unknown,
    GapReason::SegmentsMissing,
];

fn day(number: u64, thread: Option<&str>, worst_us: u64) -> Day {
    let from_unix_ns = NOON_NS + number * DAY.as_ns();
    let thread = thread.map(str::to_owned);
    let causes = explain::sample::causes().causes.map_or_else(Vec::new, |causes| causes.spikes[0].causes.clone());
    Day {
        from_unix_ns,
        number,
        watched_ns: Nanos::from_secs(80_000),
        segments: vec![number],
        cpus: vec![WatchedCpu {
            cpu: 3,
            thread: thread.clone(),
            ran: 80_000_000,
            skipped: 2,
            over_budget: u64::from(worst_us > 50),
            p50_ns: Some(Nanos::from_us(4)),
            p999_ns: Some(Nanos::from_us(11)),
            max_ns: Some(Nanos::from_us(worst_us)),
        }],
        worst: vec![WorstOfSegment {
            segment: number,
            cpu: 3,
            thread,
            at_unix_ns: from_unix_ns + 4_711,
            latency_ns: Nanos::from_us(worst_us),
            causes: if number == 2 { causes } else { Vec::new() },
            incomplete: None,
        }],
        events: Vec::new(),
        is_traced: number != 3,
    }
}

fn history(thread: Option<&str>) -> History {
    let gap = |(n, reason): (usize, GapReason)| Gap {
        from_unix_ns: NOON_NS + DAY.as_ns() + n as u64 * 60_000_000_000,
        length_ns: Nanos::from_secs(n as u64 * 7),
        reason,
        is_new_boot: Some(reason == GapReason::Stopped),
        clocks_differ: reason == GapReason::MachineDown,
    };
    History {
        from_unix_ns: NOON_NS + DAY.as_ns(),
        to_unix_ns: NOON_NS + 4 * DAY.as_ns(),
        watched_ns: Nanos::from_secs(240_000),
        unwatched_ns: Nanos::from_secs(252),
        spared_ns: Nanos::ZERO,
        budget_ns: Some(Nanos::from_us(50)),
        period_ns: Some(Nanos::from_ms(1)),
        program: thread.map(|_| "my_controller".to_owned()),
        is_open: true,
        days: vec![day(1, thread, 31), day(2, thread, 412), day(3, thread, 28)],
        gaps: REASONS.into_iter().enumerate().map(gap).collect(),
        damaged: Vec::new(),
        notes: vec!["a note".to_owned()],
    }
}

fn all() -> [(&'static str, History); 3] {
    let damaged = History { damaged: vec![2], budget_ns: None, is_open: false, ..history(None) };
    [("cpus", history(None)), ("program", history(Some("axis_loop"))), ("damaged", damaged)]
}

fn shown(history: &History, width: usize) -> String {
    text(history, Path::new("/var/lib/punctual/watch"), 18_000_000, true, Style { width, colour: false })
}

#[test]
fn a_history_ends_with_its_answer() {
    for (name, history) in all() {
        let text = shown(&history, 80);
        assert_golden(&format!("watch-{name}.txt"), &text);
        assert_fits(&text, 80);
        let last: Vec<&str> = text.lines().rev().take(12).collect();
        assert!(last.iter().any(|line| line.contains("BUDGET:") || line.contains("WORST:")), "{name}: {text}");
        assert_eq!(brief(&history, Path::new("w")).lines().count(), 1, "{name}");
    }
}

#[test]
fn a_history_fits_its_schema() {
    let (_, history) = all().into_iter().next().unwrap();
    let document = assert_valid(&WatchDocument { store: "w".to_owned(), bytes: 1, history: &history });
    assert_eq!(document["days"][1]["worst"][0]["latency_ns"], 412_000);
}

#[test]
fn a_history_is_told_in_chinese() {
    for (name, history) in all() {
        assert_chinese(name, || shown(&history, 80));
    }
}
