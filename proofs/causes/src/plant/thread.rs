//! Delays by a thread that burns time at a real-time priority, under a known name.

use super::{Noted, Planting, Stop, jitter, notes};
use crate::sys::{self, Policy};
use crate::truth::Plant;
use anyhow::{Context, Result};

/// Burns `burst_ns` about every `every_ns`, until asked to stop.
///
/// The thread has the CPU shortly before its first clock reading and shortly after its last one. Its CPU clock shows
/// the sum of both times between two bursts, and half of the sum is added to each burst. If the sum is large, an
/// interrupt occurred before or after, and both bursts count it as a gap.
pub fn hog(planting: &Planting, policy: Policy, stop: &Stop) -> Result<Vec<Plant>> {
    sys::pin(planting.cpu)?;
    rename(&planting.name)?;
    let mut noted = notes();
    let mut random = sys::now_ns() | 1;
    sys::make_real_time(policy)?;
    let mut next = sys::now_ns() + planting.every_ns;
    let mut used = sys::own_cpu_ns();
    while !stop.asked() && noted.len() < noted.capacity() {
        sys::sleep_until(next);
        let start_ns = sys::now_ns();
        let half = sys::own_cpu_ns().saturating_sub(used) / 2;
        if start_ns < next {
            continue;
        }
        let unsure = if half > sys::GAP_NS { half } else { 0 };
        if let Some(last) = noted.last_mut() {
            last.end_ns += half;
            last.gaps_ns += unsure;
        }
        let (end_ns, gaps_ns) = sys::burn_until(start_ns + planting.burst_ns);
        noted.push(Noted { start_ns: start_ns - half, end_ns, gaps_ns: gaps_ns + unsure });
        next = end_ns + jitter(&mut random, planting.every_ns);
        used = sys::own_cpu_ns();
    }
    Ok(planting.plants(&planting.name, &noted))
}

/// Names the calling thread.
pub fn rename(name: &str) -> Result<()> {
    let name = std::ffi::CString::new(name)?;
    rustix::thread::set_name(&name).context("name a thread")
}
