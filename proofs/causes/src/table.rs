//! The results of a run, as a table for people.

use crate::judge::Tally;
use crate::kind::{Kind, Truth};
use crate::run::Outcome;
use std::fmt::Write;

/// The first line of the table.
pub fn heading() -> String {
    format!(
        "{:<11} {:>7} {:>8} {:>6} {:>7} {:>10} {:>8} {:>9} {:>6} {:>8}  {}",
        "kind", "plants", "spikes", "right", "%", "incomplete", "timed %", "off (med)", "mixed", "natural", "verdict"
    )
}

/// The line of one kind, followed by lines about what was wrong.
pub fn line(kind: Kind, outcome: &Outcome, least: u64) -> String {
    let name = kind.name();
    match outcome {
        Outcome::NotRun(why) => format!("{name:<11} NOT RUN: {why}"),
        Outcome::Broken(why) => format!("{name:<11} FAILED: {why}"),
        Outcome::Judged(tally) => judged(kind, tally, least),
    }
}

fn judged(kind: Kind, tally: &Tally, least: u64) -> String {
    let timed = match kind.truth() {
        Truth::Exact | Truth::Part => percent(tally.timed, tally.right),
        Truth::Within => "-".to_owned(),
    };
    let off = match (kind.truth(), tally.median_off_ns()) {
        (Truth::Exact | Truth::Part, Some(ns)) => format!("{} us", ns / 1000),
        _ => "-".to_owned(),
    };
    let verdict = match tally.verdict(kind, least) {
        Ok(()) => "ok".to_owned(),
        Err(why) => format!("FAILED: {why}"),
    };
    let mut text = format!(
        "{:<11} {:>7} {:>8} {:>6} {:>7} {:>10} {timed:>8} {off:>9} {:>6} {:>8}  {verdict}",
        kind.name(),
        tally.plants,
        tally.planted,
        tally.right,
        percent(tally.right, tally.complete()),
        tally.incomplete,
        tally.mixed,
        tally.natural
    );
    for wrong in tally.wrong.iter().take(3) {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n            {wrong}");
    }
    text
}

/// A percentage with one decimal, rounded down, so that a value just below 95 % is not shown as 95 %.
fn percent(part: u64, whole: u64) -> String {
    let Some(tenths) = (part * 1000).checked_div(whole) else { return "-".to_owned() };
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_and_of_nothing_is_none() {
        assert_eq!(percent(949_999, 1_000_000), "94.9");
        assert_eq!(percent(3, 3), "100.0");
        assert_eq!(percent(0, 0), "-");
    }

    #[test]
    fn what_did_not_run_never_looks_passed() {
        let line = line(Kind::Hog, &Outcome::NotRun("no trace here".to_owned()), 20);
        assert!(line.contains("NOT RUN: no trace here"), "{line}");
        let empty = super::line(Kind::Hog, &Outcome::Judged(Tally::default()), 20);
        assert!(empty.contains("FAILED"), "{empty}");
    }
}
