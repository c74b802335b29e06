//! Rhythms are found with their period from events rounded to releases, and none is found among random events.

use super::*;
use crate::stats::float::whole;
use punctual_hist::SplitMix;

/// Random numbers from 0 to 1 that are the same in every run.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut random = SplitMix::new(seed);
    move || random.unit()
}

const GRID: Nanos = Nanos::from_ms(1);
const TICK: Nanos = Nanos::from_ms(4);

/// The first release, one each millisecond, at or after this time: a late activation is seen there.
fn on_grid(secs: f64) -> MonoTime {
    MonoTime::from_ns(5_000_000_000_123 + whole((secs * 1e3).ceil()) * 1_000_000)
}

/// Events of one period, each present with probability `there` and late by up to `jitter` seconds, and `others` at
/// random.
fn comb(period: f64, length: f64, there: f64, jitter: f64, others: usize, seed: u64) -> Vec<MonoTime> {
    let mut random = random(seed);
    let mut times = Vec::new();
    let mut at = 0.137;
    while at < length {
        if random() < there {
            times.push(on_grid(at + jitter * random()));
        }
        at += period;
    }
    times.extend((0..others).map(|_| on_grid(length * random())));
    times
}

fn found(times: &[MonoTime]) -> Option<Rhythm> {
    rhythm(times, GRID, TICK)
}

fn assert_period(times: &[MonoTime], period: f64) {
    let found = found(times).unwrap_or_else(|| panic!("{period} s is not found"));
    let off = (found.period.as_secs_f64() / period - 1.0).abs();
    assert!(off < 0.005, "{period} s: {found:?}");
}

#[test]
fn rhythms_of_every_length_are_found() {
    for (seed, period) in [0.004_f64, 0.0101, 0.033, 0.25, 0.3337, 1.0, 2.71, 10.0].into_iter().enumerate() {
        let length = (period * 100.0).max(20.0);
        assert_period(&comb(period, length, 1.0, 0.0005, 0, seed as u64), period);
    }
}

#[test]
fn teeth_may_be_missing_and_others_between() {
    for (seed, period) in [0.25_f64, 0.3337, 1.0, 5.0].into_iter().enumerate() {
        let length = period * 120.0;
        assert_period(&comb(period, length, 0.6, 0.001, 20, seed as u64), period);
    }
}

#[test]
fn an_hour_of_a_quarter_second_stays_in_step() {
    assert_period(&comb(0.25, 3600.0, 0.02, 0.002, 0, 3), 0.25);
}

#[test]
fn the_grid_is_no_rhythm() {
    let every: Vec<MonoTime> = (0..5000).map(|i| on_grid(f64::from(i) * 1e-3)).collect();
    assert_eq!(found(&every), None);
    let mut random = random(11);
    let some: Vec<MonoTime> = every.into_iter().filter(|_| random() < 0.1).collect();
    assert_eq!(found(&some), None);
}

#[test]
fn chance_is_no_rhythm() {
    let mut hits = 0;
    for seed in 0..200 {
        let n = 10 + usize::try_from(seed).unwrap() * 2;
        hits += u32::from(found(&comb(1e9, 60.0, 0.0, 0.0, n, seed)).is_some());
    }
    assert!(hits <= 1, "{hits} of 200 random sequences have a rhythm");
}

#[test]
fn bursts_at_random_are_no_rhythm() {
    let mut hits = 0;
    for seed in 0..100 {
        let mut random = random(1000 + seed);
        let starts: Vec<f64> = (0..12).map(|_| 60.0 * random()).collect();
        let times: Vec<MonoTime> =
            starts.iter().flat_map(|start| (0..20).map(move |i| on_grid(start + f64::from(i) * 0.002))).collect();
        let long = found(&times).filter(|rhythm| rhythm.period > Nanos::from_ms(500));
        hits += u32::from(long.is_some());
    }
    assert!(hits <= 1, "{hits} of 100 random sequences of bursts have a rhythm");
}

#[test]
fn few_or_no_events_have_none() {
    assert_eq!(found(&[]), None);
    assert_eq!(found(&comb(0.25, 1.6, 1.0, 0.0, 0, 1)), None);
    assert_eq!(found(&[MonoTime::from_ns(5); 50]), None);
    let far = [0, 1, 2, 3, 4, 5, 6, 7, 8, u64::MAX].map(MonoTime::from_ns);
    assert_eq!(rhythm(&far, Nanos::ZERO, Nanos::ZERO), None);
    assert_eq!(rhythm(&far, Nanos::MAX, Nanos::MAX), None);
}
