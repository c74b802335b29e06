//! Simulated ticks at any phase, and the offsets that are chosen.

use super::*;
use proptest::prelude::*;

const MS: Nanos = Nanos::from_ms(1);
/// Tick period of a kernel with 250 Hz.
const TICK: Nanos = Nanos::from_ms(4);

/// A pseudo-random number below `below`, derived from `n`.
fn mixed(n: u64, below: u64) -> u64 {
    let z = (n ^ 0x5bf0_3635).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 32)).checked_rem(below).unwrap_or(0)
}

/// The gaps that a scan of one second sees of a tick at `phase`. Each is up to `jitter` late, `missing` percent are not
/// seen, and `strays` more gaps lie anywhere.
fn scanned(tick: Nanos, phase: Nanos, jitter: u64, missing: u64, strays: u64) -> Gaps {
    let began = MonoTime::from_ns(123_456_789_012);
    let first = began.as_ns().next_multiple_of(tick.as_ns()) + phase.as_ns();
    let ticks = (0..Nanos::from_secs(1).whole(tick)).filter(|n| mixed(*n, 100) >= missing).map(|n| {
        let at = first + n * tick.as_ns() + mixed(n + 1_000_000, jitter + 1);
        (MonoTime::from_ns(at), Nanos::from_ns(8_000 + mixed(n + 2_000_000, 8_000)))
    });
    let stray = |n| (began + Nanos::from_ns(mixed(n + 3_000_000, 1_000_000_000)), Nanos::from_us(3));
    let mut seen: Vec<_> = ticks.chain((0..strays).map(stray)).collect();
    seen.sort_unstable();
    Gaps { began, ended: began + Nanos::from_secs(1), seen, lost: 0, shortest: SHORTEST_GAP, cpu: Some(0) }
}

/// Distance of two phases on a circle.
fn distance(a: Nanos, b: Nanos, circle: Nanos) -> u64 {
    let off = offset_on(
        MonoTime::from_ns(a.as_ns() + circle.as_ns() - offset_on(MonoTime::from_ns(b.as_ns()), circle).as_ns()),
        circle,
    );
    off.min(circle - off).as_ns()
}

#[test]
fn a_tick_of_250_hz_and_a_period_of_a_millisecond() {
    let choice = choose(&scanned(TICK, Nanos::from_us(2_100), 2_000, 0, 50), MS, TICK);
    assert_eq!(choice.circle, MS);
    assert!(choice.tick_phase.is_some_and(|phase| phase.as_ns().abs_diff(2_101_000) < 1_500), "{choice:?}");
    assert!(choice.ticks_seen >= 249 && choice.ticks_expected == 250, "{choice:?}");
    assert!(choice.offset.as_ns().abs_diff(609_000) < 130_000 && choice.clearance > Nanos::from_us(350), "{choice:?}");
    assert!(choice.hit > Nanos::from_us(8) && choice.hit < Nanos::from_us(16), "{choice:?}");
    assert!(choice.lasts == Nanos::MAX);
}

#[test]
fn what_divides_period_and_tick() {
    let divisor = |a, b| common_divisor(Nanos::from_ns(a), Nanos::from_ns(b)).as_ns();
    assert_eq!(divisor(1_000_000, 4_000_000), 1_000_000);
    assert_eq!(divisor(1_500_000, 4_000_000), 500_000);
    assert_eq!(divisor(10_000_000, 4_000_000), 2_000_000);
    assert_eq!(divisor(125_000, 1_000_000), 125_000);
    assert_eq!(divisor(1_000_000, 3_333_333), 333_333, "300 Hz, to the microsecond");
    assert_eq!(divisor(999_999, 4_000_000), 999_999);
    assert_eq!((divisor(0, 4_000_000), divisor(0, 0), divisor(7, 7)), (4_000_000, 1, 7));
}

#[test]
fn lengths_that_fit_only_nearly_hold_for_a_while() {
    let tick = Nanos::from_ns(3_333_333);
    let choice = choose(&scanned(tick, Nanos::from_us(50), 1_000, 0, 0), MS, tick);
    assert_eq!(choice.circle, Nanos::from_ns(333_333));
    // Three ticks and ten periods differ by 1 ns, which is a drift of 0.1 us per second.
    let expected = choice.clearance.as_secs_f64() * 1e7;
    assert!((choice.lasts.as_secs_f64() - expected).abs() < 0.01 * expected, "{choice:?}");
}

#[test]
fn a_circle_smaller_than_the_tick_is_wide_has_no_free_place() {
    let choice = choose(&scanned(TICK, Nanos::from_us(700), 4_000, 0, 0), Nanos::from_us(8), TICK);
    assert!(choice.clearance == Nanos::ZERO, "{choice:?}");
    assert!(choice.tick_phase.is_some());
}

#[test]
fn without_a_tick_any_place_is_as_good_and_none_is_claimed() {
    for gaps in [Gaps::default(), scanned(TICK, Nanos::ZERO, 0, 100, 300)] {
        let choice = choose(&gaps, MS, TICK);
        assert_eq!(choice.tick_phase, None, "{choice:?}");
        assert!(choice.ticks_seen < 20, "{choice:?}");
        assert_eq!((choice.clearance, choice.hit), (Nanos::from_us(500), Nanos::ZERO), "{choice:?}");
    }
}

