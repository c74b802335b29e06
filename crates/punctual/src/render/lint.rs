//! The verdicts on the words of a kernel command line, as text, JSON and SARIF.
//!
//! Nothing is judged here. On a terminal the worst words come first; JSON keeps the order of the command line; SARIF
//! holds only words at fault, with their places in the file.

use crate::render::clean::ascii;
use crate::render::document::Published;
use crate::render::lang::{padded, said, tr};
use crate::render::sarif::{self, Checked, Level, Place, Region, ResultKind, Rule};
use crate::render::units;
use anstyle::{AnsiColor, Style};
use punctual_facts::fact::printable;
use punctual_facts::lint::{Placed, Target, Word, WordVerdict, examined_versions};
use punctual_facts::machine::CMDLINE;
use punctual_facts::machine::MachineLine;
use serde::Serialize;
use std::fmt::{self, Write};
use std::path::Path;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// Longest word shown, in characters. No kernel takes a longer command line, so no real word is cut.
const WORD_CHARS: usize = 2048;

/// One line for each word of the command line, the worst first.
pub fn text(target: &Target, words: &[Word]) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = list(&mut out, target, words);
    out
}

fn list(out: &mut String, target: &Target, words: &[Word]) -> fmt::Result {
    let Target { version, flavour, arch, .. } = target;
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}{}{}",
        tr!(
            "{words} for kernel {major}.{minor}, {flavour}, {arch}",
            words = ascii(&units::counted(words.len() as u64, "word")),
            major = version.major,
            minor = version.minor,
            flavour = flavour.name(),
            arch = arch.name()
        ),
        if words.is_empty() { "" } else { ": " },
        totals(words)
    )?;
    if !target.was_looked_at() {
        writeln!(
            out,
            "{YELLOW}{}{YELLOW:#}",
            tr!(
                "The parameters of this kernel version are not known. The command line is judged by the nearest known \
                versions: {versions}, for x86-64, arm64, arm and riscv64.",
                versions = examined_versions()
            )
        )?;
    }
    // Words after -- are for init, not for the kernel, and may be private.
    let dashes = words.iter().position(|word| word.word == "--").unwrap_or(words.len());
    let mut sorted: Vec<&Word> = words.iter().take(dashes).collect();
    sorted.sort_by_key(|word| (word.verdict, !word.is_trap));
    for word in sorted {
        let style = match word.verdict {
            WordVerdict::Harmful | WordVerdict::Unknown | WordVerdict::RejectedValue => RED,
            WordVerdict::Inert | WordVerdict::Clamped | WordVerdict::Undecided => YELLOW,
            WordVerdict::Accepted if word.is_trap => YELLOW,
            WordVerdict::Effective => GREEN,
            WordVerdict::ModuleNotLoaded | WordVerdict::ForUserSpace | WordVerdict::Accepted => DIM,
        };
        let trap = if word.is_trap { tr!(", but") } else { "" };
        let verdict = padded(&format!("{}{trap}", said(word.verdict.name())), 17);
        write!(
            out,
            "  {style}{verdict}{style:#} {BOLD}{}{BOLD:#}: {}",
            printable(&word.word, WORD_CHARS),
            said(&printable(&word.why, WORD_CHARS))
        )?;
        match &word.instead {
            Some(instead) => writeln!(out, " {DIM}->{DIM:#} {}", said(instead))?,
            None => writeln!(out)?,
        }
    }
    if let Some(behind) = words.len().checked_sub(dashes + 1) {
        let told = match behind {
            0 => tr!("no word follows it").to_owned(),
            1 => tr!("the word after it is for init, and the kernel does not touch it").to_owned(),
            _ => tr!("the {behind} words after it are for init, and the kernel does not touch them", behind),
        };
        writeln!(out, "  {DIM}for-user-space    --: {told}{DIM:#}")?;
    }
    Ok(())
}

fn totals(words: &[Word]) -> String {
    let count = |verdict| words.iter().filter(|word| word.verdict == verdict).count();
    let shown = WordVerdict::ALL.iter().filter(|verdict| count(**verdict) > 0);
    shown.map(|verdict| format!("{} {}", count(*verdict), said(verdict.name()))).collect::<Vec<_>>().join(", ")
}

/// Every word of a kernel command line with its verdict, in the order of the line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LintDocument<'a> {
    /// The kernel that the command line was judged for.
    pub target: &'a Target,
    pub words: &'a [Word],
}

