//! Claims and refusals of recordings of known laws.

use super::*;
use crate::explain::{Blame, Class, LateCount, Spike};
use crate::made_up;
use crate::recording::sample::interval;
use crate::recording::{CpuInterval, Frame, Header, Worst};
use crate::report::Report;
use crate::scenario::ProbeThread;
use crate::stats::binomial;
use crate::stats::float::whole;
use crate::stats::tests::uniform;
use crate::trace::Kept;
use proptest::prelude::*;
use punctual_hist::{Activation, Counts, MonoTime};

mod causes;
mod gates;
mod imported;

const EPOCH: MonoTime = MonoTime::from_ns(5_000_000_000);
const PERIOD: Nanos = Nanos::from_ms(10);
const EACH_SECOND: u32 = 100;

fn header(budget: Option<Nanos>) -> Header {
    let mut header = made_up::header(1, Nanos::from_secs(30));
    header.epoch = EPOCH;
    header.scenario.threads = vec![ProbeThread { cpu: 1, period: PERIOD }];
    header.scenario.budget = budget;
    header.clock.tick = Nanos::from_ms(4);
    header
}

/// The interval of one second with these latencies in nanoseconds.
fn second(second: u32, values: &[u64], with_maximum: bool, budget: Option<Nanos>) -> Frame {
    let mut counts = Counts::new();
    for v in values {
        counts.record(Nanos::from_ns(*v));
    }
    let max = counts.max().unwrap_or_default();
    let cpu = CpuInterval {
        ran_min: Some(Nanos::ZERO),
        ran_max: Some(Nanos::from_secs(1)),
        over_budget: budget.map_or(0, |b| values.iter().filter(|v| **v > b.as_ns()).count() as u64),
        block_max: if with_maximum { vec![(second, max)] } else { Vec::new() },
        ..CpuInterval::of(1, &counts, &Counts::new())
    };
    interval(u64::from(second), 0, vec![cpu])
}

/// A recording in which `law` turns the number of each activation into its latency.
fn recording(seconds: u32, budget: Option<Nanos>, mut law: impl FnMut(u64) -> f64) -> Recording {
    let mut recording = Recording::new(header(budget));
    let mut all: Vec<(u64, u64)> = Vec::new();
    for s in 0..seconds {
        let indices = u64::from(s) * u64::from(EACH_SECOND)..u64::from(s + 1) * u64::from(EACH_SECOND);
        let values: Vec<(u64, u64)> = indices.map(|i| (whole(law(i)), i)).collect();
        let plain: Vec<u64> = values.iter().map(|(v, _)| *v).collect();
        recording.add(second(s, &plain, true, budget));
        all.extend(values);
    }
    all.sort_unstable_by(|a, b| b.cmp(a));
    let worst = |(late, index): &(u64, u64)| {
        let release = EPOCH.plus(PERIOD.times(*index));
        let woke = release.plus(Nanos::from_ns(*late));
        Worst { cpu: 1, activation: Activation { release, woke, index: *index, cpu: 1, ..Activation::default() } }
    };
    recording.add(Frame::Worst(all.iter().take(32).map(worst).collect()));
    recording
}

/// Exponential latencies with a mean of 5 us above 10 us.
fn exponential(seed: u64) -> impl FnMut(u64) -> f64 {
    let mut draws = uniform(seed);
    move |_| 10_000.0 - 5_000.0 * draws.next().unwrap_or(0.5).ln()
}

fn only(recording: &Recording, explanation: Option<&Explanation>) -> PhaseClaims {
    let claims = Claims::of(recording, explanation);
    let [phase] = &claims.phases[..] else { panic!("one phase: {claims:?}") };
    phase.clone()
}

