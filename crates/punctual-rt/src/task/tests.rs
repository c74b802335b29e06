//! Tasks from start to end. No test depends on how punctual the machine is.

use super::*;
use crate::setup::Require;
use crate::sync::Signal;
use crate::{Class, ConfigError, Error, Event, Margin, Overrun, Policy, SetupError, Wait};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const MS: Nanos = Nanos::from_ms(1);

fn quick() -> TaskConfig {
    TaskConfig::periodic(MS).phase(Phase::Offset(Nanos::ZERO))
}

/// The first `n` activations of a task.
fn wakes(config: &TaskConfig, n: usize, mut body: impl FnMut(&mut Cycle<'_>) + Send + 'static) -> Vec<Wake> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let task = Task::spawn(config, move |cycle| {
        let mut seen = noted.lock().unwrap();
        seen.push(cycle.wake);
        body(cycle);
        if seen.len() == n { Control::Stop } else { Control::Continue }
    });
    assert_eq!(task.unwrap().join(), Ended::Stopped);
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn every_release_is_run_or_handed_over_as_missed() {
    let seen = wakes(&quick(), 50, |cycle| {
        if cycle.wake.index == 7 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    assert!(seen.windows(2).all(|pair| pair[1].index == pair[0].index + 1 + pair[0].missed));
    assert!(seen.iter().all(|wake| wake.release.as_ns() % 1_000_000 == 0), "offset 0 is on the period's multiples");
    assert!(seen.iter().map(|wake| wake.missed).sum::<u64>() >= 3, "five milliseconds of sleep in the body");
}

#[test]
fn the_statistics_count_what_the_body_saw() {
    let body = |cycle: &mut Cycle<'_>| if cycle.wake.index >= 30 { Control::Stop } else { Control::Continue };
    let task = Task::spawn(&quick().named("counted"), body).unwrap();
    let stats = task.stats().clone();
    assert_eq!(task.join(), Ended::Stopped);
    let snapshot = stats.snapshot();
    assert_eq!(snapshot.name, "counted");
    assert_eq!(snapshot.execution.count(), snapshot.counters.activations, "each body was finished");
    assert!(snapshot.counters.activations > 0);
}

#[test]
fn a_steered_task_has_the_releases_that_steering_says() {
    let config = quick().steer_max(Nanos::from_us(5));
    let moved = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&moved);
    let seen = wakes(&config, 20, move |cycle| {
        let by = if cycle.wake.index % 2 == 0 { 9_000 } else { -3_000 };
        noted.lock().unwrap().push((cycle.steer(Delta::from_ns(by)), cycle.next_release()));
    });
    for (pair, (moved, next)) in seen.windows(2).zip(moved.lock().unwrap().iter()) {
        assert!(moved.length() <= Nanos::from_us(5));
        assert_eq!(pair[1].release, *next);
        let periods = MS * (1 + pair[0].missed);
        assert!(pair[0].missed > 0 || pair[1].release == pair[0].release + periods + *moved);
    }
}

#[test]
fn a_period_can_be_set_while_running_and_before() {
    let mut cyclic = Cyclic::new(&quick()).unwrap();
    cyclic.set_period(Nanos::from_us(700)).unwrap();
    let first = cyclic.wait().unwrap();
    assert_eq!(first.release.as_ns() % 700_000, 0, "the phase is that of the period in force");
    cyclic.set_period(Nanos::from_us(300)).unwrap();
    let (next, asked) = (cyclic.grid().release(), first.release + Nanos::from_us(700 * first.missed + 300));
    // The release is where it was requested, unless that instant has passed.
    assert!(next == asked || (next > asked && asked <= crate::now()), "{next:?} instead of {asked:?}");
    let second = cyclic.wait().unwrap();
    assert_eq!(second.index, first.index + 1 + first.missed);
}

#[test]
fn initialising_costs_no_release() {
    let mut cyclic = Cyclic::new(&quick()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(cyclic.wait().unwrap().index, 0);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(cyclic.resync() >= 19);
    assert!(cyclic.wait().unwrap().index >= 20);
}

#[test]
fn a_group_keeps_its_phases_on_one_epoch() {
    let firsts = Arc::new(Mutex::new(Vec::new()));
    let mut group = Group::new();
    for (n, offset_us) in [0, 250, 600].into_iter().enumerate() {
        let firsts = Arc::clone(&firsts);
        let config = quick().named(&format!("member{n}")).phase(Phase::Offset(Nanos::from_us(offset_us)));
        group
            .add(&config, move |cycle| {
                firsts.lock().unwrap().push((n, cycle.wake.release));
                Control::Stop
            })
            .unwrap();
    }
    for task in group.start() {
        assert_eq!(task.join(), Ended::Stopped);
    }
    let mut firsts = firsts.lock().unwrap().clone();
    firsts.sort_unstable();
    let from_first: Vec<u64> = firsts.iter().map(|(_, release)| (*release - firsts[0].1).as_ns()).collect();
    assert_eq!(from_first, [0, 250_000, 600_000]);
}

#[test]
fn a_group_that_is_given_up_and_a_task_that_is_dropped_leave_nothing_running() {
    let beats = Arc::new(AtomicU64::new(0));
    let beating = |beats: &Arc<AtomicU64>| {
        let beats = Arc::clone(beats);
        move |_: &mut Cycle<'_>| {
            beats.fetch_add(1, Relaxed);
            Control::Continue
        }
    };
    let mut group = Group::new();
    group.add(&quick(), beating(&beats)).unwrap();
    drop(group);
    assert_eq!(beats.load(Relaxed), 0);
    drop(Task::spawn(&quick(), beating(&beats)).unwrap());
    let ended_at = beats.load(Relaxed);
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(beats.load(Relaxed), ended_at);
    assert_eq!(Arc::strong_count(&beats), 1, "the bodies are gone");
}

#[test]
fn a_body_that_panics_ends_its_task_only() {
    let task = Task::spawn(&quick(), |_| panic!("on purpose")).unwrap();
    assert_eq!(task.join(), Ended::Panicked);
}

#[test]
fn a_task_that_must_not_miss_stops_when_it_does() {
    let task = Task::spawn(&quick().overrun(Overrun::Stop), |_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        Control::Continue
    });
    assert!(matches!(task.unwrap().join(), Ended::Overrun { missed: 1.. }));
}

#[test]
fn what_no_system_could_do_is_refused() {
    let refused = |config: &TaskConfig| Task::spawn(config, |_| Control::Stop).err();
    let external = |patience| Wait::External { event: Event::Readable(0), patience };
    let mut impossible = vec![
        (TaskConfig::periodic(Nanos::ZERO), ConfigError::Period),
        (TaskConfig::periodic(Nanos::from_ns(999)), ConfigError::Period),
        (quick().wait(external(Nanos::ZERO)), ConfigError::ZeroLength),
        (quick().wait(Wait::Hybrid(Margin::Fixed(MS))), ConfigError::Margin),
        (quick().steer_max(MS), ConfigError::SteerMax),
        (quick().flight_cycles(100), ConfigError::FlightCycles(100)),
        (quick().named(""), ConfigError::TaskName),
        (quick().named(&"x".repeat(99)), ConfigError::TaskName),
    ];
    for priority in [0, 96, 100] {
        impossible.push((quick().policy(Policy::Fifo(priority)), ConfigError::Priority(priority)));
        // Best effort does not make an impossible configuration valid.
        let best = quick().policy(Policy::RoundRobin(priority)).require(Require::BestEffort);
        impossible.push((best, ConfigError::Priority(priority)));
    }
    for (config, error) in impossible {
        assert_eq!(refused(&config), Some(error.into()), "{config:?}");
    }
    assert!(matches!(refused(&quick().cpus(&[8_000])), Some(Error::Setup(SetupError::Affinity { cpu: 8_000, .. }))));
    let mut cyclic = Cyclic::new(&quick()).unwrap();
    assert_eq!(cyclic.set_period(Nanos::ZERO), Err(Error::Config(ConfigError::Period)));
    assert_eq!(cyclic.grid().period(), MS);
    cyclic.set_period(Nanos::from_us(800)).unwrap();
    assert_eq!(cyclic.stats().snapshot().period, Nanos::from_us(800));
}

#[test]
fn before_the_first_wait_there_is_nothing_to_move() {
    let mut cyclic = Cyclic::new(&quick()).unwrap();
    assert_eq!((cyclic.steer(Delta::from_ns(5)), cyclic.resync()), (Delta::ZERO, 0));
    cyclic.shift_phase(Delta::from_ns(300_000));
    let first = cyclic.wait().unwrap();
    assert_eq!((first.index, first.release.as_ns() % 1_000_000), (0, 0));
}

#[test]
fn a_plug_that_was_pulled_makes_no_loop_spin() {
    use std::os::fd::AsRawFd;
    let mut child = std::process::Command::new("true").stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.wait().unwrap();
    let hung_up = child.stdout.unwrap();
    let closed = 987_654;
    for fd in [hung_up.as_raw_fd(), closed] {
        let wait = Wait::External { event: Event::Readable(fd), patience: Nanos::from_ms(20) };
        let mut cyclic = Cyclic::new(&quick().wait(wait)).unwrap();
        let began = crate::now();
        assert!((0..3).all(|_| cyclic.wait().unwrap().class == Class::TimedOut));
        assert!(crate::now() - began >= Nanos::from_ms(60));
    }
}

#[test]
fn silence_outside_is_one_outage() {
    let undisturbed = (0..100).find_map(|_| {
        let signal = Arc::new(Signal::new());
        let wait = Wait::External { event: Event::Signal(Arc::clone(&signal)), patience: Nanos::from_secs(5) };
        let mut cyclic = Cyclic::new(&quick().wait(wait)).unwrap();
        let mut kept_away = false;
        for pause_ms in [0, 2, 2, 300, 2] {
            let began = crate::now();
            std::thread::sleep(std::time::Duration::from_millis(pause_ms));
            signal.post();
            cyclic.wait().unwrap();
            kept_away |= crate::now() - began > Nanos::from_ms(pause_ms + 40);
        }
        cyclic.finish();
        // If the machine kept this thread from running, there were outages that the test did not cause. Then it
        // repeats.
        (!kept_away).then(|| cyclic.stats().counters().unwrap())
    });
    let counters = undisturbed.expect("a machine that lets a thread run for a third of a second");
    assert_eq!(counters.outages, 1);
    assert!(counters.lost_in_outages >= 290, "{counters:?}");
}

#[test]
fn best_effort_starts_and_lists_what_was_refused() {
    let task = Task::spawn(&quick().cpus(&[8_000]).require(Require::BestEffort), |_| Control::Stop).unwrap();
    let errors: Vec<Error> = task.refusals().iter().map(|refusal| refusal.error).collect();
    assert!(matches!(errors[..], [Error::Setup(SetupError::Affinity { cpu: 8_000, .. })]), "{errors:?}");
    assert!(task.grants().thread.cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()));
    task.join();
}

