//! Merges wanted words into a command line by the rules of the kernel: in names `-` equals `_`, double quotes protect
//! blanks, and words behind a lone `--` are for init and stay as they are.

use super::{Obstacle, Wanted};
use punctual_facts::cmdline::{KEPT_BYTES, Token, same_dashes, words};
use punctual_facts::cpu_set::CpuSet;
use std::collections::BTreeSet;

/// Words that may occur several times. Each occurrence takes effect, and their order matters.
const ADD_UP: &str =
    "blacklist console crashkernel dyndbg earlycon hugepages hugepagesz initcall_blacklist memmap module_blacklist";

/// Merges the wanted words into the command line `current`. The other words keep their order.
pub fn merge(current: &str, wanted: &Wanted) -> Result<String, Obstacle> {
    super::check::cmdline(wanted)?;
    Ok(Settled::of(current, wanted)?.line)
}

/// A merged line, and the words that the merging adds and removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) line: String,
    /// Words to add. `isolcpus=` also has the flags that the line had before.
    pub(super) add: Vec<String>,
    /// Words to remove: `name` for any value, or `name=value`.
    pub(super) strip: Vec<String>,
}

impl Settled {
    /// Merges the words. Fails if the line would become too long, but accepts a line that is too long already and does
    /// not change.
    pub(super) fn of(current: &str, wanted: &Wanted) -> Result<Self, Obstacle> {
        if current.matches('"').count() % 2 == 1 {
            let why = "the command line holds a quote that is not closed; words behind it would be lost".to_owned();
            return Err(Obstacle::Unfit { value: current.to_owned(), why });
        }
        let tokens = words(current.as_bytes());
        let ours = tokens.iter().position(|token| token.raw == "--").unwrap_or(tokens.len());
        let (kernels, inits) = tokens.split_at(ours);
        let add = added(kernels, wanted);
        let strip = stripped(&add, wanted);
        let new: Vec<Token> = words(add.join(" ").as_bytes());
        let stays = |token: &&Token| !is_stripped(token, &strip) || is_in_place(kernels, token, &new);
        let kept: Vec<&Token> = kernels.iter().filter(stays).collect();
        let all = kept.iter().copied().chain(missing(&kept, &new)).chain(inits);
        let line = all.map(|token| token.raw.as_str()).collect::<Vec<_>>().join(" ");
        let is_unchanged = words(line.as_bytes()).iter().map(|t| &t.raw).eq(tokens.iter().map(|t| &t.raw));
        let line = if is_unchanged { current.to_owned() } else { fitting(line)? };
        Ok(Self { line, add, strip })
    }

    /// Restricts the words to remove to words that are on this line and words that earlier plans removed.
    pub(super) fn stripping_only(mut self, line: &str, before: &[String]) -> Self {
        let tokens = words(line.as_bytes());
        let stands = |word: &String| tokens.iter().any(|token| is_stripped(token, std::slice::from_ref(word)));
        self.strip.retain(|word| stands(word) || before.contains(word));
        self
    }

    /// The line with the word `panic=`, which makes a kernel reboot this number of seconds after a panic. A line that
    /// already has a time for this, or 0 seconds, leaves the line as it is.
    pub(super) fn with_panic(self, seconds: u32) -> Result<String, Obstacle> {
        let tokens = words(self.line.as_bytes());
        let last = tokens.iter().rev().find(|token| token.name == "panic" && !token.is_for_init);
        let waits_for_ever = last.is_none_or(|token| matches!(token.value.as_deref(), None | Some("0" | "")));
        if seconds == 0 || !waits_for_ever {
            return Ok(self.line);
        }
        let wanted = Wanted { words: vec![format!("panic={seconds}")], ..Wanted::default() };
        Ok(Self::of(&self.line, &wanted)?.line)
    }
}

/// Refuses a line that does not fit the kernel's buffer, or that a boot loader cannot carry.
pub(super) fn fitting(line: String) -> Result<String, Obstacle> {
    if let Some(odd) = line.bytes().find(|b| !(b' '..=b'~').contains(b)) {
        let why = format!("the command line holds the byte {odd:#04x}, which is not printable ASCII");
        return Err(Obstacle::Unfit { value: line, why });
    }
    let bytes = line.len() + 1;
    if bytes > KEPT_BYTES { Err(Obstacle::TooLong { bytes, kept: KEPT_BYTES }) } else { Ok(line) }
}

fn adds_up(name: &str) -> bool {
    ADD_UP.split(' ').any(|word| word == name)
}

/// The name of a word in the form in which the kernel compares names.
pub(super) fn name_of(word: &str) -> String {
    same_dashes(word.split('=').next().unwrap_or(word))
}

