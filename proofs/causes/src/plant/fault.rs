//! Page faults in the measured loop: pages of the measuring program are taken away while it sleeps.
//!
//! The victim must not have locked its memory; whoever starts it sees to that.

use super::stimulus::another;
use super::{Planting, Stop, jitter};
use crate::sys;
use crate::truth::Plant;
use anyhow::{Context, Result};

/// Takes the pages of the victim's programs and libraries away, again and again. A plant is the time from before that
/// to a while after: the faults come when the victim runs next.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    let victim = planting.victim.context("whose pages? (--victim PID)")?;
    sys::pin(another(planting.cpu))?;
    let pid = rustix::process::Pid::from_raw(i32::try_from(victim)?).context("0 is no process")?;
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).context("open the victim")?;
    let mut plants = Vec::with_capacity(1 << 16);
    let mut random = sys::now_ns() | 1;
    while !stop.asked() && plants.len() < plants.capacity() {
        let ranges = code(victim)?;
        let start_ns = sys::now_ns();
        sys::page_out(&pidfd, &ranges)?;
        plants.push(planting.plant("-", start_ns, sys::now_ns() + planting.every_ns / 2));
        sys::sleep_until(sys::now_ns() + jitter(&mut random, planting.every_ns));
    }
    Ok(plants)
}

/// Where a process has code from files.
fn code(pid: u32) -> Result<Vec<(u64, u64)>> {
    let path = format!("/proc/{pid}/maps");
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    Ok(text.lines().filter_map(range).collect())
}

fn range(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let code = words.next()?.contains('x') && words.nth(3)?.starts_with('/');
    code.then_some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_from_files_is_taken() {
        let line = "55d0-55f0 r-xp 00001000 fe:00 123 /usr/bin/punctual";
        assert_eq!(range(line), Some((0x55d0, 0x55f0)));
        assert_eq!(range("55d0-55f0 rw-p 00001000 fe:00 123 /usr/bin/punctual"), None);
        assert_eq!(range("7ff0-7ff1 r-xp 00000000 00:00 0 [vdso]"), None);
    }
}
