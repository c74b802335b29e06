//! A loop like that of an `EtherCAT` master: its releases follow the clock of the bus, which runs faster than the local
//! one.
//!
//!     cargo run --release -p punctual-rt --example ethercat_shaped [SECONDS]
//!
//! The bus is simulated. Its clock is 400 us ahead and 30 ppm fast, wanders by another 4 ppm, and is read with noise
//! and outliers; some frames are lost. Each second, the program prints how far the releases were from the whole
//! milliseconds of the bus clock. A drive on the bus would see this error in addition to the latency of the thread.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use punctual_rt::servo::{PhaseServo, ServoConfig};
use punctual_rt::stats::Report;
use punctual_rt::{Control, Memory, MonoTime, Nanos, Policy, Receiver, Require, Task, TaskConfig, now, spsc};
use std::error::Error;
use std::time::Duration;

const PERIOD: Nanos = Nanos::from_ms(1);
const PERIOD_NS: i64 = 1_000_000;
/// Bandwidth of the servo: the larger, the faster it follows the bus clock.
const BANDWIDTH_HZ: f64 = 1.0;

/// What the loop reports about one cycle.
struct CycleReport {
    /// Distance of the release from the nearest whole millisecond of the bus clock.
    phase_ns: i32,
    /// How much faster the bus clock runs than the local one, as learned by the servo.
    ppm: f64,
    locked: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(1), |word| word.parse())?;
    let config = TaskConfig::periodic(PERIOD)
        .named("bus")
        .policy(Policy::Fifo(85))
        .memory(Memory::Lock { stack_bytes: 128 * 1024, heap_bytes: 0 })
        .require(Require::BestEffort);
    let mut bus = Bus::new(now());
    let mut servo = PhaseServo::new(ServoConfig::new(PERIOD, BANDWIDTH_HZ))?;
    let (mut tell, told) = spsc(4_096);
    let mut left = seconds.saturating_mul(1_000);
    let task = Task::spawn(&config, move |cycle| {
        let received = bus.exchange();
        let by = match received {
            Some((bus_time, local)) => servo.sample(bus_time, local, cycle.wake.release),
            None => servo.coast(),
        };
        cycle.steer(by);
        // Here a real master computes the contents of the next frame.
        let phase_ns = bus.phase_at(cycle.wake.release);
        // A full queue refuses the record and counts it.
        let _ = tell.push(CycleReport { phase_ns, ppm: servo.ppm(), locked: servo.locked() });
        left = left.saturating_sub(cycle.wake.missed.saturating_add(1));
        if left == 0 { Control::Stop } else { Control::Continue }
    })?;
    for refused in task.refusals() {
        println!("refused: {refused}");
    }
    let last = tell_each_second(told);
    println!("last second: {last}");
    let stats = task.stats().clone();
    task.join();
    print!("{}", Report::new(&stats.snapshot()));
    Ok(())
}

/// Prints a line for each second until the loop has ended, and returns the last line.
fn tell_each_second(mut told: Receiver<CycleReport>) -> String {
    let (mut second, mut phases, mut line) = (1, Vec::new(), String::new());
    loop {
        let ended = told.is_abandoned();
        while let Some(CycleReport { phase_ns, ppm, locked }) = told.pop() {
            phases.push(phase_ns);
            if phases.len() == 1_000 {
                line = summary(&phases, ppm, locked);
                println!("second {second}: {line}");
                (second, phases) = (second + 1, Vec::new());
            }
            // The loop may end within a second, if releases were missed.
            if ended && told.is_empty() && phases.len() > 100 {
                line = summary(&phases, ppm, locked);
            }
        }
        if ended {
            return line;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn summary(phases: &[i32], ppm: f64, locked: bool) -> String {
    let count = f64::from(u32::try_from(phases.len()).unwrap_or(u32::MAX));
    let mean = phases.iter().map(|ns| f64::from(*ns)).sum::<f64>() / count;
    let variance = phases.iter().map(|ns| (f64::from(*ns) - mean).powi(2)).sum::<f64>() / count;
    let most = phases.iter().map(|ns| ns.unsigned_abs()).max().unwrap_or(0);
    let locked = if locked { "locked" } else { "not locked" };
    let (sd, most) = (variance.sqrt() / 1e3, f64::from(most) / 1e3);
    format!("phase error mean {:.3} us, sd {sd:.3} us, max {most:.3} us; {ppm:+.2} ppm, {locked}", mean / 1e3)
}

/// A simulated bus with the clock of its first station.
struct Bus {
    began: MonoTime,
    noise: u64,
}

impl Bus {
    fn new(began: MonoTime) -> Self {
        Self { began, noise: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Sends a frame and receives it back. Returns the reading of the bus clock, and the local time at which the frame
    /// passed it; `None` for a lost frame.
    fn exchange(&mut self) -> Option<(u64, MonoTime)> {
        let local = now();
        let (lost, outlier) = (self.below(100) == 0, self.below(2_000) == 0);
        // The frame takes a varying time to read the clock.
        let path = self.below(2_000) + self.below(2_000) + if outlier { 20_000 + self.below(60_000) } else { 0 };
        (!lost).then(|| (self.clock_at(local).saturating_add_signed(path - 2_000), local))
    }

    /// Reading of the bus clock at a local instant.
    fn clock_at(&self, at: MonoTime) -> u64 {
        let passed = at.signed_since(self.began).as_ns();
        let into = passed.rem_euclid(10_000_000_000);
        let wander = into.min(10_000_000_000 - into) * 4 / 1_000_000;
        (at.as_ns() + 400_000).saturating_add_signed(passed * 30 / 1_000_000 + wander)
    }

    fn phase_at(&self, at: MonoTime) -> i32 {
        let phase = i64::try_from(self.clock_at(at) % PERIOD.as_ns()).unwrap_or(0);
        let folded = if phase > PERIOD_NS / 2 { phase - PERIOD_NS } else { phase };
        i32::try_from(folded).unwrap_or(0)
    }

    /// A pseudo-random number below `limit`.
    fn below(&mut self, limit: i64) -> i64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        i64::try_from(self.noise >> 33).unwrap_or(0) % limit
    }
}
