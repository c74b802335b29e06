//! Properties that must hold with any noise.

use super::*;
use crate::ConfigError;
use proptest::prelude::*;

/// Lets the servo follow `world` for `cycles` cycles; returns the largest move.
fn follow(world: &mut World, servo: &mut PhaseServo, cycles: usize) -> u64 {
    let mut most = 0;
    for _ in 0..cycles {
        let (reference, local) = world.stamps();
        let steer = servo.sample(reference, local, world.release);
        most = most.max(steer.length().as_ns());
        world.advance(steer);
    }
    most
}

fn exact(period: Nanos, ppm: f64, off: Nanos) -> World {
    World::new(period, ppm, off, Waking::Exact)
}

fn locked_pair(ppm: f64) -> (World, PhaseServo) {
    let (mut world, mut servo) = (exact(MS, ppm, Nanos::from_us(400)), servo(MS, 1.0));
    follow(&mut world, &mut servo, 5_000);
    assert!(servo.locked());
    (world, servo)
}

#[test]
fn a_release_too_late_is_moved_earlier_and_one_too_early_later() {
    for (error, sign) in [(100, -1), (-100, 1)] {
        let mut servo = servo(MS, 1.0);
        let moves: Vec<i64> = (0..6).map(|_| servo.correct(Delta::from_ns(error * 1_000)).as_ns()).collect();
        assert!(moves[..4].iter().all(|m| *m == 0), "nothing is moved before five samples: {moves:?}");
        assert!(moves[4..].iter().all(|m| m.signum() == sign), "{error}: {moves:?}");
    }
}

#[test]
fn the_two_forms_agree() {
    let (mut by_stamps, mut by_error) = (exact(MS, 30.0, Nanos::from_us(400)), exact(MS, 30.0, Nanos::from_us(400)));
    let (mut stamps_servo, mut error_servo) = (servo(MS, 1.0), servo(MS, 1.0));
    follow(&mut by_stamps, &mut stamps_servo, 3_000);
    for _ in 0..3_000 {
        let steer = error_servo.correct(rounded(by_error.phase_ns()));
        by_error.advance(steer);
    }
    assert!((by_stamps.phase_ns() - by_error.phase_ns()).abs() < 3.0);
    assert!(by_error.phase_ns().abs() < 3.0 && error_servo.locked());
}

#[test]
fn how_late_the_thread_woke_does_not_matter() {
    let (mut calm, mut rough) = (exact(MS, 30.0, Nanos::from_us(400)), exact(MS, 30.0, Nanos::from_us(400)));
    rough.waking = Waking::Sleep;
    let (mut a, mut b) = (servo(MS, 1.0), servo(MS, 1.0));
    for _ in 0..3_000 {
        let (reference, local) = calm.stamps();
        calm.advance(a.sample(reference, local, calm.release));
        let (reference, local) = rough.stamps();
        rough.advance(b.sample(reference, local, rough.release));
        assert!((calm.phase_ns() - rough.phase_ns()).abs() < 30.0, "30 ppm of 900 us");
    }
}

#[test]
fn the_reference_s_speed_is_learned() {
    for ppm in [0.0, 30.0, 100.0, 500.0] {
        let (world, servo) = locked_pair(ppm);
        // The rate against the local clock, per period of the reference: ppm / (1 + ppm).
        assert!((servo.ppm() - ppm / (1.0 + ppm * 1e-6)).abs() < 0.05, "{ppm}: {}", servo.ppm());
        assert!(world.phase_ns().abs() < 5.0);
    }
}

#[test]
fn the_same_bandwidth_settles_in_the_same_time_at_every_period() {
    for period in [100, 125, 250, 500, 1_000, 2_000, 4_000, 10_000].map(Nanos::from_us) {
        let off = Nanos::from_ns(period.as_ns() * 2 / 5).min(Nanos::from_us(100));
        let cycles = usize::try_from(Nanos::from_secs(12).whole(period)).unwrap();
        let mut world = World { waking: Waking::Hybrid, noisy_path: true, ..exact(period, 30.0, off) };
        let mut servo = servo(period, 1.0);
        let o = run(&mut world, cycles, |reference, local, release| servo.sample(reference, local, release));
        println!("{period:?} {o:?} {:.3} ppm", servo.ppm());
        // With more samples per second, noise is averaged more.
        let per_second = (period.as_secs_f64() * 1e3).sqrt();
        assert!(o.sd <= 0.15 * per_second.max(0.4) && o.max <= 0.6 * per_second.max(0.4), "{period:?} {o:?}");
        assert!(o.settled_s <= 1.0, "{period:?} {o:?}");
        assert!(servo.locked() && (servo.ppm() - 30.0).abs() < 1.0 * per_second.max(1.0), "{}", servo.ppm());
    }
}

