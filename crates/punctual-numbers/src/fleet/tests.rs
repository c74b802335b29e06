//! Rows of small recordings, names that hide, and shares by hand and by simulation.

use super::shared::{Counted, judged};
use super::{identity, of_recording};
use crate::recording::sample;
use punctual_hist::SplitMix;

fn counted(candidate: &str, [bad_with, good_with, bad_without, good_without]: [u64; 4]) -> Counted {
    Counted { candidate: candidate.to_owned(), bad_with, good_with, bad_without, good_without }
}

/// Fisher's tea taster: 3 of 4 right has odds of 17/70. Newcombe's table II, row (a): 56 of 70 against 48 of 80 is a
/// difference of 0.2 with limits 0.0524 and 0.3339.
#[test]
fn odds_and_limits_by_the_book() {
    let tea = &judged(&[counted("milk first", [3, 1, 1, 3])])[0];
    assert!((tea.odds - 17.0 / 70.0).abs() < 1e-9, "{tea:?}");
    let of = &judged(&[counted("a", [56, 14, 48, 32])])[0];
    assert!((of.difference - 0.2).abs() < 1e-12);
    assert!((of.low - 0.0524).abs() < 1e-4 && (of.high - 0.3339).abs() < 1e-4, "{of:?}");
}

#[test]
fn what_all_machines_have_explains_nothing() {
    assert!(judged(&[counted("all", [10, 90, 0, 0]), counted("none", [0, 0, 10, 90])]).is_empty());
    assert!(judged(&[]).is_empty());
    let only = &judged(&[counted("only", [5, 0, 0, 95])])[0];
    assert!(only.lift.is_none() && only.named && only.low > 0.0, "{only:?}");
}

/// 40 of 200 machines have what makes them bad nine times in ten, and 40 other candidates vary at random.
#[test]
fn a_planted_culprit_comes_first_and_chance_names_nothing() {
    let mut dice = SplitMix::new(7);
    let mut chance = |of: f64| dice.unit() < of;
    let (mut found, mut named) = (0, 0);
    for _ in 0..100 {
        for is_planted in [true, false] {
            let machines: Vec<(bool, Vec<bool>)> = (0..200)
                .map(|n| {
                    let culprit = n % 5 == 0;
                    let odds = if is_planted && culprit { 0.9 } else { 0.04 };
                    let bad = chance(odds);
                    let others = (0..40).map(|_| chance(0.5));
                    (bad, std::iter::once(culprit).chain(others).collect())
                })
                .collect();
            let count = |at: usize, wanted: bool, bad: bool| {
                machines.iter().filter(|(is_bad, has)| *is_bad == bad && has[at] == wanted).count() as u64
            };
            let four = |at: usize| {
                [count(at, true, true), count(at, true, false), count(at, false, true), count(at, false, false)]
            };
            let candidates: Vec<Counted> = (0..41).map(|at| counted(&at.to_string(), four(at))).collect();
            let judged = judged(&candidates);
            let first = &judged[0];
            found += usize::from(is_planted && first.candidate == "0" && first.named);
            named += usize::from(!is_planted && first.named);
        }
    }
    assert_eq!(found, 100);
    assert!(named <= 5, "{named}");
}

#[test]
fn a_copy_and_a_half_of_a_run_have_its_name_and_another_run_has_not() {
    let name = |later: u64| identity::run(&sample::header(later));
    assert_eq!(name(0), name(0));
    assert_ne!(name(0), name(1));
    let mut other = sample::header(0);
    other.machine.push(("virtualisation", "none").into());
    assert_ne!(identity::run(&other), name(0));
}

#[test]
fn rows_hold_every_activation_of_a_run() {
    let recording = sample::fold(&sample::run(0, 3, 10, None));
    let packed = of_recording(&recording, "m".to_owned(), 9);
    assert!(!packed.run.complete, "it has no last frame");
    assert_eq!((packed.run.ran, packed.latencies.len()), (3_000, 1));
    let row = &packed.latencies[0];
    assert_eq!(row.cells.iter().map(|cell| cell.count).sum::<u64>(), row.ran);
    assert_eq!((row.cpu, row.phase.as_str(), row.traced), (1, "idle", false));
    assert_eq!(packed.settings.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["kernel"]);
}
