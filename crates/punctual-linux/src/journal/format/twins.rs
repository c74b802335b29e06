//! The types of records as they are written in the journal. Renaming a field makes a new format.

use crate::journal::record::{
    Begun, Intent, JournalRecord, KeptSetting, Owner, Purpose, StepOutcome, TuningRequest, Undone, Was,
};
use punctual_facts::cpu_set::CpuSet;
use punctual_tuning::plan::{
    Before, Expected, Invocation, Keep, Lasts, NicSetting, Reading, SchedPolicy, Step, TaskName,
};
use serde::{Deserialize, Serialize};

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
        kind: PurposeTwin,
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
pub(super) enum PurposeTwin {
    Tuned,
    ForCommand { command: Vec<String> },
    Adopted { of: u32 },
    Boot,
    Campaign { folder: String },
    Watch { store: String },
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

/// Text if the bytes are UTF-8, otherwise hexadecimal digits.
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

/// Conversion of a value to its form in the journal, and back.
pub(super) trait Written<Own>: Sized {
    fn of(own: Own) -> Self;
    fn own(self) -> Result<Own, String>;
}

/// Implements [`Written`] for types that are written as they are.
macro_rules! as_they_are {
    ($($type:ty)*) => {$(
        impl Written<$type> for $type {
            fn of(own: $type) -> Self {
                own
            }

            fn own(self) -> Result<$type, String> {
                Ok(self)
            }
        }
    )*};
}

as_they_are! { bool i32 u32 u64 String }

impl<Own, Twin: Written<Own>> Written<Vec<Own>> for Vec<Twin> {
    fn of(own: Vec<Own>) -> Self {
        own.into_iter().map(Twin::of).collect()
    }

    fn own(self) -> Result<Vec<Own>, String> {
        self.into_iter().map(Twin::own).collect()
    }
}

impl<Own, Twin: Written<Own>> Written<Option<Own>> for Option<Twin> {
    fn of(own: Option<Own>) -> Self {
        own.map(Twin::of)
    }

    fn own(self) -> Result<Option<Own>, String> {
        self.map(Twin::own).transpose()
    }
}

impl Written<NicSetting> for (String, u32) {
    fn of(own: NicSetting) -> Self {
        (own.name, own.value)
    }

    fn own(self) -> Result<NicSetting, String> {
        Ok(NicSetting { name: self.0, value: self.1 })
    }
}

impl Written<KeptSetting> for (String, KeepTwin) {
    fn of(own: KeptSetting) -> Self {
        (own.knob, KeepTwin::of(own.keep))
    }

    fn own(self) -> Result<KeptSetting, String> {
        Ok(KeptSetting { knob: self.0, keep: self.1.own()? })
    }
}

impl Written<CpuSet> for String {
    fn of(own: CpuSet) -> Self {
        own.to_string()
    }

    fn own(self) -> Result<CpuSet, String> {
        CpuSet::parse_list(&self).map_err(|error| error.to_string())
    }
}

/// The first word is the program, and the others are its arguments.
impl Written<Invocation> for Vec<String> {
    fn of(own: Invocation) -> Self {
        std::iter::once(own.program).chain(own.arguments).collect()
    }

    fn own(self) -> Result<Invocation, String> {
        let mut words = self.into_iter();
        let program = words.next().ok_or("a program without a name")?;
        Ok(Invocation::from_words(program, words.collect()))
    }
}

fn hex(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 0xf].map(|half| char::from_digit(half.into(), 16).unwrap_or_default())
}

impl Written<Vec<u8>> for BytesTwin {
    fn of(own: Vec<u8>) -> Self {
        match String::from_utf8(own) {
            Ok(text) => Self::Text(text),
            Err(other) => Self::Hex(other.as_bytes().iter().flat_map(|byte| hex(*byte)).collect()),
        }
    }

    fn own(self) -> Result<Vec<u8>, String> {
        let text = match self {
            Self::Text(text) => return Ok(text.into_bytes()),
            Self::Hex(text) => text,
        };
        let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
        let bytes: Result<Vec<u8>, _> = digits.map(|pair| u8::from_str_radix(pair, 16)).collect();
        bytes.map_err(|_| "bytes that are not hexadecimal".to_owned())
    }
}

