//! Counters that the kernel keeps for a measuring thread and for its control groups.

use super::root::{Open, Root};
use super::{Opened, counts};
use punctual_facts::cpu_set::CpuSet;
use punctual_numbers::trace::Counter;
use punctual_numbers::trace::ledger::{Counted, Ledger, Slot};
use punctual_numbers::trace::tables::{TaskStat, named, nth};
use std::collections::HashSet;
use std::io;

/// Usual mount points of control groups: version 2, and the CPU time controllers of version 1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const FIRST_VERSION: [&str; 2] = ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"];

fn plain(cpu: u32, counter: Counter, ledger: &mut Ledger) -> Slot {
    let counter = ledger.counter(Counted::Plain(counter));
    ledger.slot(cpu, counter)
}

fn cut_off() -> io::Error {
    io::Error::other("cut off")
}

/// Page faults and changes of CPU of a thread.
pub(super) fn faults(root: &Root, cpu: u32, tid: u32, ledger: &mut Ledger) -> Opened {
    let file = root.open(&format!("/proc/self/task/{tid}/stat"))?;
    let slots = [Counter::MinorFaults, Counter::MajorFaults, Counter::Migrations].map(|c| plain(cpu, c, ledger));
    let (mut last_cpu, mut moves) = (None, 0);
    Ok(Box::new(move |buffer, ledger| {
        let stat = TaskStat::parse(file.small(buffer)?).ok_or_else(cut_off)?;
        // If the thread moves away and back between two readings, neither move is counted.
        moves += u64::from(last_cpu.replace(stat.cpu).is_some_and(|last| last != stat.cpu));
        for (slot, value) in slots.iter().zip([stat.minor_faults, stat.major_faults, moves]) {
            ledger.put(*slot, value);
        }
        Ok(())
    }))
}

/// How often a thread waited, and how often it was preempted.
pub(super) fn switches(root: &Root, cpu: u32, tid: u32, ledger: &mut Ledger) -> Opened {
    let file = root.open(&format!("/proc/self/task/{tid}/status"))?;
    let slots = [Counter::VoluntarySwitches, Counter::InvoluntarySwitches].map(|c| plain(cpu, c, ledger));
    Ok(Box::new(move |buffer, ledger| {
        let status = file.small(buffer)?;
        for (slot, name) in slots.iter().zip(["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"]) {
            ledger.put(*slot, named(status, name.as_bytes()).ok_or_else(cut_off)?);
        }
        Ok(())
    }))
}

/// How long a thread was ready to run but waited for a CPU.
pub(super) fn run_delay(root: &Root, cpu: u32, tid: u32, ledger: &mut Ledger) -> Opened {
    let file = root.open(&format!("/proc/self/task/{tid}/schedstat"))?;
    let slot = plain(cpu, Counter::OwnRunDelay, ledger);
    Ok(Box::new(move |buffer, ledger| {
        ledger.put(slot, nth(file.small(buffer)?, 1).ok_or_else(cut_off)?);
        Ok(())
    }))
}

/// How often this process's control group, or a group above it, had used up its CPU time.
pub(super) fn throttling(root: &Root, cpus: &CpuSet, ledger: &mut Ledger) -> Opened {
    let groups = root.text("/proc/self/cgroup")?;
    // Some machines mount a hierarchy once and link to it under a second name: a group is counted once.
    let mut seen = HashSet::new();
    let opened = folders(&groups).into_iter().filter_map(|folder| counting(root, &folder));
    let files: Vec<Open> = opened.filter(|file| file.identity().is_none_or(|id| seen.insert(id))).collect();
    if files.is_empty() {
        return Err("no control group of this process has a limit of time".to_owned());
    }
    let slots = counts::slots_of(cpus, Counted::Plain(Counter::RtThrottled), ledger);
    Ok(Box::new(move |buffer, ledger| {
        let mut sum = 0_u64;
        for file in &files {
            sum = sum.saturating_add(named(file.small(buffer)?, b"nr_throttled").ok_or_else(cut_off)?);
        }
        for slot in slots.values() {
            ledger.put(*slot, sum);
        }
        Ok(())
    }))
}

/// Opens the file with a group's throttling counter; `None` if the group has none.
fn counting(root: &Root, folder: &str) -> Option<Open> {
    let file = root.open(&format!("{folder}/cpu.stat")).ok()?;
    let mut buffer = Vec::new();
    named(file.small(&mut buffer).ok()?, b"nr_throttled").is_some().then_some(file)
}

/// Folders of the groups named in `/proc/PID/cgroup` that may limit CPU time, and of all groups above them.
fn folders(groups: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mounts: &[&str] = match controllers {
            "" => &UNIFIED,
            controllers if controllers.split(',').any(|name| name == "cpu") => &FIRST_VERSION,
            _ => continue,
        };
        // In a container, a path with `..` leads to a group that the container does not show.
        if path.split('/').any(|part| part == "..") {
            continue;
        }
        let path = path.trim_end_matches('/');
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let above: Vec<&str> = ends.filter_map(|end| path.get(..end)).collect();
        // All usual mount points are listed. Folders that do not exist are skipped when their files are opened.
        let mount = mounts.iter().flat_map(|mount| above.iter().map(move |path| format!("{mount}{path}")));
        folders.extend(mount);
    }
    folders.sort();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_all_above_them() {
        assert_eq!(
            folders("0::/a.slice/b c\n"),
            [
                "/sys/fs/cgroup",
                "/sys/fs/cgroup/a.slice",
                "/sys/fs/cgroup/a.slice/b c",
                "/sys/fs/cgroup/unified",
                "/sys/fs/cgroup/unified/a.slice",
                "/sys/fs/cgroup/unified/a.slice/b c",
            ]
        );
        let first_version = folders("4:memory:/x\n2:cpu,cpuacct:/y\n1:cpuset:/\n");
        assert!(first_version.contains(&"/sys/fs/cgroup/cpu,cpuacct/y".to_owned()));
        assert_eq!(first_version.len(), 4);
        assert_eq!(folders("0::/../x\n\nnonsense\n1:cpu"), [""; 0]);
    }
}
