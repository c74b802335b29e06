//! The whole vocabulary of what may be done to a machine. Each step has everything that is needed to do it, to see whether
//! it took effect, and to undo it once its [`Before`] is known.
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
    /// only where the file still holds what we wrote (or one of `also_ours`): otherwise somebody else has changed it, and
    /// undoing it is refused.
    Edit {
        path: String,
        /// The content when the change was planned. With any other content the step is refused.
        #[serde(skip)]
        seen: Vec<u8>,
        #[serde(serialize_with = "lossily")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        content: Vec<u8>,
        /// Contents that a boot loader may make of ours by itself.
        #[serde(skip)]
        also_ours: Vec<Vec<u8>>,
        /// Whether the bytes must be written into the file at its place on the disk, where a boot loader finds it by block
        /// number, instead of replacing the file.
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
    /// Settings of a network device by ethtool's names. Names without a subject are about coalescing, as `("rx-usecs", 0)`;
    /// others have their subject: `channels/combined`, `pause/rx`, `eee/enabled`.
    Nic { device: String, settings: Vec<(String, u32)> },
    /// A unit of systemd is stopped and masked; with `lasting` also after the next boot. Undone by unmasking it, and
    /// starting it if it ran.
    Silence { unit: String, lasting: bool },
    /// Programs are run. Nothing goes through a shell.
    Run { doing: Option<Invocation>, undoing: Option<Invocation> },
}

/// Writes bytes as text, with replacements for what is not text.
fn lossily<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

impl Step {
    /// Whether its effect outlives the boot, because it is a file on a disk.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Own { .. } | Self::Edit { .. } | Self::Remove { .. } | Self::Silence { lasting: true, .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Invocation {
    /// The name of a program in the system's own folders.
    pub program: String,
    pub arguments: Vec<String>,
    /// The order that the program passes to a running systemd; `None` if it works without one.
    #[serde(skip)]
    pub order: Option<SystemdOrder>,
}

impl Invocation {
    pub fn new<const N: usize>(program: &str, arguments: [&str; N]) -> Self {
        Self { program: program.to_owned(), arguments: arguments.map(str::to_owned).to_vec(), order: None }
    }

    /// Runs `systemctl` with this order and what it is about.
    pub fn systemd<const N: usize>(order: SystemdOrder, about: [&str; N]) -> Self {
        let arguments = order.words().iter().chain(&about).map(|word| (*word).to_owned()).collect();
        Self { program: SYSTEMCTL.to_owned(), arguments, order: Some(order) }
    }

    /// An invocation that was written down as words.
    pub fn from_words(program: String, arguments: Vec<String>) -> Self {
        let begins = |order: &SystemdOrder| {
            let words = order.words();
            arguments.iter().map(String::as_str).take(words.len()).eq(words.iter().copied())
        };
        let order = SystemdOrder::ALL.into_iter().filter(|_| program == SYSTEMCTL).find(begins);
        Self { program, arguments, order }
    }
}

const SYSTEMCTL: &str = "systemctl";

/// An order that only a running systemd can carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemdOrder {
    DaemonReload,
    Start,
    Stop,
    Restart,
    Reload,
    /// Sets a property until the next boot.
    SetRuntimeProperty,
    SetProperty,
}

impl SystemdOrder {
    /// All orders; one whose words begin with those of another comes first.
    const ALL: [Self; 7] = [
        Self::DaemonReload,
        Self::Start,
        Self::Stop,
        Self::Restart,
        Self::Reload,
        Self::SetRuntimeProperty,
        Self::SetProperty,
    ];

    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::DaemonReload => &["daemon-reload"],
            Self::Start => &["start"],
            Self::Stop => &["stop"],
            Self::Restart => &["restart"],
            Self::Reload => &["reload"],
            Self::SetRuntimeProperty => &["set-property", "--runtime"],
            Self::SetProperty => &["set-property"],
        }
    }
}

/// Names a thread; the start time is needed because numbers are reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskName {
    pub pid: u32,
    /// The start time in clock ticks since boot (field 22 of `stat`).
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

/// What the text of a kernel's file means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The text is the value; the amount of white space between words does not matter.
    Plain,
    /// The text lists the choices, with the one in force in brackets: `a [b] c`.
    Marked,
    /// The text is a list of CPUs: `0-3`.
    CpuList,
    /// The text is a mask of CPUs: `f`.
    CpuMask,
    /// The text lists what is on, as `cpu cpuset`, and signs switch it, as `+cpuset`: `cgroup.subtree_control`.
    Switches,
    /// The text has lines of resctrl's `schemata`; only lines with the names that are written are compared.
    Schemata,
}

/// How to see whether a written value took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How the text of the file is read.
    pub reading: Reading,
    /// Another file that shows what is in force, if the kernel has one, as `effective_affinity_list`.
    pub settles_at: Option<String>,
    /// Whether fewer CPUs than were written are right as well, because the kernel chooses among them.
    pub or_fewer: bool,
}

impl Expected {
    /// The same file must hold the value that was written.
    pub fn same(reading: Reading) -> Self {
        Self { reading, settles_at: None, or_fewer: false }
    }
}

/// What was there before a step, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// There was no file; `folders_made` are the folders that had to be made for it, the outermost first.
    Nothing {
        folders_made: Vec<String>,
    },
    Value(String),
    /// There was a file, whose bytes are in the saved copy of that name. The checksum `sum` (CRC-32) keeps a damaged copy
    /// from being put back.
    File {
        copy: String,
        mode: u32,
        uid: u32,
        gid: u32,
        sum: u32,
    },
    Cpus(CpuSet),
    Policy(SchedPolicy),
    Nic(Vec<(String, u32)>),
    Unit {
        was_active: bool,
        was_masked: bool,
    },
    /// A program is run, of which nothing can be saved.
    Program,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_was_written_down_as_words_is_the_same_order() {
        for order in SystemdOrder::ALL {
            let run = Invocation::systemd(order, ["a.slice", "AllowedCPUs=1"]);
            assert_eq!(Invocation::from_words(run.program.clone(), run.arguments.clone()), run);
        }
        let order = |program: &str, words: &[&str]| {
            Invocation::from_words(program.to_owned(), words.iter().map(|word| (*word).to_owned()).collect()).order
        };
        assert_eq!(order("systemctl", &["set-property", "--runtime", "x"]), Some(SystemdOrder::SetRuntimeProperty));
        assert_eq!(order("systemctl", &["set-property", "x", "--runtime"]), Some(SystemdOrder::SetProperty));
        assert_eq!(order("systemctl", &["reboot"]), None);
        assert_eq!(order("systemctl", &[]), None);
        assert_eq!(order("rc-service", &["stop"]), None);
    }
}
