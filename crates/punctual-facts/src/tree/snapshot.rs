//! A machine as one readable text file: the format of `punctual snapshot` and of the fixtures.
//!
//! ```text
//! punctual-machine 1
//! # remarks start with a hash
//! /sys/devices/system/cpu/online = 0-3
//! /proc/cpuinfo =
//!     processor : 0
//!     flags : fpu tsc
//! /sys/kernel/debug/ ! denied
//! /sys/class/net/eth0 -> ../../devices/pci0000:00/net/eth0
//! /sys/fs/resctrl/
//! ```
//!
//! A value after `=` is one line of text with its newline; an indented block is any number of lines. `\e` stands for
//! the empty text, `\xNN` for a byte and `\\` for a backslash. `\c` at the end of a block means that the last line has
//! no newline. `!` is followed by `absent`, by `denied`, or by `garbled` and the reason. A path that ends in `/` is a
//! folder; a blank in a path is written `\x20`. A later line about a path replaces an earlier one.
//!
//! If the second line names the program that wrote the file, the file must end in the remark `# end`. Otherwise the
//! file was cut, and the missing entries would look like files that do not exist.
//!
//! The meaning of the files does not matter here.

use super::Tree;
use crate::fact::Fact;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;

const FIRST_LINE: &str = "punctual-machine 1";
/// The beginning of the second line, and the last line, of a file that `punctual snapshot` writes.
const WRITTEN_BY: &str = "# Written by punctual ";
const END: &str = "# end";
const INDENT: &str = "    ";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemTree {
    pub(super) files: BTreeMap<String, Fact<Vec<u8>>>,
    pub(super) folders: BTreeMap<String, Fact<()>>,
    pub(super) links: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct SnapshotError {
    /// Number of the wrong line, from 1.
    pub line: usize,
    /// What is wrong with the line, and what is expected.
    pub reason: String,
}

impl MemTree {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Self::parse(std::str::from_utf8(bytes).map_err(|e| {
            let offset = e.valid_up_to();
            let line = bytes[..offset].split(|b| *b == b'\n').count();
            SnapshotError { line, reason: format!("the byte at offset {offset} is not text (UTF-8)") }
        })?)
    }

    /// Parses a snapshot. The module's description states the format.
    pub fn parse(text: &str) -> Result<Self, SnapshotError> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let first = first.trim_end();
        if first != FIRST_LINE {
            let reason = if first.starts_with("punctual-machine ") {
                format!("written in a newer format ('{first}'); this program reads '{FIRST_LINE}'")
            } else {
                format!("not a machine snapshot: the first line must be '{FIRST_LINE}'")
            };
            return Err(SnapshotError { line: 1, reason });
        }
        if is_cut(rest) {
            let reason =
                format!("the file is cut: its last line, '{END}', is missing; copy it again, or create it again");
            return Err(SnapshotError { line: text.lines().count(), reason });
        }
        let mut tree = Self::new();
        tree.overlay(rest, 2)?;
        Ok(tree)
    }

    /// The snapshot as a text that shows whether its end was cut off. `version` and `date` are those of the program
    /// that writes it. `remarks` are whole lines, each beginning with a hash.
    pub fn signed(&self, version: &str, date: &str, remarks: &str) -> String {
        let text = self.to_string();
        let (first, entries) = text.split_once('\n').unwrap_or((&text, ""));
        format!("{first}\n{WRITTEN_BY}{version} at {date}.\n{remarks}{entries}{END}\n")
    }

    /// Adds entries that are written as in a snapshot, without a snapshot's first line. Line numbers in errors start at
    /// `first_line`.
    pub fn overlay(&mut self, text: &str, first_line: usize) -> Result<(), SnapshotError> {
        let mut open_block: Option<String> = None;
        for (line, number) in text.lines().zip(first_line..) {
            let fail = |reason: String| SnapshotError { line: number, reason };
            if let Some(part) = line.strip_prefix(INDENT) {
                let path = open_block.as_ref().ok_or_else(|| fail("an indented line belongs to no path".to_owned()))?;
                let bytes = decode_line(part).map_err(fail)?;
                if let Some(Fact::Known(content)) = self.files.get_mut(path) {
                    content.extend(bytes);
                }
                continue;
            }
            open_block = None;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (path, rest) = line.split_once(' ').unwrap_or((line, ""));
            let path = &decode_text(path).map_err(fail)?;
            if let Some(value) = rest.strip_prefix("= ") {
                self.file(path, Fact::Known(decode_line(value).map_err(fail)?));
            } else if rest == "=" {
                self.file(path, Fact::Known(Vec::new()));
                open_block = Some(path.to_owned());
            } else if let Some(state) = rest.strip_prefix("! ") {
                self.trouble(path, state).map_err(fail)?;
            } else if let Some(target) = rest.strip_prefix("-> ") {
                self.symlink(path, &decode_text(target).map_err(fail)?);
            } else if rest.is_empty() && path.ends_with('/') {
                self.folder(path, Fact::Known(()));
            } else {
                return Err(fail("expected 'PATH = VALUE', 'PATH ! STATE', 'PATH -> TARGET' or 'FOLDER/'".to_owned()));
            }
        }
        Ok(())
    }

    pub fn file(&mut self, path: &str, content: Fact<Vec<u8>>) {
        self.folders.remove(path);
        self.files.insert(path.to_owned(), content);
    }

    /// Adds a folder. Its entries follow from the paths below it.
    pub fn folder(&mut self, path: &str, state: Fact<()>) {
        self.folders.insert(trimmed(path).to_owned(), state);
    }

    pub fn symlink(&mut self, path: &str, target: &str) {
        self.links.insert(path.to_owned(), target.to_owned());
    }

    fn trouble(&mut self, path: &str, state: &str) -> Result<(), String> {
        let (word, why) = state.split_once(' ').unwrap_or((state, ""));
        let state = match word {
            "absent" => Fact::Absent,
            "denied" => Fact::Denied,
            "garbled" => Fact::Garbled(decode_text(why)?),
            _ => return Err(format!("'{word}' is not a state: expected absent, denied or garbled")),
        };
        if path.ends_with('/') {
            self.folder(path, state);
        } else {
            self.file(path, state.map(|()| Vec::new()));
        }
        Ok(())
    }
}

