//! The records' types as they are written down. A field that is renamed here is a new format.

use crate::journal::record::{Asked, Begun, Intent, Kind, Outcome, Owner, Record, Undone, Was};
use punctual_facts::cpu_set::CpuSet;
use punctual_tuning::plan::{Before, Expected, Invocation, Keep, Lasts, Reading, SchedPolicy, Step, TaskName};
use serde::{Deserialize, Serialize};

/// Every value of a line's `record`.
pub(super) const KINDS: [&str; 9] =
    ["begun", "intent", "was", "outcome", "applied", "confirmed", "leaving", "undone", "reverted"];

#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Line {
    Begun {
        transaction: u32,
        at_unix_s: u64,
        boot: String,
        version: String,
        cpus: String,
        profile: String,
        arguments: Vec<String>,
        keeps: Vec<(String, KeepTwin)>,
        kind: KindTwin,
        pid: u32,
        started: u64,
        confirm_by_ns: Option<u64>,
    },
    Intent {
        transaction: u32,
        number: u32,
        change: String,
        lasts: LastsTwin,
        step: StepTwin,
        before: BeforeTwin,
    },
    Was {
        transaction: u32,
        change: String,
        step: StepTwin,
    },
    Outcome {
        transaction: u32,
        number: u32,
        outcome: OutcomeTwin,
    },
    Applied {
        transaction: u32,
    },
    Confirmed {
        transaction: u32,
    },
    Leaving {
        transaction: u32,
    },
    Undone {
        transaction: u32,
        number: u32,
        how: UndoneTwin,
    },
    Reverted {
        transaction: u32,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum KindTwin {
    Tuned,
    ForCommand { command: Vec<String> },
    Adopted { of: u32 },
    Boot,
    Campaign { folder: String },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LastsTwin {
    Process,
    Reboot,
    ForGood,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum OutcomeTwin {
    Effective,
    Waits { seen: String },
    Differs { seen: String },
    Refused { why: String },
    Gone { what: String },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum UndoneTwin {
    Restored,
    Nothing { why: String },
    Left { what: String },
}

/// Bytes as text where they are text, else in hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BytesTwin {
    Text(String),
    Hex(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReadingTwin {
    Plain,
    Marked,
    CpuList,
    CpuMask,
    Switches,
    Schemata,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PolicyTwin {
    Other(i32),
    Fifo(u32),
    Rr(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum StepTwin {
    Write { path: String, value: String, reading: ReadingTwin, settles_at: Option<String>, or_fewer: bool },
    Own { path: String, content: String, mode: u32 },
    Edit { path: String, seen: BytesTwin, content: BytesTwin, also_ours: Vec<BytesTwin>, in_place: bool },
    Remove { path: String },
    Folder { path: String },
    Affinity { pid: u32, started: u64, comm: String, cpus: String },
    Policy { pid: u32, started: u64, comm: String, policy: PolicyTwin },
    Nic { device: String, settings: Vec<(String, u32)> },
    Silence { unit: String, lasting: bool },
    Run { doing: Option<Vec<String>>, undoing: Option<Vec<String>> },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum BeforeTwin {
    Nothing { folders_made: Vec<String> },
    Value(String),
    File { copy: String, mode: u32, uid: u32, gid: u32, sum: u32 },
    Cpus(String),
    Policy(PolicyTwin),
    Nic(Vec<(String, u32)>),
    Unit { was_active: bool, was_masked: bool },
    Program,
}

impl From<Record> for Line {
    fn from(record: Record) -> Self {
        match record {
            Record::Begun(begun) => begun.into(),
            Record::Intent(Intent { transaction, number, change, lasts, step, before }) => Self::Intent {
                transaction,
                number,
                change,
                lasts: lasts.into(),
                step: step.into(),
                before: before.into(),
            },
            Record::Was(Was { transaction, change, step }) => Self::Was { transaction, change, step: step.into() },
            Record::Outcome { transaction, number, outcome } => {
                Self::Outcome { transaction, number, outcome: outcome.into() }
            }
            Record::Applied { transaction } => Self::Applied { transaction },
            Record::Confirmed { transaction } => Self::Confirmed { transaction },
            Record::Leaving { transaction } => Self::Leaving { transaction },
            Record::Undone { transaction, number, how } => Self::Undone { transaction, number, how: how.into() },
            Record::Reverted { transaction } => Self::Reverted { transaction },
        }
    }
}

impl TryFrom<Line> for Record {
    type Error = String;

    fn try_from(line: Line) -> Result<Self, String> {
        Ok(match line {
            Line::Begun {
                transaction,
                at_unix_s,
                boot,
                version,
                cpus,
                profile,
                arguments,
                keeps,
                kind,
                pid,
                started,
                confirm_by_ns,
            } => Self::Begun(Begun {
                transaction,
                at_unix_s,
                boot,
                version,
                asked: Asked {
                    cpus,
                    profile,
                    arguments,
                    keeps: keeps
                        .into_iter()
                        .map(|(id, keep)| Ok((id, keep.try_into()?)))
                        .collect::<Result<_, String>>()?,
                },
                kind: kind.into(),
                owner: Owner { pid, started },
                confirm_by_ns,
            }),
            Line::Intent { transaction, number, change, lasts, step, before } => Self::Intent(Intent {
                transaction,
                number,
                change,
                lasts: lasts.into(),
                step: step.try_into()?,
                before: before.try_into()?,
            }),
            Line::Was { transaction, change, step } => Self::Was(Was { transaction, change, step: step.try_into()? }),
            Line::Outcome { transaction, number, outcome } => {
                Self::Outcome { transaction, number, outcome: outcome.into() }
            }
            Line::Applied { transaction } => Self::Applied { transaction },
            Line::Confirmed { transaction } => Self::Confirmed { transaction },
            Line::Leaving { transaction } => Self::Leaving { transaction },
            Line::Undone { transaction, number, how } => Self::Undone { transaction, number, how: how.into() },
            Line::Reverted { transaction } => Self::Reverted { transaction },
        })
    }
}

impl From<Begun> for Line {
    fn from(begun: Begun) -> Self {
        let Begun { transaction, at_unix_s, boot, version, asked, kind, owner, confirm_by_ns } = begun;
        let Asked { cpus, profile, arguments, keeps } = asked;
        let Owner { pid, started } = owner;
        let kind = kind.into();
        Self::Begun {
            transaction,
            at_unix_s,
            boot,
            version,
            cpus,
            profile,
            arguments,
            keeps: keeps.into_iter().map(|(id, keep)| (id, keep.into())).collect(),
            kind,
            pid,
            started,
            confirm_by_ns,
        }
    }
}

/// Twins with the same variants and fields, both ways.
macro_rules! same_shape {
    ($($own:ident = $twin:ident { $($variant:ident $({ $($field:ident),* })? $(($inner:ident))?),* $(,)? })*) => {$(
        impl From<$own> for $twin {
            fn from(own: $own) -> Self {
                match own {
                    $($own::$variant $({ $($field),* })? $(($inner))? => Self::$variant $({ $($field),* })? $(($inner))?,)*
                }
            }
        }

        impl From<$twin> for $own {
            fn from(twin: $twin) -> Self {
                match twin {
                    $($twin::$variant $({ $($field),* })? $(($inner))? => Self::$variant $({ $($field),* })? $(($inner))?,)*
                }
            }
        }
    )*};
}

same_shape! {
    Kind = KindTwin { Tuned, ForCommand { command }, Adopted { of }, Boot, Campaign { folder } }
    Lasts = LastsTwin { Process, Reboot, ForGood }
    Outcome = OutcomeTwin { Effective, Waits { seen }, Differs { seen }, Refused { why }, Gone { what } }
    Undone = UndoneTwin { Restored, Nothing { why }, Left { what } }
    Reading = ReadingTwin { Plain, Marked, CpuList, CpuMask, Switches, Schemata }
    SchedPolicy = PolicyTwin { Other(nice), Fifo(priority), Rr(priority) }
}

fn hex(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 0xf].map(|half| char::from_digit(half.into(), 16).unwrap_or_default())
}

impl From<Vec<u8>> for BytesTwin {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(other) => Self::Hex(other.as_bytes().iter().flat_map(|byte| hex(*byte)).collect()),
        }
    }
}

impl TryFrom<BytesTwin> for Vec<u8> {
    type Error = String;

    fn try_from(bytes: BytesTwin) -> Result<Self, String> {
        let text = match bytes {
            BytesTwin::Text(text) => return Ok(text.into_bytes()),
            BytesTwin::Hex(text) => text,
        };
        let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
        let bytes: Result<Self, _> = digits.map(|pair| u8::from_str_radix(pair, 16)).collect();
        bytes.map_err(|_| "bytes that are not hexadecimal".to_owned())
    }
}

fn cpus(list: &str) -> Result<CpuSet, String> {
    CpuSet::parse_list(list).map_err(|error| error.to_string())
}

fn words(invocation: Invocation) -> Vec<String> {
    std::iter::once(invocation.program).chain(invocation.arguments).collect()
}

fn invocation(words: Vec<String>) -> Result<Invocation, String> {
    let mut words = words.into_iter();
    let program = words.next().ok_or("a program without a name")?;
    Ok(Invocation { program, arguments: words.collect() })
}

impl From<Step> for StepTwin {
    fn from(step: Step) -> Self {
        match step {
            Step::Write { path, value, expected: Expected { reading, settles_at, or_fewer } } => {
                Self::Write { path, value, reading: reading.into(), settles_at, or_fewer }
            }
            Step::Own { path, content, mode } => Self::Own { path, content, mode },
            Step::Edit { path, seen, content, also_ours, in_place } => Self::Edit {
                path,
                seen: seen.into(),
                content: content.into(),
                also_ours: also_ours.into_iter().map(BytesTwin::from).collect(),
                in_place,
            },
            Step::Remove { path } => Self::Remove { path },
            Step::Folder { path } => Self::Folder { path },
            Step::Affinity { task: TaskName { pid, started, comm }, cpus } => {
                Self::Affinity { pid, started, comm, cpus: cpus.to_string() }
            }
            Step::Policy { task: TaskName { pid, started, comm }, policy } => {
                Self::Policy { pid, started, comm, policy: policy.into() }
            }
            Step::Nic { device, settings } => Self::Nic { device, settings },
            Step::Silence { unit, lasting } => Self::Silence { unit, lasting },
            Step::Run { doing, undoing } => Self::Run { doing: doing.map(words), undoing: undoing.map(words) },
        }
    }
}

impl TryFrom<StepTwin> for Step {
    type Error = String;

    fn try_from(step: StepTwin) -> Result<Self, String> {
        Ok(match step {
            StepTwin::Write { path, value, reading, settles_at, or_fewer } => {
                Self::Write { path, value, expected: Expected { reading: reading.into(), settles_at, or_fewer } }
            }
            StepTwin::Own { path, content, mode } => Self::Own { path, content, mode },
            StepTwin::Edit { path, seen, content, also_ours, in_place } => Self::Edit {
                path,
                seen: seen.try_into()?,
                content: content.try_into()?,
                also_ours: also_ours.into_iter().map(Vec::try_from).collect::<Result<_, _>>()?,
                in_place,
            },
            StepTwin::Remove { path } => Self::Remove { path },
            StepTwin::Folder { path } => Self::Folder { path },
            StepTwin::Affinity { pid, started, comm, cpus: list } => {
                Self::Affinity { task: TaskName { pid, started, comm }, cpus: cpus(&list)? }
            }
            StepTwin::Policy { pid, started, comm, policy } => {
                Self::Policy { task: TaskName { pid, started, comm }, policy: policy.into() }
            }
            StepTwin::Nic { device, settings } => Self::Nic { device, settings },
            StepTwin::Silence { unit, lasting } => Self::Silence { unit, lasting },
            StepTwin::Run { doing, undoing } => {
                Self::Run { doing: doing.map(invocation).transpose()?, undoing: undoing.map(invocation).transpose()? }
            }
        })
    }
}

impl From<Before> for BeforeTwin {
    fn from(before: Before) -> Self {
        match before {
            Before::Nothing { folders_made } => Self::Nothing { folders_made },
            Before::Value(value) => Self::Value(value),
            Before::File { copy, mode, uid, gid, sum } => Self::File { copy, mode, uid, gid, sum },
            Before::Cpus(cpus) => Self::Cpus(cpus.to_string()),
            Before::Policy(policy) => Self::Policy(policy.into()),
            Before::Nic(settings) => Self::Nic(settings),
            Before::Unit { was_active, was_masked } => Self::Unit { was_active, was_masked },
            Before::Program => Self::Program,
        }
    }
}

impl TryFrom<BeforeTwin> for Before {
    type Error = String;

    fn try_from(before: BeforeTwin) -> Result<Self, String> {
        Ok(match before {
            BeforeTwin::Nothing { folders_made } => Self::Nothing { folders_made },
            BeforeTwin::Value(value) => Self::Value(value),
            BeforeTwin::File { copy, mode, uid, gid, sum } => Self::File { copy, mode, uid, gid, sum },
            BeforeTwin::Cpus(list) => Self::Cpus(cpus(&list)?),
            BeforeTwin::Policy(policy) => Self::Policy(policy.into()),
            BeforeTwin::Nic(settings) => Self::Nic(settings),
            BeforeTwin::Unit { was_active, was_masked } => Self::Unit { was_active, was_masked },
            BeforeTwin::Program => Self::Program,
        })
    }
}

/// What is kept for the boots to come.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum KeepTwin {
    Word(String),
    NoWord(String),
    Sysctl { name: String, value: String },
    Write { path: String, value: String },
    ModuleOptions(String),
    NoModule(String),
    Udev(String),
    Limit(String),
    Manager(String),
    Hold(u32),
    Anew,
}

impl From<Keep> for KeepTwin {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::Word(word) => Self::Word(word),
            Keep::NoWord(name) => Self::NoWord(name),
            Keep::Sysctl { name, value } => Self::Sysctl { name, value },
            Keep::Write { path, value } => Self::Write { path, value },
            Keep::ModuleOptions(line) => Self::ModuleOptions(line),
            Keep::NoModule(name) => Self::NoModule(name),
            Keep::Udev(rule) => Self::Udev(rule),
            Keep::Limit(line) => Self::Limit(line),
            Keep::Manager(cpus) => Self::Manager(cpus.to_string()),
            Keep::Hold(us) => Self::Hold(us),
            Keep::Anew => Self::Anew,
        }
    }
}

impl TryFrom<KeepTwin> for Keep {
    type Error = String;

    fn try_from(twin: KeepTwin) -> Result<Self, String> {
        Ok(match twin {
            KeepTwin::Word(word) => Self::Word(word),
            KeepTwin::NoWord(name) => Self::NoWord(name),
            KeepTwin::Sysctl { name, value } => Self::Sysctl { name, value },
            KeepTwin::Write { path, value } => Self::Write { path, value },
            KeepTwin::ModuleOptions(line) => Self::ModuleOptions(line),
            KeepTwin::NoModule(name) => Self::NoModule(name),
            KeepTwin::Udev(rule) => Self::Udev(rule),
            KeepTwin::Limit(line) => Self::Limit(line),
            KeepTwin::Manager(list) => Self::Manager(cpus(&list)?),
            KeepTwin::Hold(us) => Self::Hold(us),
            KeepTwin::Anew => Self::Anew,
        })
    }
}
