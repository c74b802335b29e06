//! Tests waiters on a simulated clock with all faults of real clocks, and each system call once on the real clock.

use super::*;
use crate::grid::{Grid, Overrun};
use crate::noise::Noise;
use crate::now;
use crate::pacer::Engine;
use crate::poll::poll_plainly;
use proptest::prelude::*;

const MS: Nanos = Nanos::from_ms(1);
const TOLERANCE: Nanos = Nanos::from_us(10);

/// A fault of the simulated clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whim {
    /// The next sleep takes this much longer than requested.
    Oversleep(u64),
    /// The thread loses this much time at once during the next polling.
    Steal(u64),
    /// The clock jumps forward by this much before the next wait.
    Jump(u64),
    /// The clock goes back by this much before the next wait.
    Back(u64),
    /// The clock stands still during the next polling.
    Stand,
}

/// A simulated clock, which advances when it is used.
struct Pretended {
    now: u64,
    /// Time that one reading takes.
    reading: u64,
    whims: std::vec::IntoIter<Whim>,
    oversleep: u64,
    steal: u64,
    stands: bool,
    sleeps: u64,
}

impl Pretended {
    fn new(whims: Vec<Whim>) -> Self {
        Self {
            now: 1_000_000_000,
            reading: 20,
            whims: whims.into_iter(),
            oversleep: 13_000,
            steal: 0,
            stands: false,
            sleeps: 0,
        }
    }

    fn turn(&mut self) {
        let whim = self.whims.next().unwrap_or(Whim::Oversleep(13_000));
        self.take(whim);
    }

    fn take(&mut self, whim: Whim) {
        (self.oversleep, self.steal, self.stands) = (13_000, 0, false);
        match whim {
            Whim::Oversleep(by) => self.oversleep = by,
            Whim::Steal(by) => self.steal = by,
            Whim::Jump(by) => self.now += by,
            Whim::Back(by) => self.now = self.now.saturating_sub(by),
            Whim::Stand => self.stands = true,
        }
    }
}

impl crate::poll::Clock for Pretended {
    fn now(&mut self) -> MonoTime {
        if !self.stands {
            self.now += self.reading;
        }
        MonoTime::from_ns(self.now)
    }
}

impl Clock for Pretended {
    fn sleep_until(&mut self, at: MonoTime) {
        self.sleeps += 1;
        self.now = self.now.max(at.as_ns()).saturating_add(self.oversleep);
    }

    fn poll_until(&mut self, instant: MonoTime) -> MonoTime {
        self.now += std::mem::take(&mut self.steal);
        poll_plainly(self, instant).at
    }

    fn settle(&mut self, hit: bool) -> Class {
        if hit { Class::HitWhilePolling } else { Class::OnTime }
    }

    fn wait_for(&mut self, _: &Event, until: MonoTime) -> Arrival {
        self.now = until.as_ns().min(self.now + 1_000_000 + self.oversleep);
        if self.now < until.as_ns() { Arrival::Came } else { Arrival::Missing }
    }
}

fn engine(wait: &Wait, whims: Vec<Whim>) -> Engine<Pretended> {
    let clock = Pretended::new(whims);
    let grid = Grid::new(MonoTime::from_ns(clock.now + 2_000_000), MS);
    Engine { grid, waiter: Waiter::on(clock, wait, TOLERANCE) }
}

/// Lets the next fault of the clock happen, and returns the next activation.
fn next(engine: &mut Engine<Pretended>) -> crate::Wake {
    engine.waiter.clock.turn();
    once(engine)
}

fn once(engine: &mut Engine<Pretended>) -> crate::Wake {
    let mut wake = crate::Wake::default();
    engine.wait(|| {}, &mut wake);
    wake
}

#[test]
fn a_hybrid_wait_is_on_time_where_a_sleep_is_late() {
    let mut sleep = engine(&Wait::Sleep, vec![]);
    let mut hybrid = engine(&Wait::Hybrid(Margin::AUTO), vec![]);
    for _ in 0..100 {
        let (slept, polled) = (next(&mut sleep), next(&mut hybrid));
        assert_eq!((slept.class, slept.latency().as_ns() / 1_000), (Class::LateFromSleep, 13));
        assert_eq!((polled.class, polled.latency().as_ns() / 100), (Class::OnTime, 0));
        assert_eq!(polled.overshoot.map(|o| o.as_ns() / 1_000), Some(13));
    }
}