#[test]
fn beginning_half_a_period_off_it_goes_one_way_round() {
    for off in [499_990, 500_000, 500_010].map(Nanos::from_ns) {
        let mut world = World { noisy_path: true, ..exact(MS, 30.0, off) };
        let mut servo = servo(MS, 1.0);
        let (mut steered, mut travelled) = (0, 0);
        for _ in 0..3_000 {
            let (reference, local) = world.stamps();
            let steer = servo.sample(reference, local, world.release);
            (steered, travelled) = (steered + steer.as_ns(), travelled + steer.as_ns().abs());
            world.advance(steer);
        }
        assert!(servo.locked() && travelled < 750_000, "{off:?}: {travelled} for {steered}");
    }
}

#[test]
fn one_outlier_moves_the_phase_by_less_than_50_ns() {
    let (mut world, mut servo) = locked_pair(30.0);
    let before = world.phase_ns();
    let (reference, local) = world.stamps();
    let steer = servo.sample(reference + 900_000, local, world.release);
    world.advance(steer);
    let mut most: f64 = 0.0;
    for _ in 0..2_000 {
        follow(&mut world, &mut servo, 1);
        most = most.max((world.phase_ns() - before).abs());
    }
    assert!(most < 50.0, "{most} ns");
    assert!(servo.locked() && servo.rejected() == 1);
}

#[test]
fn a_second_without_samples_costs_little() {
    for waking in [Waking::Exact, Waking::Hybrid] {
        let mut world = World { noisy_path: true, ..World::new(MS, 30.0, Nanos::from_us(400), waking) };
        let mut servo = servo(MS, 1.0);
        follow(&mut world, &mut servo, 10_000);
        let before = world.phase_ns();
        (0..1_000).for_each(|_| world.advance(servo.coast()));
        assert!((world.phase_ns() - before).abs() < 1_000.0, "30 us without the learned drift: {}", world.phase_ns());
        assert!(servo.locked(), "a second is forgiven");
        let most = follow(&mut world, &mut servo, 2_000);
        assert!(most < 500 && (world.phase_ns() - before).abs() < 1_000.0, "came back gently: {most}");
        (0..4_500).for_each(|_| world.advance(servo.coast()));
        assert!(!servo.locked(), "after four seconds nobody knows");
    }
}

#[test]
fn missed_releases_do_not_disturb_it() {
    let (mut world, mut servo) = locked_pair(30.0);
    world.release += MS * 300;
    let drifted = world.phase_ns();
    assert!((drifted - 9_000.0).abs() < 10.0, "300 ms at 30 ppm");
    follow(&mut world, &mut servo, 2_000);
    assert!(world.phase_ns().abs() < 50.0 && servo.locked() && servo.rejected() == 0);
}

#[test]
fn a_new_target_is_walked_to_without_overshoot() {
    let (mut world, mut servo) = locked_pair(30.0);
    servo.set_target(Delta::from_ns(-250_000));
    assert_eq!(servo.error(), Delta::from_ns(250_000));
    assert!(!servo.locked(), "it is not there yet");
    let (mut least, mut most_step) = (f64::MAX, 0);
    for _ in 0..1_000 {
        most_step = most_step.max(follow(&mut world, &mut servo, 1));
        least = least.min(world.phase_ns());
    }
    assert!((world.phase_ns() + 250_000.0).abs() < 5.0 && least > -250_050.0, "{least}");
    assert!(most_step <= 5_000 && servo.locked() && (servo.ppm() - 30.0).abs() < 0.1);
}

#[test]
fn a_target_set_before_the_first_samples_moves_nothing_yet() {
    let (mut world, mut servo) = (exact(MS, 30.0, Nanos::from_us(100)), servo(MS, 1.0));
    servo.set_target(Delta::from_ns(300_000));
    assert_eq!((servo.coast(), servo.error()), (Delta::ZERO, Delta::ZERO));
    assert_eq!(follow(&mut world, &mut servo, 4), 0);
    follow(&mut world, &mut servo, 2_000);
    assert!((world.phase_ns() - 300_000.0).abs() < 5.0 && servo.locked(), "{}", world.phase_ns());
}

#[test]
fn a_new_target_across_the_half_period_takes_the_shorter_way() {
    let (mut world, mut servo) = locked_pair(0.0);
    servo.set_target(Delta::from_ns(450_000));
    follow(&mut world, &mut servo, 1_000);
    servo.set_target(Delta::from_ns(-450_000));
    assert_eq!(servo.error().as_ns().abs(), 100_000);
    follow(&mut world, &mut servo, 60);
    assert!((world.phase_ns() + 450_000.0).abs() < 50.0, "100 us at 3.75 us a cycle: {}", world.phase_ns());
}

