//! Checks of a tail: data that pass all other checks fail one of them, and similar data pass it.

use super::*;
use crate::stats::float::whole;

/// The scale of the tail in nanoseconds.
const TAIL_NS: f64 = 10_000.0;

/// Maxima of 2000 seconds that follow a Pareto law of shape `near`, and of shape `far` above the level that fewer than
/// `turn` clusters a second exceed. The values are exact quantiles in random order.
fn maxima(near: f64, turn: f64, far: f64) -> Maxima {
    const BLOCKS: u32 = 2_000;
    // The laws begin at the level that a quarter of the seconds exceed.
    let all = -(0.75f64.ln());
    let stretch =
        |shape: f64, times: f64| if shape.abs() < 1e-9 { times.ln() } else { (times.powf(shape) - 1.0) / shape };
    let level = |clusters: f64| {
        let (nearer, farther) = (all / clusters.max(turn), (turn / clusters).max(1.0));
        100_000.0 + TAIL_NS * (stretch(near, nearer) + nearer.powf(near) * stretch(far, farther))
    };
    let clusters = |second: u32| -(-(f64::from(second) + 0.5) / f64::from(BLOCKS)).ln_1p();
    let mut shuffled: Vec<(f64, f64)> = uniform(21).zip((0..BLOCKS).map(|second| level(clusters(second)))).collect();
    shuffled.sort_by(|a, b| a.0.total_cmp(&b.0));
    let list = (0u32..).zip(shuffled).map(|(second, (_, ns))| (second, Nanos::from_ns(whole(ns)))).collect();
    Maxima { block: Nanos::from_secs(1), list }
}

#[test]
fn a_tail_that_is_too_heavy_is_refused_for_its_shape() {
    let of = |shape: f64| beyond(&maxima(shape, 0.13, shape), &[Nanos::from_secs(20_000)]);
    let told = of(0.2).unwrap();
    assert!((told.shape.value - 0.2).abs() < 0.05, "{told:?}");
    let Err(Refusal::Shape { shape: value, low, high }) = of(0.8) else { panic!("{:?}", of(0.8)) };
    assert!((value - 0.8).abs() < 0.1 && low > 0.5 && value < high, "{value} {low} {high}");
}

/// A tail that is exponential at first and heavy farther out fits above each threshold. The thresholds give different
/// levels for a long time and similar ones for a short time.
#[test]
fn a_level_that_hangs_on_the_threshold_is_refused() {
    let bent = maxima(0.0, 0.13, 0.5);
    let at = |secs: u64| beyond(&bent, &[Nanos::from_secs(secs)]);
    assert!(at(2_000).is_ok(), "{:?}", at(2_000));
    let Err(Refusal::Unstable { part: by }) = at(34_000) else { panic!("{:?}", at(34_000)) };
    assert!((0.5..0.75).contains(&by), "{by}");
    assert!(beyond(&maxima(0.0, 0.13, 0.0), &[Nanos::from_secs(34_000)]).is_ok(), "not bent");
}
