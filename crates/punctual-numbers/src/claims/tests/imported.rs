//! Claims of histograms of other programs.

use super::*;
use crate::foreign::{Beyond as Overflow, Cell, ForeignRun, Series, Stated};
use crate::stats::float::whole;

/// A million exponential values with a mean of 5 us, one each millisecond, in cells of this width.
fn series(seed: u64, width: Nanos, floor: impl Fn(f64) -> f64) -> Series {
    let mut cells = std::collections::BTreeMap::<u64, u64>::new();
    for u in uniform(seed).take(1_000_000) {
        let ns = Nanos::from_ns(whole(floor(-5_000.0 * u.ln())));
        *cells.entry(ns.whole(width)).or_default() += 1;
    }
    let cells = cells.into_iter().map(|(index, count)| Cell::of_width(index, width, count)).collect();
    Series { period: Some(Nanos::from_ms(1)), cells, ..Series::default() }
}

fn claims(series: &Series) -> SeriesClaims {
    SeriesClaims::of(&ForeignRun::default(), series).unwrap()
}

#[test]
fn cells_of_microseconds_have_percentiles_odds_and_levels() {
    let claims = claims(&series(3, Nanos::from_us(1), |ns| ns));
    assert_eq!(claims.time, Some(Nanos::from_secs(1_000)));
    assert!((claims.next[0].odds - 3_600.0 / 4_600.0).abs() < 1e-9);
    for (percentile, truth_ns) in claims.percentiles.iter().zip([23_026, 34_539, 46_052, 57_565]) {
        let (low, high) = (percentile.low.unwrap(), percentile.high.unwrap());
        assert!(low.as_ns() <= truth_ns && truth_ns <= high.as_ns(), "{percentile:?}, truth {truth_ns}");
    }
    let beyond = claims.beyond.unwrap();
    assert!((200..=1_000).contains(&beyond.exceedances), "{beyond:?}");
    // The level exceeded by one value in 3 600 000 is 5 us ln(3 600 000) = 75.48 us.
    let level = beyond.levels[0];
    let hour = level.once_in;
    assert_eq!(hour, Nanos::from_secs(3_600));
    assert!(level.low < Nanos::from_ns(75_480) && Nanos::from_ns(75_480) < level.high.unwrap(), "{level:?}");
    assert!(level.high.unwrap() < Nanos::from_us(110), "{level:?}");
    assert!(beyond.too_far.iter().any(|far| far.once_in == Nanos::from_secs(365 * 86_400)), "{beyond:?}");
}

#[test]
fn cells_wider_than_the_tail_and_rare_modes_are_refused() {
    let coarse = claims(&series(3, Nanos::from_us(20), |ns| ns)).beyond;
    assert!(matches!(coarse, Err(Refusal::Coarse { width, .. }) if width == Nanos::from_us(20)), "{coarse:?}");
    let Err(Refusal::Coarse { scale: Some(scale), .. }) = coarse else { panic!("{coarse:?}") };
    assert!(scale.as_ns().abs_diff(5_000) < 1_000, "the tail has a scale of 5 us: {scale:?}");
    let one =
        Series { cells: vec![Cell::of_width(7, Nanos::from_us(1), 5_000)], ..series(3, Nanos::from_us(1), |ns| ns) };
    assert_eq!(
        claims(&one).beyond,
        Err(Refusal::Coarse { width: Nanos::from_us(1), scale: None }),
        "one cell has no scale"
    );
    let mut apart = series(3, Nanos::from_us(1), |ns| ns);
    apart.cells.extend([160, 171, 188].map(|us| Cell::of_width(us, Nanos::from_us(1), 1)));
    let apart = claims(&apart).beyond;
    assert!(matches!(apart, Err(Refusal::Apart { count: 1..=3, from }) if from >= Nanos::from_us(160)), "{apart:?}");
    let heaps =
        claims(&series(3, Nanos::from_us(1), |ns| if ns > 30_000.0 { 30_000.0 + ns % 15_000.0 } else { ns })).beyond;
    assert!(heaps.is_err(), "{heaps:?}");
}

#[test]
fn what_a_tool_has_not_kept_is_no_more_than_beyond() {
    let whole = series(6, Nanos::from_us(1), |ns| ns);
    let mut cut = whole.clone();
    let kept = cut.cells.iter().position(|cell| cell.low >= Nanos::from_us(50)).unwrap();
    let lost = cut.cells.split_off(kept);
    let count = lost.iter().map(|cell| cell.count).sum();
    cut.beyond = Some(Overflow { from: Nanos::from_us(50), count });
    let (whole, cut) = (claims(&whole), claims(&cut));
    assert_eq!((whole.percentiles[2], whole.next), (cut.percentiles[2], cut.next));
    assert_eq!(cut.percentiles[3].high, None, "beyond the cells, and no maximum is stated");
    assert!(cut.percentiles[3].low >= Some(Nanos::from_us(50)));
    let (whole, cut) = (whole.beyond.unwrap().levels[0], cut.beyond.unwrap().levels[0]);
    assert!(cut.low < whole.value && whole.value < cut.high.unwrap(), "{whole:?} {cut:?}");
}

