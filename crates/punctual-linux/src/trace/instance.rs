//! A tracing instance of our own: created, configured and removed. No other instance is changed.
//!
//! Its name contains the number and start time of its process, so that an instance left behind by a killed process is
//! recognised. While the process lives, it keeps a file of the instance open, so that the kernel refuses to remove the
//! instance. This module handles files and settings; the decoder knows what events mean.

use super::place::{INSTANCES, OURS, TraceFolder};
use super::{TraceError, timerlat};
use crate::apply::{is_alive, this_process};
use crate::journal::Owner;
use punctual_facts::cpu_set::CpuSet;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, unlinkat};
use std::os::fd::OwnedFd;

/// How often to retry when another process removes our new instance before we open a file of it.
const ATTEMPTS: u32 = 3;
/// The clock of `clock_nanosleep`, so that times need no conversion.
pub const CLOCK: &str = "mono";
/// Buffer size in KiB for CPUs that are not measured.
const SMALLEST_KB: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub records: u64,
    /// Records that were overwritten before they were read, or for which there was no room.
    pub lost: u64,
}

#[derive(Debug)]
pub struct Instance {
    tracefs: TraceFolder,
    folder: TraceFolder,
    name: String,
    /// An open file that keeps other programs from removing the instance.
    hold: Option<OwnedFd>,
}

impl Instance {
    pub fn new(tracefs: &TraceFolder, suffix: &str) -> Result<Self, TraceError> {
        let tracefs = tracefs.folder(".")?;
        let name = this_process().map(|owner| name_of(owner, suffix)).map_err(TraceError::NoStart)?;
        let path = format!("{INSTANCES}/{name}");
        let mut attempts = 0;
        loop {
            mkdirat(tracefs.fd(), &path, Mode::RWXU).map_err(|errno| tracefs.error("make", &path, errno))?;
            // Until a file of the instance is open, another punctual may take the instance for one left behind, and
            // remove it.
            let opened =
                tracefs.folder(&path).and_then(|folder| Ok((folder.open("tracing_on", OFlags::RDONLY)?, folder)));
            match opened {
                Ok((hold, folder)) => return Ok(Self { tracefs, folder, name, hold: Some(hold) }),
                Err(error) if attempts == ATTEMPTS => {
                    let _ = unlinkat(tracefs.fd(), &path, AtFlags::REMOVEDIR);
                    return Err(error);
                }
                Err(_) => {
                    let _ = unlinkat(tracefs.fd(), &path, AtFlags::REMOVEDIR);
                    attempts += 1;
                }
            }
        }
    }

    pub fn folder(&self) -> &TraceFolder {
        &self.folder
    }

    /// Sets clock, CPUs and buffers. Returns the bytes that each CPU of `cpus` got.
    pub fn set_up(&self, cpus: &CpuSet, buffer_bytes: u64) -> Result<u64, TraceError> {
        let folder = &self.folder;
        folder.write("tracing_on", "0")?;
        self.set_clock()?;
        // On kernels without this file, overwriting is always on.
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

    pub fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.folder.write("tracing_on", if on { "1" } else { "0" })
    }

