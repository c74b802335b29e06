//! What a check says.

use std::fmt;
use std::ops::Deref;

/// How much a finding matters; the words are those of `punctual audit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; no effect on latency of its own.
    Info,
    /// Costs microseconds, or happens rarely.
    Medium,
    /// Costs tens of microseconds to milliseconds, or happens regularly.
    High,
    /// The task cannot start, or cannot keep its period.
    Fatal,
}

/// One thing that stands between a task and its period. Prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule found it: the id of a knob (`punctual audit --explain` tells more), or `task.` and a word.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The names of the tasks concerned.
    pub task: String,
    /// What was planned or read.
    pub evidence: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Info => "info",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Fatal => "fatal",
        };
        write!(f, "{severity} {}: {}: {}; {}", self.code, self.task, self.evidence, self.remedy)
    }
}

/// All that a check found, gravest first; read it as a slice. Prints one finding per line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

impl Deref for Findings {
    type Target = [Finding];

    fn deref(&self) -> &[Finding] {
        &self.0
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}
