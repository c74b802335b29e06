//! The hand of a machine: of this one, or of a machine whose files lie below a folder.
//!
//! Below a folder other than `/` only files are changed. Threads, devices, units and programs would be those of the
//! machine that this program runs on, so they are left alone.

mod files;
mod nics;
mod places;
mod programs;
mod tasks;

use crate::hand::{FileKind, Hand, LockAnswer, Meta, Ran, UnitState, UnitVerb};
use crate::in_force::BOOT_ID;
use crate::journal::Now;
use punctual_facts::cpu_set::CpuSet;
use punctual_tuning::plan::{Invocation, SchedPolicy, TaskName};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

pub use tasks::{is_alive, this_process};

#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
    /// The lock, once it was taken. Programs that are run keep it open. So if one of them outlives the process that
    /// started it, nobody else changes the machine meanwhile.
    lock: Arc<Mutex<Option<File>>>,
}

impl Machine {
    pub fn here() -> Self {
        Self::below("/")
    }

    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), lock: Arc::default() }
    }

    fn only_here(&self) -> io::Result<()> {
        if self.root.as_os_str() == "/" {
            return Ok(());
        }
        let why = format!("{}: only the files of that machine are at hand", self.root.display());
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
}

pub fn now(hand: &dyn Hand) -> io::Result<Now> {
    Ok(Now { boot: hand.boot_id()?, boottime_ns: punctual_rt::kernel::boot_time() })
}

impl Hand for Machine {
    fn ours(&self, mode: u32) -> Meta {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Meta { kind: FileKind::Regular, mode, uid, gid }
    }

    fn boot_id(&self) -> io::Result<String> {
        let text = std::fs::read_to_string(places::below(&self.root, BOOT_ID))?;
        Ok(text.trim().to_owned())
    }

    fn stat(&self, path: &str) -> io::Result<Option<Meta>> {
        files::stat(&places::named(&self.root, path)?)
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        files::read(&places::readable(&self.root, path)?)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        files::list(&places::ours(&self.root, path)?)
    }

    fn affinity(&self, task: &TaskName) -> io::Result<CpuSet> {
        self.only_here().and_then(|()| tasks::affinity(task))
    }

    fn policy(&self, task: &TaskName) -> io::Result<SchedPolicy> {
        self.only_here().and_then(|()| tasks::policy(task))
    }

    fn nic(&self, device: &str, names: &[&str]) -> io::Result<Vec<(String, u32)>> {
        self.only_here().and_then(|()| nics::ask(device, names))
    }

    fn unit(&self, unit: &str) -> io::Result<Option<UnitState>> {
        self.only_here().and_then(|()| programs::unit(unit))
    }

    fn lock(&self, path: &str) -> io::Result<LockAnswer> {
        let asked = files::lock(&places::ours(&self.root, path)?)?;
        if let LockAnswer::Taken(lock) = &asked {
            *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock.0.try_clone()?);
        }
        Ok(asked)
    }

    fn write_value(&self, path: &str, value: &str) -> io::Result<()> {
        files::write_value(&places::kernel(&self.root, path)?, value)
    }

    fn create(&self, path: &str, bytes: &[u8], meta: Meta) -> io::Result<()> {
        files::create(&places::ours(&self.root, path)?, bytes, meta)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        files::rename(&places::ours(&self.root, from)?, &places::ours(&self.root, to)?)
    }

    fn overwrite(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        files::overwrite(&places::ours(&self.root, path)?, bytes)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        files::append(&places::ours(&self.root, path)?, bytes)
    }

    fn truncate(&self, path: &str, length: u64) -> io::Result<()> {
        files::truncate(&places::ours(&self.root, path)?, length)
    }

    fn reserve(&self, path: &str, length: u64, bytes: u64) -> io::Result<()> {
        files::reserve(&places::ours(&self.root, path)?, length, bytes)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        files::remove(&places::ours(&self.root, path)?)
    }

    fn make_folder(&self, path: &str, mode: u32) -> io::Result<()> {
        let places::NewFolder { path, of_kernel } = places::folder(&self.root, path)?;
        files::make_folder(&path, (!of_kernel).then_some(mode))
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        files::remove_folder(&places::folder(&self.root, path)?.path)
    }

    fn set_affinity(&self, task: &TaskName, cpus: &CpuSet) -> io::Result<()> {
        self.only_here().and_then(|()| tasks::set_affinity(task, cpus))
    }

    fn set_policy(&self, task: &TaskName, policy: SchedPolicy) -> io::Result<()> {
        self.only_here().and_then(|()| tasks::set_policy(task, policy))
    }

    fn set_nic(&self, device: &str, settings: &[(String, u32)]) -> io::Result<()> {
        self.only_here().and_then(|()| nics::tell(device, settings))
    }

    fn do_unit(&self, unit: &str, verb: UnitVerb) -> io::Result<Ran> {
        self.only_here().and_then(|()| programs::do_unit(unit, verb))
    }

    fn run(&self, invocation: &Invocation) -> io::Result<Ran> {
        self.only_here()?;
        // Other processes get the lock only when the last of these programs has closed it.
        let lock =
            self.lock.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(File::try_clone).transpose()?;
        programs::run(invocation, lock)
    }
}
