//! Splits a command line into words exactly as the kernel does.
//!
//! This module works on bytes, as the kernel does: the kernel knows no encoding, and takes a no-break space of Latin-1
//! for a blank. The meaning of the words does not matter here.

use std::ops::Range;

/// Bytes of the command line that x86 and arm64 kernels keep, including the final NUL (`COMMAND_LINE_SIZE`).
pub const KEPT_BYTES: usize = 2048;
/// Bytes that kernels for arm with 32 bits and for riscv64 keep.
pub const KEPT_BYTES_OF_BOARDS: usize = 1024;

/// A word of a command line, and its byte offsets in the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub raw: String,
    /// The text before `=`, with each `-` replaced by `_`, without quotes.
    pub name: String,
    /// The text after `=`, without quotes; `None` if there is no `=`.
    pub value: Option<String>,
    /// Byte offsets in the line: of the word's first byte, and of the byte after its last one.
    pub start: usize,
    pub end: usize,
    /// Whether the word stands after a lone `--`.
    pub is_for_init: bool,
}

/// The words of a line, in order. A lone `--` is a word of its own.
pub fn words(line: &[u8]) -> Vec<Token> {
    let line = line.split(|b| *b == 0).next().unwrap_or_default();
    let mut words = Vec::new();
    let (mut at, mut is_for_init) = (0, false);
    while at < line.len() {
        if is_space(line[at]) {
            at += 1;
            continue;
        }
        let end = end_of_word(&line[at..]) + at;
        let token = token(line, at..end, is_for_init);
        is_for_init |= token.name == "__" && token.raw == "--";
        words.push(token);
        at = end;
    }
    words
}

/// A name with each `-` replaced by `_`, since the kernel treats the two as the same.
pub fn same_dashes(name: &str) -> String {
    name.replace('-', "_")
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | 0xa0)
}

/// The byte offset at which the first word of `text` ends: at a blank outside double quotes (`next_arg` in the kernel's
/// `lib/cmdline.c`).
fn end_of_word(text: &[u8]) -> usize {
    let mut is_quoted = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            byte if is_space(*byte) && !is_quoted => return at,
            _ => {}
        }
    }
    text.len()
}

fn token(line: &[u8], Range { start, end }: Range<usize>, is_for_init: bool) -> Token {
    let raw = &line[start..end];
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let unquoted = raw.strip_prefix(b"\"").map(|rest| rest.strip_suffix(b"\"").unwrap_or(rest));
    let inner = unquoted.unwrap_or(raw);
    // The kernel treats a `=` at the beginning of a word as part of the name.
    let equals = inner.iter().skip(1).position(|b| *b == b'=').map(|at| at + 1);
    let (name, value) = match equals {
        Some(at) => (&inner[..at], Some(&inner[at + 1..])),
        None => (inner, None),
    };
    let value = value.map(|value| match value.strip_prefix(b"\"") {
        Some(rest) => text(rest.strip_suffix(b"\"").unwrap_or(rest)),
        None => text(value),
    });
    Token { raw: text(raw), name: same_dashes(&text(name)), value, start, end, is_for_init }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(line: &str) -> Vec<(String, Option<String>)> {
        words(line.as_bytes()).into_iter().map(|t| (t.name, t.value)).collect()
    }

    fn pair(name: &str, value: Option<&str>) -> (String, Option<String>) {
        (name.to_owned(), value.map(str::to_owned))
    }

    #[test]
    fn splits_as_the_kernel_does() {
        let line = "ro  isolcpus=2-3\tdyndbg=\"file a +p\" \"x=a b\" rcu-nocbs=2 a=b=c =d e= -- secret=1\r\n";
        let expected = [
            pair("ro", None),
            pair("isolcpus", Some("2-3")),
            pair("dyndbg", Some("file a +p")),
            pair("x", Some("a b")),
            pair("rcu_nocbs", Some("2")),
            pair("a", Some("b=c")),
            pair("=d", None),
            pair("e", Some("")),
            pair("__", None),
            pair("secret", Some("1")),
        ];
        assert_eq!(pairs(line), expected);
        let for_init: Vec<bool> = words(line.as_bytes()).iter().map(|t| t.is_for_init).collect();
        assert_eq!(for_init.iter().filter(|b| **b).count(), 1);
    }

    #[test]
    fn strange_bytes_are_words_too() {
        assert_eq!(words(b"a\xa0b \xff=\xfe").len(), 3);
        assert_eq!(words(b"a\0b").len(), 1);
        assert_eq!(pairs("\"a b"), [pair("a b", None)]);
        assert_eq!(pairs("\""), [pair("", None)]);
        assert!(pairs(" \n").is_empty());
    }
}
