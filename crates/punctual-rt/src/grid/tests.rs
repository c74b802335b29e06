//! The rules of the grid, tested with a clock that is only a number.

use super::*;
use proptest::prelude::*;

const MS: Nanos = Nanos::from_ms(1);

fn at(ns: u64) -> MonoTime {
    MonoTime::from_ns(ns)
}

fn us(n: i64) -> Delta {
    Delta::from_ns(n * 1_000)
}

#[test]
fn on_time_then_late_by_three_and_a_half_periods() {
    let period = Nanos::from_ns(100);
    let mut grid = Grid::new(at(1_000), period);
    let expected = |index, release, woke, missed| Wake {
        index,
        release: at(release),
        woke: at(woke),
        interval: period,
        missed,
        ..Wake::default()
    };
    assert_eq!(grid.advance(at(1_020)), expected(0, 1_000, 1_020, 0));
    assert_eq!(grid.advance(at(1_450)), expected(1, 1_100, 1_450, 3));
    assert_eq!((grid.release(), grid.index()), (at(1_500), 5));
    assert_eq!(grid.advance(at(1_501)).interval, period, "from the last release that was missed");
}

#[test]
fn the_edges_of_what_was_missed() {
    let grid = Grid::new(at(0), Nanos::from_ns(100));
    assert_eq!(grid.clone().advance(at(100)).missed, 1, "a release exactly now is skipped");
    assert_eq!(grid.ending(at(300)).advance(at(10_000)).missed, 2, "100 and 200, not 300, which was never due");
    let mut grid = Grid::new(at(7), MS);
    grid.advance(at(7 + 1_000_000 * 1_000_000_000 + 5));
    assert_eq!(grid.release(), at(7 + 1_000_000 * 1_000_000_001), "a billion periods do not drift");
}

#[test]
fn a_million_steered_releases_are_exact() {
    let mut grid = Grid::new(at(0), Nanos::from_us(1)).with_steer_max(Nanos::from_ns(9));
    let mut sum = 0i64;
    for k in 0..1_000_000i64 {
        let now = grid.release();
        grid.advance(now);
        sum += grid.steer(Delta::from_ns(k % 19 - 9), now).as_ns();
    }
    assert_eq!(grid.release(), at(1_000_000_000) + Delta::from_ns(sum));
}

#[test]
fn catch_up_runs_what_is_owed_and_no_more_than_that() {
    let mut grid = Grid::new(at(0), MS).with_overrun(Overrun::CatchUp { max: 3 });
    let stalled = at(10_500_000);
    assert_eq!(grid.advance(stalled).missed, 7, "ten passed, three of them will be run");
    let run: Vec<_> = (0..4).map(|_| (grid.release().as_ns() / 1_000_000, grid.advance(stalled).missed)).collect();
    assert_eq!(run, [(8, 0), (9, 0), (10, 0), (11, 0)]);
}

#[test]
fn a_body_that_is_always_too_slow_gets_no_later_and_later() {
    let mut grid = Grid::new(at(0), MS).with_overrun(Overrun::CatchUp { max: 3 });
    let (mut now, mut latest) = (at(0), Nanos::ZERO);
    for _ in 0..1_000 {
        let woke = now.max(grid.release());
        latest = (woke - grid.advance(woke).release).max(latest);
        now = woke + Nanos::from_us(2_300);
    }
    assert!(latest <= Nanos::from_us(5_300), "three owed and one body: {latest:?}");
    assert!(grid.index() >= 2_290, "what is not run is counted: {}", grid.index());
}

#[test]
fn re_anchoring_leaves_a_period_from_now() {
    let mut grid = Grid::new(at(0), MS).with_overrun(Overrun::Reanchor);
    assert_eq!(grid.advance(at(2_300_000)).missed, 2);
    assert_eq!((grid.release(), grid.index()), (at(3_300_000), 3));
    assert_eq!(grid.advance(at(3_300_500)).missed, 0, "less than a period late moves nothing");
    assert_eq!(grid.release(), at(4_300_000));
}

#[test]
fn steering_adds_up_within_its_limit_and_begins_anew_each_cycle() {
    let mut grid = Grid::new(at(0), MS).with_steer_max(Nanos::from_us(5));
    grid.advance(at(10));
    assert_eq!([us(3), us(4), us(-20)].map(|by| grid.steer(by, at(20))), [us(3), us(2), us(-10)]);
    assert_eq!(grid.release(), at(995_000));
    let wake = grid.advance(at(995_100));
    assert_eq!(wake.interval, Nanos::from_us(995));
    assert_eq!(grid.steer(us(-9), at(995_200)), us(-5));
}

#[test]
fn nothing_is_moved_to_before_now() {
    let mut grid = Grid::new(at(0), MS).with_steer_max(MS);
    grid.advance(at(0));
    assert_eq!(grid.steer(us(-900), at(600_000)), us(-400));
    assert_eq!(grid.steer(us(-900), at(700_000)), us(0), "what is past already stays where it is");
}

#[test]
fn a_new_period_holds_from_the_next_release_on() {
    let mut grid = Grid::new(at(0), MS);
    grid.advance(at(10));
    grid.set_period(Nanos::from_us(250), at(20));
    assert_eq!(grid.release(), at(250_000));
    assert_eq!(grid.advance(at(250_001)).interval, Nanos::from_us(250));
    grid.set_period(Nanos::from_ms(2), at(250_100));
    assert_eq!(grid.release(), at(2_250_000));
    grid.set_period(Nanos::ZERO, at(250_100));
    grid.advance(at(250_200));
    assert!(grid.release() > at(250_200), "zero is taken as 1 ns");
}

