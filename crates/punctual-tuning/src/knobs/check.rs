//! How the state of a knob is told. A knob that is one value in one place is declared: the declaration reads it, shows
//! it, and says what to write now and what makes that last.

use super::case::{Case, Doubt, Judged, Missing, marked};
use super::lasting::Lasting;
use super::setting::{File, Setting, Value};
use super::template::Template;
use crate::programs;
use punctual_facts::finding::State;

/// How the state of a knob is told.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// A value below `/proc/sys`, by the name that sysctl gives it.
    Sysctl { name: &'static str, want: Want, missing: Missing },
    /// A file of the kernel; one for each of the real-time CPUs where its path holds `cpu<I>`.
    File { path: &'static str, want: Want, missing: Missing },
    /// A parameter of a module, loaded or built in.
    Parameter { module: &'static str, name: &'static str, want: Want, missing: Missing },
    /// The kernel was built with these options.
    BuiltWith(&'static [&'static str]),
    /// The kernel was built without these options.
    BuiltWithout(&'static [&'static str]),
    /// The module is not loaded.
    NoModule(&'static str),
    /// None of the programs runs that the table of programs calls bad for this knob.
    Service,
    /// None of the units is active that the table of programs calls bad for this knob.
    Units,
    /// A class of devices has none whose name starts so.
    NoDevice { class: &'static str, start: &'static str },
    /// None of these programs runs; they are named as the kernel's list of tasks names them.
    NoProgram(&'static [&'static str]),
    /// A setting of the firmware that software cannot see: where its menus have it. Never good and never bad.
    Firmware(&'static str),
    /// Software cannot see it: what cannot be seen, and where to look for it. Never good and never bad.
    Advice(Template<'static>),
    /// Reads the effective state and judges it.
    Probe(fn(&Case<'_>) -> Judged),
}

/// What a value should be.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// This number.
    Is(i64),
    /// This number or less.
    AtMost(i64),
    /// This number or more.
    AtLeast(i64),
    /// Any other number than `bad`; `write` is one.
    Not { bad: i64, write: i64 },
    /// One of these words, the first of them for choice. Without any in `bad`, all others are bad; else what is in
    /// neither list says nothing.
    Word { good: &'static [&'static str], bad: &'static [&'static str] },
    /// The same, of files that list the choices and mark the one in force.
    Choice { good: &'static [&'static str], bad: &'static [&'static str] },
}

impl Want {
    /// Zero.
    pub const ZERO: Self = Self::Is(0);
    /// A switch that is off.
    pub const NO: Self = Self::Word { good: &["N"], bad: &["Y"] };
    /// A switch that is on.
    pub const YES: Self = Self::Word { good: &["Y"], bad: &["N"] };

    /// What to write.
    fn value(self) -> Option<Value> {
        match self {
            Self::Is(number) | Self::AtMost(number) | Self::AtLeast(number) | Self::Not { write: number, .. } => {
                Some(Value::Number(number))
            }
            Self::Word { good, .. } | Self::Choice { good, .. } => good.first().copied().map(Value::text),
        }
    }

    /// Whether the text of a file is as it should be.
    fn is_met(self, path: &str, text: &str) -> Judged {
        let text = text.trim();
        let number = || text.parse::<i64>().or_else(|_| Doubt::unknown(format!("{path} holds '{text}', not a number")));
        match self {
            Self::Is(wanted) => Ok(number()? == wanted),
            Self::AtMost(most) => Ok(number()? <= most),
            Self::AtLeast(least) => Ok(number()? >= least),
            Self::Not { bad, .. } => Ok(number()? != bad),
            Self::Word { good, bad } => is_among(path, text, good, bad),
            Self::Choice { good, bad } => match marked(text) {
                Some(choice) => is_among(path, choice, good, bad),
                None => Doubt::unknown(format!("{path} marks no choice: '{text}'")),
            },
        }
    }
}

fn is_among(path: &str, word: &str, good: &[&str], bad: &[&str]) -> Judged {
    match (good.contains(&word), bad.contains(&word)) {
        (true, _) => Ok(true),
        (false, true) => Ok(false),
        (false, false) if bad.is_empty() => Ok(false),
        (false, false) if good.is_empty() => Ok(true),
        (false, false) => Doubt::unknown(format!("{path} holds '{word}'")),
    }
}

