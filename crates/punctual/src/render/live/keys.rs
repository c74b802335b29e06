//! Reads keys from the bytes that a terminal sends. Must not know what keys do.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character or a control character.
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
}

/// Reads keys from bytes. The bytes of one key may be split over several reads.
#[derive(Debug, Default)]
pub struct Keys {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Plain,
    Escaped,
    /// ESC O was read: one character follows.
    Single,
    /// ESC [ was read, with these parameters so far.
    Sequence(Vec<u8>),
}

/// Longest escape sequence, in bytes. No key sends a longer one; further bytes are dropped.
const LONGEST: usize = 16;

impl Keys {
    /// The keys in `bytes`. Escape sequences of other keys are dropped as a whole, so that F1 (ESC O P) is not read as
    /// `P`.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.next(*byte)).collect()
    }

    /// Abandons an unfinished escape sequence when no byte has followed for a while: the ESC key alone sends only the
    /// first byte of one.
    pub fn pause(&mut self) {
        self.state = State::Plain;
    }

    fn next(&mut self, byte: u8) -> Option<Key> {
        match (std::mem::take(&mut self.state), byte) {
            (_, 0x1b) => self.go_on(State::Escaped),
            (State::Plain, 0..=0x7e) => Some(Key::Char(char::from(byte))),
            (State::Escaped, b'[') => self.go_on(State::Sequence(Vec::new())),
            (State::Escaped, b'O') => self.go_on(State::Single),
            (State::Single, _) => key(byte, &[]),
            (State::Sequence(parameters), 0x40..=0x7e) => key(byte, &parameters),
            (State::Sequence(mut parameters), 0x20..=0x3f) if parameters.len() < LONGEST => {
                parameters.push(byte);
                self.go_on(State::Sequence(parameters))
            }
            _ => None,
        }
    }

    fn go_on(&mut self, state: State) -> Option<Key> {
        self.state = state;
        None
    }
}

fn key(last: u8, parameters: &[u8]) -> Option<Key> {
    match (last, parameters) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'~', b"5") => Some(Key::PageUp),
        (b'~', b"6") => Some(Key::PageDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Key::{Char, Down, PageDown, PageUp, Up};

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Keys::default().read(bytes)
    }

    #[test]
    fn letters_and_arrows_are_keys() {
        assert_eq!(keys(b"pq\x0c"), [Char('p'), Char('q'), Char('\x0c')]);
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[1;5A"), [Up, Down, PageUp, PageDown, Up]);
    }

    #[test]
    fn keys_that_mean_nothing_press_no_letter() {
        for function_key in [&b"\x1bOP"[..], b"\x1bOR", b"\x1b[17~", b"\x1bq", b"\x1b[1;2P", b"\xc3\xbc", b"\x1b[\x07"]
        {
            assert_eq!(keys(function_key), [], "{function_key:?}");
        }
        assert_eq!(keys(&[b"\x1b[".to_vec(), vec![b'1'; 20], b"q".to_vec()].concat()).len(), 4, "noise ends somewhere");
    }

    #[test]
    fn a_sequence_may_come_in_pieces_and_escape_alone_ends_with_the_pause() {
        let mut pieces = Keys::default();
        assert_eq!((pieces.read(b"\x1b"), pieces.read(b"["), pieces.read(b"B")), (vec![], vec![], vec![Down]));
        pieces.read(b"\x1b");
        pieces.pause();
        assert_eq!(pieces.read(b"q"), [Char('q')]);
    }
}
