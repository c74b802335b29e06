//! Short turns in an emulator that runs its CPUs in turns, and whose time is counted in instructions.
//!
//! There a CPU keeps its turn until the next timer is due, or until it says that it spins; and while none has anything to
//! do, time is the host's. One thread spins on a CPU and says so every few microseconds: time stays counted, and takes
//! next to nothing from the others. Another has a timer due soon at any time, so that whatever else works on this CPU has
//! short turns too. It must not know what is measured beside it.

use crate::plant::fair;
use crate::sys::{self, Policy};
use anyhow::{Context, Result};
use std::hint;

const TURN_NS: u64 = 100_000;
/// Between two looks at the clock, and one time that it says that it spins: a few microseconds.
const STEPS: u32 = 400;

/// Keeps turns short on a CPU for `seconds`. With `first` it also goes before ordinary threads that are at work there, on
/// kernels that do not throttle real-time ones.
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

/// It takes a tenth of the CPU. A real-time thread is served at once where it is not throttled; an ordinary one may have to
/// wait until another has had its share.
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
