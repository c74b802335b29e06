//! Delays by threads: one that burns time at a real-time priority, under a known name.

use super::{Planting, Stop, jitter};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};

/// Burns `burst_ns` about every `every_ns`, until told to stop. Times of what it burnt are those of its own clock reads.
pub fn hog(planting: &Planting, policy: Policy, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    rename(&planting.name)?;
    let mut plants = Vec::with_capacity(1 << 16);
    let mut random = sys::now_ns() | 1;
    sys::make_real_time(policy)?;
    let mut next = sys::now_ns() + planting.every_ns;
    while !stop.asked() && plants.len() < plants.capacity() {
        sys::sleep_until(next);
        let start_ns = sys::now_ns();
        if start_ns < next {
            continue;
        }
        let end_ns = sys::burn_until(start_ns + planting.burst_ns);
        plants.push(planting.plant(&planting.name, start_ns, end_ns));
        next = end_ns + jitter(&mut random, planting.every_ns);
    }
    Ok(plants)
}

/// Names the calling thread.
pub fn rename(name: &str) -> Result<()> {
    let name = std::ffi::CString::new(name)?;
    rustix::thread::set_name(&name).context("name a thread")
}
