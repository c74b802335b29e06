//! Words for the kernel in files that a shell sources as root: the files of GRUB and u-boot-menu.
//!
//! If a word of the user is to be removed, it stays in the user's file, and our shell code removes it from the
//! variable. Every text that is written here was checked to have no special meaning to a shell. Marks enclose the lines
//! that remove words, so that `machine::boot` can read them without running a shell.

use super::line::{Settled, name_of};
use super::{LAST, MADE_BY, Obstacle, Wanted, block, edit, ending, optional, own, required};
use crate::plan::Step;
use punctual_facts::machine::{WITHOUT, WITHOUT_END};
use punctual_facts::tree::Tree;
use std::fmt::Write as _;

/// The file for our lines: a file of our own, or a file of another owner with our lines between marks at its end.
pub(super) struct File {
    path: String,
    seen: String,
    is_own: bool,
}

impl File {
    pub(super) fn of_our_own(tree: &dyn Tree, path: &str) -> Result<Self, Obstacle> {
        let seen = optional(tree, path)?.unwrap_or_default();
        Ok(Self { path: path.to_owned(), seen, is_own: true })
    }

    pub(super) fn of_others(path: &str, seen: String) -> Self {
        Self { path: path.to_owned(), seen, is_own: false }
    }

    /// The text that contains the lines of our earlier plan; empty if there are none.
    pub(super) fn earlier(&self) -> &str {
        if self.is_own || block::without(&self.seen).is_some() { &self.seen } else { "" }
    }

    /// The step that replaces the lines of an earlier plan by this text.
    pub(super) fn with(&self, text: &str) -> Step {
        if self.is_own {
            return own(&self.path, format!("{MADE_BY}{text}"));
        }
        edit(&self.path, &self.seen, block::appended(&block::base(&self.seen), text))
    }
}

/// Fails if a fragment that is read after ours assigns one of our variables, as `sets` finds it.
pub(super) fn refuse_later(
    tree: &dyn Tree,
    folder: &str,
    end: &str,
    sets: impl Fn(&str) -> bool,
) -> Result<(), Obstacle> {
    let ours = format!("{LAST}{end}");
    for name in ending(tree, folder, end)?.iter().filter(|name| **name > ours) {
        let path = format!("{folder}/{name}");
        if sets(&required(tree, &path)?) {
            let why = format!("is read after {ours} and sets the kernel's words anew");
            return Err(Obstacle::Conflict { path, why });
        }
    }
    Ok(())
}

/// A fragment of shell code that changes variables which were set before. The variable `first` gets the new words in
/// front of its value, so that they stand before a lone `--`. From the variables `others`, words are only removed.
pub(super) fn fragment(first: &str, others: &[&str], settled: &Settled) -> String {
    let mut text = String::new();
    if let Some(pattern) = pattern(&settled.strip) {
        push(&mut text, format_args!("{WITHOUT}{}\n", settled.strip.join(" ")));
        text.push_str("set -f\n");
        for name in std::iter::once(&first).chain(others) {
            write_loop(&mut text, name, &pattern);
        }
        push(&mut text, format_args!("set +f\n{WITHOUT_END}\n"));
    }
    if !settled.add.is_empty() {
        push(&mut text, format_args!("{first}=\"{} ${first}\"\n", settled.add.join(" ")));
    }
    text
}

/// The wanted words, together with the words in an earlier fragment of ours.
pub(super) fn with_earlier(earlier: &str, variables: &[&str], wanted: &Wanted) -> Wanted {
    let words_for = |name: &&str| {
        let mut lines = earlier.lines().rev();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix(&format!(" ${name}\"")))
    };
    let assigned = variables.iter().find_map(words_for);
    let is_to_go = |word: &String| {
        let is_named = |gone: &String| if gone.contains('=') { gone == word } else { name_of(gone) == name_of(word) };
        wanted.no_words.iter().any(is_named)
    };
    let mut words = list(assigned);
    words.retain(|word| !is_to_go(word) && !wanted.words.contains(word));
    words.extend(wanted.words.iter().cloned());
    let mut no_words = stripped(earlier);
    no_words.retain(|word| !wanted.no_words.contains(word));
    no_words.extend(wanted.no_words.iter().cloned());
    Wanted { words, no_words, ..Wanted::default() }
}

/// The words that an earlier fragment of ours removes.
pub(super) fn stripped(earlier: &str) -> Vec<String> {
    list(earlier.lines().find_map(|line| line.strip_prefix(WITHOUT)))
}

fn list(text: Option<&str>) -> Vec<String> {
    text.unwrap_or("").split_whitespace().map(str::to_owned).collect()
}

/// Writes shell code that copies the words of a variable up to a lone `--`, except words that match the pattern.
fn write_loop(text: &mut String, name: &str, pattern: &str) {
    push(
        text,
        format_args!(
            "punctual_line= punctual_end=\n\
             for punctual_word in ${name}; do\n\
             \x20   case \"$punctual_end$punctual_word\" in\n\
             \x20       {pattern}) continue ;;\n\
             \x20       --) punctual_end=' ' ;;\n\
             \x20   esac\n\
             \x20   punctual_line=\"$punctual_line${{punctual_line:+ }}$punctual_word\"\n\
             done\n\
             {name}=\"$punctual_line\"\n"
        ),
    );
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(more);
}

/// The pattern for a shell's `case` that matches these words, with `-` and `_` treated alike.
fn pattern(strip: &[String]) -> Option<String> {
    let each = strip.iter().map(|word| match word.split_once('=') {
        Some((name, value)) => format!("{}={value}", spelled(name)),
        None => format!("{0}|{0}=*", spelled(word)),
    });
    let all: Vec<String> = each.collect();
    (!all.is_empty()).then(|| all.join("|"))
}

fn spelled(name: &str) -> String {
    name.replace('_', "[-_]")
}
