//! A series of runs in all forms, with a shift that was planted. `BLESS=1 cargo test` rewrites the golden files.

use super::*;
use crate::render::golden::{assert_fits, assert_golden, assert_page};
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};
use punctual_hist::{Counts, Nanos, SplitMix};
use punctual_numbers::stats::float::whole;
use punctual_numbers::trend::{Options, Run};

/// The night from which latencies are a third longer.
const SHIFTED: u64 = 14;
const LEFT_OUT: [&str; 1] =
    ["nightly/26-09-12.punctual: it is of another machine or another scenario than the newest run"];

/// A night of 30 000 activations, whose latencies have an exponential tail above 4 us.
fn night(number: u64, dice: &mut SplitMix) -> Run {
    let scale_ns = if number < SHIFTED { 3_000.0 } else { 4_000.0 };
    let mut counts = Counts::new();
    for _ in 0..30_000 {
        let tail = -scale_ns * dice.unit().max(1e-12).ln();
        counts.record(Nanos::from_ns(whole(4_000.0 + tail)));
    }
    let kernel = if number < SHIFTED { "6.12.43" } else { "6.12.48" };
    Run {
        name: format!("nightly/26-10-{:02}.punctual", number + 1),
        started_unix_ns: 1_790_816_400_000_000_000 + number * 86_400_000_000_000,
        missed: u64::from(number == 17),
        settings: [("kernel release", kernel), ("model", "Board")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
        ..Run::of_counts(&counts)
    }
}

fn series(nights: u64) -> Trend {
    let mut dice = SplitMix::new(11);
    Trend::of((0..nights).map(|number| night(number, &mut dice)).collect(), Options::default())
}

fn shown(trend: &Trend, width: usize) -> String {
    let left_out = LEFT_OUT.map(str::to_owned);
    let page = Some(Path::new("trend.html"));
    text(&Told { trend, left_out: &left_out, page }, Style { width, colour: false })
}

#[test]
fn a_shift_is_told_with_what_changed_and_the_command_that_compares() {
    let trend = series(20);
    assert_eq!((trend.verdict, trend.shifts[0].at), (Verdict::Worse, 14));
    assert_golden("trend.txt", &shown(&trend, 80));
    for width in [40, 80, 120] {
        assert_fits(&shown(&trend, width), width);
    }
    assert_eq!(brief(&trend).lines().count(), 1);
}

#[test]
fn the_page_draws_each_percentile_and_can_be_looked_at() {
    let page = html(&series(20)).unwrap();
    assert_page("trend", &page);
    for part in ["Worse", "26-10-15", "6.12.48", "<h2 id=\"shifts\">", "class=\"key c0 "] {
        assert!(page.contains(part), "no '{part}'");
    }
    let few = html(&series(3)).unwrap();
    assert!(few.contains("Too few runs") && !few.contains("id=\"shifts\""));
}

#[test]
fn names_from_outside_are_escaped() {
    let mut trend = series(20);
    trend.runs[0].name = "<script>alert(1)</script>".to_owned();
    trend.shifts[0].run = "<b>".to_owned();
    let page = html(&trend).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<b>"));
}

#[test]
fn a_series_is_told_in_chinese() {
    for trend in [series(20), series(3)] {
        assert_chinese("trend", || shown(&trend, 80));
        assert_chinese_page("trend", || html(&trend).unwrap());
    }
}
