//! A udev rule for devices that may appear at any time: which devices it matches, and what it sets.

use crate::knobs::case::Case;
use crate::knobs::template::Template;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub event: Event,
    pub subsystem: &'static str,
    /// The kernel's name of the device, where `*` stands for any characters; empty for any device.
    pub kernel: &'static str,
    /// Attributes that a device must have for the rule to match.
    pub when: &'static [Attribute],
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Add,
    AddOrChange,
}

/// The action that a rule takes on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Set(&'static [Attribute]),
    /// The rule runs a program. Only a person may install a rule like this, see `Rule::is_ours`.
    Run(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    name: &'static str,
    value: Template<'static>,
}

pub const fn attribute(name: &'static str, value: &'static str) -> Attribute {
    Attribute { name, value: Template::new(value) }
}

impl Rule {
    /// A rule that sets attributes of each device of a subsystem when it appears.
    pub const fn add(subsystem: &'static str, set: &'static [Attribute]) -> Self {
        Self { event: Event::Add, subsystem, kernel: "", when: &[], then: Then::Set(set) }
    }

    /// Whether this program may write the rule itself. It writes no rule for network cards, since a rule would change
    /// every card and not only the cards that the real-time work uses.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self.then, Then::Set(_)) && self.subsystem != "net"
    }

    pub(super) fn names_housekeeping(self) -> bool {
        matches!(self.then, Then::Set(set) if set.iter().any(|attribute| attribute.value.names_housekeeping()))
    }

    /// The rule as a line for udev; `None` if a blank is left for a person to fill.
    pub(crate) fn whole(self, case: &Case<'_>) -> Option<String> {
        let Then::Set(set) = self.then else { return None };
        let is_whole = set.iter().all(|attribute| case.fill_whole(attribute.value).is_some());
        is_whole.then(|| self.told(|text| case.fill(text)))
    }

    pub(super) fn told(self, fill: impl Fn(Template<'_>) -> String) -> String {
        let action = match self.event {
            Event::Add => "add",
            Event::AddOrChange => "add|change",
        };
        let mut parts = vec![format!("ACTION==\"{action}\""), format!("SUBSYSTEM==\"{}\"", self.subsystem)];
        if !self.kernel.is_empty() {
            parts.push(format!("KERNEL==\"{}\"", self.kernel));
        }
        let told =
            |attribute: &Attribute, sign| format!("ATTR{{{}}}{sign}\"{}\"", attribute.name, fill(attribute.value));
        parts.extend(self.when.iter().map(|attribute| told(attribute, "==")));
        match self.then {
            Then::Set(set) => parts.extend(set.iter().map(|attribute| told(attribute, "="))),
            Then::Run(program) => parts.push(format!("RUN+=\"{program}\"")),
        }
        parts.join(", ")
    }
}