#[test]
fn a_step_of_the_reference_is_followed() {
    let (mut world, mut servo) = locked_pair(30.0);
    world.began_off += 300_000;
    follow(&mut world, &mut servo, 1_000);
    assert!(world.phase_ns().abs() < 50.0 && servo.locked());
    assert_eq!(servo.rejected(), 16);
}

#[test]
fn a_drift_beyond_the_limit_does_not_wind_it_up() {
    // 8000 ppm are 8 us per cycle, of which 5 may be steered. The phase runs away, and must return when the drift ends.
    let mut world = exact(MS, 8_000.0, Nanos::ZERO);
    let mut config = ServoConfig::new(MS, 1.0);
    config.limits.frequency_ppm = 100_000.0;
    let mut servo = PhaseServo::new(config).unwrap();
    assert!(follow(&mut world, &mut servo, 3_000) <= 5_000);
    assert!(!servo.locked() && servo.ppm() <= 5_000.5, "{}", servo.ppm());
    // From now on the reference runs at the speed of the local clock, starting from its present reading.
    let now = world.reference_at(world.release);
    world.ppm = 0.0;
    world.began_off += now - world.reference_at(world.release);
    let mut overshoot: f64 = 0.0;
    let began = world.phase_ns();
    for _ in 0..6_000 {
        assert!(follow(&mut world, &mut servo, 1) <= 5_000);
        overshoot = overshoot.max(-world.phase_ns() * began.signum());
    }
    assert!(world.phase_ns().abs() < 100.0 && servo.locked(), "{}", world.phase_ns());
    assert!(overshoot < 100.0, "{overshoot}");
}

#[test]
fn a_saturated_controller_does_not_overshoot() {
    // The step limit is 200 ns; kp = 0.0126 times 20 us would be 250 ns.
    let mut config = ServoConfig::new(MS, 1.0);
    config.limits.step = Nanos::from_ns(200);
    let mut servo = PhaseServo::new(config).unwrap();
    let mut world = exact(MS, 30.0, Nanos::from_us(100));
    let mut least = f64::MAX;
    for _ in 0..4_000 {
        assert!(follow(&mut world, &mut servo, 1) <= 200);
        least = least.min(world.phase_ns());
    }
    assert!(least > -1_500.0 && world.phase_ns().abs() < 50.0, "{least} {}", world.phase_ns());
}

#[test]
fn noise_at_the_edge_of_the_lock_window_does_not_make_it_chatter() {
    for amplitude in [4_500, 5_500, 9_500, 10_500] {
        let (mut servo, mut changes, mut was) = (servo(MS, 0.5), 0, false);
        let mut noise = Noise::new(1);
        for n in 0..60_000 {
            // Errors that the servo cannot correct: half a second above and half a second below, with noise of 1 us.
            let sign = if n / 500 % 2 == 0 { 1 } else { -1 };
            let error = sign * amplitude + rounded(half_normal(&mut noise, 1_000.0)).as_ns();
            servo.correct(Delta::from_ns(error));
            changes += u32::from(servo.locked() != was);
            was = servo.locked();
        }
        assert!(changes <= 1, "{amplitude}: {changes} changes");
    }
}

#[test]
fn what_is_locked_stays_so_up_to_twice_the_window() {
    // The grid does not move here, so the error stays constant. It is approached slowly, because a sudden change is
    // taken as a step of the reference, after which the servo starts again.
    for (error, stays) in [(7_500, true), (-7_500, true), (9_300, true), (10_700, false), (-12_000, false)] {
        let mut servo = servo(MS, 1.0);
        (0..3_000).for_each(|_| assert_eq!(servo.correct(Delta::ZERO), Delta::ZERO));
        assert!(servo.locked());
        let still = (0..6_000).all(|n| {
            servo.correct(Delta::from_ns(error * n.min(3_000) / 3_000));
            servo.locked()
        });
        assert_eq!((still, servo.rejected()), (stays, 0), "held at {error} ns: {:?}", servo.error());
        assert!(!stays || servo.error().as_ns().abs_diff(error) < 500, "{:?} of {error}", servo.error());
    }
    let mut far = servo(MS, 1.0);
    for _ in 0..3_000 {
        far.correct(Delta::from_ns(7_500));
        assert!(!far.locked(), "but it does not become so beyond the window");
    }
}

#[test]
fn a_timer_that_steers_less_than_asked_shows_in_the_releases() {
    let (mut world, mut servo) = (exact(MS, 30.0, Nanos::from_us(400)), servo(MS, 1.0));
    for _ in 0..5_000 {
        let (reference, local) = world.stamps();
        let steer = servo.sample(reference, local, world.release).within(Nanos::from_us(1));
        world.advance(steer);
    }
    assert!(world.phase_ns().abs() < 20.0 && servo.locked(), "{}", world.phase_ns());
}

