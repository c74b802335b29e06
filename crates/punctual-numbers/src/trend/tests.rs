//! Series with planted shifts, drifts and odd runs. `truth` measures alarms and finds on long series of known law.

use super::{Options, Run, Trend, Verdict};
use crate::stats::float::whole;
use punctual_hist::{Counts, Nanos, SplitMix};

/// A run of 30 000 activations with an exponential tail of this scale above 4 us.
fn run(number: u64, scale_us: f64, dice: &mut SplitMix) -> Run {
    let mut counts = Counts::new();
    for _ in 0..30_000 {
        counts.record(Nanos::from_ns(whole(4_000.0 - scale_us * 1_000.0 * dice.unit().max(1e-12).ln())));
    }
    Run { name: format!("run {number:03}"), started_unix_ns: number, ..Run::of_counts(&counts) }
}

fn series(scales: impl Iterator<Item = f64>) -> Vec<Run> {
    let mut dice = SplitMix::new(11);
    (0..).zip(scales).map(|(number, scale)| run(number, scale, &mut dice)).collect()
}

#[test]
fn a_shift_is_found_within_three_runs_and_says_what_else_changed() {
    let mut runs = series((0..30).map(|n| if n < 20 { 3.0 } else { 4.2 }));
    for (n, run) in runs.iter_mut().enumerate() {
        let kernel = if n < 20 { "6.12.1" } else { "6.12.9" };
        run.settings.insert("kernel".to_owned(), kernel.to_owned());
        run.settings.insert("model".to_owned(), "Board".to_owned());
    }
    runs.reverse();
    let trend = Trend::of(runs, Options::default());
    let [shift] = trend.shifts.as_slice() else { panic!("{:?}", trend.shifts) };
    assert_eq!((shift.at, shift.run.as_str(), shift.worse, trend.verdict), (20, "run 020", true, Verdict::Worse));
    assert!(shift.found_after <= 3 && shift.moved[0].low > 1.1, "{shift:?}");
    let [changed] = shift.changed.as_slice() else { panic!("{:?}", shift.changed) };
    assert_eq!((changed.item.as_str(), changed.became.as_deref()), ("kernel", Some("6.12.9")));
}

#[test]
fn a_steady_series_and_one_with_an_odd_run_are_steady() {
    assert_eq!(Trend::of(series((0..60).map(|_| 3.0)), Options::default()).verdict, Verdict::Steady);
    let odd = Trend::of(series((0..60).map(|n| if n == 30 { 9.0 } else { 3.0 })), Options::default());
    assert_eq!(odd.verdict, Verdict::Steady, "{:?}", odd.shifts);
    assert!(odd.smallest_seen.is_some_and(|part| part > 0.0));
}

#[test]
fn a_slow_change_is_a_drift() {
    let drift =
        Trend::of(series((0..40).map(|n| 3.0 * 1.01f64.powi(n))), Options { margin: 0.2, ..Options::default() });
    assert!(drift.verdict == Verdict::Worse, "{:?} {:?}", drift.shifts, drift.drifts);
}

#[test]
fn too_few_runs_decide_nothing() {
    for n in [0, 1, 9] {
        assert_eq!(Trend::of(series((0..n).map(|_| 3.0)), Options::default()).verdict, Verdict::TooFew);
    }
}
