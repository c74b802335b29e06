//! Comparisons of files of other programs with each other and with recordings.

use super::super::tests::{plain, quiet};
use super::super::{Change, ComparedNumber, Comparison, Matters, RowResult};
use super::*;
use crate::foreign::{Cell, Format, Quantity, Series, StatedPercentile};
use crate::stats::float::whole;
use punctual_hist::SplitMix;

mod dependence;
mod unfit;

/// Options that let histograms decide as if their values were independent.
fn options() -> Options {
    Options { as_if_independent: true, ..super::super::tests::options() }
}

/// `n` values of 5 us plus an exponential tail with a mean of `tail_us`, in cells of 1 us.
fn series(label: &str, n: u32, tail_us: f64, seed: u64) -> Series {
    let mut counts = std::collections::BTreeMap::new();
    let mut random = SplitMix::new(seed);
    for _ in 0..n {
        *counts.entry(whole(5.0 - tail_us * random.unit().ln())).or_insert(0u64) += 1;
    }
    let cells = counts.into_iter().map(|(us, n)| Cell::of_width(us, Nanos::from_us(1), n)).collect();
    Series { label: label.to_owned(), period: Some(Nanos::from_ms(1)), cells, ..Series::default() }
}

fn run(series: Vec<Series>) -> ForeignRun {
    ForeignRun { format: Format::Cyclictest, program: Some("cyclictest".to_owned()), series, ..ForeignRun::default() }
}

fn one(tail_us: f64, seed: u64) -> ForeignRun {
    run(vec![series("thread 0", 200_000, tail_us, seed)])
}

/// Options with a margin of 25 %: confidence limits of files without time stamps are wide, and the usual margin of 10 %
/// would leave every comparison undecided.
fn wide() -> Options {
    Options { margin: 0.25, ..options() }
}

fn held(a: &ForeignRun, b: &ForeignRun, options: Options) -> Result<Comparison, Refused> {
    Comparison::of(&[("a".to_owned(), a), ("b".to_owned(), b)], options)
}

fn row(comparison: &Comparison, what: ComparedNumber) -> RowResult {
    comparison.others[0].groups[0].rows.iter().find(|row| row.what == what).unwrap().clone()
}

#[test]
fn files_of_one_system_show_no_difference_and_what_they_lack_is_said() {
    let comparison = held(&one(20.0, 1), &one(20.0, 2), wide()).unwrap();
    let other = &comparison.others[0];
    assert_eq!((other.verdict, other.refused, other.differences.len()), (Compared::NoDifferenceShown, false, 0));
    let lacks: Vec<Lack> = other.lacks.iter().map(|of| of.lack).collect();
    assert_eq!(lacks, [Lack::Time, Lack::Skips, Lack::Settings]);
    assert!(other.lacks.iter().all(|of| of.first && of.second));
    assert_eq!(other.groups[0].rows.len(), 5, "neither a budget nor what was skipped is known, and nothing of time");
    // The true percentile is 5 us + 20 us * ln 100.
    let p99 = row(&comparison, ComparedNumber::Percentile { ppm: 990_000 });
    assert!((p99.first.unwrap() / 97_103.0 - 1.0).abs() < 0.03, "{p99:?}");
}

#[test]
fn a_difference_is_found_and_no_finer_than_the_cells_are() {
    let (a, b) = (one(20.0, 1), one(30.0, 2));
    assert_eq!(held(&a, &b, options()).unwrap().verdict(), Compared::Worse);
    assert_eq!(held(&b, &a, options()).unwrap().verdict(), Compared::Better);
    // Medians in the cells of 5 and 6 us may differ as little as 5.9 and 6.0 us.
    let shifted = |us: u64| {
        run(vec![Series { cells: vec![Cell::of_width(us, Nanos::from_us(1), 1_000_000)], ..Series::default() }])
    };
    let comparison = held(&shifted(5), &shifted(6), options()).unwrap();
    let median = row(&comparison, ComparedNumber::Percentile { ppm: 500_000 });
    assert_eq!((median.verdict, comparison.verdict()), (Compared::NotEnoughData, Compared::NotEnoughData));
    let Some(Change::Difference(limits)) = median.change else { panic!("{median:?}") };
    assert!(limits.low <= 0.0 && limits.high >= 2_000.0, "{limits:?}");
    assert_eq!(held(&shifted(5), &shifted(9), options()).unwrap().verdict(), Compared::Worse);
}

#[test]
fn a_recording_is_held_against_a_file_of_its_only_thread() {
    let recording = plain(60, quiet(1));
    let alike = run(vec![series("thread 0", 60_000, 10.0, 2)]);
    let both = |run: &ForeignRun, budget| {
        let named = [("a".to_owned(), Measured::from(&recording)), ("b".to_owned(), run.into())];
        Comparison::of(&named, Options { budget, ..wide() }).unwrap()
    };
    let same = both(&alike, None);
    assert_eq!(same.verdict(), Compared::NoDifferenceShown, "{:#?}", same.others[0].groups);
    let matter: Vec<(&Subject, Matters)> =
        same.others[0].differences.iter().map(|d| (&d.subject, d.matters())).collect();
    let much = Matters::Much;
    assert_eq!(matter, [(&Subject::Load, much), (&Subject::Cpu, much), (&Subject::Program, much)]);
    assert_eq!(same.others[0].groups[0].against.as_ref().unwrap().series.as_deref(), Some("thread 0"));
    assert!(same.others[0].lacks.iter().all(|of| of.second && !of.first));
    let worse = both(&run(vec![series("thread 0", 60_000, 25.0, 2)]), Some(Nanos::from_us(50)));
    assert_eq!(worse.verdict(), Compared::Worse);
    let misses = row(&worse, ComparedNumber::Misses { budget: Some(Nanos::from_us(50)) });
    // The true shares are e^(-45/10) and e^(-45/25). For the second, values up to the end of the cell count as well.
    assert!((misses.first.unwrap() / 11_109.0 - 1.0).abs() < 0.1, "{misses:?}");
    assert!((misses.second.unwrap() / 165_299.0 - 1.0).abs() < 0.1, "{misses:?}");
    assert_eq!(misses.verdict, Compared::Worse);
}

