//! Delays by the kernel's server for ordinary threads. A thread of the lowest real-time priority keeps an ordinary
//! thread from running, until the kernel runs the ordinary thread before every real-time thread.
//!
//! Kernels since 6.12 have this server instead of throttling. Here it is configured to act more often than by default,
//! and its configuration is restored at the end.

use super::throttle::{NAP_NS, gaps};
use super::{Planting, Stop};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};
use std::hint;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The server's configuration while delays are planted: it runs for `RUNTIME_NS` in each `PERIOD_NS`. The two values
/// are in two files, and after each write the runtime must not be longer than the period.
const RUNTIME_NS: u64 = 1_500_000;
const PERIOD_NS: u64 = 10_000_000;
/// The real-time thread runs nearly all the time. Otherwise the ordinary thread would get the CPU without the server.
const BURST_NS: u64 = 20_000_000;
/// Interval in which the real-time thread gives up its turn in an emulator that runs its CPUs in turn. Otherwise this
/// thread would have nearly all of the time, and the measuring program on another CPU would not get its turns.
const TURN_NS: u64 = 20_000;
/// Length of a gap that the server causes. The server runs for its runtime and until the next tick, and ticks may be 4
/// ms apart. A longer gap contains a turn of another CPU.
const SERVED_NS: RangeInclusive<u64> = RUNTIME_NS..=4_300_000;

/// The folder with the configuration of a CPU's server; `None` if this kernel has no server.
pub fn server(cpu: u32) -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}"));
    folder.join("runtime").exists().then_some(folder)
}

/// Makes the server act again and again. A plant is a gap in the running time of the real-time thread.
pub fn run(planting: &Planting, folder: PathBuf, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    let _server = Server::hasten(folder)?;
    let until = stop.clone();
    let name = planting.name.clone();
    // The thread is started before this thread becomes real-time, so that it is an ordinary one.
    std::thread::Builder::new().name(name).spawn(move || want_the_cpu(&until)).context("start a thread")?;
    sys::make_real_time(Policy::Fifo(1))?;
    let mut noted = gaps(BURST_NS, BURST_NS + NAP_NS, Some(TURN_NS), stop);
    noted.retain(|noted| SERVED_NS.contains(&(noted.end_ns - noted.start_ns)));
    Ok(planting.plants(&planting.name, &noted))
}

/// Keeps the CPU busy. The spin hint tells an emulator that runs its CPUs in turn to end the turn.
fn want_the_cpu(stop: &Stop) {
    while !stop.asked() {
        for step in 0..1000 {
            hint::black_box(step);
        }
        hint::spin_loop();
    }
}

/// The original configuration of the server, which is restored when this value is dropped.
struct Server {
    folder: PathBuf,
    runtime_ns: u64,
    period_ns: u64,
}

impl Server {
    fn hasten(folder: PathBuf) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
        };
        let number =
            |name: &str| -> Result<u64> { read(name)?.trim().parse().with_context(|| format!("understand {name}")) };
        let before = Self { runtime_ns: number("runtime")?, period_ns: number("period")?, folder };
        let (all, tenth) = (before.runtime_ns, before.runtime_ns / 10);
        before.write([("period", all), ("runtime", tenth), ("period", PERIOD_NS), ("runtime", RUNTIME_NS)])?;
        Ok(before)
    }

    /// Writes values one after the other. Their order must keep the share of time at or above the original one: a
    /// kernel whose count of shares is wrong since a CPU came online would refuse less.
    fn write(&self, steps: [(&str, u64); 4]) -> Result<()> {
        steps.into_iter().try_for_each(|(name, value)| {
            let path = self.folder.join(name);
            std::fs::write(&path, value.to_string()).with_context(|| format!("write {value} to {}", path.display()))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let (all, tenth) = (self.runtime_ns, self.runtime_ns / 10);
        let back = self.write([("runtime", tenth), ("period", all), ("runtime", all), ("period", self.period_ns)]);
        if let Err(error) = back {
            eprintln!("causes: {error:#}; it was {} of {} ns", self.runtime_ns, self.period_ns);
        }
    }
}