impl Published for LintDocument<'_> {
    const SCHEMA: &'static str = "punctual/lint/2";
}

/// A file that holds a command line, and the place of each word in it.
pub struct LintedFile<'a> {
    pub path: &'a Path,
    pub words: &'a [Placed],
}

/// The words at fault as a SARIF document.
pub fn sarif(target: &Target, words: &[Word], file: Option<&LintedFile<'_>>) -> String {
    let faults: Vec<(usize, &Word, Level)> =
        words.iter().enumerate().filter_map(|(n, word)| Some((n, word, level(word)?))).collect();
    let rules = WordVerdict::ALL.iter().filter(|verdict| faults.iter().any(|(_, word, _)| word.verdict == **verdict));
    let rules: Vec<Rule> = rules.map(|verdict| rule(*verdict)).collect();
    let found: Vec<Checked> = faults
        .iter()
        .map(|(n, word, level)| {
            let instead = word.instead.as_ref().map(|instead| format!(". Instead: {instead}")).unwrap_or_default();
            let shown = printable(&word.word, WORD_CHARS);
            let place = match file {
                Some(file) => {
                    let region = |word: &Placed| Region {
                        line: word.line,
                        columns: Some((word.columns.start, word.columns.end)),
                    };
                    Place::File { path: file.path.to_owned(), region: file.words.get(*n).map(region) }
                }
                None => Place::File { path: CMDLINE.into(), region: Some(Region { line: 1, columns: None }) },
            };
            Checked {
                rule: rule_id(word.verdict),
                kind: ResultKind::Fail(*level),
                message: format!("{shown}: {}{instead}", word.why),
                places: vec![place],
            }
        })
        .collect();
    let Target { version, flavour, arch, .. } = target;
    let facts = [
        ("kernel", format!("{}.{}", version.major, version.minor)),
        ("flavour", flavour.name().to_owned()),
        ("arch", arch.name().to_owned()),
    ];
    sarif::document(&rules, &found, &facts.map(MachineLine::from))
}

/// How bad a word is; `None` where nothing is wrong with it.
fn level(word: &Word) -> Option<Level> {
    match word.verdict {
        WordVerdict::Harmful | WordVerdict::Unknown | WordVerdict::RejectedValue => Some(Level::Error),
        WordVerdict::Inert | WordVerdict::Clamped | WordVerdict::Undecided => Some(Level::Warning),
        WordVerdict::Effective | WordVerdict::ModuleNotLoaded | WordVerdict::ForUserSpace | WordVerdict::Accepted => {
            word.is_trap.then_some(Level::Warning)
        }
    }
}

fn rule_id(verdict: WordVerdict) -> String {
    format!("cmdline.{}", verdict.name())
}

fn rule(verdict: WordVerdict) -> Rule {
    let (short, full, level) = match verdict {
        WordVerdict::Harmful => {
            ("Word that does harm", "The kernel takes it, and it works against real time or safety.", Level::Error)
        }
        WordVerdict::Unknown => (
            "Word nothing takes",
            "No such kernel knows it: a typing error, or removed, or not built in.",
            Level::Error,
        ),
        WordVerdict::RejectedValue => {
            ("Value that is refused", "The kernel knows the word and refuses its value.", Level::Error)
        }
        WordVerdict::Inert => {
            ("Word without effect", "The kernel takes it, and it changes nothing there.", Level::Warning)
        }
        WordVerdict::Clamped => {
            ("Value that is changed", "The kernel takes it, but not as it was written.", Level::Warning)
        }
        WordVerdict::Undecided => (
            "Word that this version may lack",
            "Of the known versions around this one, one accepts it and the other does not.",
            Level::Warning,
        ),
        WordVerdict::Effective | WordVerdict::ModuleNotLoaded | WordVerdict::ForUserSpace | WordVerdict::Accepted => (
            "Word that does something else",
            "The kernel takes it; it does not do what is commonly believed.",
            Level::Warning,
        ),
    };
    Rule {
        id: rule_id(verdict),
        short: short.to_owned(),
        full: full.to_owned(),
        help: "punctual lint tells for each word why, what to write instead, and where that is known from.".to_owned(),
        level,
        tags: vec!["real-time".to_owned(), "command line".to_owned()],
    }
}
