//! Splits bytes into lines, and removes control sequences and a byte order mark from them.
//!
//! Lines end with a line feed, a carriage return or both. This module knows no format.

use super::{ForeignRun, Problem};

/// Number of bytes at the beginning of a file from which its format is found.
pub const SNIFFED: usize = 1 << 16;
/// Longest line in bytes, enough for 12 288 columns of 20 digits.
const LINE_MAX: usize = 1 << 18;

/// A function that is called with each line: its number, and its bytes without the line end.
pub(super) type Sink<'a> = dyn FnMut(u64, &[u8]) -> Result<(), Problem> + 'a;

pub(super) trait LineReader {
    /// Takes one line, without its end.
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem>;
    /// Takes one line with the control sequences and invalid UTF-8 that the file may contain.
    fn raw_line(&mut self, number: u64, line: &[u8]) -> Result<(), Problem> {
        self.line(number, &clean(line))
    }
    fn finish(&mut self) -> Result<ForeignRun, Problem>;
}

#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    number: u64,
    /// Whether the last byte was a carriage return: a line feed directly after it belongs to the same line end.
    after_return: bool,
    /// Numbers of lines that ended with a line feed, with both characters, and with a carriage return.
    seen: [u64; 3],
}

impl Lines {
    /// Takes the next bytes and hands each line they complete to `sink`.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), Problem> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, after) = rest.split_at(end);
            let is_feed = after.first() == Some(&b'\n');
            let ends_both = is_feed && self.after_return && line.is_empty();
            if !ends_both {
                self.one(line, sink)?;
            }
            let [feeds, both, returns] = &mut self.seen;
            if ends_both {
                // The carriage return was already counted as a line end, but together with the line feed it is a single
                // one.
                (*both, *returns) = (both.saturating_add(1), returns.saturating_sub(1));
            } else {
                let seen = if is_feed { feeds } else { returns };
                *seen = seen.saturating_add(1);
            }
            self.after_return = !is_feed;
            rest = after.get(1..).unwrap_or_default();
        }
        self.after_return &= rest.is_empty();
        self.fits(self.pending.len().saturating_add(rest.len()))?;
        self.pending.extend_from_slice(rest);
        Ok(())
    }

    pub fn is_open(&self) -> bool {
        !self.pending.is_empty()
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// Hands the last line to `sink` if the file ends without a line end.
    pub fn end(&mut self, sink: &mut Sink<'_>) -> Result<(), Problem> {
        if self.pending.is_empty() { Ok(()) } else { self.one(&[], sink) }
    }

    /// Returns a note if the lines of the file end in different ways.
    pub fn notes(&self) -> Vec<String> {
        let [feeds, both, returns] = self.seen;
        let kinds = self.seen.iter().filter(|seen| **seen > 0).count();
        let mixed = format!(
            "repaired: the lines end in different ways ({feeds} with LF, {both} with CRLF, {returns} with CR): the file \
             was edited or joined on different systems"
        );
        (kinds > 1 && returns == 0 || kinds > 2).then_some(mixed).into_iter().collect()
    }

    fn one(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<(), Problem> {
        self.fits(self.pending.len().saturating_add(line.len()))?;
        self.number = self.number.saturating_add(1);
        if self.pending.is_empty() {
            return sink(self.number, self.without_mark(line));
        }
        self.pending.extend_from_slice(line);
        let whole = std::mem::take(&mut self.pending);
        sink(self.number, self.without_mark(&whole))?;
        self.pending = whole;
        self.pending.clear();
        Ok(())
    }

    /// The line without the byte order mark that some editors write at the beginning of a file.
    fn without_mark<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let marked = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| self.number == 1);
        marked.unwrap_or(line)
    }

    fn fits(&self, length: usize) -> Result<(), Problem> {
        if length <= LINE_MAX {
            return Ok(());
        }
        let what = format!("longer than {LINE_MAX} bytes, which no line of a result is; is it the right file?");
        Err(Problem::at(self.number.saturating_add(1), what))
    }
}

/// Text without control sequences; bytes that are no UTF-8 become U+FFFD.
fn clean(line: &[u8]) -> std::borrow::Cow<'_, str> {
    if !line.contains(&0x1b) {
        return String::from_utf8_lossy(line);
    }
    let mut kept = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            // `ESC [` begins a sequence that a letter or sign from `@` to `~` ends. Any other `ESC` is followed by a
            // single character.
            0x1b => {
                if bytes.next() == Some(b'[') {
                    bytes.by_ref().find(|byte| (0x40..=0x7e).contains(byte));
                }
            }
            _ => kept.push(byte),
        }
    }
    String::from_utf8_lossy(&kept).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut got) = (Lines::default(), Vec::new());
        let mut sink = |number: u64, line: &[u8]| {
            got.push(format!("{number} {}", clean(line)));
            Ok(())
        };
        for piece in pieces {
            lines.feed(piece, &mut sink).unwrap();
        }
        lines.end(&mut sink).unwrap();
        got
    }

    #[test]
    fn lines_end_as_they_like() {
        assert_eq!(lines(&[b"\xef\xbb\xbfa\nb\r", b"\nc\rd\r\n\ne"]), ["1 a", "2 b", "3 c", "4 d", "5 ", "6 e"]);
        assert_eq!(lines(&[b"\x1b[2A\x1b[0mT: 0\n"]), ["1 T: 0"]);
    }

    #[test]
    fn a_line_without_end_is_refused_at_its_number() {
        let mut lines = Lines::default();
        let sink = &mut |_: u64, _: &[u8]| Ok(());
        lines.feed(b"short\n", sink).unwrap();
        let error = (0..10).find_map(|_| lines.feed(&vec![b'1'; 1 << 16], sink).err()).unwrap();
        assert_eq!(error.line, Some(2));
    }

    proptest! {
        #[test]
        fn where_pieces_end_makes_no_difference(bytes in prop::collection::vec(prop::sample::select(b"a1\r\n\x1b[ ".to_vec()), 0..60), cut in 0usize..60) {
            let cut = cut.min(bytes.len());
            prop_assert_eq!(lines(&[&bytes[..cut], &bytes[cut..]]), lines(&[&bytes]));
        }
    }
}
