//! Conflicts of a plan with the rest of the system: programs that write the same values, files that set them at boot,
//! and words that are on the command line already. The plan shows each conflict with its resolution.
//!
//! This module only reads. Silencing a program or replacing a word is a change of the plan like any other.

mod files;
mod programs;

use super::{Change, Keep, Step};
use crate::knobs::Case;
use punctual_facts::machine::{CMDLINE, Cmdline};
use serde::Serialize;

/// A value of the plan that something else sets as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conflict {
    /// The program, file or word, and the value that it sets.
    pub what: String,
    /// The file, or the process, that proves the conflict.
    pub evidence: String,
    pub resolved: Resolution,
}

/// How a conflict is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", content = "because", rename_all = "kebab-case")]
pub enum Resolution {
    /// The plan stops the program and keeps it from starting.
    Silenced,
    /// The value of the plan takes effect, and the other value stays where it is.
    Overridden,
    /// The value of the plan is written in place of the other value.
    Replaced,
    /// The other value stays as it is, for this reason.
    LeftAlone(String),
}

/// The values that a plan changes and that something else may set as well.
#[derive(Debug, Default)]
struct Touched {
    /// Words of the command line with their values, which may be empty.
    words: Vec<(String, String)>,
    /// Names of words that the plan removes from the command line.
    no_words: Vec<String>,
    /// Sysctls with their values: `kernel.nmi_watchdog`, `0`.
    sysctls: Vec<(String, String)>,
    /// Files of the kernel with their values; a path may hold `*`.
    files: Vec<(String, String)>,
    /// Modules with a parameter: `snd_hda_intel`, `power_save=0`.
    modules: Vec<(String, String)>,
    /// Names of threads whose priority the plan changes.
    threads: Vec<String>,
    silenced: Vec<String>,
}

impl Touched {
    fn by(changes: &[Change]) -> Self {
        let mut touched = Self::default();
        for change in changes {
            change.steps.iter().for_each(|step| touched.step(step));
            change.keeps.iter().for_each(|keep| touched.keep(keep));
        }
        for all in [&mut touched.words, &mut touched.sysctls, &mut touched.files, &mut touched.modules] {
            all.sort();
            all.dedup();
        }
        touched
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write { path, value, .. } => match path.strip_prefix("/proc/sys/") {
                Some(name) => self.sysctls.push((name.replace('/', "."), value.clone())),
                None => self.files.push((path.clone(), value.clone())),
            },
            Step::Policy { task, .. } => self.threads.push(task.comm.clone()),
            Step::Silence { unit, .. } => self.silenced.push(unit.clone()),
            Step::Own { .. }
            | Step::Edit { .. }
            | Step::Remove { .. }
            | Step::Folder { .. }
            | Step::Affinity { .. }
            | Step::Nic { .. }
            | Step::Run { .. } => {}
        }
    }

    fn keep(&mut self, keep: &Keep) {
        match keep {
            Keep::Word(word) => {
                let (name, value) = word.split_once('=').unwrap_or((word, ""));
                self.words.push((name.to_owned(), value.to_owned()));
            }
            Keep::NoWord(name) => self.no_words.push(name.clone()),
            Keep::Sysctl { name, value } => self.sysctls.push((name.clone(), value.clone())),
            Keep::Write { path, value } => self.files.push((path.clone(), value.clone())),
            Keep::ModuleOptions(line) => {
                let mut words = line.split_whitespace();
                let module = words.next().unwrap_or_default().to_owned();
                self.modules.extend(words.map(|word| (module.clone(), word.to_owned())));
            }
            Keep::NoModule(_) | Keep::Udev(_) | Keep::Limit(_) | Keep::Manager(_) | Keep::Hold(_) | Keep::Anew => {}
        }
    }

    /// Whether the plan writes a kernel file whose path contains this text.
    fn writes(&self, part: &str) -> bool {
        self.files.iter().any(|(path, _)| path.contains(part))
    }
}

/// All conflicts, in a stable order.
pub fn conflicts(case: &Case<'_>, changes: &[Change]) -> Vec<Conflict> {
    case.forget();
    let found = owners(case, &Touched::by(changes));
    case.forget();
    found
}

fn owners(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    let mut found = programs::conflicts(case, touched);
    found.extend(words(case, touched));
    found.extend(files::conflicts(case, touched));
    found
}

/// Whether the kernel treats two names as the same: `-` and `_` are equal.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| a == b || matches!((a, b), (b'-', b'_') | (b'_', b'-')))
}

/// Conflicts with words that have another value in the files of the boot loader or, if there are no such files, on the
/// command line of this boot.
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
            let what = format!("{} on the command line", shown(&value));
            found.push(Conflict { what, evidence, resolved: Resolution::Replaced });
        }
        if let (false, Some(value)) = (is_configured, case.cmdline().and_then(other)) {
            let what = format!("{} on the command line of this boot", shown(&value));
            found.push(Conflict { what, evidence: CMDLINE.to_owned(), resolved: Resolution::Replaced });
        }
    }
    for (name, wanted) in &touched.sysctls {
        let word = format!("sysctl.{name}");
        if let Some(value) = case.cmdline().and_then(|line| line.value(&word)).filter(|value| value != wanted) {
            // The kernel sets the value of the word before init starts, and init reads the files of the plan after
            // that.
            let what = format!("{word}={value} on the command line");
            found.push(Conflict { what, evidence: CMDLINE.to_owned(), resolved: Resolution::Overridden });
        }
    }
    found
}

#[cfg(test)]
mod tests;