/// Fifty misses that come ten at a time are five events. Fifty that come alone are fifty.
#[test]
fn the_bound_of_misses_knows_how_many_come_together() {
    let budget = Nanos::from_us(100);
    let of = |is_late: fn(u64) -> bool| {
        let mut usual = exponential(4);
        let claims =
            only(&recording(700, Some(budget), |index| if is_late(index) { 200_000.0 } else { usual(index) }), None);
        let misses = claims.misses.unwrap();
        assert_eq!(misses.missed, 50);
        (misses.upper.unwrap(), misses.independent.unwrap())
    };
    let exact = |misses, n| binomial::upper_bound(misses, n, 0.95).unwrap();
    let (alone, independent) = of(|index| index % 1_399 == 7 && index < 69_950);
    assert!(alone < 1.3 * exact(50, 70_000) && independent > 50_000, "{alone} {independent}");
    let (together, independent) = of(|index| index % 13_999 < 10 && index < 69_000);
    assert!(together > 0.8 * exact(5, 7_000) && independent < 15_000, "{together} {independent}");
}

#[test]
fn a_law_without_a_catch_is_claimed_on_every_rung() {
    let phase = only(&recording(700, Some(Nanos::from_us(200)), exponential(1)), None);
    assert_eq!((phase.due, phase.time, phase.drift), (70_000, Nanos::from_secs(700), None));
    assert!(phase.clustering < 1.5, "{}", phase.clustering);
    // The percentile exceeded by one value in n is 10 us + 5 us ln(n).
    let [p99, p999, p9999, p99999] = phase.percentiles[..] else { panic!("{:?}", phase.percentiles) };
    for (percentile, truth_ns) in [(p99, 33_026), (p999, 44_539), (p9999, 56_052)] {
        let (low, high) = (percentile.low.unwrap(), percentile.high.unwrap());
        assert!(low.as_ns() <= truth_ns && truth_ns <= high.as_ns(), "{percentile:?}, truth {truth_ns}");
        assert_eq!(percentile.more, None);
    }
    // p99.999 needs 299 572 independent values; the run has 70 000 values at 100 a second, and fewer independent ones.
    let more = p99999.more.unwrap().as_secs_f64();
    assert!(p99999.high.is_none() && (2_290.0..2_300.0 * 1.5).contains(&more), "{p99999:?}");
    let misses = phase.misses.unwrap();
    assert!((4.2e-5..4.3e-5 * phase.clustering * 1.01).contains(&misses.upper.unwrap()), "{misses:?}");
    assert_eq!((misses.missed, misses.wanted_one_in), (0, 100_000));
    assert_eq!(phase.next[0].time, Nanos::from_secs(3_600));
    assert!((phase.next[0].odds - 3_600.0 / 4_300.0).abs() < 1e-9);
    let beyond = phase.beyond.unwrap();
    assert!(beyond.shape.low < 0.0 && 0.0 < beyond.shape.high, "{beyond:?}");
    let level = beyond.levels[0];
    let hour = level.once_in;
    // The level exceeded by one value in 360 000 is 10 us + 5 us ln(360 000) = 73.97 us.
    assert_eq!(hour, Nanos::from_secs(3_600));
    assert!(level.low < Nanos::from_ns(73_970) && Nanos::from_ns(73_970) < level.high.unwrap(), "{level:?}");
    assert!(beyond.too_far.iter().any(|far| far.once_in == Nanos::from_secs(365 * 86_400)), "{beyond:?}");
}

#[test]
fn a_short_run_is_told_how_much_longer() {
    let phase = only(&recording(100, None, exponential(2)), None);
    let Err(Refusal::TooFew { blocks: 100, wanted, more }) = phase.beyond else { panic!("{:?}", phase.beyond) };
    assert_eq!(more, Nanos::from_secs(wanted - 100));
    assert_eq!(phase.misses, None, "no budget, no misses");
}

#[test]
fn what_drifts_is_not_told_of_the_next_run() {
    let mut law = exponential(3);
    let phase = only(&recording(500, None, |i| law(i) * (1.0 + f64::from(u32::try_from(i).unwrap()) / 50_000.0)), None);
    assert!(matches!(phase.beyond, Err(Refusal::Drifts(drift)) if drift.tau > 0.3), "{:?}", phase.beyond);
    assert!(phase.drift.is_some() && phase.next.is_empty());
}