/// Whether `punctual snapshot` wrote the text and its end is missing. Lines that were added after the end are allowed.
fn is_cut(rest: &str) -> bool {
    let (second, has_more) = rest.split_once('\n').map_or((rest, false), |(second, _)| (second, true));
    let is_begun = !has_more && !second.is_empty() && WRITTEN_BY.starts_with(second);
    is_begun || (second.starts_with(WRITTEN_BY) && !rest.lines().any(|line| line == END))
}

fn trimmed(folder: &str) -> &str {
    folder.trim_end_matches('/')
}

/// Adds the names in a folder. After a name was found, all paths below that name are skipped, because a folder near the
/// root has most of the machine below it.
fn entries<T>(paths: &BTreeMap<String, T>, folder: &str, is_there: impl Fn(&T) -> bool, names: &mut BTreeSet<String>) {
    let start = format!("{folder}/");
    let from = |path: &str| paths.range::<str, _>((Bound::Included(path), Bound::Unbounded));
    let mut next = from(&start);
    while let Some((path, value)) = next.next() {
        let Some(rest) = path.strip_prefix(&start) else { return };
        let (name, is_deeper) = rest.split_once('/').map_or((rest, false), |(name, _)| (name, true));
        if name.is_empty() || !is_there(value) {
            continue;
        }
        names.insert(name.to_owned());
        if is_deeper {
            // `0` is the character after `/`, so the search continues at the first path that is not below the name.
            next = from(&format!("{start}{name}0"));
        }
    }
}

impl Tree for MemTree {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.files.get(path).cloned().unwrap_or(Fact::Absent)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let folder = trimmed(path);
        if let Some(state) = self.folders.get(folder).filter(|state| state.known().is_none()) {
            return state.clone().map(|()| Vec::new());
        }
        let mut names = BTreeSet::new();
        entries(&self.files, folder, |content| *content != Fact::Absent, &mut names);
        entries(&self.folders, folder, |state| *state != Fact::Absent, &mut names);
        entries(&self.links, folder, |_| true, &mut names);
        if names.is_empty() && !self.folders.contains_key(folder) {
            return Fact::Absent;
        }
        Fact::Known(names.into_iter().collect())
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.links.get(path).map_or(Fact::Absent, |target| Fact::Known(target.clone()))
    }
}

impl fmt::Display for MemTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        for (path, state) in &self.folders {
            write_state(f, &format!("{}/", encode_path(path)), state, |f, path, ()| writeln!(f, "{path}"))?;
        }
        for (path, target) in &self.links {
            writeln!(f, "{} -> {}", encode_path(path), encode_text(target.as_bytes()))?;
        }
        for (path, content) in &self.files {
            write_state(f, &encode_path(path), content, |f, path, bytes| write_file(f, path, bytes))?;
        }
        Ok(())
    }
}

