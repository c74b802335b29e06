//! Who else owns what a plan changes: programs that write the same values, files that set them at boot, words that stand
//! on the command line already. Each is shown with how it is resolved; nothing is stacked on top of another's work
//! unseen.
//!
//! This module reads and says; what silences a program or replaces a word is a change of the plan like any other.

mod files;
mod programs;

use super::Step;
use crate::knobs::Case;
use crate::machine::{CMDLINE, Cmdline};

/// Somebody else's hand on what is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who, and over what.
    pub what: String,
    /// The file, or the process, that proves it.
    pub evidence: String,
    /// What becomes of it.
    pub resolved: Resolution,
}

/// What becomes of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The plan stops it and keeps it from starting.
    Silenced,
    /// Ours is read later, and holds.
    Overridden,
    /// Ours takes its place.
    Replaced,
    /// It stays as it is, because of this.
    LeftAlone(String),
}

/// What a plan changes, as far as others may own it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Words of the command line, with their values; a word without one has an empty value.
    pub words: Vec<(String, String)>,
    /// Words that are taken off it.
    pub no_words: Vec<String>,
    /// Sysctls: `kernel.nmi_watchdog`, `0`.
    pub sysctls: Vec<(String, String)>,
    /// Files of the kernel; may hold `*`.
    pub files: Vec<(String, String)>,
    /// Parameters of modules: `snd_hda_intel power_save=0` as a module and the rest.
    pub modules: Vec<(String, String)>,
    /// Names of threads that get another priority.
    pub threads: Vec<String>,
    /// Units that the plan silences.
    pub silenced: Vec<String>,
    /// The name of our file wherever files are read in the order of their names: `90-punctual`.
    pub own_file: String,
}

impl Touched {
    /// What steps at run time touch.
    pub fn by<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Self {
        let mut touched = Self { own_file: "90-punctual".to_owned(), ..Self::default() };
        for step in steps {
            match step {
                Step::Write { path, value, .. } => match path.strip_prefix("/proc/sys/") {
                    Some(name) => touched.sysctls.push((name.replace('/', "."), value.clone())),
                    None => touched.files.push((path.clone(), value.clone())),
                },
                Step::Policy { task, .. } => touched.threads.push(task.comm.clone()),
                Step::Silence { unit, .. } => touched.silenced.push(unit.clone()),
                _ => {}
            }
        }
        touched
    }

    /// Whether a file of the kernel whose path holds one of these parts is written.
    fn writes(&self, parts: &[&str]) -> bool {
        self.files.iter().any(|(path, _)| parts.iter().any(|part| path.contains(part)))
    }
}

/// Everybody who owns some of it, in a stable order.
pub fn conflicts(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    case.forget();
    let mut found = programs::conflicts(case, touched);
    found.extend(words(case, touched));
    found.extend(files::sysctls(case, touched));
    found.extend(files::tmpfiles(case, touched));
    found.extend(files::rules(case, touched));
    found.extend(files::modules(case, touched));
    case.forget();
    found
}

/// The same word, by the kernel's rule that `-` and `_` are one.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| a == b || matches!((a, b), (b'-', b'_') | (b'_', b'-')))
}

/// Words that stand there already with another value, in the files of the boot loader, or else only in what was booted.
fn words(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    let wanted = touched.words.iter().map(|(name, value)| (name, Some(value)));
    let all = wanted.chain(touched.no_words.iter().map(|name| (name, None)));
    let mut found = Vec::new();
    for (name, wanted) in all {
        let other = |line: &Cmdline| {
            line.value(name).filter(|value| Some(*value) != wanted.map(String::as_str)).map(str::to_owned)
        };
        let shown = |value: &str| if value.is_empty() { name.clone() } else { format!("{name}={value}") };
        let mut is_configured = false;
        for place in case.configured() {
            let Some(value) = place.line.known().and_then(|line| other(&Cmdline::parse(line))) else { continue };
            is_configured = true;
            let holds = |path: &&String| {
                let text = case.peek(path);
                let parts = |text: &String| {
                    text.split(|c: char| c.is_whitespace() || "\"'=".contains(c)).any(|part| is_same(part, name))
                };
                text.known().is_some_and(parts)
            };
            let evidence = place.files.iter().find(holds).unwrap_or(&place.place).clone();
            found.push(Conflict {
                what: format!("{} on the command line", shown(&value)),
                evidence,
                resolved: Resolution::Replaced,
            });
        }
        if let (false, Some(value)) = (is_configured, case.cmdline().and_then(other)) {
            let what = format!("{} on the command line of this boot", shown(&value));
            found.push(Conflict { what, evidence: CMDLINE.to_owned(), resolved: Resolution::Replaced });
        }
    }
    for (name, wanted) in &touched.sysctls {
        let word = format!("sysctl.{name}");
        if let Some(value) = case.cmdline().and_then(|line| line.value(&word)).filter(|value| value != wanted) {
            // The kernel sets it before the init starts, and the init's files come after.
            let what = format!("{word}={value} on the command line");
            found.push(Conflict { what, evidence: CMDLINE.to_owned(), resolved: Resolution::Overridden });
        }
    }
    found
}

#[cfg(test)]
mod tests;
