//! Settings of network devices by name. A name is `GROUP/SETTING`; a name without a group is a setting of interrupt
//! coalescing.

use crate::sys::ethtool::{self, SUBJECTS, Subject, ask as question};
use punctual_tuning::plan::NicSetting;
use std::io;

/// The place of a setting: the network card answers a question about `subject` with a list of words, of which `word` is
/// the index of this setting's.
struct Place {
    subject: &'static Subject,
    word: usize,
}

fn place(name: &str) -> io::Result<Place> {
    let (subject, field) = name.split_once('/').unwrap_or(("coalesce", name));
    let subject = SUBJECTS.iter().find(|known| known.name == subject);
    let found = subject.and_then(|subject| {
        let (_, word) = subject.settings.iter().find(|(name, _)| *name == field)?;
        Some(Place { subject, word: *word })
    });
    found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is no setting that is changed")))
}

pub fn ask(device: &str, names: &[&str]) -> io::Result<Vec<NicSetting>> {
    let value = |name: &&str| {
        let Place { subject, word } = place(name)?;
        let answer = question(device, subject.question)?;
        let value = answer.get(word).copied().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(NicSetting { name: (*name).to_owned(), value })
    };
    names.iter().map(value).collect()
}

/// Sends one request per group of settings, so that values that belong together are set together.
pub fn tell(device: &str, settings: &[NicSetting]) -> io::Result<()> {
    let places: Vec<Place> = settings.iter().map(|setting| place(&setting.name)).collect::<io::Result<_>>()?;
    for asked in &SUBJECTS {
        let orders = places.iter().zip(settings).filter(|(place, _)| place.subject.name == asked.name);
        let mut orders = orders.peekable();
        if orders.peek().is_none() {
            continue;
        }
        let mut words = question(device, asked.question)?;
        for (place, setting) in orders {
            if let Some(word) = words.get_mut(place.word) {
                *word = setting.value;
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
        let found = |name| place(name).map(|place| (place.subject.name, place.word)).unwrap();
        assert_eq!(found("rx-usecs"), ("coalesce", 1));
        assert_eq!(found("channels/combined"), ("channels", 8));
        for name in ["", "rx", "channels", "channels/other", "channels/max-rx", "x/rx-usecs"] {
            assert!(place(name).is_err(), "{name}");
        }
        // The loopback device has none of these settings.
        let off = |name: &str| [NicSetting { name: name.to_owned(), value: 0 }];
        assert!(ask("lo", &["rx-usecs"]).is_err() && tell("lo", &off("rx-usecs")).is_err());
        assert!(tell("no-such-device", &off("eee/enabled")).is_err());
    }
}
