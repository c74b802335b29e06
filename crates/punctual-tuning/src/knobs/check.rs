//! How a knob's state is determined. If a knob is one value in one file, its entry only declares the file and the
//! value. The reading, the display, the fix and the lasting change follow from that declaration.

use super::case::{Case, Doubt, Judged, Missing, marked};
use super::lasting::Lasting;
use super::setting::{File, Setting, Value};
use super::template::Template;
use crate::pattern::{fits, fitting};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::finding::State;
use std::collections::BTreeSet;

/// The most files of one pattern that are read. Machines with many storage devices have some hundreds of a kind.
const MOST_FILES: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// A value in a file of the kernel: a sysctl, a parameter of a module (loaded or built in), or any other file. If the
    /// path holds `cpu<I>`, there is one file for each real-time CPU. If it holds `*`, there is one file for each device
    /// or part that has such a file.
    Value {
        file: File,
        want: Want,
        missing: Missing,
    },
    /// A file like that of [`Check::Value`] which shows the state, but whose content is not changed to fix it. If the path
    /// holds `*`, only the devices count for which `only` holds, given the folder or file that the last `*` stands for.
    Seen {
        path: &'static str,
        only: Only,
        want: Want,
        missing: Missing,
    },
    /// Good if all of these checks are. Those that do not apply are left out, unless none applies.
    All(&'static [Check]),
    /// Good if one of these checks is. A check that does not apply decides, if no earlier one is good.
    Any(&'static [Check]),
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
    /// Like [`Check::Advice`], with a text that a function composes from what this machine shows.
    Told(fn(&Case<'_>) -> Result<String, Doubt>),
    Probe(fn(&Case<'_>) -> Judged),
}

type Only = fn(&Case<'_>, &str) -> bool;

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
    /// One of the words in `good`, where `*` stands for any text; the fix sets the first of them. If `bad` is empty, every other word is bad; if
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
    /// A list of CPUs without real-time CPUs. The fix sets the housekeeping CPUs.
    ListWithoutRt,
    /// A mask of CPUs without real-time CPUs. The fix sets the housekeeping CPUs.
    MaskWithoutRt,
    /// The value of this other file of the same folder.
    SameAs(&'static str),
}

impl Want {
    pub const ZERO: Self = Self::Is(0);
    pub const NO: Self = Self::Word { good: &["N"], bad: &["Y"] };
    pub const EMPTY: Self = Self::Word { good: &[""], bad: &[] };
    pub const YES: Self = Self::Word { good: &["Y"], bad: &["N"] };

    fn value(self) -> Option<Value> {
        match self {
            Self::Is(number)
            | Self::AtMost(number)
            | Self::AtLeast(number)
            | Self::Within(number, _)
            | Self::Not { write: number, .. } => Some(Value::Number(number)),
            Self::Word { good, .. } | Self::Choice { good, .. } => good.first().copied().map(Value::text),
            Self::ListWithoutRt => Some(Value::text("<H>")),
            Self::MaskWithoutRt => Some(Value::text("<H mask>")),
            Self::SameAs(_) => None,
        }
    }

    fn is_met(self, case: &Case<'_>, path: &str, text: &str, missing: Missing) -> Judged {
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
                // A file with a single choice does not mark it.
                None if good.contains(&text) => Ok(true),
                None => Doubt::unknown(format!("{path} marks no choice: '{text}'")),
            },
            Self::ListWithoutRt | Self::MaskWithoutRt => {
                let is_mask = matches!(self, Self::MaskWithoutRt);
                let cpus = if is_mask { CpuSet::parse_mask(text) } else { CpuSet::parse_list(text) };
                cpus.map(|cpus| cpus.intersection(case.rt()).is_empty())
                    .or_else(|e| Doubt::unknown(format!("{path}: {e}")))
            }
            Self::SameAs(name) => Ok(text == case.content(&beside(path, name), missing)?),
        }
    }
}

/// The path of the file of this name in the same folder.
fn beside(path: &str, name: &str) -> String {
    let (folder, _) = path.rsplit_once('/').unwrap_or_default();
    format!("{folder}/{name}")
}

fn is_among(path: &str, word: &str, good: &[&str], bad: &[&str]) -> Judged {
    let is_one = |words: &[&str]| words.iter().any(|pattern| fits(pattern, word));
    match (is_one(good), is_one(bad)) {
        (true, _) => Ok(true),
        (false, true) => Ok(false),
        (false, false) if bad.is_empty() => Ok(false),
        (false, false) if good.is_empty() => Ok(true),
        (false, false) => Doubt::unknown(format!("{path} holds '{word}', which is not known to this program")),
    }
}

/// Whether a file holds the wanted value. If there are several files, all of them must hold it.
fn file_is_met(case: &Case<'_>, file: File, only: Only, want: Want, missing: Missing) -> Judged {
    let path = file.path_of("{cpu}");
    if path.contains('*') {
        return each_is_met(case, &path, only, want, missing);
    }
    if file.each().is_none() {
        return want.is_met(case, &path, &case.text(&path, missing)?, missing);
    }
    let values = case.per_cpu(&path, case.rt(), missing)?;
    if let Want::SameAs(name) = want {
        return Ok(values == case.per_cpu(&beside(&path, name), case.rt(), missing)?);
    }
    values.iter().try_fold(true, |all, of| Ok(all && want.is_met(case, &path, &of.value, missing)?))
}

/// Whether each file that matches a path with stars, and that `only` admits, holds the wanted value.
fn each_is_met(case: &Case<'_>, pattern: &str, only: Only, want: Want, missing: Missing) -> Judged {
    let parts: Vec<&str> = pattern.split('/').collect();
    let device = parts.iter().rposition(|part| part.contains('*')).map_or(parts.len(), |last| last + 1);
    let (mut seen, mut values, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for path in fitting(case, pattern).into_iter().take(MOST_FILES) {
        let own: Vec<&str> = path.split('/').collect();
        let fact = if only(case, &own[..device].join("/")) { case.peek(&path) } else { Fact::Absent };
        if fact == Fact::Absent {
            continue;
        }
        let text = case.known(&path, fact, missing)?;
        seen += 1;
        let shown = match want {
            Want::SameAs(name) => format!("{text} ({name} {})", case.content(&beside(&path, name), missing)?),
            _ => text.clone(),
        };
        if !want.is_met(case, &path, &text, missing)? {
            let names = parts.iter().zip(&own).filter(|(part, _)| part.contains('*')).map(|(_, name)| *name);
            wrong.push(format!("{}: {shown}", names.collect::<Vec<_>>().join(" ")));
        }
        values.insert(shown);
    }
    if seen == 0 {
        // Whether the absence can be believed is judged by what stands above the folder of the devices.
        let before = pattern.split('*').next().unwrap_or_default();
        let (folder, _) = before.rsplit_once('/').unwrap_or_default();
        return case.known(folder, Fact::Absent, missing);
    }
    let values = Vec::from_iter(values).join(", ");
    case.none_found(pattern, wrong.join("; "), format!("{values} in all {seen} files"))
}

fn all(checks: &[Check], id: &str, case: &Case<'_>) -> Judged {
    let (mut is_good, mut doubt) = (None, None);
    for check in checks {
        match check.judge(id, case) {
            Ok(state) => is_good = Some(is_good != Some(false) && state == State::Good),
            Err(unknown @ Doubt::Unknown(_)) => doubt = Some(unknown),
            Err(not_here) => doubt = doubt.or(Some(not_here)),
        }
    }
    match (is_good, doubt) {
        (Some(false), Some(Doubt::Unknown(_))) => case.bad_anyway(),
        (None, Some(doubt)) | (_, Some(doubt @ Doubt::Unknown(_))) => Err(doubt),
        (is_good, _) => Ok(is_good == Some(true)),
    }
}

impl Check {
    pub const fn sysctl(name: &'static str, want: Want, missing: Missing) -> Self {
        Self::Value { file: File::Sysctl(name), want, missing }
    }

    pub const fn file(path: &'static str, want: Want, missing: Missing) -> Self {
        Self::Value { file: File::Path(path), want, missing }
    }

    pub const fn seen(path: &'static str, want: Want, missing: Missing) -> Self {
        Self::each(path, |_, _| true, want, missing)
    }

    pub const fn each(path: &'static str, only: Only, want: Want, missing: Missing) -> Self {
        Self::Seen { path, only, want, missing }
    }

    pub const fn parameter(module: &'static str, name: &'static str, want: Want, missing: Missing) -> Self {
        Self::Value { file: File::Parameter { module, name }, want, missing }
    }

    pub const fn advice(look: &'static str) -> Self {
        Self::Advice(Template::new(look))
    }

    pub(super) fn judge(&self, id: &str, case: &Case<'_>) -> Result<State, Doubt> {
        let is_good = match *self {
            Self::Value { file, want, missing } => file_is_met(case, file, |_, _| true, want, missing),
            Self::Seen { path, only, want, missing } => file_is_met(case, File::Path(path), only, want, missing),
            Self::All(checks) => all(checks, id, case),
            Self::Any(checks) => {
                checks.iter().try_fold(false, |any, check| Ok(any || check.judge(id, case)? == State::Good))
            }
            Self::BuiltWith(options) => {
                options.iter().try_fold(true, |all, option| Ok(all && case.built_with(option)?))
            }
            Self::BuiltWithout(options) => case.built_without(options),
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
            Self::Told(tell) => return tell(case).map(State::Advice),
        };
        is_good.map(|is_good| if is_good { State::Good } else { State::Bad })
    }

    /// The file and the value that make the state good; `None` if more than one value or file is needed.
    pub fn setting(&self) -> Option<Setting> {
        match *self {
            Self::Value { file, want, .. } => Some(Setting { file, value: want.value()? }),
            Self::Any(checks) => checks.first()?.setting(),
            Self::Seen { .. }
            | Self::All(_)
            | Self::BuiltWith(_)
            | Self::BuiltWithout(_)
            | Self::NoModule(_)
            | Self::Service
            | Self::Units
            | Self::OneOwner
            | Self::NoDevice { .. }
            | Self::Firmware(_)
            | Self::Advice(_)
            | Self::Told(_)
            | Self::Probe(_) => None,
        }
    }

    /// The places where a lasting change keeps the state good.
    pub(super) fn places(&self) -> Vec<Lasting> {
        match *self {
            Self::BuiltWith(options) => options.iter().map(|option| Lasting::built_with(option)).collect(),
            Self::BuiltWithout(options) => options.iter().map(|option| Lasting::built_without(option)).collect(),
            Self::NoModule(module) => vec![Lasting::NoModule(module)],
            Self::All(checks) => checks.iter().flat_map(Self::places).collect(),
            Self::Firmware(place) => vec![Lasting::Firmware(place)],
            _ => self.setting().map(Lasting::Set).into_iter().collect(),
        }
    }
}
