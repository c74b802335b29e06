//! A tracing instance of our own: made, set and taken away again. No other instance is ever touched.
//!
//! It carries our process id in its name, so that one left behind by a process that was killed is known for what it is
//! at the next start. Knows files and settings; what events mean is the decoder's.

use super::place::Folder;
use super::{TraceError, timerlat};
use punctual_core::cpu_set::CpuSet;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::os::fd::OwnedFd;

/// Beginning of our names.
pub const OURS: &str = "punctual-";
/// Where all instances are.
pub const INSTANCES: &str = "instances";
/// The clock of `clock_nanosleep`, so that nothing needs to be converted.
pub const CLOCK: &str = "mono";
/// While nothing is measured on a CPU it gets no more than this.
const SMALLEST_KB: u64 = 8;

/// A private instance; removed when dropped.
#[derive(Debug)]
pub struct Instance {
    tracefs: Folder,
    folder: Folder,
    name: String,
}

impl Instance {
    /// Makes one, records nothing yet. Instances of ours whose process is gone are removed first.
    pub fn new(tracefs: &Folder, suffix: &str) -> Result<Self, TraceError> {
        let tracefs = tracefs.folder(".")?;
        remove_stale(&tracefs);
        let name = format!("{OURS}{}{suffix}", std::process::id());
        let path = format!("{INSTANCES}/{name}");
        // One of our number that still stands is of a former process: nobody else has our number now.
        remove(&tracefs, &name);
        mkdirat(tracefs.fd(), &path, Mode::RWXU).map_err(|errno| tracefs.error("make", &path, errno))?;
        match tracefs.folder(&path) {
            Ok(folder) => Ok(Self { tracefs, folder, name }),
            Err(error) => {
                remove(&tracefs, &name);
                Err(error)
            }
        }
    }

    /// Its files.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Clock, CPUs and buffers. Returns the bytes granted to each CPU of `cpus`.
    pub fn set_up(&self, cpus: &CpuSet, buffer_bytes: u64) -> Result<u64, TraceError> {
        let folder = &self.folder;
        folder.write("tracing_on", "0")?;
        self.set_clock()?;
        // Older kernels call it an option only; where it is missing it is on.
        let _ = folder.write("options/overwrite", "1");
        for option in ["options/markers", "options/record-tgid", "options/record-cmd"] {
            let _ = folder.write(option, "0");
        }
        folder.write("tracing_cpumask", &mask(cpus))?;
        folder.write("buffer_size_kb", &SMALLEST_KB.to_string())?;
        let mut granted = u64::MAX;
        for cpu in cpus.iter() {
            let file = format!("per_cpu/cpu{cpu}/buffer_size_kb");
            folder.write(&file, &buffer_bytes.div_ceil(1024).to_string())?;
            granted = granted.min(leading_number(&folder.read(&file)?).saturating_mul(1024));
        }
        Ok(granted)
    }

    fn set_clock(&self) -> Result<(), TraceError> {
        self.folder.write("trace_clock", CLOCK)?;
        let clocks = self.folder.read("trace_clock")?;
        let chosen = clocks.split(['[', ']']).nth(1).unwrap_or_default();
        if chosen == CLOCK {
            return Ok(());
        }
        Err(TraceError::Otherwise { file: "trace_clock", asked: CLOCK.to_owned(), got: chosen.to_owned() })
    }

    /// Lets events be recorded, or not.
    pub fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.folder.write("tracing_on", if on { "1" } else { "0" })
    }

    /// The raw sub-buffers of a CPU, to be read without ever waiting.
    pub fn raw(&self, cpu: u32) -> Result<OwnedFd, TraceError> {
        self.folder.open(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"), OFlags::RDONLY | OFlags::NONBLOCK)
    }

    /// Records of a CPU that were read, and those that were overwritten before or found no room.
    pub fn records(&self, cpu: u32) -> (u64, u64) {
        let stats = self.folder.read(&format!("per_cpu/cpu{cpu}/stats")).unwrap_or_default();
        let value = |name: &str| {
            stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or_default()
        };
        let lost = value("overrun:").saturating_add(value("dropped events:")).saturating_add(value("commit overrun:"));
        (value("read events:"), lost)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Its files must be closed by now: the kernel refuses to remove an instance that somebody reads.
        let _ = self.switch(false);
        remove(&self.tracefs, &self.name);
    }
}

