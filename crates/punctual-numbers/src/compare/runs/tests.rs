//! Tests of sides of several runs, and of rounds.

use super::super::tests::{options, plain, quiet};
use super::*;
use crate::stats::float::whole;
use punctual_hist::SplitMix;

/// A run of `seconds` whose latencies all have one random factor, with standard deviation `sd` on the scale of
/// logarithms, and the factor `times`.
fn moody(seed: u64, seconds: u64, sd: f64, times: f64) -> Recording {
    let mut random = SplitMix::new(seed);
    let level = (sd * normal::quantile(random.unit())).exp() * times;
    let mut draw = quiet(seed);
    plain(seconds, move |at, i| whole(float(draw(at, i)) * level))
}

fn side_of(runs: &[Recording]) -> Vec<Named<'_>> {
    runs.iter().enumerate().map(|(i, run)| (format!("{i}"), run)).collect()
}

fn compared(a: &[Recording], b: &[Recording], in_turn: bool) -> Comparison {
    Comparison::of_sides(&side_of(a), &side_of(b), in_turn, options()).unwrap()
}

#[test]
fn what_differs_from_run_to_run_is_the_error() {
    let runs = |from: u64, times: f64| (from..from + 5).map(|i| moody(i, 2, 0.2, times)).collect::<Vec<_>>();
    let mut wrong = 0;
    for i in 0..8 {
        let verdict = compared(&runs(100 * i, 1.0), &runs(100 * i + 50, 1.0), false).verdict();
        wrong += u32::from(!matches!(verdict, Compared::NotEnoughData | Compared::NoDifferenceShown));
    }
    assert!(wrong <= 1, "{wrong} of 8 equal pairs were told apart");
    let other = compared(&runs(1, 1.0), &runs(51, 4.0), false);
    assert_eq!((other.verdict(), other.others[0].design), (Compared::Worse, Design::Runs { first: 5, second: 5 }));
}

#[test]
fn two_runs_a_side_say_what_they_cannot_show() {
    let runs = |from: u64| (from..from + 2).map(|i| moody(i, 2, 0.2, 1.0)).collect::<Vec<_>>();
    let comparison = compared(&runs(1), &runs(11), false);
    assert_eq!(comparison.verdict(), Compared::NotEnoughData);
    let Some(Undecided::FewRuns { least }) = comparison.others[0].undecided else { panic!("{comparison:?}") };
    assert!(least > 1.3, "{least}");
    assert_eq!(comparison.first.runs, ["0", "1"]);
}

/// The level of the latencies wanders over a minute. From sixteen rounds, each with a run of 30 s of either side, a
/// difference of 15 % is found in most of the tries.
#[test]
fn rounds_find_what_single_runs_cannot() {
    let keep = (-0.5f64).exp();
    let (mut found, mut wrong) = (0, 0);
    for seed in 0..8 {
        let mut random = SplitMix::new(seed);
        let mut level = normal::quantile(random.unit());
        let mut next = |times: f64, number: u64| {
            level = keep * level + (1.0 - keep * keep).sqrt() * normal::quantile(random.unit());
            moody(seed * 1000 + number, 2, 0.0, (0.15 * level).exp() * times)
        };
        let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..16u64 {
            // The order of the sides alternates from round to round: A B, then B A.
            if round % 2 == 0 {
                a.push(next(1.0, 3 * round));
                b.push(next(1.15, 3 * round + 1));
                c.push(next(1.0, 3 * round + 2));
            } else {
                b.push(next(1.15, 3 * round + 1));
                a.push(next(1.0, 3 * round));
                c.push(next(1.0, 3 * round + 2));
            }
        }
        found += u32::from(compared(&a, &b, true).verdict() == Compared::Worse);
        let verdict = compared(&a, &c, true).verdict();
        wrong += u32::from(!matches!(verdict, Compared::NotEnoughData | Compared::NoDifferenceShown));
    }
    assert!(found >= 6 && wrong <= 1, "found {found} of 8, wrong {wrong} of 8");
}

#[test]
fn rounds_that_are_not_whole_and_sides_without_a_run_are_refused() {
    let runs = [moody(1, 2, 0.0, 1.0), moody(2, 2, 0.0, 1.0)];
    let of = |a: usize, b: usize, in_turn| {
        Comparison::of_sides(&side_of(&runs[..a]), &side_of(&runs[..b]), in_turn, options()).err()
    };
    assert_eq!(of(2, 1, true), Some(Refused::Unpaired(2, 1)));
    assert_eq!(of(0, 1, false), Some(Refused::Alone));
    assert_eq!(of(1, 1, false), None, "nothing can be told, and that is said");
}

#[test]
fn a_hundred_runs_a_side() {
    let runs = |from: u64| (from..from + 100).map(|i| moody(i, 1, 0.05, 1.0)).collect::<Vec<_>>();
    let comparison = compared(&runs(1), &runs(1001), false);
    assert_eq!(comparison.verdict(), Compared::NoDifferenceShown);
}

#[test]
fn equal_values_in_all_runs_show_no_difference() {
    let runs = |ns: u64| (0..3).map(|_| plain(2, move |_, _| ns)).collect::<Vec<_>>();
    assert_eq!(compared(&runs(10_000), &runs(10_000), false).verdict(), Compared::NoDifferenceShown);
    assert_eq!(compared(&runs(10_000), &runs(15_000), false).verdict(), Compared::Worse);
}

/// Computed by hand: of the eight assignments of signs to 1, 2, 3 one has a sum of 6, and two have at least 4.
#[test]
fn signs_are_counted_out() {
    assert!((signs(&[1.0, 2.0, 3.0]) - 1.0 / 8.0).abs() < 1e-12);
    assert!((signs(&[-1.0, 2.0, 3.0]) - 2.0 / 8.0).abs() < 1e-12);
    assert!((signs(&[0.0; 4]) - 1.0).abs() < 1e-12);
}
