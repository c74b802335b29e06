//! What the audit says of one knob on one machine.

use serde::Serialize;

/// How much a knob matters for the stated need when it is in the bad state. The scale is the kernel's own
/// (`core-api/real-time/kernel-configuration.rst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Info,
    /// Microseconds, or rare.
    Medium,
    /// Tens to hundreds of microseconds, or regular.
    High,
    /// The need cannot be met while this stands.
    Fatal,
}

impl Severity {
    /// One level worse; what is high stays so, since only a knob itself knows what cannot be lived with.
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
    /// Proven as wanted by what was read.
    Good,
    Bad,
    /// Could not be told, because of this.
    Unknown(String),
    /// Cannot be seen from software; where to look for it.
    Advice(String),
    /// Makes no difference here, because of this.
    NotApplicable(String),
}

/// How the reason of an unknown state ends where another user may see more.
pub const ROOT_MAY: &str = "root may be allowed to";

/// One thing that was read, and what it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Path (or other source) that was read.
    pub source: String,
    /// What it held, or why it could not be read.
    pub value: String,
}

/// How sure we are that changing the knob helps the stated need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Usual advice, not verified by us.
    Low,
    /// Documented by the kernel, effect depends on the machine.
    Medium,
    /// Verified in kernel source or measured.
    High,
}

/// One knob, judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The knob's id, as `audit --explain` takes it.
    pub id: String,
    /// The knob in a few words.
    pub title: String,
    /// How much it matters when bad.
    pub severity: Severity,
    /// What it is.
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
    /// How sure we are.
    pub confidence: Confidence,
}
