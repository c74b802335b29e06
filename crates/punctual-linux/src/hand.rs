//! The only interface to the machine for changes: all changes, and all reading in preparation of changes, go through a
//! [`Hand`].
//!
//! Each operation is as small as possible, so that a test can end the program before, during and after each of them.
//! Paths are those of the machine, also if its files lie below another folder.

use punctual_facts::cpu_set::CpuSet;
use punctual_tuning::plan::{Invocation, NicSetting, SchedPolicy, TaskName};
use std::fs::File;
use std::io;

punctual_facts::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileKind {
        Regular = "regular file",
        Folder = "folder",
        Link = "symbolic link",
        /// A device, a pipe or a socket.
        Other = "special file",
    }
}

/// The properties of a path. Links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    pub kind: FileKind,
    /// Permission bits without the kind of file.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

#[derive(Debug)]
pub struct Lock(pub(crate) File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A program that is just being started may have the file open as well, so closing it would not release the
        // lock.
        let _ = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::Unlock);
    }
}

#[derive(Debug)]
pub enum LockAnswer {
    Taken(Lock),
    Held {
        /// Process id that the holder wrote into the file; `None` if it wrote none.
        by: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitState {
    /// Whether the unit runs or is starting.
    pub active: bool,
    /// Whether the unit is masked until the next boot.
    pub masked: bool,
    /// Whether the unit is masked permanently.
    pub masked_for_good: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitVerb {
    Stop,
    Start,
    Mask {
        /// Whether the mask outlives the next boot.
        lasting: bool,
    },
    Unmask {
        /// Whether to remove the permanent mask instead of the one that ends with the boot.
        lasting: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub well: bool,
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    pub how: String,
    pub said: String,
}

/// Inspects and changes a machine.
///
/// For a path or unit that does not exist, methods that return an `Option` return `None`, and others the error
/// `NotFound`. For a thread that has ended, they return `ESRCH`.
pub trait Hand {
    /// Properties of a regular file with these permission bits that belongs to the user and group of this process.
    fn ours(&self, mode: u32) -> Meta;
    fn boot_id(&self) -> io::Result<String>;
    fn stat(&self, path: &str) -> io::Result<Option<Meta>>;
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    fn affinity(&self, task: &TaskName) -> io::Result<CpuSet>;
    fn policy(&self, task: &TaskName) -> io::Result<SchedPolicy>;
    /// Settings of a network device, in the order of `names`.
    fn nic(&self, device: &str, names: &[&str]) -> io::Result<Vec<NicSetting>>;
    /// The state of a unit; `None` if there is no unit with this name.
    fn unit(&self, unit: &str) -> io::Result<Option<UnitState>>;
    /// Tries to take the lock without waiting.
    fn lock(&self, path: &str) -> io::Result<LockAnswer>;

    /// Writes a value to a file of the kernel in one call.
    fn write_value(&self, path: &str, value: &str) -> io::Result<()>;
    /// Makes a new file and syncs it.
    fn create(&self, path: &str, bytes: &[u8], meta: Meta) -> io::Result<()>;
    /// Renames a file to another path in the same folder, replacing any file there, and syncs the folder.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Overwrites a file in place, and syncs it.
    fn overwrite(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, path: &str, length: u64) -> io::Result<()>;
    /// Makes sure that a file of `length` bytes can grow by `bytes` more.
    fn reserve(&self, path: &str, length: u64, bytes: u64) -> io::Result<()>;
    /// Removes a file and syncs its folder.
    fn remove(&self, path: &str) -> io::Result<()>;
    fn make_folder(&self, path: &str, mode: u32) -> io::Result<()>;
    fn remove_folder(&self, path: &str) -> io::Result<()>;
    fn set_affinity(&self, task: &TaskName, cpus: &CpuSet) -> io::Result<()>;
    fn set_policy(&self, task: &TaskName, policy: SchedPolicy) -> io::Result<()>;
    fn set_nic(&self, device: &str, settings: &[NicSetting]) -> io::Result<()>;
    fn do_unit(&self, unit: &str, verb: UnitVerb) -> io::Result<Ran>;
    fn run(&self, invocation: &Invocation) -> io::Result<Ran>;
}
