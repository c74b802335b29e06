//! The one narrow way to the machine: everything that is changed, and everything that is looked at in order to change
//! it, goes through a [`Hand`].
//!
//! Each operation is as small as it can be and still be done at once, so that a test can end the program before, in the
//! middle of and after each of them. Paths are those of the machine, whatever folder it is below.

use punctual_facts::cpu_set::CpuSet;
use punctual_tuning::plan::{Invocation, SchedPolicy, TaskName};
use std::fs::File;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A file with bytes in it.
    Regular,
    Folder,
    Link,
    /// A device, a pipe, a socket.
    Other,
}

impl FileKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular file",
            Self::Folder => "folder",
            Self::Link => "symbolic link",
            Self::Other => "special file",
        }
    }
}

/// What is known of a path, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

/// The lock, held as long as this lives and the process does.
#[derive(Debug)]
pub struct Lock(pub(crate) File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A program that is just being started may still have the file open, and closing it would not be enough.
        let _ = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::Unlock);
    }
}

/// What came of asking for the lock.
#[derive(Debug)]
pub enum LockAnswer {
    Taken(Lock),
    /// Another process has it.
    Held {
        /// Which, if it said so.
        by: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitState {
    /// It runs, or is about to.
    pub active: bool,
    /// It cannot be started until the machine starts anew.
    pub masked: bool,
    /// It cannot be started after that either.
    pub masked_for_good: bool,
}

/// What is done to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitVerb {
    Stop,
    Start,
    Mask {
        /// After the next start of the machine, too.
        lasting: bool,
    },
    Unmask {
        /// The lasting kind of mask.
        lasting: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub well: bool,
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    pub how: String,
    /// The end of what it said.
    pub said: String,
}

/// Looks at a machine and changes it.
///
/// What is not there is `NotFound`, or `None` where a method says so; of threads that are gone, `ESRCH`.
pub trait Hand {
    /// A regular file with these permission bits that belongs to this process's user and group.
    fn ours(&self, mode: u32) -> Meta;
    fn boot_id(&self) -> io::Result<String>;
    /// What is known of a path; `None` where nothing is.
    fn stat(&self, path: &str) -> io::Result<Option<Meta>>;
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// CPUs a thread may run on.
    fn affinity(&self, task: &TaskName) -> io::Result<CpuSet>;
    fn policy(&self, task: &TaskName) -> io::Result<SchedPolicy>;
    /// Settings of a network device, those of `names` in that order.
    fn nic(&self, device: &str, names: &[&str]) -> io::Result<Vec<(String, u32)>>;
    /// A unit; `None` where there is none of that name.
    fn unit(&self, unit: &str) -> io::Result<Option<UnitState>>;
    /// Asks for the lock and does not wait.
    fn lock(&self, path: &str) -> io::Result<LockAnswer>;

    /// Writes a value to a file of the kernel, in one piece.
    fn write_value(&self, path: &str, value: &str) -> io::Result<()>;
    /// Makes a new file and syncs it.
    fn create(&self, path: &str, bytes: &[u8], meta: Meta) -> io::Result<()>;
    /// Renames a file over another (or none) in the same folder, and syncs the folder.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Writes into a file as it lies on disk, and syncs it.
    fn overwrite(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Appends to a file and syncs it.
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, path: &str, length: u64) -> io::Result<()>;
    /// Makes sure that a file can grow by so many bytes beyond `length`.
    fn reserve(&self, path: &str, length: u64, bytes: u64) -> io::Result<()>;
    /// Takes a file away and syncs its folder.
    fn remove(&self, path: &str) -> io::Result<()>;
    fn make_folder(&self, path: &str, mode: u32) -> io::Result<()>;
    fn remove_folder(&self, path: &str) -> io::Result<()>;
    fn set_affinity(&self, task: &TaskName, cpus: &CpuSet) -> io::Result<()>;
    fn set_policy(&self, task: &TaskName, policy: SchedPolicy) -> io::Result<()>;
    fn set_nic(&self, device: &str, settings: &[(String, u32)]) -> io::Result<()>;
    fn do_unit(&self, unit: &str, verb: UnitVerb) -> io::Result<Ran>;
    fn run(&self, invocation: &Invocation) -> io::Result<Ran>;
}