/// Whether a file is as it should be, or each of the files for the real-time CPUs.
fn file_is_met(case: &Case<'_>, file: File, want: Want, missing: Missing) -> Judged {
    let path = file.path();
    let Some((before, after)) = path.split_once("cpu<I>") else {
        return want.is_met(&path, &case.text(&path, missing)?);
    };
    let path = format!("{before}cpu{{cpu}}{after}");
    let values = case.per_cpu(&path, case.rt(), missing)?;
    values.iter().try_fold(true, |all, (_, value)| Ok(all && want.is_met(&path, value)?))
}

impl Check {
    pub const fn sysctl(name: &'static str, want: Want, missing: Missing) -> Self {
        Self::Sysctl { name, want, missing }
    }

    pub const fn file(path: &'static str, want: Want, missing: Missing) -> Self {
        Self::File { path, want, missing }
    }

    pub const fn parameter(module: &'static str, name: &'static str, want: Want, missing: Missing) -> Self {
        Self::Parameter { module, name, want, missing }
    }

    pub const fn advice(look: &'static str) -> Self {
        Self::Advice(Template::new(look))
    }

    /// What the state of the knob of this id is on this machine.
    pub(super) fn judge(&self, id: &str, case: &Case<'_>) -> Result<State, Doubt> {
        let is_good = match *self {
            Self::Sysctl { name, want, missing } => file_is_met(case, File::Sysctl(name), want, missing),
            Self::File { path, want, missing } => file_is_met(case, File::Path(path), want, missing),
            Self::Parameter { module, name, want, missing } => {
                file_is_met(case, File::Parameter { module, name }, want, missing)
            }
            Self::BuiltWith(options) => {
                options.iter().try_fold(true, |all, option| Ok(all && case.built_with(option)?))
            }
            Self::BuiltWithout(options) => {
                options.iter().try_fold(true, |all, option| Ok(all && !case.built_with(option)?))
            }
            Self::NoModule(module) => case.has_module(module).map(|is_there| !is_there),
            Self::Service => {
                let names: Vec<&str> = programs::bad_for(id).flat_map(|program| program.processes).copied().collect();
                case.daemons(&names).map(|found| found.is_empty())
            }
            Self::Units => case.no_unit_of(id),
            Self::NoDevice { class, start } => case.has_no_device(class, start),
            Self::NoProgram(names) => case.daemons(names).map(|found| found.is_empty()),
            Self::Probe(probe) => probe(case),
            Self::Firmware(place) => {
                return Ok(State::Advice(format!("Cannot be seen from software: look in firmware under {place}.")));
            }
            Self::Advice(look) => return Ok(State::Advice(case.fill(look))),
        };
        is_good.map(|is_good| if is_good { State::Good } else { State::Bad })
    }

    /// Whether the state cannot be seen, so that it is never good and never bad.
    pub fn is_advice(&self) -> bool {
        matches!(self, Self::Firmware(_) | Self::Advice(_))
    }

    /// What is written to make it good, where that is one value for one file.
    pub fn setting(&self) -> Option<Setting> {
        let (file, want) = match *self {
            Self::Sysctl { name, want, .. } => (File::Sysctl(name), want),
            Self::File { path, want, .. } => (File::Path(path), want),
            Self::Parameter { module, name, want, .. } => (File::Parameter { module, name }, want),
            _ => return None,
        };
        Some(Setting { file, value: want.value()? })
    }

    /// Where it lasts.
    pub(super) fn places(&self) -> Vec<Lasting> {
        match *self {
            Self::BuiltWith(options) => options.iter().map(|option| Lasting::built_with(option)).collect(),
            Self::BuiltWithout(options) => options.iter().map(|option| Lasting::built_without(option)).collect(),
            Self::NoModule(module) => vec![Lasting::NoModule(module)],
            Self::Firmware(place) => vec![Lasting::Firmware(place)],
            _ => self.setting().map(Lasting::Set).into_iter().collect(),
        }
    }
}
