//! Tests how precisely the servo keeps the phase.

use super::*;

/// A servo of this bandwidth whose caller does not know the local time of the event, and passes the release instead.
fn without_latency(bandwidth_hz: f64) -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    let mut servo = servo(MS, bandwidth_hz);
    move |reference, _, release| servo.sample(reference, release, release)
}

fn with_latency(bandwidth_hz: f64) -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    let mut servo = servo(MS, bandwidth_hz);
    move |reference, local, release| servo.sample(reference, local, release)
}

#[test]
fn at_1_hz_with_latency_known_the_phase_is_within_half_a_microsecond() {
    for waking in [Waking::Sleep, Waking::Hybrid] {
        for seed in 0..4 {
            let mut world = World { noise: Noise::new(seed), ..usual(waking) };
            let o = run(&mut world, 60_000, with_latency(1.0));
            assert!(o.sd <= 0.15 && o.max <= 0.6, "{waking:?} {seed}: {o:?}");
            assert!(o.settled_s <= 1.0 && o.correction_max <= 5.0, "{waking:?} {seed}: {o:?}");
            assert!(o.mean.abs() < 2.0, "the path's delay, and no more: {o:?}");
        }
    }
}

#[test]
fn at_half_a_hertz_it_is_no_worse_than_what_was_found_before() {
    // The maximum is that of 60 000 draws, so it depends on the seeds: two generators gave 0.29 and 0.33 us.
    for (waking, sd, max) in [(Waking::Sleep, 0.22, 0.87), (Waking::Hybrid, 0.09, 0.35)] {
        for seed in 0..4 {
            let o = run(&mut World { noise: Noise::new(seed), ..usual(waking) }, 60_000, without_latency(0.5));
            assert!(o.sd <= sd && o.max <= max && o.settled_s <= 1.9, "{waking:?} {seed}: {o:?}");
            assert!(o.correction_max <= 5.0, "{waking:?} {seed}: {o:?}");
        }
    }
}
