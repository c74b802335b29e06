//! Page faults in the measured loop: pages of the measuring program are taken away while it sleeps.
//!
//! The victim must not have locked its memory; whoever starts it sees to that. When the faults come and when the thread
//! is done with them is noted inside of the kernel: a plant is the time from a fault to the thread's next system call.

use super::burn::{Burn, Burner, Burnt};
use super::stimulus::another;
use super::{Noted, Planting, Stop, jitter};
use crate::sys;
use crate::truth::Plant;
use anyhow::{Context, Result};

/// Takes the pages of the victim's programs and libraries away, again and again.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    let victim = planting.victim.context("whose pages? (--victim PID)")?;
    sys::pin(another(planting.cpu))?;
    let pid = rustix::process::Pid::from_raw(i32::try_from(victim)?).context("0 is no process")?;
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).context("open the victim")?;
    let thread = real_time_thread(victim).context("find the victim's real-time thread")?;
    let note =
        Burn { cpu: planting.cpu, burst_ns: 0, every_ns: 0, tid: Some(thread), argument: None, function_at: None };
    let faults = Burner::start(&["page_fault_user"], note)?;
    let calls = Burner::start(&["sys_enter"], note)?;
    let mut random = sys::now_ns() | 1;
    while !stop.asked() {
        sys::page_out(&pidfd, &code(victim)?)?;
        sys::sleep_until(sys::now_ns() + jitter(&mut random, planting.every_ns));
    }
    Ok(planting.plants("-", &pairs(&faults.burnt()?, &calls.burnt()?)))
}

/// From the first fault after a call to the next call.
fn pairs(faults: &[Burnt], calls: &[Burnt]) -> Vec<Noted> {
    let mut noted: Vec<Noted> = Vec::new();
    for fault in faults {
        let after = calls.partition_point(|call| call.start_ns < fault.start_ns);
        let Some(end_ns) = calls.get(after).map(|call| call.start_ns) else { break };
        if noted.last().is_none_or(|last| last.end_ns != end_ns) {
            noted.push(Noted { start_ns: fault.start_ns, end_ns, gaps_ns: 0 });
        }
    }
    noted
}

/// The thread of a process that has the highest real-time priority.
fn real_time_thread(pid: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ranked = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
        // After the name, which may hold anything: state is the first word, the real-time priority the 38th.
        let (_, rest) = text.rsplit_once(") ")?;
        let priority: u32 = rest.split_whitespace().nth(37)?.parse().ok()?;
        (priority > 0).then_some((priority, thread))
    });
    ranked.max().map(|(_, thread)| thread)
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

    #[test]
    fn faults_of_one_activation_are_one_plant() {
        let at = |ns| Burnt { start_ns: ns, end_ns: ns, gaps_ns: 0, comm: String::new(), function: 0 };
        let noted = pairs(&[at(5), at(7), at(25), at(40)], &[at(1), at(10), at(20), at(30)]);
        let times: Vec<(u64, u64)> = noted.iter().map(|noted| (noted.start_ns, noted.end_ns)).collect();
        assert_eq!(times, [(5, 10), (25, 30)]);
    }
}
