//! All kinds of steps that change a machine. A step holds all the data needed to carry it out and to check its effect.
//! With its [`Before`], it can also be undone.
//!
//! Steps are data: which steps a plan has is decided elsewhere.

use punctual_facts::cpu_set::CpuSet;
use serde::{Serialize, Serializer};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Step {
    /// A value is written to a file of the kernel (`/proc`, `/sys`, debugfs, a control group) and read back. The undo
    /// writes the value that was there.
    Write {
        path: String,
        /// The value to write, without a line end.
        value: String,
        #[serde(skip)]
        expected: Expected,
    },
    /// A whole file of our own is written. The undo removes the file, or restores its earlier content.
    Own {
        /// The file's path. Missing folders above the file are made, and removed again on undo.
        path: String,
        content: String,
        mode: u32,
    },
    /// A file that is not ours is changed, after a copy was saved. The undo restores the earlier bytes, but only if the
    /// file still holds what we wrote (or one of `also_ours`). Otherwise the file was changed since, and the undo is
    /// refused.
    Edit {
        path: String,
        /// The content when the change was planned. If the file has any other content, the step is refused.
        #[serde(skip)]
        seen: Vec<u8>,
        #[serde(serialize_with = "lossily")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        content: Vec<u8>,
        /// Contents that the file may have after a boot loader itself changed our content.
        #[serde(skip)]
        also_ours: Vec<Vec<u8>>,
        /// Whether the bytes must be written into the file at its place on the disk, where a boot loader finds it by block
        /// number, instead of replacing the file.
        in_place: bool,
    },
    /// A file is removed, after a copy was saved. The undo restores the file.
    Remove { path: String },
    /// A folder is created in a file system of the kernel: a control group or a resctrl group. The undo removes the
    /// folder.
    Folder { path: String },
    /// A thread is moved to other CPUs. The undo moves the thread back, unless the thread has ended.
    Affinity { task: TaskName, cpus: CpuSet },
    /// A thread gets another scheduling policy and priority. The undo restores both, unless the thread has ended.
    Policy {
        task: TaskName,
        /// The new policy with its priority or nice value.
        policy: SchedPolicy,
    },
    /// Settings of a network device are changed, by ethtool's names. A name without a subject, such as `rx-usecs`, is a
    /// setting of interrupt coalescing. Other names begin with their subject: `channels/combined`, `pause/rx`,
    /// `eee/enabled`.
    Nic {
        device: String,
        #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, u32)>"))]
        settings: Vec<NicSetting>,
    },
    /// A unit of systemd is stopped and masked; with `lasting`, it stays masked after the next boot. The undo unmasks
    /// the unit, and starts it if it ran before.
    Silence { unit: String, lasting: bool },
    /// Programs are run without a shell: `doing` carries out the step, and `undoing` undoes it.
    Run { doing: Option<Invocation>, undoing: Option<Invocation> },
}

/// Serialises bytes as text. Bytes that are not UTF-8 become replacement characters.
fn lossily<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

impl Step {
    /// Whether the effect of the step lasts after the next boot, because the step changes a file on a disk.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Own { .. } | Self::Edit { .. } | Self::Remove { .. } | Self::Silence { lasting: true, .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Invocation {
    /// The name of a program in one of the system's own folders.
    pub program: String,
    pub arguments: Vec<String>,
    /// The order that the program gives to a running systemd; `None` if the program needs no running systemd.
    #[serde(skip)]
    pub order: Option<SystemdOrder>,
}

impl Invocation {
    pub fn new<const N: usize>(program: &str, arguments: [&str; N]) -> Self {
        Self { program: program.to_owned(), arguments: arguments.map(str::to_owned).to_vec(), order: None }
    }

    pub fn systemd<const N: usize>(order: SystemdOrder, about: [&str; N]) -> Self {
        let arguments = order.words().iter().chain(&about).map(|word| (*word).to_owned()).collect();
        Self { program: SYSTEMCTL.to_owned(), arguments, order: Some(order) }
    }

    /// An invocation that was saved as words, such as in a journal.
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
    /// Sets a property of a unit until the next boot.
    SetRuntimeProperty,
    SetProperty,
}

impl SystemdOrder {
    /// All orders. If the words of one order begin with all words of another, the longer one stands first.
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

/// A thread, identified by number and start time, because numbers of threads are reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskName {
    pub pid: u32,
    /// The start time in clock ticks since boot (field 22 of `stat`).
    pub started: u64,
    pub comm: String,
}

/// A setting of a network device, as [`Step::Nic`] names it. It is published as a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "(String, u32)")]
pub struct NicSetting {
    pub name: String,
    pub value: u32,
}

impl From<NicSetting> for (String, u32) {
    fn from(NicSetting { name, value }: NicSetting) -> Self {
        (name, value)
    }
}

impl fmt::Display for NicSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
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

/// How the text of a kernel's file shows a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The whole text is the value. The amount of white space between words does not matter.
    Plain,
    /// The text lists the choices, with the one in force in brackets: `a [b] c`.
    Marked,
    /// The text is a list of CPUs: `0-3`.
    CpuList,
    /// The text is a mask of CPUs: `f`.
    CpuMask,
    /// The text lists the names that are switched on, such as `cpu cpuset`. To switch a name, it is written with a
    /// sign, such as `+cpuset`. An example is `cgroup.subtree_control`.
    Switches,
    /// The text has lines of resctrl's `schemata`. Only the lines whose names were written are compared.
    Schemata,
}

/// How to see whether a written value took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How the text of the file is read.
    pub reading: Reading,
    /// Another file that shows the value in force, such as `effective_affinity_list`; `None` if there is no such file.
    pub settles_at: Option<String>,
    /// Whether a subset of the written CPUs is enough, because the kernel chooses among the written CPUs.
    pub or_fewer: bool,
}

impl Expected {
    /// Expects that the same file shows the written value.
    pub fn same(reading: Reading) -> Self {
        Self { reading, settles_at: None, or_fewer: false }
    }
}

/// The state before a step, which is saved so that the step can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// No file existed. `folders_made` lists the folders that were created above the new file, the outermost first.
    Nothing {
        folders_made: Vec<String>,
    },
    Value(String),
    /// A file existed, and its bytes were saved in the file `copy`. With the checksum `sum` (CRC-32), a damaged copy is
    /// not restored.
    File {
        copy: String,
        mode: u32,
        uid: u32,
        gid: u32,
        sum: u32,
    },
    Cpus(CpuSet),
    Policy(SchedPolicy),
    Nic(Vec<NicSetting>),
    Unit {
        was_active: bool,
        was_masked: bool,
    },
    /// A program was run. The state before it cannot be saved.
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
