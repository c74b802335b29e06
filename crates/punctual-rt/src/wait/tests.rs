//! Waiters on a pretended clock, which does what real ones do on bad days; and each kernel call once on the real one.

use super::*;
use crate::grid::Grid;
use crate::now;
use crate::pacer::Engine;
use crate::poll::{Polled, poll_plainly};
use proptest::prelude::*;

const MS: Nanos = Nanos::from_ms(1);
const TOLERANCE: Nanos = Nanos::from_us(10);

/// What the clock does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whim {
    /// The next sleep takes this much longer than asked for.
    Oversleep(u64),
    /// In the next polling, this much time is taken away at once.
    Steal(u64),
    /// The clock jumps forward by this much before the next wait.
    Jump(u64),
    /// The clock goes back by this much before the next wait.
    Back(u64),
    /// The clock stands still during the next polling.
    Stand,
}

/// A clock that is a number, moved by whoever uses it.
struct Pretended {
    now: u64,
    whims: std::vec::IntoIter<Whim>,
    oversleep: u64,
    steal: u64,
    stands: bool,
    sleeps: u64,
}

impl Pretended {
    fn new(whims: Vec<Whim>) -> Self {
        Self { now: 1_000_000_000, whims: whims.into_iter(), oversleep: 13_000, steal: 0, stands: false, sleeps: 0 }
    }

    /// Takes the next whim to heart.
    fn turn(&mut self) {
        (self.oversleep, self.steal, self.stands) = (13_000, 0, false);
        match self.whims.next() {
            Some(Whim::Oversleep(by)) => self.oversleep = by,
            Some(Whim::Steal(by)) => self.steal = by,
            Some(Whim::Jump(by)) => self.now += by,
            Some(Whim::Back(by)) => self.now = self.now.saturating_sub(by),
            Some(Whim::Stand) => self.stands = true,
            None => {}
        }
    }
}

impl crate::poll::Clock for Pretended {
    fn now(&mut self) -> MonoTime {
        if !self.stands {
            self.now += 20;
        }
        MonoTime::from_ns(self.now)
    }
}

impl Clock for Pretended {
    fn sleep_until(&mut self, at: MonoTime) {
        self.sleeps += 1;
        self.now = self.now.max(at.as_ns()).saturating_add(self.oversleep);
    }

    fn poll_until(&mut self, release: MonoTime, tolerance: Nanos) -> (Polled, Class) {
        self.now += std::mem::take(&mut self.steal);
        let polled = poll_plainly(self, release);
        (polled, if polled.at.since(release) > tolerance { Class::HitWhilePolling } else { Class::OnTime })
    }

    fn wait_for(&mut self, _: &Event, until: MonoTime) -> bool {
        self.now = until.as_ns().min(self.now + 1_000_000 + self.oversleep);
        self.now < until.as_ns()
    }
}

fn engine(wait: &Wait, whims: Vec<Whim>) -> Engine<Pretended> {
    let clock = Pretended::new(whims);
    let grid = Grid::new(MonoTime::from_ns(clock.now + 2_000_000), MS);
    Engine::new(grid, Waiter::on(clock, wait, TOLERANCE))
}

/// The next activation, after the clock had its whim.
fn next(engine: &mut Engine<Pretended>) -> crate::Wake {
    engine.waiter().clock().turn();
    engine.wait(|| {})
}

#[test]
fn a_hybrid_wait_is_on_time_where_a_sleep_is_late() {
    let mut sleep = engine(&Wait::Sleep, vec![]);
    let mut hybrid = engine(&Wait::Hybrid(Margin::AUTO), vec![]);
    for _ in 0..100 {
        let (slept, polled) = (next(&mut sleep), next(&mut hybrid));
        assert_eq!((slept.class, slept.lateness().as_ns() / 1_000), (Class::LateFromSleep, 13));
        assert_eq!((polled.class, polled.lateness().as_ns() / 100), (Class::OnTime, 0));
        assert_eq!(polled.overshoot.map(|o| o.as_ns() / 1_000), Some(13));
    }
}

#[test]
fn what_made_an_activation_late_is_told_apart() {
    let whims = vec![Whim::Oversleep(900_000), Whim::Steal(300_000), Whim::Jump(1_400_000), Whim::Oversleep(1)];
    let mut hybrid = engine(&Wait::Hybrid(Margin::AUTO), whims);
    let classes: Vec<_> = (0..4).map(|_| next(&mut hybrid).class).collect();
    assert_eq!(classes, [Class::LateFromSleep, Class::HitWhilePolling, Class::PastOnArrival, Class::OnTime]);
    assert_eq!(hybrid.waiter().clock().sleeps, 3, "into the past nobody sleeps");
}

#[test]
fn a_clock_that_stands_still_does_not_hang_a_spinner() {
    let mut spin = engine(&Wait::Spin, vec![Whim::Stand]);
    let wake = next(&mut spin);
    assert!(wake.woke < wake.release, "it gave up: {wake:?}");
}

