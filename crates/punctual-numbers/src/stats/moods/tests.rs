//! Tests how often equal runs are wrongly found to differ, and how often different ones are found to differ.

#![allow(clippy::cast_precision_loss, reason = "counts of tests are small")]

use super::*;
use crate::stats::chances::{Chances, ratio_limits};
use punctual_hist::SplitMix;

/// The logarithm of the level of each second of a run, an autoregressive series of this memory and standard deviation.
fn levels(random: &mut SplitMix, seconds: usize, tau: f64, sd: f64) -> Vec<f64> {
    let mut draw = || normal::quantile(random.unit());
    let keep = if tau > 0.0 { (-1.0 / tau).exp() } else { 0.0 };
    let mut level = draw();
    (0..seconds)
        .map(|_| {
            level = keep * level + (1.0 - keep * keep).sqrt() * draw();
            sd * level
        })
        .collect()
}

/// The events of a run with 1000 lognormal activations a second (sd 0.5): those beyond `threshold`, in standard
/// deviations.
fn events(random: &mut SplitMix, levels: &[f64], threshold: f64) -> Events {
    let slices: Vec<(f64, f64)> = levels
        .iter()
        .map(|level| {
            let p = normal::below(-(threshold - level / 0.5));
            let mean = 1000.0 * p;
            let n = if mean < 20.0 {
                let mut n = 0.0;
                let mut left = random.unit().ln();
                while left > -mean {
                    n += 1.0;
                    left += random.unit().ln();
                }
                n
            } else {
                (mean + (mean * (1.0 - p)).sqrt() * normal::quantile(random.unit())).round().clamp(0.0, 1000.0)
            };
            (n, 1000.0)
        })
        .collect();
    Events::new(&slices, slices.len() as f64)
}

/// How many pairs of runs, with moods of `tau` seconds and the second run larger by the factor `times`, have odds below
/// 0.05.
fn told(seconds: usize, tau: f64, times: f64, threshold: f64) -> u32 {
    let pair = |rep: u64| {
        let mut random = SplitMix::new(rep * 7_919 + 13);
        let sd = if tau > 0.0 { 0.15 } else { 0.0 };
        let a = levels(&mut random, seconds, tau, sd);
        let b: Vec<f64> = levels(&mut random, seconds, tau, sd).iter().map(|level| level + times.ln()).collect();
        let (a, b) = (events(&mut random, &a, threshold), events(&mut random, &b, threshold));
        let chances = Chances::of(&a, &b, &Moods::of(&[&a, &b], None)).unwrap();
        2.0 * chances.more.min(chances.fewer) < 0.05
    };
    u32::try_from((0..60).filter(|rep| pair(*rep)).count()).unwrap()
}

#[test]
fn equal_runs_are_seldom_told_apart_whatever_their_moods() {
    for (seconds, tau) in [(120, 0.0), (120, 1.0), (120, 10.0), (120, 30.0), (600, 10.0), (600, 120.0)] {
        for threshold in [0.0, 2.326] {
            let wrong = told(seconds, tau, 1.0, threshold);
            assert!(wrong <= 8, "{wrong} of 60 runs of {seconds} s, moods of {tau} s, beyond {threshold}");
        }
    }
}

#[test]
fn a_difference_of_independent_runs_is_found() {
    assert_eq!(told(120, 0.0, 1.15, 0.0), 60);
    assert_eq!(told(120, 0.0, 1.15, 2.326), 60);
}

#[test]
fn moods_are_seen_with_their_length() {
    let mut random = SplitMix::new(5);
    let levels = [levels(&mut random, 600, 60.0, 0.15), levels(&mut random, 600, 60.0, 0.15)];
    let [a, b] = levels.map(|levels| events(&mut random, &levels, 0.0));
    let moods = Moods::of(&[&a, &b], None);
    assert!(moods.odds > 0.99 && (15.0..250.0).contains(&moods.tau), "{} {}", moods.odds, moods.tau);
    let quiet = [0, 1].map(|_| events(&mut random, &[0.0; 600], 0.0));
    let moods = Moods::of(&[&quiet[0], &quiet[1]], None);
    let effect = moods.effect(&quiet[0], 0.025);
    assert!(moods.odds < 0.1 && effect < 1.2, "{} {effect}", moods.odds);
}

/// A single excursion of the latency is one event, whatever its height, and must not decide.
#[test]
fn one_excursion_decides_nothing() {
    let of = |hit: bool| {
        let slice = |at: usize| (if hit && (50..60).contains(&at) { 100.0 } else { 0.0 }, 1000.0);
        Events::new(&(0..120).map(slice).collect::<Vec<_>>(), 120.0)
    };
    let (a, b) = (of(false), of(true));
    let chances = Chances::of(&a, &b, &Moods::of(&[&a, &b], None)).unwrap();
    assert!(chances.more > 0.03, "{chances:?}");
}

#[test]
fn nothing_panics() {
    let odd = [
        Events::default(),
        Events::new(&[], 0.0),
        Events::new(&[(5.0, 5.0)], 1.0),
        Events::new(&[(0.0, 9.0); 40], 4.0),
    ];
    for a in &odd {
        for b in &odd {
            let moods = Moods::of(&[a, b], Some(&Moods::of(&[b, a], None)));
            let effect = moods.effect(a, 0.025);
            assert!(effect >= 1.0);
            if let Some(chances) = Chances::of(a, b, &moods) {
                assert!((0.0..=1.0).contains(&chances.more) && (0.0..=1.0).contains(&chances.fewer), "{chances:?}");
            }
            let _ = ratio_limits(a, b, effect, 0.025);
        }
    }
}

/// Events spread evenly over one run, and none in the other, are a clear difference.
#[test]
fn events_that_come_evenly_are_no_clusters() {
    let a = Events::new(&[(0.0, 1_000.0); 20], 20.0);
    let slices: Vec<(f64, f64)> = (0..20).map(|at| (15.0, 1_000.0 + f64::from(at * 37 % 50))).collect();
    let b = Events::new(&slices, 20.0);
    let chances = Chances::of(&a, &b, &Moods::of(&[&a, &b], None)).unwrap();
    assert!(chances.more < 1e-3, "{chances:?}");
    assert!(cluster_sizes(0.1, 10.0).iter().all(|size| (1.0..4.0).contains(size)), "{:?}", cluster_sizes(0.1, 10.0));
}