fn write_state<T>(
    f: &mut fmt::Formatter<'_>,
    path: &str,
    fact: &Fact<T>,
    known: impl FnOnce(&mut fmt::Formatter<'_>, &str, &T) -> fmt::Result,
) -> fmt::Result {
    match fact {
        Fact::Known(value) => known(f, path, value),
        Fact::Absent => writeln!(f, "{path} ! absent"),
        Fact::Denied => writeln!(f, "{path} ! denied"),
        Fact::Garbled(why) => writeln!(f, "{path} ! garbled {}", encode_text(why.as_bytes())),
    }
}

fn write_file(f: &mut fmt::Formatter<'_>, path: &str, bytes: &[u8]) -> fmt::Result {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    match lines.as_slice() {
        [one] if one.ends_with(b"\n") => writeln!(f, "{path} = {}", encode_line(one)),
        _ => {
            writeln!(f, "{path} =")?;
            lines.iter().try_for_each(|line| writeln!(f, "{INDENT}{}", encode_line(line)))
        }
    }
}

fn encode_line(line: &[u8]) -> String {
    let (body, has_newline) = line.strip_suffix(b"\n").map_or((line, false), |body| (body, true));
    let mut out = encode_text(body);
    if !has_newline {
        out.push_str("\\c");
    } else if out.is_empty() {
        out.push_str("\\e");
    }
    out
}

/// Encodes bytes without a newline as a text that an editor does not change: blanks at both ends are protected.
fn encode_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\t' => out.push('\t'),
                c if c.is_control() => c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| push_byte(&mut out, b)),
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|b| push_byte(&mut out, *b));
    }
    if out.ends_with(char::is_whitespace) {
        out.push_str("\\e");
    }
    if out.starts_with(char::is_whitespace) {
        out.insert_str(0, "\\e");
    }
    out
}

/// Encodes a path. Blanks are escaped, because a path ends at its first blank, and so is a hash at its beginning.
fn encode_path(path: &str) -> String {
    let path = encode_text(path.as_bytes()).replace(' ', "\\x20");
    if path.starts_with('#') { format!("\\e{path}") } else { path }
}

fn push_byte(out: &mut String, byte: u8) {
    out.push_str("\\x");
    for half in [byte >> 4, byte & 15] {
        out.push(char::from_digit(u32::from(half), 16).unwrap_or('?'));
    }
}

/// Decodes one line into bytes. A newline is added unless the line ends in `\c`.
fn decode_line(text: &str) -> Result<Vec<u8>, String> {
    let (body, has_newline) = cut(text);
    let mut bytes = decode_bytes(body)?;
    bytes.extend(has_newline.then_some(b'\n'));
    Ok(bytes)
}

/// Removes a `\c` at the end, unless its backslash is the second of an escaped backslash. Returns whether the line has
/// a newline.
fn cut(text: &str) -> (&str, bool) {
    let body = text.strip_suffix("\\c").filter(|body| body.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 0);
    body.map_or((text, true), |body| (body, false))
}

fn decode_text(text: &str) -> Result<String, String> {
    String::from_utf8(decode_bytes(text)?).map_err(|_| "holds bytes that are not text".to_owned())
}