#[test]
fn without_a_length_of_time_there_are_percentiles_and_no_more() {
    let mut bare = series(5, Nanos::from_us(1), |ns| ns);
    bare.period = None;
    let told = claims(&bare);
    assert_eq!((told.time, told.next.len(), told.beyond), (None, 0, Err(Refusal::NoTimes)));
    assert_eq!(told.percentiles[1].more, None);
    let length = Nanos::from_secs(2_000);
    let run = ForeignRun { duration: Some(Stated { length, grain: Nanos::from_secs(1) }), ..ForeignRun::default() };
    assert_eq!(SeriesClaims::of(&run, &bare).unwrap().time, Some(length));
    assert_eq!(SeriesClaims::of(&run, &Series::default()), None);
    let few = Series {
        cells: vec![Cell::of_width(3, Nanos::from_us(1), 50)],
        period: Some(Nanos::from_ms(1)),
        ..Series::default()
    };
    let few = claims(&few).beyond;
    assert_eq!(few, Err(Refusal::TooFew { blocks: 50, wanted: 200, more: Nanos::from_ms(150) }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_series_makes_claiming_panic(
        cells in prop::collection::vec((any::<u64>(), 0..u64::MAX / 2, any::<u64>()), 0..30),
        near in prop::collection::vec((0..500u64, 0..5_000u64), 0..60),
        period in prop::option::of(any::<u64>()),
        beyond in prop::option::of((any::<u64>(), any::<u64>())),
    ) {
        let wild = cells.into_iter().map(|(low, width, count)| (Nanos::from_ns(low), Nanos::from_ns(low).plus(Nanos::from_ns(width)), count));
        let usual = near.into_iter().map(|(us, count)| (Nanos::from_us(us), Nanos::from_us(us).plus(Nanos::from_ns(999)), count));
        let cells = wild.chain(usual).map(|(low, high, count)| Cell { low, high, count }).collect();
        let beyond = beyond.map(|(from, count)| Overflow { from: Nanos::from_ns(from), count });
        let series = Series { cells, beyond, period: period.map(Nanos::from_ns), ..Series::default() };
        if let Some(claims) = SeriesClaims::of(&ForeignRun::default(), &series) {
            prop_assert!(claims.next.iter().all(|next| (0.0..=1.0).contains(&next.odds)));
        }
    }
}

#[test]
fn nothing_is_claimed_of_cells_that_contradict_the_file() {
    let sound = series(3, Nanos::from_us(1), |ns| ns);
    let of = |seconds: u64| {
        let length = Nanos::from_secs(seconds);
        ForeignRun {
            duration: Some(Stated { length, grain: Nanos::from_secs(1) }),
            series: vec![sound.clone()],
            ..ForeignRun::default()
        }
    };
    let claimed = |mut run: ForeignRun| {
        crate::foreign::weigh(&mut run);
        SeriesClaims::of(&run, &run.series[0]).unwrap()
    };
    assert!(claimed(of(1_000)).beyond.is_ok());
    let too_short = claimed(of(500));
    assert_eq!((too_short.time, too_short.next.len(), too_short.percentiles.len()), (None, 0, 0));
    assert_eq!(too_short.beyond, Err(Refusal::Doubted));
    let mut stated = of(1_000);
    stated.series[0].stated_count = Some(999_990);
    assert_eq!(claimed(stated).beyond, Err(Refusal::Doubted), "more values than the file states");
    // The stated time is too long by two overruns of a 32-bit counter of microseconds.
    let mut wrapped = of(8_589_935 + 1_000);
    wrapped.series[0].period = Some(Nanos::from_ms(1));
    assert_eq!(claimed(wrapped).beyond, Err(Refusal::Doubted));
}

#[test]
fn what_was_skipped_or_lost_counts_as_larger_than_all() {
    let whole = series(3, Nanos::from_us(1), |ns| ns);
    let skipping = Series { skipped: Some(5_000), ..whole.clone() };
    let lost = Series { stated_count: Some(1_005_000), ..whole.clone() };
    for one in [skipping, lost] {
        let claims = claims(&one);
        assert_eq!((claims.next.len(), claims.beyond), (0, Err(Refusal::Missing { values: 5_000 })));
        // One in 200 is missing and counts as larger, so p99 is p99.5 of the others: 5 us ln(200) = 26.5 us.
        let p99 = claims.percentiles[0];
        assert_eq!(p99.value, Some(Nanos::from_ns(26_999)), "{p99:?}");
        assert_eq!((claims.percentiles[1].value, claims.percentiles[1].high), (None, None));
        assert!(claims.percentiles.iter().all(|percentile| percentile.more.is_none()));
    }
}

#[test]
fn what_lists_only_the_largest_has_no_percentiles() {
    let listed = Series { unfit: Some(crate::foreign::Unfit::Censored), ..series(3, Nanos::from_us(1), |ns| ns) };
    let claims = claims(&listed);
    assert_eq!((claims.percentiles.len(), claims.beyond, claims.next.len()), (0, Err(Refusal::Censored), 3));
    assert_eq!(listed.percentile_ppm(990_000), None);
}

#[test]
fn series_that_end_at_different_values_have_limits_that_hold_together() {
    let whole = series(6, Nanos::from_us(1), |ns| ns);
    let mut cut = whole.clone();
    let kept = cut.cells.iter().position(|cell| cell.low >= Nanos::from_us(20)).unwrap();
    let count = cut.cells.split_off(kept).iter().map(|cell| cell.count).sum();
    cut.beyond = Some(Overflow { from: Nanos::from_us(20), count });
    let both = crate::foreign::total(&[whole.clone(), cut]).unwrap();
    let truth = crate::foreign::total(&[whole.clone(), whole]).unwrap();
    let run = ForeignRun::default();
    let (both, truth) = (SeriesClaims::of(&run, &both).unwrap(), SeriesClaims::of(&run, &truth).unwrap());
    for (known, real) in both.percentiles.iter().zip(&truth.percentiles) {
        assert!(known.low <= real.low, "{known:?} {real:?}");
        assert!(known.high.is_none_or(|high| Some(high) >= real.high), "{known:?} {real:?}");
    }
}