/// The words to add: the last wanted word of each name. `isolcpus=` keeps the flags that the line has already.
fn added(kernels: &[Token], wanted: &Wanted) -> Vec<String> {
    let is_last = |(at, word): &(usize, &String)| {
        let name = name_of(word);
        adds_up(&name) || !wanted.words[at + 1..].iter().any(|later| name_of(later) == name)
    };
    let words = wanted.words.iter().enumerate().filter(is_last).map(|(_, word)| word);
    // Words that may occur several times stand together at the end, in their order.
    let (last, first): (Vec<&String>, Vec<&String>) = words.partition(|word| adds_up(&name_of(word)));
    let all = first.into_iter().chain(last);
    all.map(|word| isolcpus(kernels, word).unwrap_or_else(|| word.clone())).collect()
}

/// The word `isolcpus=` with the wanted flags and the flags that the line has already, because the user may need the
/// latter.
fn isolcpus(kernels: &[Token], word: &str) -> Option<String> {
    let cpus_and_flags = word.strip_prefix("isolcpus=")?;
    let there = kernels.iter().rev().find(|token| token.name == "isolcpus")?.value.as_deref()?;
    let (mut flags, cpus) = split_flags(cpus_and_flags);
    let (others, _) = split_flags(there);
    // A list without flags has the same meaning as one with the flag `domain`.
    let domain = |flags: &[&str]| flags.is_empty() || flags.contains(&"domain");
    if domain(&others) && !domain(&flags) {
        flags.push("domain");
    }
    let new: Vec<&str> = others.into_iter().filter(|flag| *flag != "domain" && !flags.contains(flag)).collect();
    if flags.is_empty() && !new.is_empty() {
        flags.push("domain");
    }
    flags.extend(new);
    if is_the_same(&flags, cpus, there) {
        return Some(format!("isolcpus={there}"));
    }
    flags.push(cpus);
    Some(format!("isolcpus={}", flags.join(",")))
}

/// Whether the value `there` on the line has the same flags and CPUs, in any order.
fn is_the_same(flags: &[&str], cpus: &str, there: &str) -> bool {
    let (others, theirs) = split_flags(there);
    let all: BTreeSet<&str> = others.into_iter().collect();
    let is_same_list = || match (CpuSet::parse_list(cpus), CpuSet::parse_list(theirs)) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        _ => cpus == theirs,
    };
    all == flags.iter().copied().collect() && is_same_list()
}

/// Splits the value of `isolcpus=` into its flags and the list of CPUs behind them.
fn split_flags(value: &str) -> (Vec<&str>, &str) {
    let is_flag = |part: &&str| matches!(*part, "nohz" | "domain" | "managed_irq");
    let flags: Vec<&str> = value.split(',').take_while(is_flag).collect();
    let behind: usize = flags.iter().map(|flag| flag.len() + 1).sum();
    (flags, value.get(behind..).unwrap_or(""))
}

/// The words to remove: unwanted words, and words with the name of a word that is added.
fn stripped(add: &[String], wanted: &Wanted) -> Vec<String> {
    let plain = |word: &String| match word.split_once('=') {
        Some((name, value)) => format!("{}={value}", same_dashes(name)),
        None => same_dashes(word),
    };
    let replaced = add.iter().map(|word| name_of(word)).filter(|name| !adds_up(name));
    let mut strip: Vec<String> = Vec::new();
    for word in wanted.no_words.iter().map(plain).chain(replaced) {
        if !strip.contains(&word) {
            strip.push(word);
        }
    }
    strip
}

fn is_stripped(token: &Token, strip: &[String]) -> bool {
    strip.iter().any(|word| match word.split_once('=') {
        Some((name, value)) => token.name == name && token.value.as_deref() == Some(value),
        None => token.name == *word,
    })
}

/// Whether a word of the line can stay where it is: it has the wanted value, and occurs once or may occur several
/// times.
fn is_in_place(kernels: &[Token], token: &Token, new: &[Token]) -> bool {
    let is_once = || kernels.iter().filter(|other| other.name == token.name).count() == 1;
    new.iter().any(|word| is_same(word, token)) && (adds_up(&token.name) || is_once())
}

/// The wanted words that the line lacks. Words that may occur several times are all added again unless they stand in a
/// row on the line, because their order matters.
fn missing<'a>(kept: &[&Token], new: &'a [Token]) -> impl Iterator<Item = &'a Token> {
    let run: Vec<&Token> = new.iter().filter(|word| adds_up(&word.name)).collect();
    let has_run = !run.is_empty()
        && kept.windows(run.len()).any(|window| window.iter().zip(&run).all(|(there, word)| is_same(there, word)));
    let is_missing = |word: &&Token| {
        if adds_up(&word.name) { !has_run } else { !kept.iter().any(|token| is_same(token, word)) }
    };
    new.iter().filter(is_missing).collect::<Vec<_>>().into_iter()
}

fn is_same(a: &Token, b: &Token) -> bool {
    a.name == b.name && a.value == b.value
}
