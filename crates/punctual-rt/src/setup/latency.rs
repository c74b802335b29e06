//! Requests that keep CPUs out of deep idle states while a loop runs. A request holds until its value is dropped.
//!
//! The kernel drops the global request when its file is closed. For a single CPU there is only one value, which remains
//! when a program ends. So the previous value is restored when the last request of this process for that CPU is
//! dropped. A program that is killed leaves its value behind.

use crate::{Error, Nanos, SetupError};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Value of a CPU's limit that allows no exit latency: the CPU polls while idle (x86), or waits in its shallowest
/// state.
const NONE_AT_ALL: &str = "n/a";

/// Which idle states the kernel may use while a loop runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatencyQos {
    /// The idle states that the machine allows stay allowed.
    #[default]
    Leave,
    /// On all CPUs, only idle states with at most this exit latency, cut off to whole microseconds.
    Global(Nanos),
    /// No idle state on the loop's CPUs: they poll while idle.
    ///
    /// Each CPU has one value for this, which the kernel keeps when a program ends. A program that ends without
    /// dropping its task (by a signal, `exit`, or a return from `main`) leaves the value behind. The next program then
    /// takes it for the machine's own setting. [`check`](crate::check) reports a value that it finds.
    /// [`LatencyQos::Global`] ends with the process.
    PerCpu,
}

/// A request that holds until it is dropped.
#[derive(Debug)]
pub struct LatencyRequest {
    /// Never read: the request holds while the file is open.
    _global: Option<File>,
    cpus: Vec<PathBuf>,
}

/// The requests of this process for one CPU, and the value before the first.
struct Held {
    file: PathBuf,
    before: String,
    holders: usize,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

impl LatencyRequest {
    /// Allows only idle states with an exit latency of at most `limit`, on all CPUs.
    ///
    /// # Errors
    /// [`SetupError::LatencyQos`] if the file does not exist or may not be written.
    ///
    /// # Real-time
    /// Enters the kernel, which wakes every CPU: call before the loop.
    ///
    /// # Kernel
    /// `/dev/cpu_dma_latency`, kept open. Exactly four bytes are written; any other length would be read as hexadecimal
    /// text.
    pub fn global(limit: Nanos) -> Result<Self, Error> {
        Self::global_at(Path::new("/"), limit)
    }

    /// Allows no idle state on these CPUs.
    ///
    /// # Errors
    /// [`SetupError::LatencyQos`] if a CPU does not exist or a file may not be written. Then no CPU is changed.
    ///
    /// # Real-time
    /// Enters the kernel and locks, also when the request is dropped: call before the loop.
    ///
    /// # Kernel
    /// `cpuN/power/pm_qos_resume_latency_us` in sysfs. Kernels that do not know the value `n/a` (before about 4.16)
    /// refuse it.
    pub fn per_cpu(cpus: &[u32]) -> Result<Self, Error> {
        Self::per_cpu_at(Path::new("/"), cpus)
    }

    fn global_at(root: &Path, limit: Nanos) -> Result<Self, Error> {
        let us = i32::try_from(limit.whole(Nanos::from_us(1))).unwrap_or(i32::MAX);
        let open = || {
            let mut file = OpenOptions::new().write(true).open(root.join("dev/cpu_dma_latency"))?;
            file.write_all(&us.to_ne_bytes())?;
            Ok(file)
        };
        let file = open().map_err(refused)?;
        Ok(Self { _global: Some(file), cpus: Vec::new() })
    }

