//! The whole vocabulary of what may be done to a machine. Each word names everything needed to do it, to see whether it
//! took effect, and to undo it once its [`Before`] is known.
//!
//! A step decides nothing and knows nothing of knobs.

use punctual_facts::cpu_set::CpuSet;
use serde::{Serialize, Serializer};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Step {
    /// A value is written to a file of the kernel (`/proc`, `/sys`, debugfs, a control group) and read back. Undone by
    /// writing the value that was there.
    Write {
        path: String,
        /// What to write, without a line end.
        value: String,
        /// What is to be seen afterwards.
        #[serde(skip)]
        expected: Expected,
    },
    /// A file of our own, whole. Undone by removing it, or by putting back what was there.
    Own {
        /// The file; folders above it are made (and unmade) as needed.
        path: String,
        content: String,
        mode: u32,
    },
    /// A file of somebody else, changed. A copy is saved first. Undone by putting back the bytes that were there, but
    /// only where the file still holds what we wrote (or one of `also_ours`): else somebody else changed it meanwhile,
    /// and that is said.
    Edit {
        path: String,
        /// What it held when the change was planned; with anything else in it the step is refused.
        #[serde(skip)]
        seen: Vec<u8>,
        #[serde(serialize_with = "lossily")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        content: Vec<u8>,
        /// What a boot loader may make of our content by itself.
        #[serde(skip)]
        also_ours: Vec<Vec<u8>>,
        /// Whether the bytes must be written into the file as it lies on disk (a boot loader writes there by block
        /// number), instead of replacing the file by another.
        in_place: bool,
    },
    /// A file is taken away. A copy is saved first. Undone by putting it back.
    Remove { path: String },
    /// A folder of the kernel's own making is made: a control group, a resctrl group. Undone by removing it.
    Folder { path: String },
    /// A thread is moved to CPUs. Undone by moving it back; a thread that is gone needs nothing.
    Affinity { task: TaskName, cpus: CpuSet },
    /// A thread gets another policy and priority.
    Policy {
        task: TaskName,
        /// `other`, `fifo` or `rr`.
        policy: SchedPolicy,
    },
    /// Settings of a network device, by ethtool's names: `("rx-usecs", 0)` is a coalescing one; others carry their
    /// subject: `channels/combined`, `pause/rx`, `eee/enabled`.
    Nic { device: String, settings: Vec<(String, u32)> },
    /// A unit of systemd is stopped and kept from starting. Undone by unmasking it, and starting it if it ran.
    Silence {
        unit: String,
        /// Whether it stays stopped after the next boot as well.
        lasting: bool,
    },
    /// Programs are run. Nothing goes through a shell.
    Run { doing: Option<Invocation>, undoing: Option<Invocation> },
}

/// Bytes that are no text are replaced.
fn lossily<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

impl Step {
    /// Whether what it does outlives the boot in which it is done: it is about a file on a disk.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Own { .. } | Self::Edit { .. } | Self::Remove { .. } | Self::Silence { lasting: true, .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Invocation {
    /// Its name, to be looked for in the system's own folders of programs.
    pub program: String,
    pub arguments: Vec<String>,
}

impl Invocation {
    pub fn new<const N: usize>(program: &str, arguments: [&str; N]) -> Self {
        Self { program: program.to_owned(), arguments: arguments.map(str::to_owned).to_vec() }
    }
}

/// Which thread: a number alone may be another one's tomorrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskName {
    pub pid: u32,
    /// When it was started, in clock ticks since boot (field 22 of `stat`).
    pub started: u64,
    pub comm: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub enum SchedPolicy {
    /// `SCHED_OTHER`, with its nice value.
    Other(i32),
    Fifo(u32),
    Rr(u32),
}

impl Serialize for SchedPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for SchedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(0) => f.write_str("other"),
            Self::Other(nice) => write!(f, "other, nice {nice}"),
            Self::Fifo(priority) => write!(f, "fifo {priority}"),
            Self::Rr(priority) => write!(f, "rr {priority}"),
        }
    }
}

/// How the text of a kernel's file stands for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Word for word; white space between words is all one.
    Plain,
    /// The choices are listed and the one in force is in brackets: `a [b] c`.
    Marked,
    /// A list of CPUs: `0-3`.
    CpuList,
    /// A mask of CPUs: `f`.
    CpuMask,
    /// What is on is listed, and switched by signs: `+cpuset` is written, `cpu cpuset` is read (a control group's
    /// `cgroup.subtree_control`).
    Switches,
    /// Lines of resctrl's `schemata`: only those of the names written are kept and compared.
    Schemata,
}

/// What is to be seen after a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How the file that was written is read (and its value saved).
    pub reading: Reading,
    /// Another file that tells what is in force, where the kernel has one: `effective_affinity_list`.
    pub settles_at: Option<String>,
    /// For CPUs: a part of them is as good, since the kernel chooses among them.
    pub or_fewer: bool,
}

impl Expected {
    /// The same file, read in this way, holds the same value.
    pub fn same(reading: Reading) -> Self {
        Self { reading, settles_at: None, or_fewer: false }
    }
}

/// What was there before a step, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing was there; folders that had to be made for it, outermost first.
    Nothing {
        folders_made: Vec<String>,
    },
    Value(String),
    /// A file: its bytes are in a saved copy of that name.
    File {
        copy: String,
        mode: u32,
        uid: u32,
        gid: u32,
        /// Checksum of the bytes (CRC-32), so that a damaged copy is not put back.
        sum: u32,
    },
    Cpus(CpuSet),
    Policy(SchedPolicy),
    Nic(Vec<(String, u32)>),
    /// A unit: whether it ran, and whether it was masked already (by us or others).
    Unit {
        was_active: bool,
        was_masked: bool,
    },
    /// Nothing that could be saved: a program is run.
    Program,
}
