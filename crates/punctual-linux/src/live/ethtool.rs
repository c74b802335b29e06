//! Settings of network devices that no file contains, as facts below `punctual:/ethtool/DEVICE/`, with one line `name
//! value` for each.
//!
//! This module only reads, and does not know what the settings mean.

use crate::sys::ethtool::{SUBJECTS, Subject, ask};
use punctual_facts::fact::Fact;
use rustix::io::Errno;
use std::io;

pub fn read(path: &str) -> Fact<Vec<u8>> {
    let Some((device, subject)) = path.split_once('/') else { return Fact::Absent };
    let Some(subject) = SUBJECTS.iter().find(|known| known.name == subject) else { return Fact::Absent };
    match ask(device, subject.question) {
        Ok(answer) => Fact::Known(lines(&answer, subject).into_bytes()),
        Err(e) => trouble(&e),
    }
}

fn lines(answer: &[u32], subject: &Subject) -> String {
    let words = subject.read_only.iter().chain(subject.settings);
    words.filter_map(|(name, word)| Some(format!("{name} {}\n", answer.get(*word)?))).collect()
}

/// The fact for a failed request. A driver that does not have the setting answers with an error, for which the fact is
/// "absent".
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
        // The loopback device has none of these settings.
        for Subject { name, .. } in SUBJECTS {
            let fact = read(&format!("lo/{name}"));
            assert!(matches!(fact, Fact::Absent | Fact::Denied), "{name}: {fact:?}");
        }
    }

    #[test]
    fn words_are_told_by_their_names() {
        assert_eq!(lines(&[0x12, 1, 0, 1], &SUBJECTS[1]), "autoneg 1\nrx 0\ntx 1\n");
        let channels = "max-rx 1\nmax-combined 4\nrx 5\ntx 6\ncombined 8\n";
        assert_eq!(lines(&[0, 1, 2, 3, 4, 5, 6, 7, 8], &SUBJECTS[2]), channels);
    }
}