#[test]
fn a_shift_back_wraps_by_whole_periods() {
    let mut grid = Grid::new(at(0), MS);
    grid.advance(at(10));
    grid.shift_phase(us(-300), at(20));
    assert_eq!(grid.release(), at(700_000));
    grid.shift_phase(us(-5_300), at(500_000));
    assert_eq!(grid.release(), at(1_400_000), "0.4 ms is past already");
    grid.shift_phase(us(2_100), at(500_000));
    assert_eq!((grid.release(), grid.index()), (at(1_500_000), 1));
}

#[test]
fn after_a_long_initialisation_nothing_is_owed() {
    let mut grid = Grid::new(at(0), MS);
    assert_eq!((grid.resync(at(5_500_000)), grid.release(), grid.index()), (6, at(6_000_000), 6));
    assert_eq!(grid.resync(at(5_600_000)), 0);
    assert_eq!(grid.advance(at(6_000_100)).missed, 0);
}

#[test]
fn outside_events_pull_the_grid_along() {
    let mut grid = Grid::new(at(0), MS);
    assert_eq!(grid.clone().follow(at(7_300_000)).missed, 0, "nothing was due before the first");
    // The events come 100 ppm too slowly, with a jitter of 2 us.
    let mut worst = 0;
    for k in 0..10_000u64 {
        let event = at(k * 1_000_100 + 2_000 * (k % 2));
        let wake = grid.follow(event);
        assert_eq!((wake.index, wake.missed), (k, 0));
        if k > 200 {
            worst = event.signed_since(wake.release).length().as_ns().max(worst);
        }
    }
    assert!(worst < 4_000, "{worst} ns");
    let last = grid.index();
    let wake = grid.follow(grid.release() + Nanos::from_us(3_100));
    assert_eq!((wake.index, wake.missed, grid.index()), (last + 3, 3, last + 4), "three events did not come");
    let early = grid.release() - Nanos::from_us(700);
    grid.follow(early);
    assert_eq!(grid.release(), early + MS, "far off: begins anew there");
}

fn any_overrun() -> impl Strategy<Value = Overrun> {
    prop_oneof![
        Just(Overrun::Skip),
        (0u32..5).prop_map(|max| Overrun::CatchUp { max }),
        Just(Overrun::Reanchor),
        Just(Overrun::Stop),
    ]
}

proptest! {
    #[test]
    fn the_grid_keeps_its_phase_and_counts_everything(
        first in 0u64..1 << 40, period in 1u64..1 << 30, lates in prop::collection::vec(0u64..1 << 32, 1..50),
    ) {
        let mut grid = Grid::new(at(first), Nanos::from_ns(period));
        let mut accounted = 0;
        for late in lates {
            let now = grid.release() + Nanos::from_ns(late);
            let step = grid.advance(now);
            prop_assert_eq!(step.index, accounted);
            accounted += 1 + step.missed;
            prop_assert_eq!(grid.release(), at(first + accounted * period));
            prop_assert!(grid.release() > now, "the next release is in the future");
            prop_assert!((grid.release() - now).as_ns() <= period);
        }
    }

    #[test]
    fn whatever_becomes_of_missed_releases_each_is_counted_once(
        overrun in any_overrun(), busy in prop::collection::vec(0u64..7_000_000, 1..100),
    ) {
        let mut grid = Grid::new(at(0), MS).with_overrun(overrun);
        let (mut now, mut accounted, mut owed_in_a_row, mut woke_before) = (at(0), 0, 0u32, at(0));
        for busy in busy {
            owed_in_a_row = if accounted > 0 && grid.release() <= woke_before { owed_in_a_row + 1 } else { 0 };
            if let Overrun::CatchUp { max } = overrun {
                prop_assert!(owed_in_a_row <= max, "{owed_in_a_row} in a row");
            } else {
                prop_assert_eq!(owed_in_a_row, 0);
            }
            let woke = now.max(grid.release());
            let step = grid.advance(woke);
            prop_assert_eq!(step.index, accounted);
            prop_assert!(step.release <= woke);
            accounted += 1 + step.missed;
            prop_assert_eq!(grid.index(), accounted);
            if overrun != Overrun::Reanchor {
                prop_assert_eq!(grid.release(), at(accounted * 1_000_000), "on the old grid");
            }
            (now, woke_before) = (woke + Nanos::from_ns(busy), woke);
        }
    }

    #[test]
    fn a_steered_grid_is_the_sum_of_what_steer_said(
        steps in prop::collection::vec((any::<i16>(), 0u64..900_000), 1..100), limit in 0u64..40_000,
    ) {
        let mut grid = Grid::new(at(0), MS).with_steer_max(Nanos::from_ns(limit));
        let mut expected = at(0);
        for (by, body) in steps {
            prop_assert_eq!(grid.release(), expected);
            let woke = grid.release();
            let step = grid.advance(woke);
            prop_assert_eq!(step.missed, 0);
            let now = woke + Nanos::from_ns(body);
            let moved = grid.steer(Delta::from_ns(by.into()), now);
            prop_assert!(moved.length().as_ns() <= limit);
            prop_assert!(grid.release() >= now);
            expected = expected + MS + moved;
        }
    }

    #[test]
    fn edges_of_the_clock_do_not_panic(
        first in any::<u64>(), period in any::<u64>(), now in any::<u64>(), end in any::<u64>(), by in any::<i64>(), overrun in any_overrun(),
    ) {
        let (now, by) = (at(now), Delta::from_ns(by));
        let mut grid = Grid::new(at(first), Nanos::from_ns(period)).ending(at(end)).with_overrun(overrun).with_steer_max(Nanos::MAX);
        grid.advance(now);
        grid.steer(by, now);
        grid.shift_phase(by, now);
        grid.set_period(Nanos::from_ns(end), now);
        grid.resync(now);
        grid.follow(now);
    }
}
