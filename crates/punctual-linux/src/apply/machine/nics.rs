//! Settings of network devices by name. A name is `GROUP/SETTING`; a name without a group is a setting of interrupt
//! coalescing.

use crate::sys::ethtool::{self, SUBJECTS, ask as question};
use std::io;

fn word(name: &str) -> io::Result<(usize, usize)> {
    let (subject, field) = name.split_once('/').unwrap_or(("coalesce", name));
    let found =
        SUBJECTS.iter().enumerate().find(|(_, known)| known.name == subject).and_then(|(at, known)| {
            known.settings.iter().find(|(name, _)| *name == field).map(|(_, word)| (at, *word))
        });
    found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is no setting that is changed")))
}

pub fn ask(device: &str, names: &[&str]) -> io::Result<Vec<(String, u32)>> {
    let value = |name: &&str| {
        let (subject, word) = word(name)?;
        let answer = question(device, SUBJECTS[subject].question)?;
        let value = answer.get(word).copied().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(((*name).to_owned(), value))
    };
    names.iter().map(value).collect()
}

/// Sends one request per group of settings, so that values that belong together are set together.
pub fn tell(device: &str, settings: &[(String, u32)]) -> io::Result<()> {
    let wanted: Vec<(usize, usize, u32)> = settings
        .iter()
        .map(|(name, value)| word(name).map(|(at, word)| (at, word, *value)))
        .collect::<io::Result<_>>()?;
    for (at, asked) in SUBJECTS.iter().enumerate() {
        let mut orders = wanted.iter().filter(|(subject, ..)| *subject == at).peekable();
        if orders.peek().is_none() {
            continue;
        }
        let mut words = question(device, asked.question)?;
        for (_, word, value) in orders {
            if let Some(place) = words.get_mut(*word) {
                *place = *value;
            }
        }
        ethtool::tell(device, asked.question, words)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_or_refused() {
        assert_eq!(word("rx-usecs").unwrap(), (0, 1));
        assert_eq!(word("channels/combined").unwrap(), (2, 8));
        for name in ["", "rx", "channels", "channels/other", "channels/max-rx", "x/rx-usecs"] {
            assert!(word(name).is_err(), "{name}");
        }
        // The loopback device has none of these settings.
        assert!(ask("lo", &["rx-usecs"]).is_err() && tell("lo", &[("rx-usecs".to_owned(), 0)]).is_err());
        assert!(tell("no-such-device", &[("eee/enabled".to_owned(), 0)]).is_err());
    }
}
