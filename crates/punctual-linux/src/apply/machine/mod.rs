//! Changes a machine: this one, or the files of a machine that lie below a folder.
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
use punctual_tuning::plan::{Invocation, NicSetting, SchedPolicy, TaskName};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

pub use tasks::{is_alive, this_process};

#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
    /// The lock file, if the lock is taken. Programs started by [`Hand::run`] keep the file open. If one of them
    /// outlives this process, the lock stays taken and no other process changes the machine meanwhile.
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

/// Implements operations on a file. Each one first checks the path with the function of `places` that is named before
/// it.
macro_rules! in_files {
    ($($place:ident $name:ident($($argument:ident: $type:ty),*) -> $done:ty;)*) => {$(
        fn $name(&self, path: &str, $($argument: $type),*) -> io::Result<$done> {
            files::$name(&places::$place(&self.root, path)?, $($argument),*)
        }
    )*};
}

/// Implements operations that are possible only on the machine that this program runs on.
macro_rules! only_here {
    ($($name:ident($($argument:ident: $type:ty),*) -> $done:ty = $act:path;)*) => {$(
        fn $name(&self, $($argument: $type),*) -> io::Result<$done> {
            self.only_here().and_then(|()| $act($($argument),*))
        }
    )*};
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

    in_files! {
        named stat() -> Option<Meta>;
        readable read() -> Vec<u8>;
        ours list() -> Vec<String>;
        kernel write_value(value: &str) -> ();
        ours create(bytes: &[u8], meta: Meta) -> ();
        ours overwrite(bytes: &[u8]) -> ();
        ours append(bytes: &[u8]) -> ();
        ours truncate(length: u64) -> ();
        ours reserve(length: u64, bytes: u64) -> ();
        ours remove() -> ();
    }

    only_here! {
        affinity(task: &TaskName) -> CpuSet = tasks::affinity;
        policy(task: &TaskName) -> SchedPolicy = tasks::policy;
        nic(device: &str, names: &[&str]) -> Vec<NicSetting> = nics::ask;
        unit(unit: &str) -> Option<UnitState> = programs::unit;
        set_affinity(task: &TaskName, cpus: &CpuSet) -> () = tasks::set_affinity;
        set_policy(task: &TaskName, policy: SchedPolicy) -> () = tasks::set_policy;
        set_nic(device: &str, settings: &[NicSetting]) -> () = nics::tell;
        do_unit(unit: &str, verb: UnitVerb) -> Ran = programs::do_unit;
    }

    fn lock(&self, path: &str) -> io::Result<LockAnswer> {
        let asked = files::lock(&places::ours(&self.root, path)?)?;
        if let LockAnswer::Taken(lock) = &asked {
            *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock.0.try_clone()?);
        }
        Ok(asked)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        files::rename(&places::ours(&self.root, from)?, &places::ours(&self.root, to)?)
    }

    fn make_folder(&self, path: &str, mode: u32) -> io::Result<()> {
        let places::NewFolder { path, of_kernel } = places::folder(&self.root, path)?;
        files::make_folder(&path, (!of_kernel).then_some(mode))
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        files::remove_folder(&places::folder(&self.root, path)?.path)
    }

    fn run(&self, invocation: &Invocation) -> io::Result<Ran> {
        self.only_here()?;
        // The program keeps the lock file open, so that the lock stays taken until the program has ended.
        let lock =
            self.lock.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(File::try_clone).transpose()?;
        programs::run(invocation, lock)
    }
}