/// Removes instances of ours whose process is gone. One that is in use cannot be removed: the kernel says it is busy.
pub fn remove_stale(tracefs: &Folder) {
    for name in tracefs.folders(INSTANCES) {
        if owner(&name).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            remove(tracefs, &name);
        }
    }
}

/// Removes an instance of ours, and puts back before what it changed for others.
fn remove(tracefs: &Folder, name: &str) {
    if timerlat::put_back(tracefs, name) {
        let _ = unlinkat(tracefs.fd(), format!("{INSTANCES}/{name}"), AtFlags::REMOVEDIR);
    }
}

/// Whose instance this is, if it is named as ours are.
fn owner(name: &str) -> Option<Pid> {
    let name = name.strip_prefix(OURS)?;
    let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    let (number, suffix) = name.split_at_checked(end)?;
    let is_ours = suffix.is_empty() || suffix == ELSEWHERE || timerlat::is_suffix(suffix);
    is_ours.then(|| number.parse().ok().and_then(Pid::from_raw)).flatten()
}

/// Ends the name of the instance that watches the other CPUs.
pub const ELSEWHERE: &str = "-else";

/// CPUs as the kernel writes masks: groups of 32 in hexadecimal digits, the highest first.
fn mask(cpus: &CpuSet) -> String {
    let groups = cpus.iter().max().unwrap_or_default() / 32 + 1;
    let group = |g: u32| cpus.iter().filter(|cpu| cpu / 32 == g).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
    let words: Vec<String> = (0..groups).rev().map(|g| format!("{:08x}", group(g))).collect();
    words.join(",")
}

/// The number a text begins with: sizes may have `(expanded: ...)` behind them.
fn leading_number(text: &str) -> u64 {
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_reads_them() {
        let cpus = |list: &str| CpuSet::parse_list(list).unwrap();
        assert_eq!(mask(&cpus("0")), "00000001");
        assert_eq!(mask(&cpus("1,3,33")), "00000002,0000000a");
        assert_eq!(mask(&cpus("64")), "00000001,00000000,00000000");
    }

    #[test]
    fn only_names_of_ours_have_an_owner() {
        for name in ["", "punctual-", "punctual-x", "punctual-1x", "punctual--1", "punctual-0", "osnoise", "rtla-12"] {
            assert_eq!(owner(name), None, "{name}");
        }
        assert_eq!(owner("punctual-77"), Pid::from_raw(77));
        assert_eq!(owner("punctual-77-else"), Pid::from_raw(77));
        assert_eq!(owner("punctual-77-osnoise=on=0-3"), Pid::from_raw(77));
    }

    #[test]
    fn instances_of_the_dead_go_and_all_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        // Above the largest number a process can have.
        let (dead, alive) = ("punctual-4194400", format!("punctual-{}", std::process::id()));
        let instances = dir.path().join(INSTANCES);
        std::fs::create_dir(&instances).unwrap();
        for name in [dead, "punctual-4194401-else", &alive, "rtla-4194400", "osnoise"] {
            std::fs::create_dir(instances.join(name)).unwrap();
        }
        remove_stale(&Folder::of(dir.path()));
        let mut left: Vec<_> = std::fs::read_dir(&instances).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        let mut kept = ["osnoise".to_owned(), alive, "rtla-4194400".to_owned()];
        kept.sort();
        assert_eq!(left, kept.map(std::ffi::OsString::from));
    }

    #[test]
    fn sizes_are_the_numbers_they_begin_with() {
        assert_eq!(leading_number("7 (expanded: 1408)\n"), 7);
        assert_eq!(leading_number("1408\n"), 1408);
        assert_eq!(leading_number("X"), 0);
    }
}
