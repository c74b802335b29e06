//! The result of the audit for one knob on one machine.

use serde::Serialize;

/// How much the bad state of a knob matters for the stated need. The levels are those of the kernel's documentation
/// (`core-api/real-time/kernel-configuration.rst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Info,
    /// The bad state costs microseconds, or is rare.
    Medium,
    /// The bad state costs tens to hundreds of microseconds, or happens regularly.
    High,
    /// The need cannot be met while the bad state lasts.
    Fatal,
}

impl Severity {
    /// The next worse level, at most high: no level is raised to fatal, because only a knob's own entry can state that.
    #[must_use]
    pub fn raised(self) -> Self {
        match self {
            Self::Info => Self::Medium,
            Self::Medium | Self::High => Self::High,
            Self::Fatal => Self::Fatal,
        }
    }
}

/// The *effective* state of a knob, judged for the stated need. A request alone proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", content = "because", rename_all = "kebab-case")]
pub enum State {
    /// The files that were read prove that the state is as wanted.
    Good,
    Bad,
    /// The state could not be determined, for this reason.
    Unknown(#[cfg_attr(feature = "schema", schemars(with = "String"))] WhyUnknown),
    /// Software cannot see the state; the text says where to look.
    Advice(String),
    /// The knob makes no difference on this machine, for this reason.
    NotApplicable(String),
}

impl State {
    /// The reason of a state that is neither good nor bad.
    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Good | Self::Bad => None,
            Self::Unknown(WhyUnknown { because, .. }) | Self::Advice(because) | Self::NotApplicable(because) => {
                Some(because)
            }
        }
    }
}

/// Why a state could not be determined. It is published and recorded as its text alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WhyUnknown {
    pub because: String,
    /// Whether looking was refused to an ordinary user, so that root may be able to determine the state.
    #[serde(skip)]
    pub root_may: bool,
}

/// The last words of the reason if root may be able to determine the state. Recordings of every version hold them.
const ROOT_MAY: &str = "root may be allowed to do this";

impl WhyUnknown {
    /// The reason that `look`, such as `reading /dev/mem`, was refused to an ordinary user.
    pub fn refused(look: &str) -> Self {
        Self { because: format!("{look} is refused; {ROOT_MAY}"), root_may: true }
    }

    /// A reason of which a recording holds only the text.
    pub fn recorded(because: String) -> Self {
        Self { root_may: because.ends_with(ROOT_MAY), because }
    }
}

impl From<String> for WhyUnknown {
    fn from(because: String) -> Self {
        Self { because, root_may: false }
    }
}

impl From<&str> for WhyUnknown {
    fn from(because: &str) -> Self {
        because.to_owned().into()
    }
}

/// One source that was read, and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Path or other source that was read.
    pub source: String,
    /// The content, or the reason why the source could not be read.
    pub value: String,
}

/// How certain it is that changing the knob helps the stated need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Common advice that nobody has verified for this catalogue.
    Low,
    /// The kernel documents the effect, and its size depends on the machine.
    Medium,
    /// The effect was verified in the kernel's source, or measured.
    High,
}

/// The result of the audit for one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The knob's id, as `audit --explain` takes it.
    pub id: String,
    /// The good state of the knob, in a few words.
    pub title: String,
    /// How much the bad state matters for the need.
    pub severity: Severity,
    #[serde(flatten)]
    pub state: State,
    /// The sources that were read to determine the state, in order.
    pub evidence: Vec<Evidence>,
    /// What the bad state does to the real-time work, in a sentence.
    pub why: String,
    /// How to change the state, in a sentence.
    pub fix: String,
    /// What the change costs.
    pub cost: String,
    pub confidence: Confidence,
}