fn decode_bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() + 1);
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let code = &rest[at + 1..];
        match code.as_bytes() {
            [b'\\', ..] => {
                bytes.push(b'\\');
                rest = &code[1..];
            }
            [b'e', ..] => rest = &code[1..],
            [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push(u8::from_str_radix(&code[1..3], 16).map_err(|e| e.to_string())?);
                rest = &code[3..];
            }
            _ => return Err("a backslash is followed by neither \\, e, xNN nor, at the end of a line, c".to_owned()),
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_the_description_shows() {
        let tree = MemTree::parse(
            "punctual-machine 1\n# remark\n/a/online = 0-3\n/a/info =\n    one\n    two\\c\n/d/ ! denied\n/l -> ../x\n/e/\n",
        )
        .unwrap();
        assert_eq!(tree.read("/a/online"), Fact::Known(b"0-3\n".to_vec()));
        assert_eq!(tree.read("/a/info"), Fact::Known(b"one\ntwo".to_vec()));
        assert_eq!(tree.list("/d"), Fact::Denied);
        assert_eq!(tree.list("/e"), Fact::Known(vec![]));
        assert_eq!(tree.list("/nowhere"), Fact::Absent);
        assert_eq!(tree.list("/"), Fact::Known(["a", "d", "e", "l"].map(str::to_owned).to_vec()));
        assert_eq!(tree.list("/a"), Fact::Known(["info", "online"].map(str::to_owned).to_vec()));
        assert_eq!(tree.link("/l"), Fact::Known("../x".to_owned()));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, line) in [
            ("", 1),
            ("punctual-machine 2\n", 1),
            ("punctual-machine 1\nrubbish\n", 2),
            ("punctual-machine 1\n\n    lost\n", 3),
            ("punctual-machine 1\n/a = \\q\n", 2),
            ("punctual-machine 1\n/a ! tired\n", 2),
        ] {
            assert_eq!(MemTree::parse(text).unwrap_err().line, line, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_was_cut_is_no_smaller_machine() {
        let mut tree = MemTree::parse("punctual-machine 1\n/a = 1\n/b =\n    # end\n    x\n/d/\n").unwrap();
        tree.symlink("/l", "x");
        let text = tree.signed("1.2.3", "today", "# Nothing is masked.\n");
        assert_eq!(MemTree::parse(&text), Ok(tree.clone()));
        assert_eq!(MemTree::parse(&text.replace('\n', "\r\n")), Ok(tree.clone()));
        let first = FIRST_LINE.len() + 1;
        // Every cut is noticed, except one that removes only the last newline.
        for length in first + 1..text.len() - 1 {
            let error = MemTree::parse(&text[..length]).unwrap_err();
            assert!(error.reason.contains("the file is cut"), "{length}: {error}");
        }
        let more = MemTree::parse(&format!("{text}/a = 2\n")).unwrap();
        assert_eq!(more.read("/a"), Fact::Known(b"2\n".to_vec()), "what was added by hand");
        assert_eq!(MemTree::parse(&tree.to_string()), Ok(tree), "what was made by hand needs no end");
    }

    #[test]
    fn line_ends_of_another_system_and_strange_bytes() {
        let tree = MemTree::from_bytes(b"punctual-machine 1\r\n/a = 0-3\r\n/b =\r\n    one\r\n    two\r\n").unwrap();
        assert_eq!(tree.read("/a"), Fact::Known(b"0-3\n".to_vec()));
        assert_eq!(tree.read("/b"), Fact::Known(b"one\ntwo\n".to_vec()));
        let error = MemTree::from_bytes(b"punctual-machine 1\n/a = \xff\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: the byte at offset 24 is not text (UTF-8)");
    }

    #[test]
    fn a_folder_lists_what_is_there_and_no_more() {
        let tree = MemTree::parse(
            "punctual-machine 1\n/p/a/deep/er = 1\n/p/a/x = 1\n/p/a-b = 1\n/p/a.c/ ! absent\n/p/ab = 1\n/p/b/gone ! absent\n\
             /p/b/there = 1\n/p/c/gone ! absent\n/p/l -> x\n/p0 = 1\n",
        )
        .unwrap();
        let names = ["a", "a-b", "ab", "b", "l"].map(str::to_owned).to_vec();
        assert_eq!(tree.list("/p"), Fact::Known(names));
    }

    /// A pattern for names and texts with every character that has a meaning in the format.
    const NASTY: &str = r"[a-c#/ =!>\t\n\\\\-]{0,8}";

    proptest! {
        #[test]
        fn print_then_parse_is_identity(
            files in prop::collection::btree_map(NASTY, prop::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\\'), Just(b' '), Just(b'c'), any::<u8>()], 0..40), 0..6),
            troubled in prop::collection::btree_map(NASTY, NASTY, 0..4),
            links in prop::collection::btree_map(NASTY, NASTY, 0..4),
            folders in prop::collection::btree_set(NASTY, 0..4),
        ) {
            let mut tree = MemTree::new();
            for (path, content) in files {
                tree.file(&format!("/f{path}f"), Fact::Known(content));
            }
            for (path, why) in troubled {
                tree.file(&format!("/t{path}t"), Fact::Garbled(why.clone()));
                tree.folder(&format!("/u{path}u"), Fact::Garbled(why));
            }
            for (path, target) in links {
                tree.symlink(&format!("/l{path}l"), &target);
            }
            for path in folders {
                tree.folder(&format!("/d{path}d"), Fact::Known(()));
            }
            prop_assert_eq!(MemTree::parse(&tree.to_string()).unwrap(), tree);
        }

        #[test]
        fn nothing_makes_it_panic(lines in prop::collection::vec(r"(.{0,12}|    )( = | ! garbled | -> | =|/)?[\\a-fx\x00-\xff]{0,8}", 0..6)) {
            let _ = MemTree::parse(&format!("punctual-machine 1\n{}", lines.join("\n")));
        }
    }
}