#[test]
fn minutes_of_another_kind_are_dependence() {
    let (mut law, mut dice, mut state) = (exponential(4), uniform(99), false);
    let by_minutes = |i: u64| {
        if i % 2_000 == 0 && dice.next().unwrap() < 0.4 {
            state = !state;
        }
        law(i) * if state { 1.6 } else { 1.0 }
    };
    let phase = only(&recording(500, None, by_minutes), None);
    assert!(matches!(phase.beyond, Err(Refusal::Dependent { .. } | Refusal::Drifts(_))), "{:?}", phase.beyond);
    assert!(phase.clustering > 3.0, "limits are wider: {}", phase.clustering);
}

/// The machine changes between two moods every 100 s, so that the run holds seven of them, too few for limits.
#[test]
fn a_run_of_few_moods_has_percentiles_and_no_limits() {
    let mut law = exponential(4);
    let by_moods = |i: u64| law(i) * if (i / 10_000) % 2 == 0 { 1.0 } else { 1.3 };
    let recording = recording(700, Some(Nanos::from_us(50)), by_moods);
    let report = Report::of(&recording);
    let phase = &report.claims.phases[0];
    let moods = phase.moods.unwrap();
    assert!(moods.too_long && moods.probability > 0.99 && moods.stretches < 16.0, "{moods:?}");
    assert!(moods.run_wanted.unwrap() > Nanos::from_secs(700), "{moods:?}");
    let [p99, p999, p9999] = phase.percentiles[..] else { panic!("{:?}", phase.percentiles) };
    for told in [p99, p999, p9999] {
        assert!(told.value.is_some() && told.more.is_some(), "{told:?}");
        assert_eq!((told.low, told.high, told.independent), (None, None, None));
    }
    let misses = phase.misses.unwrap();
    assert!(
        misses.missed > 0 && misses.upper.is_none() && misses.more.is_none_or(|more| more > Nanos::ZERO),
        "{misses:?}"
    );
    assert!(phase.next.is_empty());
    assert_eq!(report.verdict.miss_probability_upper, None);
    assert!(report.trust.reasons.iter().any(|doubt| matches!(doubt, crate::report::Distrust::Drifts { .. })));
}

/// The machine changes between two moods every 5 s. More than a hundred moods widen limits; one run in ten may be
/// refused as drifting. So short moods may also be taken for clusters, which have no length.
#[test]
fn short_moods_widen_limits_and_withhold_none() {
    let worth = |claims: &PhaseClaims| claims.percentiles[0].independent.unwrap();
    let calm = only(&recording(700, None, exponential(4)), None);
    let still = calm.moods.unwrap();
    assert!(!still.too_long && still.length.is_none() && still.probability < 0.5, "{still:?}");
    let moody = |seed: u64| {
        let (mut law, mut dice, mut state) = (exponential(seed), uniform(seed + 10), 1.0);
        let by_moods = move |i: u64| {
            if i % 100 == 0 && dice.next().unwrap() < 0.2 {
                state = 2.3 - state;
            }
            law(i) * state
        };
        only(&recording(700, None, by_moods), None)
    };
    let steady: Vec<PhaseClaims> = (1..6).map(moody).filter(|moody| moody.drift.is_none()).collect();
    assert!(steady.len() >= 3, "{} of 5", steady.len());
    let is_about_5_s = |length: Nanos| (2.0..15.0).contains(&length.as_secs_f64());
    assert!(steady.iter().any(|moody| moody.moods.unwrap().length.is_some()));
    for moody in steady {
        let told = moody.moods.unwrap();
        assert!(!told.too_long && told.length.is_none_or(is_about_5_s), "{told:?}");
        assert!(worth(&calm) > 50_000 && worth(&moody) < worth(&calm) * 9 / 10, "{} {}", worth(&calm), worth(&moody));
        assert!(moody.percentiles[0].high.is_some() && !moody.next.is_empty());
    }
}

#[test]
fn what_drifts_has_no_limits_for_the_next_run() {
    let mut law = exponential(3);
    let phase = only(&recording(500, None, |i| law(i) * (1.0 + f64::from(u32::try_from(i).unwrap()) / 50_000.0)), None);
    assert!(phase.percentiles.iter().all(|told| told.high.is_none() && told.low.is_none()), "{:?}", phase.percentiles);
    assert!(phase.percentiles[0].value.is_some() && phase.percentiles[0].more.is_none());
}

