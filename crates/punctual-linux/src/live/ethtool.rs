//! Settings of network devices that no file shows, as facts under `punctual:/ethtool/DEVICE/`: one line `name value`
//! for each.
//!
//! Questions only; this module knows nothing of what the settings mean.

use crate::sys::ethtool::{CHANNELS, COALESCE, EEE, PAUSE, Question, ask};
use punctual_facts::fact::Fact;
use rustix::io::Errno;
use std::fmt::Write as _;
use std::io;

/// A name with its question, and which words of the answer are kept under which names.
type Subject = (&'static str, Question, &'static [(&'static str, usize)]);

const SUBJECTS: [Subject; 4] = [
    (
        "coalesce",
        COALESCE,
        &[
            ("rx-usecs", 1),
            ("rx-frames", 2),
            ("tx-usecs", 5),
            ("tx-frames", 6),
            ("adaptive-rx", 10),
            ("adaptive-tx", 11),
        ],
    ),
    ("pause", PAUSE, &[("autoneg", 1), ("rx", 2), ("tx", 3)]),
    ("channels", CHANNELS, &[("max-rx", 1), ("max-combined", 4), ("rx", 5), ("tx", 6), ("combined", 8)]),
    ("eee", EEE, &[("supported", 1), ("active", 4), ("enabled", 5), ("tx-lpi", 6), ("tx-lpi-timer", 7)]),
];

/// The fact at `DEVICE/SUBJECT`.
pub fn read(path: &str) -> Fact<Vec<u8>> {
    let Some((device, subject)) = path.split_once('/') else { return Fact::Absent };
    let Some((_, question, kept)) = SUBJECTS.iter().find(|(name, ..)| *name == subject) else { return Fact::Absent };
    match ask(device, *question) {
        Ok(answer) => Fact::Known(lines(&answer, kept).into_bytes()),
        Err(e) => trouble(&e),
    }
}

fn lines(answer: &[u32], kept: &[(&str, usize)]) -> String {
    let mut lines = String::new();
    for (name, word) in kept {
        if let Some(value) = answer.get(*word) {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{name} {value}");
        }
    }
    lines
}

/// A driver without the setting says so; that is no error.
fn trouble<T>(error: &io::Error) -> Fact<T> {
    match Errno::from_io_error(error) {
        Some(Errno::OPNOTSUPP | Errno::NODEV) => Fact::Absent,
        Some(Errno::PERM | Errno::ACCESS) => Fact::Denied,
        _ if error.kind() == io::ErrorKind::NotFound => Fact::Absent,
        _ => Fact::Garbled(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_absent() {
        for path in ["", "lo", "lo/nothing", "no-such-device/eee", "a-name-longer-than-any-device/eee", "/eee"] {
            assert_eq!(read(path), Fact::Absent, "{path}");
        }
        // The loopback device has no hardware that could have any of these.
        for (subject, ..) in SUBJECTS {
            let fact = read(&format!("lo/{subject}"));
            assert!(matches!(fact, Fact::Absent | Fact::Denied), "{subject}: {fact:?}");
        }
    }

    #[test]
    fn words_are_told_by_their_names() {
        assert_eq!(lines(&[0x12, 1, 0, 1], SUBJECTS[1].2), "autoneg 1\nrx 0\ntx 1\n");
        for (subject, question, kept) in SUBJECTS {
            assert!(kept.iter().all(|(_, word)| lines(&vec![7; word + 1], kept).contains(" 7\n")), "{subject}");
            assert!(question.holds(kept.iter().map(|(_, word)| *word).max().unwrap()), "{subject}");
        }
    }
}
