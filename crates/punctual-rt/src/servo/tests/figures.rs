//! How well the phase is kept, beside other ways to steer. `--nocapture` prints the table.

use super::*;

/// Proportional 0.01, integral 2e-5 per cycle, every sample believed; the form SOEM's examples use.
fn proportional_integral() -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    let mut integral = 0.0;
    move |reference, _, _| {
        let error = fold(reference, MS);
        integral += 2e-5 * error;
        rounded(-(0.01 * error + integral))
    }
}

/// The whole error at once, as ethercrab's example does.
fn deadbeat() -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    |reference, _, _| rounded(-fold(reference, MS))
}

/// A nanosecond against the sign, as the `IgH` master's sample does, without its mean-drift part.
fn sign_step() -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    |reference, _, _| Delta::from_ns(if fold(reference, MS) > 0.0 { -1 } else { 1 })
}

/// By bandwidth, the local time of the event not known: taken for the release.
fn without_latency(bandwidth_hz: f64) -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    let mut servo = servo(MS, bandwidth_hz);
    move |reference, _, release| servo.sample(reference, release, release)
}

fn with_latency(bandwidth_hz: f64) -> impl FnMut(u64, MonoTime, MonoTime) -> Delta {
    let mut servo = servo(MS, bandwidth_hz);
    move |reference, local, release| servo.sample(reference, local, release)
}

/// One way to steer.
type Control = Box<dyn FnMut(u64, MonoTime, MonoTime) -> Delta>;
type Maker = fn() -> Control;

#[test]
fn figures_of_the_simulation() {
    let rows: [(&str, Maker); 6] = [
        ("PI 0.01 / 2e-5, unfiltered", || Box::new(proportional_integral())),
        ("deadbeat", || Box::new(deadbeat())),
        ("sign step", || Box::new(sign_step())),
        ("servo 0.5 Hz", || Box::new(without_latency(0.5))),
        ("servo 1 Hz", || Box::new(without_latency(1.0))),
        ("servo 1 Hz, latency known", || Box::new(with_latency(1.0))),
    ];
    println!("{:28} {:7} sd us  max us  settle s  correction sd ns  max us", "", "waking");
    for (name, control) in rows {
        for waking in [Waking::Sleep, Waking::Hybrid] {
            let o = run(&mut usual(waking), 60_000, control());
            let (sd, max, settled) = (o.sd, o.max, o.settled_s);
            let (steer_sd, steer_max) = (o.correction_sd_ns, o.correction_max);
            println!("{name:28} {waking:7?} {sd:5.2} {max:7.2} {settled:9.2} {steer_sd:17.1} {steer_max:7.2}");
            assert!(!name.starts_with("servo") || steer_max <= 5.0);
        }
    }
}

#[test]
fn at_1_hz_with_latency_known_the_phase_is_within_half_a_microsecond() {
    for waking in [Waking::Sleep, Waking::Hybrid] {
        for seed in 0..4 {
            let mut world = World { noise: Noise(seed), ..usual(waking) };
            let o = run(&mut world, 60_000, with_latency(1.0));
            assert!(o.sd <= 0.15 && o.max <= 0.6, "{waking:?} {seed}: {o:?}");
            assert!(o.settled_s <= 1.0, "{waking:?} {seed}: {o:?}");
            assert!(o.mean.abs() < 2.0, "the path's delay, and no more: {o:?}");
        }
    }
}

#[test]
fn at_half_a_hertz_it_is_no_worse_than_what_was_found_before() {
    for (waking, sd, max) in [(Waking::Sleep, 0.22, 0.87), (Waking::Hybrid, 0.09, 0.29)] {
        for seed in 0..4 {
            let o = run(&mut World { noise: Noise(seed), ..usual(waking) }, 60_000, without_latency(0.5));
            assert!(o.sd <= sd && o.max <= max && o.settled_s <= 1.9, "{waking:?} {seed}: {o:?}");
        }
    }
}
