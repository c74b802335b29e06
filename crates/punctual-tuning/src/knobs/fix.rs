//! How a knob is changed now, and how that is taken back: commands, values and words, each as what it is.

use super::Knob;
use super::case::Case;
use super::check::Check;
use super::lasting::Lasting;
use super::setting::{File, Setting, Value};
use super::template::Template;

/// How a knob is changed while the machine runs, or put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// What follows from the check and from the places in which the change is made to last.
    Implied,
    /// A value for a file.
    Setting(Setting),
    /// What can be typed as it stands, once its blanks are filled.
    Command(Template<'static>),
    /// Only a boot changes it, or loading a module again: then the way to do that is the fix. The words say what else
    /// there is to know, if anything.
    NotAtRunTime(&'static str),
    /// Something that a person has to do or to decide.
    Prose(Template<'static>),
}

impl Fix {
    pub const fn command(text: &'static str) -> Self {
        Self::Command(Template::new(text))
    }

    /// This value for the file at this path.
    pub const fn set(path: &'static str, value: &'static str) -> Self {
        Self::Setting(Setting { file: File::Path(path), value: Value::text(value) })
    }

    pub const fn prose(text: &'static str) -> Self {
        Self::Prose(Template::new(text))
    }
}

const WRITE_BACK: &str = "Write back the value that was there.";

/// How a knob is changed now, with nothing implied any more. What is text here still has its blanks.
enum Now {
    Text(String),
    NotAtRunTime(&'static str),
}

impl Knob {
    /// Where the change is made to last: what the check itself says, and what the entry adds.
    pub fn places(&self) -> Vec<Lasting> {
        let by_boot = |place: &Lasting| matches!(place, Lasting::Word(_) | Lasting::NoWord(_) | Lasting::Module(_));
        let implied = self.check.places().into_iter().filter(|place| match place {
            // A file that a word or a module's option fills at boot is not written once more.
            Lasting::Set(Setting { file: File::Path(_) | File::Parameter { .. }, .. }) => {
                !self.persist.iter().any(by_boot)
            }
            _ => true,
        });
        implied.chain(self.persist.iter().copied()).collect()
    }

    /// The value that is written now, where the check names it.
    pub fn setting(&self) -> Option<Setting> {
        match self.fix {
            Fix::Setting(setting) => Some(setting),
            Fix::Implied => self.check.setting(),
            _ => None,
        }
    }

    /// What is written now: what the check wants, or else what the places say that name a file and a value.
    fn settings(&self, case: Option<&Case<'_>>) -> Vec<Setting> {
        if let Some(setting) = self.setting() {
            return vec![setting];
        }
        let places = self.places();
        let chosen = places.iter().map(|place| case.map_or(place.usual(), |case| place.chosen(case)));
        chosen.filter_map(|place| if let Lasting::Set(setting) = place { Some(*setting) } else { None }).collect()
    }

    /// Whether only a boot changes it, or loading a module again.
    pub fn is_for_boot_only(&self) -> bool {
        matches!(self.now(None), Now::NotAtRunTime(_))
    }

    /// How to change it now, on any machine.
    pub fn fix_anywhere(&self) -> String {
        Template::parse(&self.fix_text(None)).anywhere()
    }

    /// How to change it now, on this machine.
    pub fn fix_here(&self, case: &Case<'_>) -> String {
        case.fill(Template::parse(&self.fix_text(Some(case))))
    }

    fn fix_text(&self, case: Option<&Case<'_>>) -> String {
        match self.now(case) {
            Now::Text(text) => text,
            Now::NotAtRunTime("") => "None at run time.".to_owned(),
            Now::NotAtRunTime(more) => format!("None at run time; {more}"),
        }
    }

    fn now(&self, case: Option<&Case<'_>>) -> Now {
        let text = match self.fix {
            Fix::NotAtRunTime(more) => return Now::NotAtRunTime(more),
            Fix::Command(text) | Fix::Prose(text) => text.source().to_owned(),
            Fix::Setting(setting) => setting.write(),
            Fix::Implied => {
                let settings = self.settings(case);
                if settings.is_empty() {
                    return self.implied_by_places();
                }
                commands(settings.iter().map(|setting| setting.write()))
            }
        };
        Now::Text(text)
    }

    /// The way that goes with the first place in which the change is made to last.
    fn implied_by_places(&self) -> Now {
        let places = self.places();
        let units = || joined(&places, |place| if let Lasting::NoService(unit) = place { Some(unit) } else { None });
        let modules = || joined(&places, |place| if let Lasting::NoModule(name) = place { Some(name) } else { None });
        Now::Text(match (&self.check, places.first().map(Lasting::usual)) {
            (Check::Service | Check::NoProgram(_), _) => "systemctl stop each of them.".to_owned(),
            (_, Some(Lasting::NoService(_))) => format!("systemctl stop {}", units()),
            (_, Some(Lasting::NoModule(_))) => format!("rmmod {}", modules()),
            (_, Some(Lasting::Firmware(place))) => format!("Change it in the firmware's setup: {place}."),
            (_, Some(Lasting::Kernel { is_on, .. })) => {
                let options = |place: &Lasting| match place {
                    Lasting::Kernel { option, is_on: same } if same == is_on => Some(*option),
                    _ => None,
                };
                let options: Vec<&str> = places.iter().filter_map(options).collect();
                format!("Boot a kernel {} {}.", if *is_on { "with" } else { "without" }, options.join(" and "))
            }
            _ => return Now::NotAtRunTime(""),
        })
    }

    /// How to put it back, on any machine.
    pub fn undo_anywhere(&self) -> String {
        Template::parse(&self.undo_text(None)).anywhere()
    }

    /// How to put it back, on this machine.
    pub fn undo_here(&self, case: &Case<'_>) -> String {
        case.fill(Template::parse(&self.undo_text(Some(case))))
    }

    fn undo_text(&self, case: Option<&Case<'_>>) -> String {
        match self.undo {
            Fix::Command(text) | Fix::Prose(text) => text.source().to_owned(),
            Fix::Setting(setting) => setting.write(),
            Fix::Implied | Fix::NotAtRunTime(_) => self.implied_undo(case),
        }
    }

    fn implied_undo(&self, case: Option<&Case<'_>>) -> String {
        let settings = self.settings(case);
        let is_written = !settings.is_empty() && matches!(self.fix, Fix::Implied | Fix::Setting(_));
        if is_written {
            let back = |setting: &Setting| Some(setting.command(&setting.before(case?)?));
            let back: Option<Vec<String>> = settings.iter().map(back).collect();
            return back.map_or_else(|| WRITE_BACK.to_owned(), |back| commands(back.into_iter()));
        }
        let places = self.places();
        let units = || joined(&places, |place| if let Lasting::NoService(unit) = place { Some(unit) } else { None });
        // What somebody did by hand, the places say nothing of.
        let is_by_hand = !matches!(self.fix, Fix::Implied | Fix::NotAtRunTime(_));
        let says_nothing = |place: &&Lasting| {
            matches!(place.usual(), Lasting::Word(_) | Lasting::NoWord(_) | Lasting::Module(_) | Lasting::Set(_))
        };
        match places.first().filter(|place| !(is_by_hand && says_nothing(place))).map(Lasting::usual) {
            Some(Lasting::Word(_)) => "Remove the word and boot again.".to_owned(),
            Some(Lasting::NoWord(_)) => "Put the word back and boot again.".to_owned(),
            Some(Lasting::Module(_)) => "Remove the line and load the module again.".to_owned(),
            Some(Lasting::NoModule(name)) => format!("modprobe {name}"),
            Some(Lasting::NoService(_)) if matches!(self.check, Check::Service | Check::NoProgram(_)) => {
                "systemctl unmask; systemctl start".to_owned()
            }
            Some(Lasting::NoService(_)) => format!("systemctl unmask {0}; systemctl start {0}", units()),
            Some(Lasting::Unit(_) | Lasting::Limit(_)) => "Remove the line.".to_owned(),
            Some(Lasting::Kernel { .. }) => "Boot the kernel that was there before.".to_owned(),
            Some(Lasting::Firmware(_)) => "The setting as it was.".to_owned(),
            Some(Lasting::Set(_) | Lasting::Udev(_)) => WRITE_BACK.to_owned(),
            Some(Lasting::Manager | Lasting::Other(_) | Lasting::Either { .. }) | None => {
                "Put back what was there.".to_owned()
            }
        }
    }
}

fn joined(places: &[Lasting], name: impl Fn(&Lasting) -> Option<&'static str>) -> String {
    places.iter().filter_map(name).collect::<Vec<_>>().join(" ")
}

/// Several commands in a row; several values for sysctl are one command.
fn commands(all: impl Iterator<Item = String>) -> String {
    let mut row = String::new();
    for command in all {
        match command.strip_prefix("sysctl ") {
            Some(more) if row.starts_with("sysctl ") => row.extend([" ", more]),
            _ if row.is_empty() => row = command,
            _ => row.extend(["; ", &command]),
        }
    }
    row
}