#[test]
fn two_recurring_culprits_are_both_avoided() {
    let (mut gaps, other) = (
        scanned(TICK, Nanos::from_us(100), 1_000, 0, 0),
        scanned(Nanos::from_ms(10), Nanos::from_us(500), 1_000, 0, 0),
    );
    gaps.seen.extend(other.seen);
    gaps.seen.sort_unstable();
    let choice = choose(&gaps, MS, TICK);
    assert!(choice.offset > Nanos::from_us(650) && choice.offset < Nanos::from_us(950), "{choice:?}");
}

#[test]
fn a_wrong_tick_length_is_seen_by_what_does_not_come_back() {
    let choice = choose(&scanned(TICK, Nanos::from_us(100), 1_000, 0, 0), MS, Nanos::from_us(3_700));
    assert_eq!(choice.tick_phase, None, "{choice:?}");
    assert!(choice.ticks_seen < choice.ticks_expected / 4);
}

#[test]
fn a_scan_that_was_mostly_taken_by_others_finds_no_free_place() {
    let seen = (0..200).map(|ms| (MonoTime::from_ns(ms * 1_000_000 + 50_000), Nanos::from_us(950))).collect();
    let (began, ended) = (MonoTime::default(), MonoTime::from_ns(200_000_000));
    let choice = choose(&Gaps { began, ended, seen, ..Gaps::default() }, MS, TICK);
    assert_eq!(choice.clearance, Nanos::ZERO, "{choice:?}");
}

#[test]
fn instants_are_aligned_to_the_choice() {
    let choice = choose(&scanned(TICK, Nanos::from_us(700), 1_000, 0, 0), MS, TICK);
    for ns in [0, 1, 499_999, 1_234_567, 7_000_000_123] {
        let aligned = choice.align(MonoTime::from_ns(ns));
        assert_eq!(offset_on(aligned, choice.circle), choice.offset);
        assert!(aligned.as_ns() >= ns && aligned.as_ns() - ns < choice.circle.as_ns());
    }
}

#[test]
fn a_scan_ends_in_time_and_notes_gaps_in_order() {
    let gaps = scan(Nanos::from_ms(50));
    assert!(gaps.length() >= Nanos::from_ms(50), "{gaps:?}");
    assert!(gaps.seen.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
    assert!(gaps.seen.iter().all(|(_, gap)| *gap >= gaps.shortest && *gap <= gaps.length()));
    assert_eq!(scan(Nanos::ZERO).seen, []);
}

proptest! {
    #[test]
    fn the_chosen_phase_keeps_away_from_the_tick(
        phase_us in 0u64..10_000, which in 0usize..5, period_us in prop::sample::select(vec![100u64, 125, 250, 500, 1_000, 2_000, 4_000, 10_000]),
        jitter in 0u64..10_000, missing in 0u64..40, strays in 0u64..1_000,
    ) {
        let tick = [1_000u64, 2_000, 4_000, 5_000, 10_000].map(Nanos::from_us)[which];
        let phase = offset_on(MonoTime::from_ns(phase_us * 1_000), tick);
        let period = Nanos::from_us(period_us);
        let gaps = scanned(tick, phase, jitter, missing, strays);
        let choice = choose(&gaps, period, tick);
        let found = choice.tick_phase.map(|found| distance(found, phase, tick));
        prop_assert!(found.is_some_and(|off| off <= jitter + 1_000), "{found:?} {choice:?}");
        // The gap with its jitter takes at most 26 us. A quarter of the rest of the circle must stay free on each side.
        let free = choice.circle.as_ns().saturating_sub(26_000);
        let middle = phase + Nanos::from_ns(13_000);
        let kept = distance(choice.offset, middle, choice.circle).saturating_sub(13_000);
        prop_assert!(kept + 4_000 >= free / 4, "{kept} of {free}: {choice:?}");
        prop_assert!(choice.clearance.as_ns() * 3 >= free / 2 , "{choice:?}");
        prop_assert!(choice.offset < choice.circle);
    }

    #[test]
    fn any_gaps_and_lengths_are_taken(
        seen in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50), began in any::<u64>(), ended in any::<u64>(),
        period in any::<u64>(), tick in any::<u64>(), small in any::<bool>(),
    ) {
        let seen = seen.into_iter().map(|(at, gap)| (MonoTime::from_ns(at), Nanos::from_ns(gap))).collect();
        let (began, ended) = (MonoTime::from_ns(began), MonoTime::from_ns(ended));
        let gaps = Gaps { began, ended, seen, ..Gaps::default() };
        let scale = if small { 5_000 } else { u64::MAX };
        let choice = choose(&gaps, Nanos::from_ns(period % scale), Nanos::from_ns(tick % scale));
        prop_assert!(choice.offset < choice.circle.max(Nanos::from_ns(1)));
        choice.align(began);
    }
}
