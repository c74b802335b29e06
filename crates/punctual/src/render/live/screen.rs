//! Computes the bytes that make a terminal show the given lines. Only changed lines are sent, and no new picture before
//! the last one has been sent. Must not know what the lines mean.

use crate::render::units::THIN;
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    #[default]
    Plain,
    Heading,
    Alert,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub weight: Weight,
    /// The text of the line, no wider than the screen.
    pub text: String,
}

impl Line {
    /// A line of at most `width` columns. A character that could move the cursor, or may take two columns, becomes a
    /// question mark.
    pub fn new(weight: Weight, text: &str, width: usize) -> Self {
        let plain = |c: char| match c {
            THIN => ' ',
            ' '..='~' => c,
            _ => '?',
        };
        let cut: String = text.chars().map(plain).take(width).collect();
        Self { weight, text: cut.trim_end().to_owned() }
    }
}

/// The lines that a terminal shows, and the bytes that have not been sent to it yet.
#[derive(Debug, Default)]
pub struct Screen {
    shown: Vec<Line>,
    pending: Vec<u8>,
}

impl Screen {
    /// Starts with an empty terminal. `first` is sent before any line.
    pub fn begin(&mut self, first: &[u8]) {
        self.shown.clear();
        // Unsent bytes may be dropped in the middle of an escape sequence: the terminal abandons an incomplete sequence
        // when the next one begins.
        self.pending = first.to_vec();
    }

    /// Whether the last picture has been sent completely.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Adds the bytes that change the shown lines to `lines`.
    pub fn show(&mut self, lines: Vec<Line>) {
        let mut out = String::new();
        for row in 0..lines.len().max(self.shown.len()) {
            let line = lines.get(row).cloned().unwrap_or_default();
            if line == self.shown.get(row).cloned().unwrap_or_default() {
                continue;
            }
            let (on, off) = match line.weight {
                Weight::Plain => ("", ""),
                Weight::Heading => ("\x1b[1m", "\x1b[0m"),
                Weight::Alert => ("\x1b[7m", "\x1b[0m"),
            };
            // The line is erased before it is written. After a line of full width the cursor stands on its last
            // character, which erasing would remove.
            let _ = write!(out, "\x1b[{};1H\x1b[K{on}{}{off}", row + 1, line.text);
        }
        self.pending.extend_from_slice(out.as_bytes());
        self.shown = lines;
    }

    /// Passes the bytes that are not sent yet to `write`, which returns how many of them it took.
    pub fn flush(&mut self, write: impl FnOnce(&[u8]) -> usize) {
        if !self.pending.is_empty() {
            let taken = write(&self.pending).min(self.pending.len());
            self.pending.drain(..taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A model of a terminal with three functions: move the cursor to a line, erase to the end of the line, print
    /// characters.
    fn paint(screen: &mut [String], bytes: &[u8]) {
        for sequence in std::str::from_utf8(bytes).unwrap().split("\x1b[").skip(1) {
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
            let (parameters, rest) = (&sequence[..end], &sequence[end + 1..]);
            let current = screen.len() - 1;
            match sequence.as_bytes()[end] {
                b'H' => {
                    let row: usize = parameters.split(';').next().unwrap().parse().unwrap();
                    // The last entry of `screen` holds the number of the line that the cursor is on.
                    screen[current] = (row - 1).to_string();
                }
                b'K' => {
                    let row: usize = screen[current].parse().unwrap();
                    screen[row].clear();
                }
                b'm' => {}
                other => panic!("{other}"),
            }
            let row: usize = screen[current].parse().unwrap();
            screen[row].push_str(rest);
        }
    }

    fn lines(texts: &[String]) -> Vec<Line> {
        texts.iter().map(|text| Line::new(Weight::Heading, text, 20)).collect()
    }

    proptest! {
        #[test]
        fn whatever_was_shown_before_the_screen_shows_the_lines(
            pictures in prop::collection::vec(prop::collection::vec("[a-c]{0,3}", 0..5), 1..5),
            piece in 1usize..20,
        ) {
            let (mut screen, mut seen) = (Screen::default(), vec![String::new(); 6]);
            for picture in &pictures {
                screen.show(lines(picture));
                let mut bytes = Vec::new();
                while !screen.is_idle() {
                    screen.flush(|pending| {
                        let taken = piece.min(pending.len());
                        bytes.extend_from_slice(&pending[..taken]);
                        taken
                    });
                }
                paint(&mut seen, &bytes);
                let expected: Vec<String> = (0..5).map(|i| picture.get(i).cloned().unwrap_or_default()).collect();
                prop_assert_eq!(&seen[..5], &expected[..]);
            }
        }
    }

    #[test]
    fn what_did_not_change_is_not_sent_again_and_a_new_beginning_sends_all() {
        let picture = lines(&["a".to_owned(), "b".to_owned()]);
        let mut screen = Screen::default();
        screen.show(picture.clone());
        screen.flush(<[u8]>::len);
        screen.show(picture.clone());
        assert!(screen.is_idle());
        screen.begin(b"!");
        screen.show(picture);
        assert_eq!(screen.pending, b"!\x1b[1;1H\x1b[K\x1b[1ma\x1b[0m\x1b[2;1H\x1b[K\x1b[1mb\x1b[0m");
    }

    #[test]
    fn no_text_moves_the_cursor_or_leaves_the_line() {
        let line = Line::new(Weight::Plain, "a\x1b[2J\u{202f}b\nüxyz", 12);
        assert_eq!(line.text, "a?[2J b??xyz");
        assert_eq!(Line::new(Weight::Plain, "abcdef", 3).text, "abc");
    }
}