#[test]
fn what_means_something_else_is_refused_unless_asked_for() {
    let a = one(20.0, 1);
    let changed = |change: fn(&mut Series)| {
        let mut other = one(20.0, 2);
        change(&mut other.series[0]);
        other
    };
    for (change, subject) in [
        ((|s| s.quantity = Quantity::Noise) as fn(&mut Series), Subject::Quantity),
        (|s| s.period = Some(Nanos::from_us(500)), Subject::Period(None)),
    ] {
        let b = changed(change);
        let Err(Refused::Incomparable(_, all)) = held(&a, &b, options()) else { panic!("{subject:?} is compared") };
        assert_eq!(all[0].subject, subject);
        let anyway = held(&a, &b, Options { anyway: true, ..options() }).unwrap();
        assert!(anyway.others[0].refused, "the result is marked");
    }
    // A file that does not state its period is not refused because of the period.
    assert!(held(&a, &changed(|s| s.period = None), options()).is_ok());
}

#[test]
fn threads_are_held_against_those_of_the_same_cpu_or_name() {
    let on = |cpu: Option<u32>, label: &str| Series { cpu, ..series(label, 2_000, 10.0, 3) };
    let pairs = |a: Vec<Series>, b: Vec<Series>, anyway: bool| {
        let comparison = held(&run(a), &run(b), Options { anyway, ..options() })?;
        let other = &comparison.others[0];
        let of = |group: &Group| group.series.clone().unwrap();
        let pairs = other.groups.iter().map(|g| (of(&g.group), g.against.as_ref().map_or_else(|| of(&g.group), of)));
        let left: Vec<String> = other.left_out.iter().map(|left| of(&left.group)).collect();
        Ok::<_, Refused>((pairs.collect::<Vec<_>>(), left, other.refused))
    };
    let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let by_cpu = pairs(vec![on(Some(1), "x"), on(Some(2), "y")], vec![on(Some(2), "z"), on(Some(3), "w")], false);
    assert_eq!(by_cpu.unwrap(), (vec![text("y", "z")], vec!["x".to_owned(), "w".to_owned()], false));
    let by_name = pairs(vec![on(None, "thread 0"), on(None, "thread 1")], vec![on(Some(4), "thread 1")], false);
    assert_eq!(by_name.unwrap().0, [text("thread 1", "thread 1")]);
    let (a, b) = (vec![on(None, "a"), on(None, "b")], vec![on(None, "c"), on(None, "d")]);
    assert!(matches!(pairs(a.clone(), b.clone(), false), Err(Refused::NothingInCommon(..))));
    assert_eq!(pairs(a, b, true).unwrap(), (vec![text("a", "c"), text("b", "d")], vec![], true));
    // A trace has several latencies for one activation. Other programs measure the latency of the thread in user space.
    let of = |context: &str| Series { context: Some(context.to_owned()), ..on(Some(1), context) };
    let traced = pairs(vec![on(Some(1), "x")], vec![of("IRQ"), of("Thr"), of("Usr")], false).unwrap();
    assert_eq!((traced.0, traced.1), (vec![text("x", "Usr")], vec!["IRQ".to_owned(), "Thr".to_owned()]));
}

#[test]
fn files_without_counts_are_shown_and_have_no_odds() {
    let told = |us: u64| {
        let points = vec![StatedPercentile { ppm: 500_000, value: Nanos::from_us(us) }];
        run(vec![Series { points, max: Some(Nanos::from_us(99)), stated_count: Some(1000), ..Series::default() }])
    };
    let comparison = held(&told(5), &told(50), options()).unwrap();
    let median = row(&comparison, ComparedNumber::Percentile { ppm: 500_000 });
    assert_eq!((median.first, median.second, median.odds), (Some(5_000.0), Some(50_000.0), None));
    assert_eq!(comparison.verdict(), Compared::NotEnoughData);
    assert!(comparison.others[0].lacks.iter().any(|of| of.lack == Lack::Counts));
    let empty = run(vec![Series::default()]);
    assert_eq!(held(&empty, &empty, options()).unwrap().verdict(), Compared::NotEnoughData);
    assert!(matches!(held(&run(vec![]), &told(5), options()), Err(Refused::NothingInCommon(..))));
}

/// Two histograms of one system with bursts must not be found to differ.
#[test]
fn bursts_of_one_system_are_not_told_apart() {
    let bursty = |seed: u64| {
        let mut random = SplitMix::new(seed);
        let (mut base, mut late) = (0, 0);
        for _ in 0..400 {
            base += 500;
            // One of eight half seconds holds a burst of forty late values.
            late += if random.unit() < 0.125 { 40 } else { 0 };
        }
        let cells = vec![Cell::of_width(5, Nanos::from_us(1), base), Cell::of_width(90, Nanos::from_us(1), late)];
        run(vec![Series { label: "thread 0".to_owned(), cells, ..Series::default() }])
    };
    let options = Options { budget: Some(Nanos::from_us(50)), ..options() };
    let found = (0..40).filter(|i| {
        let verdict = held(&bursty(2 * i), &bursty(2 * i + 1), options).unwrap().verdict();
        matches!(verdict, Compared::Better | Compared::Worse | Compared::Mixed)
    });
    assert!(found.count() <= 2);
}
