//! A loop that follows the clock of a PTP device with the servo of `punctual-rt`, while this program changes that clock.
//!
//! This module must not judge: it prints how far the releases were from the whole periods of the device's clock.

use crate::sys::Device;
use anyhow::{Context, Result};
use punctual_rt::servo::{PhaseServo, ServoConfig};
use punctual_rt::{Control, Memory, MonoTime, Nanos, Policy, Require, Task, TaskConfig, now, spsc};
use std::path::Path;

const PERIOD: Nanos = Nanos::from_ms(1);
const PERIOD_NS: i64 = 1_000_000;
const BANDWIDTH_HZ: f64 = 1.0;
/// Cycles at the end of a leg whose errors are summed up: two seconds.
const LAST: usize = 2_000;
/// The phase counts as followed from when on no error of the leg is larger than this.
const FOLLOWED_NS: i64 = 5_000;

/// What is done with the clock of the device at the beginning of a leg.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    /// By how much faster it runs than its crystal, in ppm.
    Frequency(i32),
    Step(Nanos),
}

struct Leg {
    name: &'static str,
    change: Change,
    is_steered: bool,
    cycles: usize,
}

/// The last leg shows what the errors are without steering.
const LEGS: [Leg; 4] = [
    Leg { name: "begin", change: Change::Nothing, is_steered: true, cycles: 10_000 },
    Leg { name: "frequency", change: Change::Frequency(50), is_steered: true, cycles: 10_000 },
    Leg { name: "step", change: Change::Step(Nanos::from_us(300)), is_steered: true, cycles: 10_000 },
    Leg { name: "free", change: Change::Nothing, is_steered: false, cycles: 3_000 },
];

/// One cycle: its leg, the distance of its release from the nearest whole period of the device's clock, and what the
/// servo had learned.
struct Followed {
    leg: usize,
    phase_ns: i64,
    learned_ppb: i64,
    is_locked: bool,
}

/// Runs all legs and prints a line for each.
pub fn run(path: &Path) -> Result<()> {
    let device = Device::open(path)?;
    let mut servo = PhaseServo::new(ServoConfig::new(PERIOD, BANDWIDTH_HZ)).context("make a servo")?;
    let config = TaskConfig::periodic(PERIOD)
        .named("follow")
        .policy(Policy::Fifo(85))
        .memory(Memory::Lock { stack_bytes: 128 * 1024, heap_bytes: 0 })
        .require(Require::BestEffort);
    let (mut tell, mut told) = spsc(1 << 16);
    let (mut leg, mut cycles, mut failed) = (0, 0, false);
    let task = Task::spawn(&config, move |cycle| {
        let Some(now_in) = LEGS.get(leg) else { return Control::Stop };
        if cycles == 0 {
            failed |= change(&device, now_in.change).is_err();
        }
        let reading = read(&device);
        let release = cycle.wake.release;
        if let Some((reference, local)) = reading {
            let by = servo.sample(reference, local, release);
            if now_in.is_steered {
                cycle.steer(by);
            }
            let phase_ns = folded(reference, release.signed_since(local).as_ns());
            #[allow(clippy::cast_possible_truncation, reason = "a few hundred thousand at most")]
            let learned_ppb = (servo.ppm() * 1e3) as i64;
            // A full queue refuses the record; the number of cycles in the table tells.
            let _ = tell.push(Followed { leg, phase_ns, learned_ppb, is_locked: servo.locked() });
        }
        cycles += 1;
        if cycles == now_in.cycles {
            (leg, cycles) = (leg + 1, 0);
        }
        if failed || reading.is_none() { Control::Stop } else { Control::Continue }
    })
    .context("start a loop")?;
    while !told.is_abandoned() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    task.join();
    let all: Vec<Followed> = std::iter::from_fn(|| told.pop()).collect();
    println!("leg cycles begins_ns settles_ms worst_ns mean_ns learned_ppb locked");
    for (place, leg) in LEGS.iter().enumerate() {
        let of_leg: Vec<&Followed> = all.iter().filter(|one| one.leg == place).collect();
        println!("{} {}", leg.name, summed(&of_leg));
    }
    Ok(())
}

/// Readings of one cycle, of which the quickest counts: an interrupt in the middle of one would be taken for a phase error.
const READINGS: usize = 3;

/// What the device showed, and the local time then. It is read between two readings of the local clock, and is taken to
/// have been read half-way.
fn read(device: &Device) -> Option<(u64, MonoTime)> {
    let mut quickest: Option<(Nanos, u64, MonoTime)> = None;
    for _ in 0..READINGS {
        let before = now();
        let shown = device.read()?;
        let took = now().since(before);
        if quickest.is_none_or(|(least, ..)| took < least) {
            quickest = Some((took, shown, before + Nanos::from_ns(took.as_ns() / 2)));
        }
    }
    quickest.map(|(_, shown, local)| (shown, local))
}

fn change(device: &Device, change: Change) -> Result<()> {
    match change {
        Change::Nothing => Ok(()),
        Change::Frequency(ppm) => device.run_faster(ppm),
        Change::Step(by) => device.step(by.as_ns()),
    }
}

/// The distance of an instant from the nearest whole period: of a reading of the clock, moved by `offset_ns`.
fn folded(reading_ns: u64, offset_ns: i64) -> i64 {
    let into = i64::try_from(reading_ns % PERIOD.as_ns()).unwrap_or(0);
    let phase = (into + offset_ns).rem_euclid(PERIOD_NS);
    if phase > PERIOD_NS / 2 { phase - PERIOD_NS } else { phase }
}

/// Number of cycles, the first error, the time until all errors stay small, the largest and the mean error of the last
/// two seconds, and what the servo knew at the end.
fn summed(leg: &[&Followed]) -> String {
    let Some((first, end)) = leg.first().zip(leg.last()) else { return "0".to_owned() };
    let settles = leg.iter().rposition(|one| one.phase_ns.abs() > FOLLOWED_NS).map_or(0, |place| place + 1);
    let last = &leg[leg.len().saturating_sub(LAST)..];
    let worst = last.iter().map(|one| one.phase_ns.abs()).max().unwrap_or(0);
    let mean = last.iter().map(|one| one.phase_ns).sum::<i64>() / i64::try_from(last.len()).unwrap_or(1);
    let (cycles, begins, ppb, locked) = (leg.len(), first.phase_ns, end.learned_ppb, end.is_locked);
    format!("{cycles} {begins} {settles} {worst} {mean} {ppb} {locked}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_the_distance_from_the_nearest_whole_period() {
        assert_eq!(folded(5_000_300, 0), 300);
        assert_eq!(folded(5_000_300, -500), -200);
        assert_eq!(folded(4_999_900, 0), -100);
        assert_eq!(folded(5_500_001, 0), -499_999);
    }

    #[test]
    fn a_leg_is_summed_up_by_its_end() {
        let one = |phase_ns| Followed { leg: 0, phase_ns, learned_ppb: 20_000, is_locked: true };
        let all: Vec<Followed> =
            std::iter::repeat_n(300_000, 700).chain(std::iter::repeat_n(-1_000, 2_000)).map(one).collect();
        let leg: Vec<&Followed> = all.iter().collect();
        assert_eq!(summed(&leg), "2700 300000 700 1000 -1000 20000 true");
        assert_eq!(summed(&[]), "0");
    }
}