#[test]
fn what_made_an_activation_late_is_told_apart() {
    let whims = vec![Whim::Oversleep(900_000), Whim::Steal(300_000), Whim::Jump(1_400_000), Whim::Oversleep(1)];
    let mut hybrid = engine(&Wait::Hybrid(Margin::AUTO), whims);
    let classes: Vec<_> = (0..4).map(|_| next(&mut hybrid).class).collect();
    assert_eq!(classes, [Class::LateFromSleep, Class::HitWhilePolling, Class::PastOnArrival, Class::OnTime]);
    assert_eq!(hybrid.waiter.clock.sleeps, 3, "into the past nobody sleeps");
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
    let wakes: Vec<_> = (0..20).map(|_| next(&mut silent)).collect();
    assert!(wakes.iter().all(|wake| wake.class == Class::TimedOut));
    assert!(wakes.iter().all(|wake| wake.release <= wake.woke + MS * 3), "silence does not run ahead of the clock");
    let due: Vec<_> = wakes.windows(2).filter(|pair| pair[0].woke >= pair[0].release).collect();
    assert!(due.iter().all(|pair| pair[1].release == pair[0].release + MS * (1 + pair[0].missed)));
}

/// Random faults: mostly none, and each kind of fault about once in a thousand waits.
fn bad_week() -> impl FnMut() -> Whim {
    let mut noise = Noise::new(1);
    move || match noise.below(1_000) {
        0 => Whim::Oversleep(noise.below(50_000_000)),
        1 => Whim::Steal(noise.below(5_000_000)),
        2 => Whim::Jump(noise.below(10_000_000_000)),
        3 => Whim::Back(noise.below(5_000_000)),
        4 => Whim::Stand,
        _ => Whim::Oversleep(8_000 + noise.below(8_000)),
    }
}

#[test]
fn a_million_cycles_through_a_bad_week_lose_no_release_and_each_has_its_cause() {
    for wait in [Wait::Sleep, Wait::Hybrid(Margin::AUTO)] {
        let (mut engine, mut whim, polls) = (engine(&wait, vec![]), bad_week(), matches!(wait, Wait::Hybrid(_)));
        let first = MonoTime::from_ns(1_002_000_000);
        let (mut due, mut now) = (0, first);
        // Coarser readings, so that a million polls take only seconds.
        engine.waiter.clock.reading = 500;
        for _ in 0..1_000_000 {
            let whim = whim();
            engine.waiter.clock.take(whim);
            let wake = once(&mut engine);
            assert_eq!((wake.index, wake.release), (due, first + MS * due), "the grid stays, at {whim:?}");
            due += 1 + wake.missed;
            let behind = wake.woke - (wake.release + MS * wake.missed);
            assert!(behind < MS, "all that passed is counted: {wake:?} at {whim:?}");
            match whim {
                // The clock failed, so the only requirement is that the wait ends.
                Whim::Stand | Whim::Back(_) => {}
                Whim::Jump(_) if wake.latency() > MS => assert_eq!(wake.class, Class::PastOnArrival, "{wake:?}"),
                Whim::Steal(by) if polls && by > 2_000_000 => {
                    assert!(
                        matches!(wake.class, Class::HitWhilePolling | Class::PastOnArrival),
                        "{wake:?} at {whim:?}"
                    );
                }
                Whim::Oversleep(by) if by > 2_000_000 && wake.class != Class::PastOnArrival => {
                    assert_eq!(
                        (wake.class, wake.overshoot.is_some()),
                        (Class::LateFromSleep, true),
                        "{wake:?} at {whim:?}"
                    );
                }
                Whim::Oversleep(by) if by < 16_000 && polls && wake.class != Class::PastOnArrival => {
                    assert_eq!(wake.class, Class::OnTime, "{wake:?} at {whim:?}");
                }
                _ => assert!(wake.woke >= wake.release, "{wake:?} at {whim:?}"),
            }
            now = now.max(wake.woke);
        }
        assert!(due > 1_000_000 && now - first > Nanos::from_secs(1_000));
    }
}

#[test]
fn a_clock_that_goes_back_by_a_long_way_is_waited_for_and_no_release_is_run_twice() {
    let whims = vec![Whim::Oversleep(1), Whim::Back(300_000_000), Whim::Oversleep(1)];
    let mut sleep = engine(&Wait::Sleep, whims);
    let woke: Vec<_> = (0..3).map(|_| next(&mut sleep)).collect();
    assert_eq!(woke.iter().map(|wake| (wake.index, wake.missed)).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 0)]);
    assert!(woke.iter().all(|wake| wake.woke >= wake.release && wake.latency() < MS));
}

