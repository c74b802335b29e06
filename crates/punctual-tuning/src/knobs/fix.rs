//! How the state of a knob is changed at run time, and how the change is undone.

use super::Knob;
use super::case::Case;
use super::lasting::{Lasting, on_host};
use super::setting::{File, Setting, Value};
use super::template::Template;
use crate::programs::{self, Silencing};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// The fix follows from the check, and from the places in which the change is made to last.
    Implied,
    Setting(Setting),
    /// A command line that can be typed once its blanks are filled.
    Command(Template<'static>),
    /// Only a boot, or loading a module again, changes the state, so the lasting change is the fix. The text adds
    /// further advice; it may be empty.
    NotAtRunTime(&'static str),
    /// Booting another kernel, or with another command line. From inside a container that is work on its host.
    Boot(Template<'static>),
    Prose(Template<'static>),
}

impl Fix {
    pub const fn command(text: &'static str) -> Self {
        Self::Command(Template::new(text))
    }

    pub const fn set(path: &'static str, value: &'static str) -> Self {
        Self::Setting(Setting { file: File::Path(path), value: Value::text(value) })
    }

    pub const fn boot(text: &'static str) -> Self {
        Self::Boot(Template::new(text))
    }

    pub const fn prose(text: &'static str) -> Self {
        Self::Prose(Template::new(text))
    }
}

const WRITE_BACK: &str = "Write back the value that was there.";

/// What to do now, after [`Fix::Implied`] was replaced by the fix that it implies. The blanks of the text are not
/// filled yet.
enum Now {
    Text(String),
    Boot(String),
    NotAtRunTime(&'static str),
}

impl Knob {
    /// The places in which the change is made to last, most important first: the places implied by the check and by the
    /// table of programs, then the entry's own. Programs that only disturb the setting come last.
    pub fn places(&self) -> Vec<Lasting> {
        let by_boot = |place: &Lasting| matches!(place, Lasting::Word(_) | Lasting::NoWord(_) | Lasting::Module(_));
        let implied = self.check.places().into_iter().filter(|place| match place {
            // If a word of the command line or a module's option sets the file at boot, no second place is needed.
            Lasting::Set(Setting { file: File::Path(_) | File::Parameter { .. }, .. }) => {
                !self.persist.iter().any(by_boot)
            }
            _ => true,
        });
        let silence = Lasting::Silence(self.id);
        let is_about_programs = programs::bad_for(self.id).next().is_some();
        let silenced = Some(silence).filter(|_| !Silencing::of(self.id).is_empty());
        let (first, last) = if is_about_programs { (silenced, None) } else { (None, silenced) };
        implied.chain(first).chain(self.persist.iter().copied()).chain(last).collect()
    }

    /// The value that is written now, if the fix or the check names one.
    pub fn setting(&self) -> Option<Setting> {
        match self.fix {
            Fix::Setting(setting) => Some(setting),
            Fix::Implied => self.check.setting(),
            Fix::Command(_) | Fix::NotAtRunTime(_) | Fix::Boot(_) | Fix::Prose(_) => None,
        }
    }

    /// The values to write now: the value that the check or the fix names, or else the values of the lasting places.
    fn settings(&self, case: Option<&Case<'_>>) -> Vec<Setting> {
        if let Some(setting) = self.setting() {
            return vec![setting];
        }
        let places = self.places();
        let chosen = places.iter().map(|place| case.map_or(place.usual(), |case| place.chosen(case)));
        chosen.filter_map(|place| if let Lasting::Set(setting) = place { Some(*setting) } else { None }).collect()
    }

    /// Whether no change at run time affects the state, but only a boot or loading a module again.
    pub fn is_for_boot_only(&self) -> bool {
        matches!(self.now(None), Now::NotAtRunTime(_))
    }

    pub fn fix_anywhere(&self) -> String {
        Template::parse(&self.fix_text(None)).anywhere()
    }

    pub fn fix_here(&self, case: &Case<'_>) -> String {
        case.fill(Template::parse(&self.fix_text(Some(case))))
    }

    fn fix_text(&self, case: Option<&Case<'_>>) -> String {
        match self.now(case) {
            Now::Text(text) => text,
            Now::Boot(text) => match case.and_then(Case::container) {
                Some(container) => on_host(container, &text),
                None => text,
            },
            Now::NotAtRunTime("") => "None at run time.".to_owned(),
            Now::NotAtRunTime(more) => format!("None at run time; {more}"),
        }
    }

    fn now(&self, case: Option<&Case<'_>>) -> Now {
        let text = match self.fix {
            Fix::NotAtRunTime(more) => return Now::NotAtRunTime(more),
            Fix::Boot(text) => return Now::Boot(text.source().to_owned()),
            Fix::Command(text) | Fix::Prose(text) => text.source().to_owned(),
            Fix::Setting(setting) => setting.write(),
            Fix::Implied => {
                let settings = self.settings(case);
                if settings.is_empty() {
                    return self.implied_by_places(case);
                }
                commands(settings.iter().map(|setting| (*setting, setting.value.source())))
            }
        };
        Now::Text(text)
    }

    /// The fix that follows from the first place in which the change is made to last.
    fn implied_by_places(&self, case: Option<&Case<'_>>) -> Now {
        let places = self.places();
        Now::Text(match places.first().map(Lasting::usual) {
            Some(Lasting::Silence(knob)) => {
                silencing(knob, case).told(|units| format!("systemctl mask --runtime --now {units}"))
            }
            Some(Lasting::NoModule(_)) => {
                let name = |place: &Lasting| if let Lasting::NoModule(name) = place { Some(*name) } else { None };
                format!("rmmod {}", places.iter().filter_map(name).collect::<Vec<_>>().join(" "))
            }
            Some(Lasting::Firmware(place)) => format!("Change it in the firmware's setup: {place}."),
            Some(Lasting::Kernel { is_on, .. }) => {
                let options = |place: &Lasting| match place {
                    Lasting::Kernel { option, is_on: same } if same == is_on => Some(*option),
                    _ => None,
                };
                let options = places.iter().filter_map(options).collect::<Vec<_>>().join(", ");
                return Now::Boot(if *is_on {
                    format!("Boot a kernel with {options}.")
                } else {
                    format!("Boot a kernel without {options}.")
                });
            }
            _ => return Now::NotAtRunTime(""),
        })
    }

    pub fn undo_anywhere(&self) -> String {
        Template::parse(&self.undo_text(None)).anywhere()
    }

    pub fn undo_here(&self, case: &Case<'_>) -> String {
        case.fill(Template::parse(&self.undo_text(Some(case))))
    }

    fn undo_text(&self, case: Option<&Case<'_>>) -> String {
        match self.undo {
            Fix::Command(text) | Fix::Boot(text) | Fix::Prose(text) => text.source().to_owned(),
            Fix::Setting(setting) => setting.write(),
            Fix::Implied | Fix::NotAtRunTime(_) => self.implied_undo(case),
        }
    }

    fn implied_undo(&self, case: Option<&Case<'_>>) -> String {
        let settings = self.settings(case);
        let is_written = !settings.is_empty() && matches!(self.fix, Fix::Implied | Fix::Setting(_));
        if is_written {
            let back: Option<Vec<_>> = settings.iter().map(|s| Some((*s, s.before(case?)?))).collect();
            return back.map_or_else(|| WRITE_BACK.to_owned(), |back| commands(back.into_iter()));
        }
        let places = self.places();
        // The lasting places do not say how to undo a change that a person made by hand.
        let is_by_hand = !matches!(self.fix, Fix::Implied | Fix::NotAtRunTime(_));
        let says_nothing = |place: &&Lasting| {
            matches!(place.usual(), Lasting::Word(_) | Lasting::NoWord(_) | Lasting::Module(_) | Lasting::Set(_))
        };
        match places.first().filter(|place| !(is_by_hand && says_nothing(place))).map(Lasting::usual) {
            Some(Lasting::Word(_)) => "Remove the word and boot again.".to_owned(),
            Some(Lasting::NoWord(_)) => "Put the word back and boot again.".to_owned(),
            Some(Lasting::Module(_)) => "Remove the line and load the module again.".to_owned(),
            Some(Lasting::NoModule(name)) => format!("modprobe {name}"),
            Some(Lasting::Silence(knob)) => {
                let again = silencing(knob, case).again(if is_by_hand { "" } else { "systemctl unmask --runtime" });
                if again.is_empty() { "Put back what was there.".to_owned() } else { again }
            }
            Some(Lasting::Unit(_) | Lasting::Limit(_)) => "Remove the line.".to_owned(),
            Some(Lasting::Kernel { .. }) => "Boot the kernel that was there before.".to_owned(),
            Some(Lasting::Firmware(_)) => "Restore the former setting.".to_owned(),
            Some(Lasting::Set(_) | Lasting::Udev(_)) => WRITE_BACK.to_owned(),
            Some(Lasting::Manager | Lasting::Boot(_) | Lasting::Other(_) | Lasting::Either { .. }) | None => {
                "Put back what was there.".to_owned()
            }
        }
    }
}

/// The steps that silence the programs of a knob on this machine, or on any machine if `case` is `None`.
fn silencing(knob: &str, case: Option<&Case<'_>>) -> Silencing {
    case.map_or_else(|| Silencing::of(knob), |case| case.silencing(knob))
}

/// The shell commands that write these values. Successive sysctls are written by one command.
fn commands(values: impl Iterator<Item = (Setting, String)>) -> String {
    let (mut row, mut is_sysctl) = (String::new(), false);
    for (setting, value) in values {
        match setting.file {
            File::Sysctl(name) if is_sysctl => row.extend([" ", name, "=", &setting.quoted(&value)]),
            _ if row.is_empty() => row = setting.command(&value),
            _ => row.extend(["; ", &setting.command(&value)]),
        }
        is_sysctl = matches!(setting.file, File::Sysctl(_));
    }
    row
}