#[test]
fn a_run_too_short_for_moods_says_nothing_of_them() {
    let phase = only(&recording(12, None, exponential(1)), None);
    assert_eq!(phase.moods, None);
    assert!(phase.percentiles[0].high.is_some());
}

#[test]
fn regular_spikes_are_a_schedule() {
    let mut law = exponential(5);
    let every_second = |i: u64| law(i) + if i % 100 == 7 { 100_000.0 } else { 0.0 };
    let phase = only(&recording(500, None, every_second), None);
    let [Sign::Rhythm { cpu: 1, rhythm, activations: Some(100), ticks: Some(250) }, ..] = phase.signs[..] else {
        panic!("{:?}", phase.signs)
    };
    assert_eq!(rhythm.period.as_ns() / 1_000_000, 1_000);
    assert!(matches!(phase.beyond, Err(Refusal::Regular(_))), "{:?}", phase.beyond);
}

#[test]
fn spikes_on_every_second_activation_are_told() {
    let mut law = exponential(6);
    let odd = |i: u64| law(i) + if i % 2 == 1 { 40_000.0 } else { 0.0 };
    let phase = only(&recording(400, None, odd), None);
    assert!(phase.signs.contains(&Sign::EveryNth { cpu: 1, activations: 2 }), "{:?}", phase.signs);
    assert_eq!(phase.beyond, Err(Refusal::EveryNth { activations: 2 }));
    let hills =
        phase.signs.iter().find_map(|sign| if let Sign::Modes { hills, .. } = sign { Some(hills) } else { None });
    assert!(hills.is_some_and(|hills| hills.len() == 2 && (hills[0].share - 0.5).abs() < 0.02), "{:?}", phase.signs);
}

#[test]
fn a_mode_that_is_seldom_is_apart() {
    let (mut law, mut dice) = (exponential(7), uniform(98));
    let seldom = |i: u64| law(i) + if dice.next().unwrap() < 2e-4 { 150_000.0 } else { 0.0 };
    let phase = only(&recording(700, None, seldom), None);
    assert!(
        matches!(phase.beyond, Err(Refusal::Apart { .. } | Refusal::NoFit { .. } | Refusal::Shape { .. })),
        "{:?}",
        phase.beyond
    );
}

#[test]
fn steps_of_microseconds_are_too_coarse_for_a_short_tail() {
    let mut law = exponential(1);
    let phase = only(&recording(700, None, |i| (law(i) / 1_000.0).floor() * 1_000.0), None);
    assert!(
        matches!(phase.beyond, Err(Refusal::Coarse { width, .. }) if width == Nanos::from_us(1)),
        "{:?}",
        phase.beyond
    );
}

#[test]
fn without_times_there_is_a_histogram_and_no_more() {
    let mut recording = Recording::new(header(None));
    recording.add(second(0, &[10_000; 1_000], false, None));
    let phase = only(&recording, None);
    assert_eq!((phase.beyond, phase.largest), (Err(Refusal::NoTimes), Some(Nanos::from_ns(10_111))));
    assert_eq!(phase.clustering.to_bits(), 1f64.to_bits());
}

#[test]
fn late_ones_that_come_together_are_counted_as_clusters() {
    let alone = only(&recording(700, None, exponential(1)), None);
    assert!(alone.extremal_index.is_some_and(|index| index > 0.75), "{:?}", alone.extremal_index);
    // Late activations come in fives, one after the other.
    let (mut law, mut left, mut late) = (exponential(2), 0, 0.0);
    let fives = |_| {
        let value = law(0);
        if value > 40_000.0 {
            (left, late) = (5, value);
        }
        left -= i32::from(left > 0);
        if left > 0 { late } else { value }
    };
    let together = only(&recording(700, None, fives), None);
    assert!(
        together.extremal_index.is_some_and(|index| (0.15..0.35).contains(&index)),
        "{:?}",
        together.extremal_index
    );
    assert!(together.clustering > 2.5, "{}", together.clustering);
}

