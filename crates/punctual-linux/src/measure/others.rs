//! CPU time that other programs used between two moments, with their names.
//!
//! A phase is idle only if no other program works. Times are from `/proc/PID/stat`, in ticks of 10 ms on most kernels,
//! so periods of less than a third of a second are measured only roughly. Processes that start and end between the two
//! moments are not seen.

use punctual_facts::stat_line::StatLine;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Ticks per second of the times in `/proc`. The kernel uses 100 on every supported architecture.
const TICKS: f64 = 100.0;
/// The machine is quiet if all other programs together use less than this many CPUs.
const QUIET: f64 = 0.1;
/// Number of the busiest programs that are named.
const NAMED: usize = 3;

/// CPU time that every other process has used so far.
#[derive(Clone, Debug)]
pub struct Sighting {
    at: Instant,
    used: BTreeMap<u32, Used>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Used {
    name: String,
    parent: u32,
    ticks: u64,
}

/// The work of all other programs between two readings of `/proc`.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherWork {
    /// CPU time of all other programs, in CPUs: 1 means one CPU busy all the time.
    pub cpus: f64,
    /// The programs that used most CPU time, the busiest first.
    pub programs: Vec<OtherProgram>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OtherProgram {
    pub name: String,
    pub pid: u32,
    /// CPU time of the program, in CPUs.
    pub cpus: f64,
}

impl OtherWork {
    /// Whether the work is too little to matter.
    pub fn is_quiet(&self) -> bool {
        self.cpus < QUIET
    }

    /// Measures the work of other programs from now on. The calling thread sleeps for this time.
    pub fn over(time: Duration) -> Self {
        let before = Sighting::now();
        std::thread::sleep(time);
        Sighting::now().since(&before)
    }
}

impl Sighting {
    pub fn now() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        // A process that ends before it is read is left out.
        let used = pids.filter_map(|pid| Some((pid, parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)));
        Self { at: Instant::now(), used: used.collect() }
    }

    /// The work of other programs since an earlier sighting. This process and those it started do not count.
    pub fn since(&self, earlier: &Self) -> OtherWork {
        self.work_since(earlier, self.at.duration_since(earlier.at).as_secs_f64(), std::process::id())
    }

    #[allow(clippy::cast_precision_loss, reason = "ticks of less than centuries")]
    fn work_since(&self, earlier: &Self, seconds: f64, own: u32) -> OtherWork {
        let is_other = |pid: &u32, used: &Used| *pid != own && used.parent != own;
        let worked = self.used.iter().filter(|(pid, used)| is_other(pid, used)).filter_map(|(pid, now)| {
            let ticks = now.ticks.checked_sub(earlier.used.get(pid)?.ticks).filter(|ticks| *ticks > 0)?;
            Some(OtherProgram { name: now.name.clone(), pid: *pid, cpus: ticks as f64 / TICKS / seconds.max(0.01) })
        });
        let mut programs: Vec<OtherProgram> = worked.collect();
        let cpus = programs.iter().map(|program| program.cpus).sum();
        programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        programs.retain(|program| program.cpus >= 0.01);
        programs.truncate(NAMED);
        OtherWork { cpus, programs }
    }
}

/// Name, parent and CPU time in user and kernel mode, from a line of `/proc/PID/stat`.
fn parse(stat: &str) -> Option<Used> {
    let line = StatLine::parse(stat)?;
    let (user, system): (u64, u64) = (line.number(14)?, line.number(15)?);
    Some(Used { name: line.comm.to_owned(), parent: line.number(4)?, ticks: user.checked_add(system)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(processes: &[(u32, &str, u32, u64)]) -> Sighting {
        let used = processes.iter().map(|(pid, name, parent, ticks)| {
            (*pid, Used { name: (*name).to_owned(), parent: *parent, ticks: *ticks })
        });
        Sighting { at: Instant::now(), used: used.collect() }
    }

    #[test]
    fn a_line_is_read_whatever_the_name_holds() {
        let line = "812 (a) b (c) R 7 812 812 0 -1 4194304 100 0 0 0 31 11 0 0 20 0 1 0 5 6 7";
        assert_eq!(parse(line), Some(Used { name: "a) b (c".to_owned(), parent: 7, ticks: 42 }));
        for torn in ["", "812", "812 (a", "812 (a) R", "812 (a) R 1 2 3"] {
            assert_eq!(parse(torn), None, "{torn}");
        }
    }

    #[test]
    fn others_are_named_and_we_and_our_own_are_none() {
        let before = sighting(&[(1, "init", 0, 5), (7, "us", 1, 0), (8, "load", 7, 0), (9, "make", 1, 100)]);
        let after = sighting(&[
            (1, "init", 0, 5),
            (7, "us", 1, 90),
            (8, "load", 7, 99),
            (9, "make", 1, 150),
            (10, "new", 1, 9),
        ]);
        let work = after.work_since(&before, 1.0, 7);
        assert_eq!(work.programs, [OtherProgram { name: "make".to_owned(), pid: 9, cpus: 0.5 }]);
        assert!(!work.is_quiet() && (work.cpus - 0.5).abs() < 1e-9);
        assert!(before.work_since(&before, 1.0, 7).is_quiet());
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        assert!(Sighting::now().used.contains_key(&std::process::id()));
    }
}