#[test]
fn a_new_period_keeps_the_frequency() {
    let (mut world, mut servo) = locked_pair(30.0);
    servo.set_period(Nanos::from_us(500)).unwrap();
    assert!(!servo.locked());
    world.period = Nanos::from_us(500);
    follow(&mut world, &mut servo, 3_000);
    assert!(servo.locked() && world.phase_ns().abs() < 5.0 && (servo.ppm() - 30.0).abs() < 0.1);
    let refusal = ServoRefusal::TooWide { most_millihertz: 16 };
    assert_eq!(servo.set_period(Nanos::from_secs(1)), Err(ConfigError::Servo(refusal).into()));
    assert!(servo.locked(), "a refused period changes nothing");
}

#[test]
fn what_cannot_work_is_refused_with_a_reason() {
    let good = ServoConfig::new(MS, 1.0);
    let limits = ServoLimits::USUAL;
    let with = |limits| ServoConfig { limits, ..good };
    let bad = [
        (ServoConfig { period: Nanos::ZERO, ..good }, ServoRefusal::Period),
        (ServoConfig { period: Nanos::MAX, ..good }, ServoRefusal::Period),
        (ServoConfig { bandwidth_hz: f64::NAN, ..good }, ServoRefusal::Bandwidth),
        (ServoConfig { bandwidth_hz: 0.0, ..good }, ServoRefusal::Bandwidth),
        (ServoConfig { bandwidth_hz: f64::INFINITY, ..good }, ServoRefusal::Bandwidth),
        (ServoConfig { bandwidth_hz: 16.0, ..good }, ServoRefusal::TooWide { most_millihertz: 15_915 }),
        (ServoConfig { damping: f64::NAN, ..good }, ServoRefusal::Damping),
        (ServoConfig { damping: 0.0, ..good }, ServoRefusal::Damping),
        (with(ServoLimits { step: Nanos::ZERO, ..limits }), ServoRefusal::Step),
        (with(ServoLimits { step: Nanos::from_us(501), ..limits }), ServoRefusal::Step),
        (with(ServoLimits { frequency_ppm: f64::NAN, ..limits }), ServoRefusal::Frequency),
        (with(ServoLimits { lock: Nanos::ZERO, ..limits }), ServoRefusal::Lock),
    ];
    for (config, refusal) in bad {
        assert_eq!(PhaseServo::new(config).err(), Some(ConfigError::Servo(refusal).into()), "{config:?}");
        assert!(ConfigError::Servo(refusal).to_string().len() > 20);
    }
    assert!(PhaseServo::new(good).is_ok());
}

proptest! {
    #[test]
    fn whatever_is_stable_by_the_rule_is_stable(
        period_us in 50u64..20_000, part in 0.02f64..1.0, damping in 0.3f64..3.0, ppm in 0.0f64..200.0,
    ) {
        let period = Nanos::from_us(period_us);
        let most = ServoConfig::new(period, 1.0).widest_hz();
        let mut config = ServoConfig { damping, ..ServoConfig::new(period, most * part) };
        config.limits.frequency_ppm = 1_000.0;
        let mut servo = PhaseServo::new(config).unwrap();
        let mut world = exact(period, ppm, Nanos::from_us(20));
        let settle = usize::try_from(rounded(60.0 * damping.max(1.0) / (part * 0.1)).as_ns()).unwrap();
        follow(&mut world, &mut servo, settle.max(500));
        prop_assert!(world.phase_ns().abs() < 20.0, "{} {config:?}", world.phase_ns());
    }

    #[test]
    fn no_input_makes_a_step_beyond_the_limit_or_a_value_that_is_no_number(
        period in 1u64..10_000_000, step in 1u64..10_000, inputs in prop::collection::vec(
            (0u8..6, any::<u64>(), any::<u64>(), any::<u64>(), any::<i64>()), 1..300),
    ) {
        let mut config = ServoConfig::new(Nanos::from_ns(period.max(step * 2)), 1e-3);
        config.limits.step = Nanos::from_ns(step);
        let mut servo = PhaseServo::new(config).unwrap();
        for (what, reference, local, release, other) in inputs {
            let (local, release) = (MonoTime::from_ns(local), MonoTime::from_ns(release));
            let steer = match what {
                0 => { servo.set_target(Delta::from_ns(other)); Delta::ZERO }
                1 => servo.coast(),
                2 => servo.correct(Delta::from_ns(other)),
                3 => { let _refused = servo.set_period(Nanos::from_ns(reference % 20_000_000)); Delta::ZERO }
                _ => servo.sample(reference, local, release),
            };
            prop_assert!(steer.length() <= config.limits.step);
            prop_assert!(servo.ppm().is_finite() && servo.ppm().abs() <= 1_000.0);
            prop_assert!(servo.error().length() * 2 <= servo.config.period);
            prop_assert!(servo.walk.is_finite() && servo.error.is_finite());
        }
    }
}