    fn per_cpu_at(root: &Path, cpus: &[u32]) -> Result<Self, Error> {
        // Dropping `request` on an error restores the CPUs that were already changed.
        let mut request = Self { _global: None, cpus: Vec::new() };
        for cpu in cpus {
            let file = limit_file(root, *cpu);
            hold(&file).map_err(refused)?;
            request.cpus.push(file);
        }
        Ok(request)
    }
}

impl Drop for LatencyRequest {
    fn drop(&mut self) {
        self.cpus.iter().for_each(|file| release(file));
    }
}

/// The file in which the kernel shows and takes the limit of a CPU.
pub(crate) fn limit_file(root: &Path, cpu: u32) -> PathBuf {
    root.join(format!("sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us"))
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: io::Error) -> Error {
    Error::Setup(SetupError::LatencyQos(error.raw_os_error().unwrap_or(libc::EIO)))
}

fn hold(file: &Path) -> io::Result<()> {
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(held) = all.iter_mut().find(|held| held.file == file) {
        held.holders = held.holders.saturating_add(1);
        return Ok(());
    }
    let before = fs::read_to_string(file)?.trim().to_owned();
    fs::write(file, NONE_AT_ALL)?;
    all.push(Held { file: file.to_owned(), before, holders: 1 });
    Ok(())
}

fn release(file: &Path) {
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(held) = all.iter_mut().find(|held| held.file == file) else { return };
    held.holders = held.holders.saturating_sub(1);
    if held.holders == 0 {
        // Writing was possible before, so it fails only if the CPU was unplugged. Then there is nothing to restore.
        let _ = fs::write(file, &held.before);
        all.retain(|held| held.file != file);
    }
}

/// The limit in `file` without the requests of this process: if there are requests, the value before the first one.
pub(crate) fn others_limit(file: &Path) -> Option<String> {
    let all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let held = all.iter().find(|held| held.file == file).map(|held| held.before.clone());
    held.or_else(|| Some(fs::read_to_string(file).ok()?.trim().to_owned()))
}

/// The global limit in force, in microseconds; `None` if it cannot be read.
pub(super) fn global_in_force() -> Option<i32> {
    let mut value = [0; 4];
    File::open("/dev/cpu_dma_latency").ok()?.read_exact(&mut value).ok()?;
    Some(i32::from_ne_bytes(value))
}

/// The limits of these CPUs as the kernel shows them: `n/a` if no idle state is allowed, 0 if there is no limit.
pub(super) fn per_cpu_in_force(cpus: &[u32]) -> Vec<(u32, String)> {
    let read = |cpu: &u32| Some((*cpu, fs::read_to_string(limit_file(Path::new("/"), *cpu)).ok()?.trim().to_owned()));
    cpus.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpus: &[(u32, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("dev")).unwrap();
        fs::write(root.path().join("dev/cpu_dma_latency"), "").unwrap();
        for (cpu, value) in cpus {
            let file = limit_file(root.path(), *cpu);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{value}\n")).unwrap();
        }
        root
    }

    fn of_cpu(root: &tempfile::TempDir, cpu: u32) -> String {
        fs::read_to_string(limit_file(root.path(), cpu)).unwrap().trim().to_owned()
    }

    #[test]
    fn the_global_request_is_four_binary_bytes() {
        let root = machine(&[]);
        let request = LatencyRequest::global_at(root.path(), Nanos::from_ns(10_999)).unwrap();
        let file = root.path().join("dev/cpu_dma_latency");
        assert_eq!(fs::read(file).unwrap(), 10i32.to_ne_bytes());
        drop(request);
        drop(LatencyRequest::global_at(root.path(), Nanos::MAX).unwrap());
        assert_eq!(fs::read(root.path().join("dev/cpu_dma_latency")).unwrap()[..4], i32::MAX.to_ne_bytes());
        let nowhere = LatencyRequest::global_at(Path::new("/nowhere"), Nanos::ZERO);
        assert_eq!(nowhere.unwrap_err(), Error::Setup(SetupError::LatencyQos(libc::ENOENT)));
    }

    #[test]
    fn what_was_before_comes_back_when_the_last_of_several_leaves() {
        let root = machine(&[(1, "100"), (2, "n/a")]);
        let first = LatencyRequest::per_cpu_at(root.path(), &[1, 2]).unwrap();
        let second = LatencyRequest::per_cpu_at(root.path(), &[1]).unwrap();
        assert_eq!((of_cpu(&root, 1), of_cpu(&root, 2)), ("n/a".to_owned(), "n/a".to_owned()));
        drop(first);
        assert_eq!(of_cpu(&root, 1), "n/a", "the second still holds it");
        let others = |cpu| others_limit(&limit_file(root.path(), cpu));
        assert_eq!((others(1), others(2), others(3)), (Some("100".to_owned()), Some("n/a".to_owned()), None));
        drop(second);
        assert_eq!((of_cpu(&root, 1), of_cpu(&root, 2)), ("100".to_owned(), "n/a".to_owned()));
    }

    #[test]
    fn one_cpu_that_refuses_leaves_none_changed() {
        let root = machine(&[(1, "0")]);
        let refused = LatencyRequest::per_cpu_at(root.path(), &[1, 7]);
        assert_eq!(refused.unwrap_err(), Error::Setup(SetupError::LatencyQos(libc::ENOENT)));
        assert_eq!(of_cpu(&root, 1), "0");
    }
}
