//! Tests of the watchdog: a heart that stops beating is missed, and an excused one is not.

use punctual_rt::sync::Signal;
use punctual_rt::watchdog::{Action, Miss, Watchdog, WatchdogConfig, write_to};
use punctual_rt::{ConfigError, Error, Nanos, Policy, SetupError, now, setup};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const INTERVAL: Nanos = Nanos::from_ms(2);
const LONG: Duration = Duration::from_secs(20);

fn telling() -> (Action, Receiver<Miss>) {
    let (send, receive) = channel();
    (Box::new(move |miss: &Miss| drop(send.send(miss.clone()))), receive)
}

#[test]
fn a_heart_that_stops_is_missed_and_one_that_beats_is_not() {
    let (action, misses) = telling();
    let watchdog = Watchdog::start(WatchdogConfig::every(INTERVAL), action).unwrap();
    let mut alive = watchdog.watch("alive", Nanos::from_ms(10_000)).unwrap();
    let mut stopped = watchdog.watch("stopped", Nanos::from_ms(100)).unwrap();
    for _ in 0..2 {
        alive.beat();
        let beaten = now();
        stopped.beat();
        let miss = misses.recv_timeout(LONG).unwrap();
        assert_eq!((&*miss.heart, miss.limit), ("stopped", Nanos::from_ms(100)));
        assert!(miss.silent > miss.limit && miss.silent <= miss.limit + INTERVAL, "{miss:?}");
        assert!(now() - beaten > miss.limit, "never before the limit");
    }
    assert_eq!((watchdog.misses(), watchdog.hearts()), (2, 2));
    drop(watchdog);
    assert!(misses.recv().is_err(), "the action is gone with the watchdog");
}

#[test]
fn who_retires_is_not_missed_but_who_is_dropped_is() {
    let (action, misses) = telling();
    let watchdog = Watchdog::start(WatchdogConfig::every(INTERVAL), action).unwrap();
    watchdog.watch("retired", Nanos::from_ms(1_000)).unwrap().retire();
    drop(watchdog.watch("dropped", Nanos::from_ms(2_000)).unwrap());
    assert_eq!(&*misses.recv_timeout(LONG).unwrap().heart, "dropped");
    assert_eq!(watchdog.hearts(), 1);
}

#[test]
fn an_action_that_panics_does_not_end_the_watch() {
    let (mut tell, misses) = telling();
    let action = Box::new(move |miss: &Miss| {
        tell(miss);
        panic!("on purpose");
    });
    let watchdog = Watchdog::start(WatchdogConfig::every(INTERVAL), action).unwrap();
    let mut heart = watchdog.watch("x", Nanos::from_ms(1)).unwrap();
    misses.recv_timeout(LONG).unwrap();
    heart.beat();
    misses.recv_timeout(LONG).unwrap();
}

#[test]
fn an_action_may_watch_another_heart() {
    static SEEN: Signal = Signal::new();
    let shared = std::sync::Arc::new(std::sync::OnceLock::<Watchdog>::new());
    let inside = std::sync::Arc::downgrade(&shared);
    let action = Box::new(move |miss: &Miss| {
        if let Some(shared) = inside.upgrade().filter(|_| &*miss.heart == "first") {
            shared.get().unwrap().watch("second", Nanos::from_ms(1)).unwrap();
        } else if &*miss.heart == "second" {
            SEEN.post();
        }
    });
    let watchdog = Watchdog::start(WatchdogConfig::every(INTERVAL), action).unwrap();
    let watchdog = shared.get_or_init(|| watchdog);
    watchdog.watch("first", Nanos::from_ms(1)).unwrap();
    assert!(SEEN.wait_until(now() + Nanos::from_ms(20_000)));
}

#[test]
fn the_provided_action_writes_a_line() {
    let out = crate::log::Kept::default();
    let watchdog = Watchdog::start(WatchdogConfig::every(INTERVAL), write_to(out.clone())).unwrap();
    let _heart = watchdog.watch("x", Nanos::from_ms(3)).unwrap();
    while watchdog.misses() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(watchdog);
    assert_eq!(String::from_utf8(out.bytes()).unwrap(), "x has not beaten for 4000 us; its limit is 3000 us\n");
}

#[test]
fn what_cannot_be_had_is_refused() {
    let start = |config| Watchdog::start(config, Box::new(|_| {})).err();
    let config = WatchdogConfig::every(INTERVAL);
    assert_eq!(start(WatchdogConfig::every(Nanos::ZERO)), Some(Error::Config(ConfigError::ZeroLength)));
    assert_eq!(
        start(WatchdogConfig { policy: Policy::Fifo(99), ..config.clone() }),
        Some(Error::Config(ConfigError::Priority(99)))
    );
    let nowhere = WatchdogConfig { cpus: vec![8_000], ..config.clone() };
    assert!(matches!(start(nowhere), Some(Error::Setup(SetupError::Affinity { cpu: 8_000, .. }))));
    let watchdog = Watchdog::start(config, Box::new(|_| {})).unwrap();
    assert_eq!(watchdog.watch("x", Nanos::ZERO).err(), Some(Error::Config(ConfigError::ZeroLength)));
}

/// A thread that never sleeps occupies the CPU for all lower priorities, but not for a watchdog with a higher one.
#[test]
#[ignore = "privileged: real-time priorities, 200 ms of one CPU"]
fn privileged_a_runaway_thread_is_noticed_from_above() {
    let _one = crate::ONE_CPU.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (action, misses) = telling();
    let cpu = setup::granted().unwrap().cpus[0];
    let config = WatchdogConfig { interval: INTERVAL, policy: Policy::Fifo(20), cpus: vec![cpu] };
    let watchdog = Watchdog::start(config, action).unwrap();
    let runaway = std::thread::spawn(move || {
        setup::pin_current(&[cpu]).unwrap();
        setup::set_policy(Policy::Fifo(10)).unwrap();
        let mut heart = watchdog.watch("runaway", Nanos::from_ms(20)).unwrap();
        heart.beat();
        let end = now() + Nanos::from_ms(200);
        while now() < end && watchdog.misses() == 0 {
            std::hint::spin_loop();
        }
        end - now()
    });
    let left = runaway.join().unwrap();
    assert!(left > Nanos::ZERO, "noticed before it ended by itself");
    assert_eq!(&*misses.recv_timeout(LONG).unwrap().heart, "runaway");
}
