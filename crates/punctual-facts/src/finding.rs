//! What the audit says about one knob on one machine.

use serde::Serialize;

/// How much a knob matters for the stated need when it is in the bad state. The scale is the kernel's own
/// (`core-api/real-time/kernel-configuration.rst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Info,
    /// It costs microseconds, or it is rare.
    Medium,
    /// It costs tens to hundreds of microseconds, or it happens regularly.
    High,
    /// The need cannot be met while this stands.
    Fatal,
}

impl Severity {
    /// One level worse; what is high stays so, since only a knob itself knows what cannot be lived with.
    #[must_use]
    pub fn raised(self) -> Self {
        match self {
            Self::Info => Self::Medium,
            Self::Medium | Self::High => Self::High,
            Self::Fatal => Self::Fatal,
        }
    }
}

/// What the *effective* state of a knob is, judged for the need. Requested is not effective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", content = "because", rename_all = "kebab-case")]
pub enum State {
    /// What was read proves that it is as wanted.
    Good,
    Bad,
    /// It could not be determined, for this reason.
    Unknown(String),
    /// Software cannot see it; this is where to look.
    Advice(String),
    /// It makes no difference here, for this reason.
    NotApplicable(String),
}

/// The end of the reason of an unknown state that root may be able to determine.
pub const ROOT_MAY: &str = "root may be allowed to";

/// One thing that was read, and what it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Path (or other source) that was read.
    pub source: String,
    /// The content, or why it could not be read.
    pub value: String,
}

/// How sure we are that changing the knob helps the stated need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Common advice that we have not verified.
    Low,
    /// The kernel documents it, and the effect depends on the machine.
    Medium,
    /// It was verified in the kernel source, or measured.
    High,
}

/// The result of the audit for one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The knob's id, as `audit --explain` takes it.
    pub id: String,
    /// The knob in a few words.
    pub title: String,
    /// How much it matters when bad.
    pub severity: Severity,
    #[serde(flatten)]
    pub state: State,
    /// What was read to know.
    pub evidence: Vec<Evidence>,
    /// What the bad state does to the need, in a sentence.
    pub why: String,
    /// How to change it, in a sentence.
    pub fix: String,
    /// What the change costs.
    pub cost: String,
    pub confidence: Confidence,
}
