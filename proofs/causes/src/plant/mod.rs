//! Plants one kind of delay on one CPU for a limited time, and returns the truth about it.
//!
//! Planting ends in any case: after its time, at a signal, when the parent ends, or else by an alarm. This module must
//! not know how the delays are explained.

pub mod burn;
pub mod fair;
mod fault;
mod net;
pub mod pong;
mod stimulus;
mod storm;
mod symbols;
mod thread;
mod throttle;

use crate::kind::Kind;
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result, bail, ensure};
use burn::{Burn, Burner};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stimulus::Stimulus;

/// What to plant, where and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planting {
    pub kind: Kind,
    pub cpu: u32,
    /// Length of the whole planting, in seconds.
    pub seconds: u64,
    /// Length of each delay, in nanoseconds.
    pub burst_ns: u64,
    /// Mean time from one delay to the next, in nanoseconds.
    pub every_ns: u64,
    /// Priority of real-time threads.
    pub priority: u8,
    /// Name of the threads that explanations have to name.
    pub name: String,
    /// Id of the process whose pages are taken away.
    pub victim: Option<u32>,
}

impl Planting {
    /// Refuses what could make the machine unusable: delays must be short and leave more than half of the CPU.
    pub fn check(&self) -> Result<()> {
        ensure!(self.burst_ns <= 2_000_000, "bursts are 2 ms at most");
        ensure!(self.burst_ns * 10 <= self.every_ns * 4, "bursts may take 40 % of a CPU at most");
        ensure!((1..=95).contains(&self.priority), "priorities are 1 to 95");
        ensure!((1..=15).contains(&self.name.len()), "names of threads have 1 to 15 bytes");
        ensure!((1..=600).contains(&self.seconds), "between 1 and 600 seconds");
        Ok(())
    }

    /// Converts the noted times to plants with this name.
    fn plants(&self, name: &str, noted: &[Noted]) -> Vec<Plant> {
        let kind = self.kind.name();
        let plant = |noted: &Noted| Plant {
            kind: kind.clone(),
            name: name.to_owned(),
            start_ns: noted.start_ns,
            end_ns: noted.end_ns,
            gaps_ns: noted.gaps_ns,
        };
        noted.iter().map(plant).collect()
    }
}

/// The times of a delay, as noted by the planting thread. Anything that takes longer than noting them would be a delay
/// of its own.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the unit is the last word of a name")]
struct Noted {
    start_ns: u64,
    end_ns: u64,
    gaps_ns: u64,
}

/// Memory for all notes of a run, allocated before it begins.
fn notes() -> Vec<Noted> {
    Vec::with_capacity(1 << 16)
}

/// When planting ends: at a certain time, or when a signal requests it.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    at_ns: u64,
}

impl Stop {
    fn after(seconds: u64) -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&asked)).context("watch for signals")?;
        }
        Ok(Self { asked, at_ns: sys::now_ns() + seconds * 1_000_000_000 })
    }

    /// Whether planting has to end.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || sys::now_ns() >= self.at_ns
    }

    fn wait(&self) {
        while !self.asked() {
            sys::sleep_until(sys::now_ns() + 10_000_000);
        }
    }
}

/// Plants until the time is up or a signal comes, and returns the truth.
pub fn run(planting: &Planting) -> Result<Vec<Plant>> {
    planting.check()?;
    sys::bound(planting.seconds)?;
    sys::lock_memory();
    let stop = Stop::after(planting.seconds)?;
    match planting.kind {
        Kind::Hog => thread::hog(planting, Policy::Fifo(planting.priority), &stop),
        Kind::Rr => thread::hog(planting, Policy::RoundRobin(planting.priority), &stop),
        Kind::Storm => storm::run(planting, &stop),
        Kind::Flood => net::flood(planting, &stop),
        Kind::Throttle => match fair::server(planting.cpu) {
            Some(server) => fair::run(planting, server, &stop),
            None => throttle::run(planting, &stop),
        },
        Kind::Fault => fault::run(planting, &stop),
        _ => burn(planting, &stop),
    }
}