/// Implements [`Written`] for pairs of enums: our type, and the twin type that is written in the journal. Both have the
/// same variants. Where a variant of our type contains a structure, the variant of the twin has the structure's fields
/// instead. `as` introduces a structure that is the whole content of the variant, and `;` one that is a field of it.
macro_rules! twins {
    ($($own:ident = $twin:ident { $(
        $variant:ident
        $(($inner:ident))?
        $({ $($field:ident),* $(; $part:ident: $type:ident { $($piece:ident),* })* })?
        $(as $whole:ident { $($member:ident),* $(; $limb:ident: $kind:ident { $($bit:ident),* })* })?
    ),* $(,)? })*) => {$(
        impl Written<$own> for $twin {
            fn of(own: $own) -> Self {
                match own {$(
                    $own::$variant
                        $(($inner))?
                        $({ $($field,)* $($part: $type { $($piece),* },)* })?
                        $(($whole { $($member,)* $($limb: $kind { $($bit),* },)* }))? =>
                    Self::$variant
                        $((Written::of($inner)))?
                        $({ $($field: Written::of($field),)* $($($piece: Written::of($piece),)*)* })?
                        $({ $($member: Written::of($member),)* $($($bit: Written::of($bit),)*)* })?,
                )*}
            }

            fn own(self) -> Result<$own, String> {
                Ok(match self {$(
                    Self::$variant
                        $(($inner))?
                        $({ $($field,)* $($($piece,)*)* })?
                        $({ $($member,)* $($($bit,)*)* })? =>
                    $own::$variant
                        $((Written::own($inner)?))?
                        $({
                            $($field: Written::own($field)?,)*
                            $($part: $type { $($piece: Written::own($piece)?),* },)*
                        })?
                        $(($whole {
                            $($member: Written::own($member)?,)*
                            $($limb: $kind { $($bit: Written::own($bit)?),* },)*
                        }))?,
                )*})
            }
        }
    )*};
}

twins! {
    JournalRecord = Line {
        Begun as Begun {
            transaction, at_unix_s, boot, version, kind, confirm_by_ns;
            asked: TuningRequest { cpus, profile, arguments, keeps };
            owner: Owner { pid, started }
        },
        Intent as Intent { transaction, number, change, lasts, step, before },
        Was as Was { transaction, change, step },
        Outcome { transaction, number, outcome },
        Applied { transaction },
        Confirmed { transaction },
        Leaving { transaction },
        Undone { transaction, number, how },
        Reverted { transaction },
    }
    Purpose = PurposeTwin { Tuned, ForCommand { command }, Adopted { of }, Boot, Campaign { folder }, Watch { store } }
    Lasts = LastsTwin { Process, Reboot, ForGood }
    StepOutcome = OutcomeTwin { Effective, Waits { seen }, Differs { seen }, Refused { why }, Gone { what } }
    Undone = UndoneTwin { Restored, Nothing { why }, Left { what } }
    Reading = ReadingTwin { Plain, Marked, CpuList, CpuMask, Switches, Schemata }
    SchedPolicy = PolicyTwin { Other(nice), Fifo(priority), Rr(priority) }
    Step = StepTwin {
        Write { path, value; expected: Expected { reading, settles_at, or_fewer } },
        Own { path, content, mode },
        Edit { path, seen, content, also_ours, in_place },
        Remove { path },
        Folder { path },
        Affinity { cpus; task: TaskName { pid, started, comm } },
        Policy { policy; task: TaskName { pid, started, comm } },
        Nic { device, settings },
        Silence { unit, lasting },
        Run { doing, undoing },
    }
    Before = BeforeTwin {
        Nothing { folders_made },
        Value(value),
        File { copy, mode, uid, gid, sum },
        Cpus(cpus),
        Policy(policy),
        Nic(settings),
        Unit { was_active, was_masked },
        Program,
    }
    Keep = KeepTwin {
        Word(word),
        NoWord(name),
        Sysctl { name, value },
        Write { path, value },
        ModuleOptions(line),
        NoModule(name),
        Udev(rule),
        Limit(line),
        Manager(cpus),
        Hold(us),
        Anew,
    }
}