    pub fn raw(&self, cpu: u32) -> Result<OwnedFd, TraceError> {
        self.folder.open(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"), OFlags::RDONLY | OFlags::NONBLOCK)
    }

    pub fn recorded(&self, cpu: u32) -> Recorded {
        let stats = self.folder.read(&format!("per_cpu/cpu{cpu}/stats")).unwrap_or_default();
        let value = |name: &str| {
            stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or_default()
        };
        let lost = value("overrun:").saturating_add(value("dropped events:")).saturating_add(value("commit overrun:"));
        Recorded { records: value("read events:"), lost }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Files of the instance must be closed by now; otherwise the kernel refuses to remove it.
        self.hold = None;
        remove(&self.tracefs, &self.name);
    }
}

/// Removes our instances whose processes have ended. Returns their names.
pub fn sweep(tracefs: &TraceFolder) -> Vec<String> {
    left_behind(tracefs).into_iter().filter(|name| remove(tracefs, name)).collect()
}

/// Removes all instances of a process that has ended. Returns whether none is left.
pub fn remove_of(tracefs: &TraceFolder, owner: Owner) -> bool {
    let is_its = |name: &String| parse(name).is_some_and(|(of, _)| of == owner);
    let its: Vec<String> = tracefs.folders(INSTANCES).into_iter().filter(is_its).collect();
    its.iter().filter(|name| !remove(tracefs, name)).count() == 0
}

/// Removes one of our instances, after stopping it and restoring what it changed for other instances.
fn remove(tracefs: &TraceFolder, name: &str) -> bool {
    let suffix = parse(name).map_or("", |(_, suffix)| suffix);
    let path = format!("{INSTANCES}/{name}");
    // An instance that cannot be removed because somebody reads it records nothing from here on.
    let _ = tracefs.write(&format!("{path}/tracing_on"), "0");
    timerlat::put_back(tracefs, &path, suffix) && unlinkat(tracefs.fd(), path, AtFlags::REMOVEDIR).is_ok()
}

pub fn left_behind(tracefs: &TraceFolder) -> Vec<String> {
    let is_dead = |name: &String| parse(name).is_some_and(|(owner, _)| !is_alive(owner));
    tracefs.folders(INSTANCES).into_iter().filter(is_dead).collect()
}

fn name_of(Owner { pid, started }: Owner, suffix: &str) -> String {
    format!("{OURS}{pid}-{started}{suffix}")
}

/// Parses the name of one of our instances into the process and the suffix.
fn parse(name: &str) -> Option<(Owner, &str)> {
    let (pid, rest) = number(name.strip_prefix(OURS)?)?;
    let (started, suffix) = number(rest.strip_prefix('-')?)?;
    let owner = Owner { pid: u32::try_from(pid).ok()?, started };
    (suffix.is_empty() || OF_OTHERS.contains(&suffix) || timerlat::is_suffix(suffix)).then_some((owner, suffix))
}

/// Splits a text into the number at its beginning and the rest.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// Suffix of the name of the instance that watches the other CPUs.
pub const ELSEWHERE: &str = "-else";
/// Suffix of the name of the instance that records call stacks of a program.
pub const STACKS: &str = "-stacks";
/// The suffix of the instance that records what one program does.
pub const PROGRAM: &str = "-program";
/// The suffix of the instance that records when threads of a program are released and run.
pub const RELEASES: &str = "-releases";
/// Suffixes of all instances beside that of the measured CPUs.
const OF_OTHERS: [&str; 4] = [ELSEWHERE, STACKS, PROGRAM, RELEASES];

/// CPUs as a mask in the kernel's format: groups of 32 in hexadecimal digits, the highest first.
fn mask(cpus: &CpuSet) -> String {
    let groups = cpus.iter().max().unwrap_or_default() / 32 + 1;
    let group = |g: u32| cpus.iter().filter(|cpu| cpu / 32 == g).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
    let words: Vec<String> = (0..groups).rev().map(|g| format!("{:08x}", group(g))).collect();
    words.join(",")
}

/// The number at the beginning of a text. Sizes may be followed by `(expanded: ...)`.
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
        for name in ["", "punctual-", "punctual-x", "punctual-1x", "punctual--1", "punctual-7", "osnoise", "rtla-12-3"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
        let owner = Owner { pid: 77, started: 4711 };
        assert_eq!(parse("punctual-77-4711"), Some((owner, "")));
        for suffix in OF_OTHERS {
            assert_eq!(parse(&name_of(owner, suffix)), Some((owner, suffix)));
        }
        let noise = "-osnoise=on=0-3,7";
        assert_eq!(parse(&name_of(owner, noise)), Some((owner, noise)));
        for suffix in ["-mine", "-osnoise", "-osnoise=on", "=on=0"] {
            assert_eq!(parse(&name_of(owner, suffix)), None, "{suffix}");
        }
    }

    #[test]
    fn instances_of_the_dead_go_and_all_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let instances = dir.path().join(INSTANCES);
        std::fs::create_dir(&instances).unwrap();
        let here = this_process().unwrap();
        // One instance with the number of this process and another start time, and two with numbers above the largest
        // possible process id.
        let former = name_of(Owner { started: here.started - 1, ..here }, "");
        let dead = ["punctual-4194400-1", "punctual-4194401-1-else", &former];
        let others = ["osnoise", &name_of(here, ""), "rtla-4194400-1"];
        for name in dead.iter().chain(&others) {
            std::fs::create_dir(instances.join(name)).unwrap();
        }
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        let tracefs = TraceFolder::of(dir.path());
        assert_eq!(sorted(left_behind(&tracefs)), sorted(dead.map(str::to_owned).into()));
        assert_eq!(sorted(sweep(&tracefs)), sorted(dead.map(str::to_owned).into()));
        assert_eq!(sorted(tracefs.folders(INSTANCES)), sorted(others.map(str::to_owned).into()));
    }

    #[test]
    fn what_one_of_the_dead_changed_is_put_back_before_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let name = "punctual-4194400-1-osnoise=on=0-3";
        let folder = dir.path().join(INSTANCES).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir(dir.path().join("osnoise")).unwrap();
        for (file, text) in [("osnoise/options", "NO_OSNOISE_WORKLOAD"), ("osnoise/cpus", "1")] {
            std::fs::write(dir.path().join(file), text).unwrap();
        }
        std::fs::write(folder.join("current_tracer"), "osnoise\n").unwrap();
        let tracefs = TraceFolder::of(dir.path());
        // This is an ordinary folder: unlike on a tracefs, it cannot be removed while it contains files, so `sweep` removes nothing.
        assert_eq!(sweep(&tracefs), [""; 0]);
        assert_eq!(tracefs.read("osnoise/options").unwrap(), "OSNOISE_WORKLOAD");
        assert_eq!(tracefs.read("osnoise/cpus").unwrap(), "0-3");
        std::fs::remove_file(folder.join("current_tracer")).unwrap();
        assert_eq!(left_behind(&tracefs), [name]);
    }

    #[test]
    fn sizes_are_the_numbers_they_begin_with() {
        assert_eq!(leading_number("7 (expanded: 1408)\n"), 7);
        assert_eq!(leading_number("1408\n"), 1408);
        assert_eq!(leading_number("X"), 0);
    }
}