#[test]
fn anticipation_is_right_in_the_mean() {
    let mut wait = engine(&Wait::Anticipate, (0..2_000).map(|k| Whim::Oversleep(12_000 + k % 3 * 1_000)).collect());
    let errors: Vec<i64> = (0..2_000).map(|_| next(&mut wait).error().as_ns()).collect();
    let mean = errors[200..].iter().sum::<i64>() / 1_800;
    assert!(mean.abs() < 1_500, "{mean} ns");
    assert!(errors[200..].iter().any(|e| *e < 0), "some are early");
}

#[test]
fn an_outside_event_paces_the_task_and_its_absence_is_told() {
    let external = |patience| Wait::External { event: Event::Readable(-1), patience };
    let mut paced = engine(&external(Nanos::from_ms(5)), vec![]);
    let classes: Vec<_> = (0..50).map(|_| next(&mut paced).class).collect();
    assert!(classes.iter().all(|class| *class == Class::OnTime));
    let mut silent = engine(&external(Nanos::from_us(500)), vec![]);
    assert_eq!(next(&mut silent).class, Class::TimedOut);
}

fn any_whim() -> impl Strategy<Value = Whim> {
    prop_oneof![
        4 => (0u64..200_000).prop_map(Whim::Oversleep),
        1 => (0u64..20_000_000).prop_map(Whim::Oversleep),
        1 => (0u64..3_000_000).prop_map(Whim::Steal),
        1 => (0u64..5_000_000_000).prop_map(Whim::Jump),
        1 => (0u64..3_000_000).prop_map(Whim::Back),
        1 => Just(Whim::Stand),
    ]
}

fn any_wait() -> impl Strategy<Value = Wait> {
    prop_oneof![
        Just(Wait::Sleep),
        Just(Wait::Anticipate),
        Just(Wait::Hybrid(Margin::AUTO)),
        (0u64..2_000_000).prop_map(|ns| Wait::Hybrid(Margin::Fixed(Nanos::from_ns(ns)))),
        Just(Wait::Spin),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn whatever_the_clock_does_every_release_is_accounted_for_and_no_wait_is_endless(
        wait in any_wait(), whims in prop::collection::vec(any_whim(), 1..60),
    ) {
        let first = MonoTime::from_ns(1_002_000_000);
        let mut engine = engine(&wait, whims.clone());
        let mut due = 0;
        for whim in whims {
            let wake = next(&mut engine);
            prop_assert_eq!(wake.index, due);
            prop_assert_eq!(wake.release, first.plus(MS.times(due)), "no whim moves the grid");
            due += 1 + wake.missed;
            let gave_up = matches!(whim, Whim::Stand | Whim::Back(_));
            let may_be_early = gave_up || matches!(wait, Wait::Anticipate);
            prop_assert!(may_be_early || wake.woke >= wake.release, "{wake:?} at {whim:?}");
            if wake.class == Class::OnTime && !gave_up {
                prop_assert!(wake.error().length() <= TOLERANCE);
            }
        }
    }
}

#[test]
fn no_call_of_the_kernel_returns_before_the_release() {
    for sleeper in [Sleeper::Absolute, Sleeper::Relative, Sleeper::Timerfd, Sleeper::Futex] {
        for wait in [Wait::Sleep, Wait::Hybrid(Margin::AUTO), Wait::Spin] {
            let mut waiter = Waiter::new(&wait, sleeper, TOLERANCE).unwrap();
            for _ in 0..3 {
                let release = now().plus(Nanos::from_us(300));
                assert!(waiter.wait_until(release, MS, || {}).woke >= release, "{wait:?} {sleeper:?}");
            }
            let past = now().minus(Nanos::from_ms(5));
            assert_eq!(waiter.wait_until(past, MS, || {}).class, Class::PastOnArrival);
        }
    }
}

#[test]
fn a_pipe_wakes_its_reader_and_silence_times_out() {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let (mut writer, reader) = std::os::unix::net::UnixStream::pair().unwrap();
    let wait = Wait::External { event: Event::Readable(reader.as_raw_fd()), patience: Nanos::from_ms(20) };
    let mut waiter = Waiter::new(&wait, Sleeper::Absolute, TOLERANCE).unwrap();
    assert_eq!(waiter.wait_until(now(), MS, || {}).class, Class::TimedOut);
    writer.write_all(b"x").unwrap();
    assert_eq!(waiter.wait_until(now(), MS, || {}).class, Class::OnTime);
}

#[test]
fn a_signal_wakes_its_task_and_silence_times_out() {
    let signal = Arc::new(Signal::new());
    let wait = Wait::External { event: Event::Signal(Arc::clone(&signal)), patience: Nanos::from_ms(20) };
    let mut waiter = Waiter::new(&wait, Sleeper::Absolute, TOLERANCE).unwrap();
    signal.post();
    assert_eq!(waiter.wait_until(now(), MS, || {}).class, Class::OnTime);
    assert_eq!(waiter.wait_until(now(), MS, || {}).class, Class::TimedOut);
}
