//! A rule of udev, for devices that come and go: which devices it is about, and what it does to them.

use crate::knobs::case::Case;
use crate::knobs::template::Template;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub event: Event,
    pub subsystem: &'static str,
    /// The kernel's name of the device, with stars; empty for any.
    pub kernel: &'static str,
    /// What the device has to say of itself.
    pub when: &'static [Attribute],
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Add,
    AddOrChange,
}

/// What a rule does to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Set(&'static [Attribute]),
    /// A program to run; a rule that this program writes by itself never does.
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

    /// Whether this program may write the rule by itself: rules for network cards would change all of them, and not only
    /// those of the real-time work.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self.then, Then::Set(_)) && self.subsystem != "net"
    }

    pub(super) fn names_housekeeping(self) -> bool {
        matches!(self.then, Then::Set(set) if set.iter().any(|attribute| attribute.value.names_housekeeping()))
    }

    /// The rule as udev reads it, unless a person still has to choose something.
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
