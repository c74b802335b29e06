//! How a knob's state is determined. If a knob is one value in one file, its entry only declares the file and the
//! value. The reading, the display, the fix and the lasting change follow from that declaration.

use super::case::{Case, Doubt, Judged, Missing, marked};
use super::lasting::Lasting;
use super::setting::{File, Setting, Value};
use super::template::Template;
use punctual_facts::finding::State;

#[derive(Clone, Copy, Debug)]
pub enum Check {
    Sysctl {
        name: &'static str,
        want: Want,
        missing: Missing,
    },
    /// A file of the kernel. If its path holds `cpu<I>`, there is one file for each real-time CPU.
    File {
        path: &'static str,
        want: Want,
        missing: Missing,
    },
    /// A file that shows the state, but whose content is not changed to fix it. If its path holds `cpu<I>`, there is
    /// one file for each real-time CPU.
    Seen {
        path: &'static str,
        want: Want,
        missing: Missing,
    },
    /// A parameter of a module, loaded or built in.
    Parameter {
        module: &'static str,
        name: &'static str,
        want: Want,
        missing: Missing,
    },
    BuiltWith(&'static [&'static str]),
    BuiltWithout(&'static [&'static str]),
    NoModule(&'static str),
    /// Good if none of the programs runs that the table of programs lists as bad for this knob.
    Service,
    /// Good if none of the systemd units is active that the table of programs lists as bad for this knob.
    Units,
    /// Good if at most one of the programs runs, or starts at boot, that the table of programs lists as owners of this
    /// knob's settings.
    OneOwner,
    /// Good if no device of the class has a name that begins with `start`.
    NoDevice {
        class: &'static str,
        start: &'static str,
    },
    /// A setting of the firmware that software cannot see, with its usual place in the firmware's menus. The verdict is
    /// never good and never bad.
    Firmware(&'static str),
    /// A state that software cannot see; the text says what the state is and where to look. The verdict is never good
    /// and never bad.
    Advice(Template<'static>),
    Probe(fn(&Case<'_>) -> Judged),
}

#[derive(Clone, Copy, Debug)]
pub enum Want {
    Is(i64),
    AtMost(i64),
    AtLeast(i64),
    /// A number between the first and the second, both included.
    Within(i64, i64),
    /// Any number except `bad`. `write` is the number that the fix sets.
    Not {
        bad: i64,
        write: i64,
    },
    /// One of the words in `good`; the fix sets the first of them. If `bad` is empty, every other word is bad; if
    /// `good` is empty, every word not in `bad` is good. Otherwise a word in neither list is unknown.
    Word {
        good: &'static [&'static str],
        bad: &'static [&'static str],
    },
    /// Like `Word`, for a file that lists all choices and marks the one in force.
    Choice {
        good: &'static [&'static str],
        bad: &'static [&'static str],
    },
}

impl Want {
    pub const ZERO: Self = Self::Is(0);
    pub const NO: Self = Self::Word { good: &["N"], bad: &["Y"] };
    pub const YES: Self = Self::Word { good: &["Y"], bad: &["N"] };

    fn value(self) -> Option<Value> {
        match self {
            Self::Is(number)
            | Self::AtMost(number)
            | Self::AtLeast(number)
            | Self::Within(number, _)
            | Self::Not { write: number, .. } => Some(Value::Number(number)),
            Self::Word { good, .. } | Self::Choice { good, .. } => good.first().copied().map(Value::text),
        }
    }

    fn is_met(self, path: &str, text: &str) -> Judged {
        let text = text.trim();
        let number = || text.parse::<i64>().or_else(|_| Doubt::unknown(format!("{path} holds '{text}', not a number")));
        match self {
            Self::Is(wanted) => Ok(number()? == wanted),
            Self::AtMost(most) => Ok(number()? <= most),
            Self::AtLeast(least) => Ok(number()? >= least),
            Self::Within(least, most) => Ok((least..=most).contains(&number()?)),
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
        (false, false) => Doubt::unknown(format!("{path} holds '{word}', which is not known to this program")),
    }
}

/// Whether a file holds the wanted value. If each CPU has a file of its own, the files of all real-time CPUs must hold
/// the value.
fn file_is_met(case: &Case<'_>, file: File, want: Want, missing: Missing) -> Judged {
    let path = file.path_of("{cpu}");
    if file.each().is_none() {
        return want.is_met(&path, &case.text(&path, missing)?);
    }
    let values = case.per_cpu(&path, case.rt(), missing)?;
    values.iter().try_fold(true, |all, of| Ok(all && want.is_met(&path, &of.value)?))
}

impl Check {
    pub const fn sysctl(name: &'static str, want: Want, missing: Missing) -> Self {
        Self::Sysctl { name, want, missing }
    }

    pub const fn file(path: &'static str, want: Want, missing: Missing) -> Self {
        Self::File { path, want, missing }
    }

    pub const fn seen(path: &'static str, want: Want, missing: Missing) -> Self {
        Self::Seen { path, want, missing }
    }

    pub const fn parameter(module: &'static str, name: &'static str, want: Want, missing: Missing) -> Self {
        Self::Parameter { module, name, want, missing }
    }

    pub const fn advice(look: &'static str) -> Self {
        Self::Advice(Template::new(look))
    }

    /// Judges the knob with this id on this machine.
    pub(super) fn judge(&self, id: &str, case: &Case<'_>) -> Result<State, Doubt> {
        let is_good = match *self {
            Self::Sysctl { name, want, missing } => file_is_met(case, File::Sysctl(name), want, missing),
            Self::File { path, want, missing } | Self::Seen { path, want, missing } => {
                file_is_met(case, File::Path(path), want, missing)
            }
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
            Self::Service => case.running(id).map(|found| found.is_empty()),
            Self::Units => case.no_unit_of(id),
            Self::OneOwner => case.one_owner(id),
            Self::NoDevice { class, start } => case.has_no_device(class, start),
            Self::Probe(probe) => probe(case),
            Self::Firmware(place) => {
                return Ok(State::Advice(format!("Cannot be seen from software: look in firmware under {place}.")));
            }
            Self::Advice(look) => return Ok(State::Advice(case.fill(look))),
        };
        is_good.map(|is_good| if is_good { State::Good } else { State::Bad })
    }

    /// The file and the value that make the state good; `None` if more than one value or file is needed.
    pub fn setting(&self) -> Option<Setting> {
        let (file, want) = match *self {
            Self::Sysctl { name, want, .. } => (File::Sysctl(name), want),
            Self::File { path, want, .. } => (File::Path(path), want),
            Self::Parameter { module, name, want, .. } => (File::Parameter { module, name }, want),
            Self::Seen { .. }
            | Self::BuiltWith(_)
            | Self::BuiltWithout(_)
            | Self::NoModule(_)
            | Self::Service
            | Self::Units
            | Self::OneOwner
            | Self::NoDevice { .. }
            | Self::Firmware(_)
            | Self::Advice(_)
            | Self::Probe(_) => return None,
        };
        Some(Setting { file, value: want.value()? })
    }

    /// The places where a lasting change keeps the state good.
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
