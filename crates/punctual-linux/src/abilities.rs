//! Tries what this program may do here, one thing after the other, and changes nothing.

use crate::load::PRESETS;
use crate::sys::sched::{Attributes, attributes, set_attributes};
use crate::trace::{self, TraceError};
use punctual_facts::ability::{Ability, Obstacle, Tried};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};
use rustix::thread::gettid;
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Locked memory that a measurement of some CPUs takes, in bytes.
const LOCKED: u64 = 64 << 20;
const IDLE_STATES: &str = "/dev/cpu_dma_latency";
#[cfg(target_arch = "x86_64")]
const FIRMWARE: Option<&str> = Some("/dev/cpu/0/msr");
/// Other processors have no such counter.
#[cfg(not(target_arch = "x86_64"))]
const FIRMWARE: Option<&str> = None;

pub fn tried() -> Vec<Tried> {
    let mut all = vec![
        (Ability::RealTimePriority, real_time()),
        (Ability::LockMemory, locking()),
        (Ability::HoldIdleStates, opened(Path::new(IDLE_STATES), true)),
        (Ability::KernelTrace, trace::refusal().map(|error| of_trace(&error, geteuid().is_root()))),
    ];
    all.extend(FIRMWARE.map(|path| (Ability::FirmwareCounter, opened(Path::new(path), false))));
    all.push((Ability::ChangeSettings, (!geteuid().is_root()).then_some(Obstacle::NotRoot)));
    all.extend(PRESETS.iter().map(|preset| (Ability::Load(preset.name.to_owned()), preset.obstacle())));
    all.into_iter().map(|(ability, obstacle)| Tried { ability, obstacle }).collect()
}

/// Gives a thread that ends at once the lowest real-time priority.
fn real_time() -> Option<Obstacle> {
    let tried = std::thread::spawn(|| {
        let tid = gettid();
        let policy = u32::try_from(libc::SCHED_FIFO).unwrap_or_default();
        attributes(tid).and_then(|now| set_attributes(tid, Attributes { policy, priority: 1, nice: 0, ..now }))
    });
    let Ok(Err(error)) = tried.join() else { return None };
    Some(match (error.raw_os_error(), getrlimit(Resource::Rtprio).current) {
        (Some(libc::EPERM), limit) if limit != Some(0) || geteuid().is_root() => Obstacle::GroupWithoutRunTime,
        (Some(libc::EPERM), limit) => Obstacle::PriorityLimit(limit.unwrap_or(u64::MAX)),
        _ => Obstacle::NotGranted(error.to_string()),
    })
}

/// Root may lock as much as there is.
fn locking() -> Option<Obstacle> {
    let limit = getrlimit(Resource::Memlock).current.filter(|_| !geteuid().is_root());
    limit.filter(|limit| *limit < LOCKED).map(Obstacle::MemoryLimit)
}

/// Whether a file can be opened. It is closed at once, which takes back what opening it asks the kernel for.
fn opened(path: &Path, writes: bool) -> Option<Obstacle> {
    let tried = OpenOptions::new().read(!writes).write(writes).open(path);
    tried.err().map(|error| of_file(path, &error, geteuid().is_root()))
}

fn of_file(path: &Path, error: &Error, is_root: bool) -> Obstacle {
    match error.kind() {
        ErrorKind::NotFound => Obstacle::NoFile(path.display().to_string()),
        ErrorKind::PermissionDenied if !is_root => Obstacle::NotRoot,
        _ => Obstacle::NotGranted(format!("open {}: {error}", path.display())),
    }
}

fn of_trace(error: &TraceError, is_root: bool) -> Obstacle {
    match error {
        TraceError::Namespace => Obstacle::PidNamespace,
        TraceError::NoTracefs(_) | TraceError::File { errno: Errno::ACCESS | Errno::PERM, .. } if !is_root => {
            Obstacle::NotRoot
        }
        _ => Obstacle::NotGranted(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_refused_or_not_permitted_is_told_apart() {
        let path = Path::new("/dev/x");
        let of = |errno, is_root| of_file(path, &Error::from_raw_os_error(errno), is_root);
        assert_eq!(of(libc::ENOENT, true), Obstacle::NoFile("/dev/x".to_owned()));
        assert_eq!(of(libc::EACCES, false), Obstacle::NotRoot);
        assert!(matches!(of(libc::EACCES, true), Obstacle::NotGranted(why) if why.contains("/dev/x")));
        let denied = TraceError::File { operation: "make", path: "instances/x".to_owned(), errno: Errno::PERM };
        assert_eq!(of_trace(&denied, false), Obstacle::NotRoot);
        assert!(matches!(of_trace(&denied, true), Obstacle::NotGranted(why) if why.contains("locked down")));
        assert_eq!(of_trace(&TraceError::Namespace, true), Obstacle::PidNamespace);
    }

    #[test]
    fn each_ability_is_tried_once() {
        let tried = tried();
        let mut abilities: Vec<&Ability> = tried.iter().map(|tried| &tried.ability).collect();
        abilities.sort();
        abilities.dedup();
        assert_eq!(abilities.len(), tried.len());
        assert!(abilities.contains(&&Ability::RealTimePriority) && abilities.contains(&&Ability::ChangeSettings));
    }
}