#[test]
fn each_cpu_has_claims_of_its_own_and_the_latest_is_named_if_it_differs() {
    let two = |factor: f64| {
        let budget = Some(Nanos::from_us(60));
        let mut both = Recording::new(header(budget));
        let (mut first, mut other) = (exponential(1), exponential(2));
        for s in 0..400 {
            let (one, two): (Vec<u64>, Vec<u64>) =
                (0..EACH_SECOND).map(|_| (whole(first(0)), whole(other(0) * factor))).unzip();
            let frames = (second(s, &one, true, budget), second(s, &two, true, budget));
            let (Frame::Interval(mut interval), Frame::Interval(further)) = frames else { return both };
            interval.cpus.extend(further.cpus.into_iter().map(|cpu| CpuInterval { cpu: 2, ..cpu }));
            both.add(Frame::Interval(interval));
        }
        both
    };
    let alike = only(&two(1.0), None);
    assert_eq!((alike.by_cpu.len(), alike.due, alike.by_cpu[1].due), (2, 80_000, 40_000));
    assert_eq!(alike.by_cpu[1].cpus.iter().collect::<Vec<_>>(), [2]);
    assert_eq!(alike.latest_if_it_differs(), None);
    let differ = only(&two(3.0), None);
    let latest = differ.latest_if_it_differs().unwrap();
    assert_eq!(latest.cpus.iter().collect::<Vec<_>>(), [2]);
    assert!(latest.percentiles[0].value > differ.percentiles[0].value);
    assert!(only(&recording(10, None, exponential(1)), None).by_cpu.is_empty(), "one CPU is all");
}

#[test]
fn misses_that_come_often_are_not_waited_away() {
    let phase = only(&recording(100, Some(Nanos::from_us(33)), exponential(8)), None);
    let misses = phase.misses.unwrap();
    assert!(misses.upper.unwrap() > 0.01 && misses.missed > 50, "{misses:?}");
    assert_eq!((misses.wanted_one_in, misses.more), (1_000, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_recording_makes_claiming_panic(frames in prop::collection::vec(crate::recording::strategies::frame(), 0..40)) {
        let mut recording = Recording::new(header(Some(Nanos::from_us(5))));
        for frame in frames {
            recording.add(frame);
        }
        let explanation = Explanation::of(&recording);
        for phase in Claims::of(&recording, Some(&explanation)).phases {
            prop_assert!(phase.clustering.is_finite() && phase.clustering >= 1.0);
            prop_assert!(phase.misses.and_then(|misses| misses.upper).is_none_or(|upper| (0.0..=1.0).contains(&upper)));
            prop_assert!(phase.next.iter().all(|next| (0.0..=1.0).contains(&next.odds)));
            for percentile in phase.percentiles {
                if let (Some(low), Some(high)) = (percentile.low, percentile.high) {
                    prop_assert!(low <= high, "{percentile:?}, {}", phase.clustering);
                }
            }
        }
    }

    #[test]
    fn no_series_makes_looking_beyond_panic(values in prop::collection::vec(prop_oneof![5 => 0u64..1000, 1 => any::<u64>(), 2 => Just(7u64)], 334..500)) {
        let list = (0u32..).zip(values.into_iter().map(Nanos::from_ns)).collect();
        let maxima = Maxima { block: Nanos::from_secs(1), list };
        if let Ok(beyond) = beyond(&maxima, &[Nanos::from_secs(3_600), Nanos::MAX]) {
            prop_assert!(beyond.shape.value.is_finite());
        }
    }
}

/// Misses come in rows of twenty, one row in 7000 releases. The verdict uses the bound of the claims, which allows for
/// clusters.
#[test]
fn the_verdict_tells_the_bound_that_is_claimed_and_it_knows_of_clusters() {
    let mut law = exponential(9);
    let late = |i: u64| if (i / 1_000) % 7 == 3 && i % 1_000 < 20 { 90_000.0 } else { 0.0 };
    let recording = recording(700, Some(Nanos::from_us(80)), |i| law(i) + late(i));
    let report = Report::of(&recording);
    let misses = report.claims.phases[0].misses.unwrap();
    assert!(misses.missed >= 200 && misses.spread > 2.0, "{misses:?}");
    assert_eq!(report.verdict.miss_probability_upper, misses.upper);
    let independent = binomial::upper_bound(misses.missed, report.verdict.due, CONFIDENCE).unwrap();
    assert!(misses.upper.unwrap() > 1.05 * independent, "{misses:?} against {independent}");
}
