//! The findings of a check.

use std::fmt;
use std::ops::Deref;

/// How serious a finding is, in the words of `punctual audit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, without an effect on latency of its own.
    Info,
    /// Costs microseconds, or happens rarely.
    Medium,
    /// Costs tens of microseconds to milliseconds, or happens regularly.
    High,
    /// The task cannot start, or cannot keep its period.
    Fatal,
}

/// One obstacle between a task and its period. Prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that reported the finding: the id of a knob (`punctual audit --explain` describes it), or `task.` and a
    /// word.
    pub code: &'static str,
    /// How serious the finding is.
    pub severity: Severity,
    /// The names of the tasks concerned.
    pub task: String,
    /// The planned value, or the value read from the machine, that led to the finding.
    pub evidence: String,
    /// What to do about the finding.
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

/// All findings of a check, gravest first. Use it as a slice. Prints one finding per line.
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
