//! Verdicts on a command line as a terminal shows them, and as JSON.
//!
//! Judges nothing. On a terminal the worst words come first, since they are what one came for; JSON keeps the order of
//! the line.

use anstyle::{AnsiColor, Style};
use punctual_core::cmdline::{Target, Verdict, Word};
use punctual_core::fact::printable;
use punctual_core::machine::{Arch, Flavour};
use serde::Serialize;
use std::io::{self, Write};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// Version of the JSON document.
const SCHEMA: &str = "punctual/lint/1";
/// Longest word shown; a line has at most this many bytes.
const WORD_CHARS: usize = 2048;

/// One line a word, worst first.
pub fn text(out: &mut dyn Write, target: &Target, words: &[Word]) -> io::Result<()> {
    let Target { version, flavour, arch, .. } = target;
    writeln!(
        out,
        "{BOLD}{} words for {}.{}, {}, {}{BOLD:#}: {}",
        words.len(),
        version.major,
        version.minor,
        flavour.name(),
        arch.name(),
        totals(words)
    )?;
    if !target.was_looked_at() {
        writeln!(
            out,
            "{YELLOW}Names were looked at in 6.1, 6.12 and 7.3 for x86-64 and arm64; the nearest stands in.{YELLOW:#}"
        )?;
    }
    // What is behind -- is init's, and may be private.
    let dashes = words.iter().position(|word| word.word == "--").unwrap_or(words.len());
    let mut sorted: Vec<&Word> = words.iter().take(dashes).collect();
    sorted.sort_by_key(|word| (word.verdict, !word.is_trap));
    for word in sorted {
        let style = match word.verdict {
            Verdict::Harmful | Verdict::Unknown | Verdict::RejectedValue => RED,
            Verdict::Inert | Verdict::Clamped => YELLOW,
            Verdict::Accepted if word.is_trap => YELLOW,
            Verdict::Effective => GREEN,
            Verdict::ModuleNotLoaded | Verdict::ForUserSpace | Verdict::Accepted => DIM,
        };
        let trap = if word.is_trap { ", but" } else { "" };
        let verdict = format!("{}{trap}", word.verdict.name());
        write!(
            out,
            "  {style}{verdict:<17}{style:#} {BOLD}{}{BOLD:#}: {}",
            printable(&word.word, WORD_CHARS),
            printable(&word.why, WORD_CHARS)
        )?;
        match &word.instead {
            Some(instead) => writeln!(out, " {DIM}->{DIM:#} {instead}")?,
            None => writeln!(out)?,
        }
    }
    if let Some(behind) = words.len().checked_sub(dashes + 1) {
        writeln!(
            out,
            "  {DIM}for-user-space    --: the {behind} words behind it are init's, untouched by the kernel{DIM:#}"
        )?;
    }
    Ok(())
}

fn totals(words: &[Word]) -> String {
    let count = |verdict| words.iter().filter(|word| word.verdict == verdict).count();
    let shown = Verdict::ALL.iter().filter(|verdict| count(**verdict) > 0);
    shown.map(|verdict| format!("{} {}", count(*verdict), verdict.name())).collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    kernel: String,
    flavour: &'static str,
    arch: &'static str,
    words: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    word: String,
    verdict: &'static str,
    why: &'a str,
    instead: Option<&'a str>,
    sources: &'a [String],
}

/// All words as one JSON document, in the order of the line.
pub fn json(out: &mut dyn Write, target: &Target, words: &[Word]) -> io::Result<()> {
    let flavour = match target.flavour {
        Flavour::Stock | Flavour::Dynamic => "stock",
        Flavour::Rt => "rt",
        Flavour::Cobalt => "cobalt",
        Flavour::Evl => "evl",
    };
    let arch = match target.arch {
        Arch::X86 => "x86_64",
        Arch::Arm64 => "aarch64",
        Arch::Other => "other",
    };
    let entry = |word: &'_ Word| printable(&word.word, WORD_CHARS);
    let words = words
        .iter()
        .map(|word| Entry {
            word: entry(word),
            verdict: word.verdict.name(),
            why: &word.why,
            instead: word.instead.as_deref(),
            sources: &word.sources,
        })
        .collect();
    let kernel = format!("{}.{}", target.version.major, target.version.minor);
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, kernel, flavour, arch, words })?;
    writeln!(out)
}
