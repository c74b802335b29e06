//! Keeps turns short in an emulator that runs its CPUs in turn and whose time is counted in instructions.
//!
//! In such an emulator, a CPU keeps its turn until its next timer is due or until it gives the spin hint. While no CPU
//! has work, time is the host's. Here one thread spins on a CPU and gives the spin hint every few microseconds, so that
//! time is always counted in instructions; it takes next to nothing from the other CPUs. Another thread always has a
//! timer that is due soon, so that everything else on this CPU has short turns too. This module must not know what is
//! measured at the same time.

use crate::plant::fair;
use crate::sys::{self, Policy};
use anyhow::{Context, Result};
use std::hint;

const TURN_NS: u64 = 100_000;
/// Steps between two spin hints, which take a few microseconds.
const STEPS: u32 = 400;

/// Keeps turns short on a CPU for `seconds`. With `first`, it also takes precedence over ordinary threads on this CPU,
/// on kernels that do not throttle real-time threads.
pub fn keep_short(cpu: u32, seconds: u64, first: bool) -> Result<()> {
    sys::bound(seconds)?;
    sys::pin(cpu)?;
    let until_ns = sys::now_ns() + seconds * 1_000_000_000;
    let first = first && fair::server(cpu).is_some();
    std::thread::Builder::new().spawn(move || wake_often(until_ns, first)).context("start a thread")?;
    rustix::process::nice(19).context("rank below whatever else works there")?;
    while sys::now_ns() < until_ns {
        for step in 0..STEPS {
            hint::black_box(step);
        }
        hint::spin_loop();
    }
    Ok(())
}

/// Wakes up often, and uses a tenth of the CPU. A real-time thread runs at once unless it is throttled; an ordinary one
/// may have to wait until another thread has had its share.
fn wake_often(until_ns: u64, first: bool) {
    let ranked = if first {
        sys::make_real_time(Policy::Fifo(1))
    } else {
        rustix::process::nice(-20).map(drop).context("rank before other threads")
    };
    if let Err(error) = ranked {
        eprintln!("causes: {error:#}");
        return;
    }
    while sys::now_ns() < until_ns {
        sys::sleep_until(sys::now_ns() + TURN_NS);
    }
}