/// The tracepoints at which a kind burns time, and the stimulus that makes the kernel pass them.
fn places(kind: Kind) -> Result<(&'static [&'static str], Stimulus)> {
    Ok(match kind {
        Kind::Irq => (&["hrtimer_expire_entry"], Stimulus::None),
        Kind::Softirq => (&["timer_expire_entry"], Stimulus::Timeouts),
        Kind::Rx => (&["netif_receive_skb"], Stimulus::Packets),
        Kind::Block => (&["block_rq_complete"], Stimulus::Reads),
        Kind::Disk => (&["softirq_raise"], Stimulus::Reads),
        // Every kernel queues work with interrupts off, and nothing that interrupts this thread queues work.
        Kind::Irqoff => (&["workqueue_queue_work"], Stimulus::Drops),
        Kind::Preemptoff => (&["sys_enter"], Stimulus::Calls),
        Kind::Switch => (&["sched_switch"], Stimulus::None),
        Kind::Kworker => (&["workqueue_execute_start"], Stimulus::Works),
        Kind::Stopper => (&["sched_migrate_task"], Stimulus::Moves),
        // The kernel passes one or the other, depending on how many CPUs it calls.
        Kind::Ipi => (&["call_function_single_entry", "call_function_entry"], Stimulus::Keys),
        other => bail!("{} needs no program in the kernel", other.name()),
    })
}

/// Number of the softirq of block devices.
const BLOCK_SOFTIRQ: u32 = 4;
/// Offset of the function's address in a `timer_list` and in a `work_struct` (`TIMER_FUNCTION`), and in a `hrtimer`
/// (`HRTIMER_FUNCTION`).
const TIMER_FUNCTION: u8 = 24;
const HRTIMER_FUNCTION: u8 = 40;

fn burn(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    let (tracepoints, stimulus) = places(planting.kind)?;
    let running = stimulus.start(planting, stop)?;
    let wanted = Burn {
        cpu: planting.cpu,
        burst_ns: u32::try_from(planting.burst_ns)?,
        every_ns: u32::try_from(planting.every_ns)?,
        tid: running.tid,
        argument: (planting.kind == Kind::Disk).then_some(BLOCK_SOFTIRQ),
        function_at: match planting.kind {
            Kind::Irq => Some(HRTIMER_FUNCTION),
            Kind::Softirq | Kind::Kworker => Some(TIMER_FUNCTION),
            _ => None,
        },
    };
    let burner = Burner::start(tracepoints, wanted)?;
    stop.wait();
    let burnt = burner.burnt()?;
    drop(burner);
    running.end()?;
    let symbols = symbols::Symbols::read();
    let name = |burnt: &burn::Burnt| match planting.kind {
        Kind::Irq | Kind::Softirq | Kind::Kworker => symbols.name(burnt.function).to_owned(),
        Kind::Rx => "NET_RX".to_owned(),
        Kind::Block => "BLOCK".to_owned(),
        Kind::Disk => stimulus::disk_line().unwrap_or_default(),
        Kind::Ipi => "-".to_owned(),
        _ => burnt.comm.clone(),
    };
    let noted = |b: &burn::Burnt| Noted { start_ns: b.start_ns, end_ns: b.end_ns, gaps_ns: b.gaps_ns };
    Ok(burnt.iter().flat_map(|burnt| planting.plants(&name(burnt), &[noted(burnt)])).collect())
}

/// Another CPU than this one.
fn another(cpu: u32) -> u32 {
    u32::from(cpu == 0)
}

/// A random time between half of `mean` and one and a half times `mean`, so that delays do not keep step with anything
/// periodic.
fn jitter(random: &mut u64, mean: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    mean / 2 + *random % mean.max(1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn another_cpu_is_another_one() {
        assert_eq!([0, 1, 7].map(super::another), [1, 0, 0]);
    }
}