#[test]
fn the_phase_off_the_tick_is_found_and_kept() {
    let seen = wakes(&TaskConfig::periodic(MS), 5, |_| {});
    let phases: Vec<u64> = seen.iter().map(|wake| wake.release.as_ns() % 1_000_000).collect();
    assert!(phases.iter().all(|phase| *phase == phases[0]));
}

/// The activations of a task that loses five periods after some of its activations.
fn stalled(overrun: Overrun) -> Vec<Wake> {
    let mut runs = 0;
    let seen = wakes(&quick().overrun(overrun), 30, move |_| {
        runs += 1;
        if runs == 8 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    assert!(seen.windows(2).all(|pair| pair[1].index == pair[0].index + 1 + pair[0].missed));
    seen
}

#[test]
fn a_task_that_catches_up_runs_each_release_at_once() {
    let seen = stalled(Overrun::CatchUp { max: 10_000 });
    assert!(seen.iter().all(|wake| wake.missed == 0), "none is left out");
    assert!(seen.windows(2).all(|pair| pair[1].release == pair[0].release + MS));
    assert!(seen[8..12].iter().all(|wake| wake.class == Class::PastOnArrival), "four were owed: {seen:?}");
}

#[test]
fn a_task_that_anchors_anew_goes_on_a_period_after_it_came_back() {
    let seen = stalled(Overrun::Reanchor);
    assert!(seen.iter().any(|wake| wake.missed > 0));
    for pair in seen.windows(2) {
        let from = if pair[0].missed > 0 { pair[0].woke } else { pair[0].release };
        assert_eq!(pair[1].release, from + MS, "{pair:?}");
    }
}

#[test]
fn the_tolerance_decides_what_is_on_time() {
    let classes = |tolerance| {
        let config = quick().wait(Wait::Sleep).tolerance(tolerance);
        wakes(&config, 20, |_| {}).into_iter().map(|wake| wake.class).collect::<Vec<_>>()
    };
    let generous = classes(Nanos::from_secs(100));
    assert!(generous.iter().all(|class| matches!(class, Class::OnTime | Class::PastOnArrival)), "{generous:?}");
    let strict = classes(Nanos::ZERO);
    assert!(strict.iter().all(|class| matches!(class, Class::LateFromSleep | Class::PastOnArrival)), "{strict:?}");
}

#[test]
fn budget_and_deadline_reach_the_statistics_and_the_last_activation_is_counted() {
    let config = quick().wait(Wait::Sleep);
    let counted = |config: &TaskConfig| {
        let mut cyclic = Cyclic::new(config).unwrap();
        let stats = cyclic.stats().clone();
        for _ in 0..5 {
            cyclic.wait().unwrap();
            cyclic.finish();
        }
        let last = cyclic.wait().unwrap();
        drop(cyclic);
        assert_eq!(stats.counters().unwrap().last_woke, last.woke, "the one whose end was not told, too");
        stats.counters().unwrap()
    };
    let (none, all) = (Nanos::from_secs(100), Nanos::from_ns(1));
    let generous = counted(&config.clone().budget(none).deadline(none));
    assert_eq!((generous.activations, generous.over_budget, generous.deadline_misses), (6, 0, 0));
    let strict = counted(&config.budget(all).deadline(all));
    assert_eq!((strict.activations, strict.over_budget, strict.deadline_misses), (6, 6, 5));
}

#[test]
fn a_thread_that_the_kernel_ended_is_not_waited_for() {
    let spawned = |vanishes: bool| {
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            tell.send(crate::kernel::thread_id()).unwrap();
            if vanishes {
                crate::sys::vanish();
            }
            Ended::Stopped
        });
        (thread, told.recv().unwrap())
    };
    for vanishes in [true, false] {
        let (thread, tid) = spawned(vanishes);
        assert_eq!(has_vanished(&thread, tid), vanishes);
    }
}