#[test]
fn a_suspend_is_one_gap_whatever_its_length_and_the_policy_decides_what_is_made_up() {
    // A jump of a year, after which a loop over all missed releases would take noticeably long.
    const YEAR_NS: u64 = 365 * 24 * 3_600 * 1_000_000_000;
    for overrun in [Overrun::Skip, Overrun::CatchUp { max: 2 }, Overrun::Reanchor, Overrun::Stop] {
        let clock = Pretended::new(vec![Whim::Oversleep(1), Whim::Oversleep(YEAR_NS), Whim::Oversleep(1)]);
        let grid = Grid::new(MonoTime::from_ns(clock.now + 2_000_000), MS).with_overrun(overrun);
        let mut engine = Engine { grid, waiter: Waiter::on(clock, &Wait::Sleep, TOLERANCE) };
        let woke: Vec<_> = (0..6).map(|_| next(&mut engine)).collect();
        let missed: Vec<_> = woke.iter().map(|wake| wake.missed).filter(|missed| *missed > 0).collect();
        let made_up = if matches!(overrun, Overrun::CatchUp { .. }) { 2 } else { 0 };
        assert_eq!(missed, [YEAR_NS / 1_000_000 - made_up], "{overrun:?}");
        let at_once = woke.iter().filter(|wake| wake.class == Class::PastOnArrival).count();
        assert_eq!(at_once as u64, made_up, "{overrun:?}");
    }
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
            prop_assert_eq!(wake.release, first + MS * due, "no whim moves the grid");
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
                let release = now() + Nanos::from_us(300);
                assert!(waiter.wait_until(release, MS).woke >= release, "{wait:?} {sleeper:?}");
            }
            let past = now() - Nanos::from_ms(5);
            assert_eq!(waiter.wait_until(past, MS).class, Class::PastOnArrival);
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
    assert_eq!(waiter.wait_until(now(), MS).class, Class::TimedOut);
    writer.write_all(b"x").unwrap();
    assert_eq!(waiter.wait_until(now(), MS).class, Class::OnTime);
}

#[test]
fn a_signal_wakes_its_task_and_silence_times_out() {
    let signal = Arc::new(Signal::new());
    let wait = Wait::External { event: Event::Signal(Arc::clone(&signal)), patience: Nanos::from_ms(20) };
    let mut waiter = Waiter::new(&wait, Sleeper::Absolute, TOLERANCE).unwrap();
    signal.post();
    assert_eq!(waiter.wait_until(now(), MS).class, Class::OnTime);
    assert_eq!(waiter.wait_until(now(), MS).class, Class::TimedOut);
}

#[test]
fn what_quiet_sleeps_leave_over_a_long_one_may_poll_and_the_share_is_kept() {
    const CYCLES: u64 = 40_000;
    let mut hybrid = engine(&Wait::Hybrid(Margin::AUTO), vec![]);
    hybrid.waiter.clock.reading = 200;
    let (mut noise, mut late, mut polled) = (Noise::new(1), 0, Nanos::ZERO);
    for _ in 0..CYCLES {
        let whim = Whim::Oversleep(if noise.below(10) < 3 { 75_000 } else { 20_000 });
        hybrid.waiter.clock.take(whim);
        let wake = once(&mut hybrid);
        late += u64::from(wake.class != Class::OnTime);
        polled += wake.polled;
    }
    assert!(late * 500 < CYCLES, "{late} late: without what was left over, each long sleep is");
    let per_mille = polled.as_ns() / CYCLES / 1_000;
    assert!((40..=50).contains(&per_mille), "{per_mille} thousandths of the time were polled");
}

#[test]
fn releases_follow_a_source_that_drifts() {
    let wait = Wait::External { event: Event::Readable(-1), patience: Nanos::from_ms(5) };
    // An event every 1013 us, for a task with a period of 1000 us.
    let mut paced = engine(&wait, vec![]);
    let wakes: Vec<_> = (0..1_000).map(|_| next(&mut paced)).collect();
    for (index, wake) in (0..).zip(&wakes) {
        assert_eq!((wake.index, wake.missed), (index, 0), "each event is one activation");
        // The grid follows by a sixteenth of the difference each time, so it lags by sixteen times the drift per event.
        assert!(wake.error().length() < Nanos::from_us(230), "{wake:?}");
    }
    let took = (wakes[999].release - wakes[0].release).as_ns();
    assert!(took.abs_diff(999 * 1_013_000) < 300_000, "{took}");
}
