//! A value that is known, or the reason why it is not known.
//!
//! On real machines half the files are missing or forbidden. A fact carries the reason, so that "not there" cannot be
//! mistaken for zero later.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact<T> {
    Known(T),
    /// The thing does not exist on this machine.
    Absent,
    /// Reading the thing was refused.
    Denied,
    /// The thing was read but makes no sense, for this reason.
    Garbled(String),
}

impl<T> Fact<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    pub fn map<U>(self, derive: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(derive(value)))
    }

    pub fn and_then<U>(self, derive: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Known(value) => derive(value),
            Self::Absent => Fact::Absent,
            Self::Denied => Fact::Denied,
            Self::Garbled(why) => Fact::Garbled(why),
        }
    }

    /// Asks another source if the value is not known. If both fail, the more informative failure is kept: "cannot be
    /// read" says more than "does not exist".
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Known(_) => self,
            Self::Absent => other(),
            failed => match other() {
                Self::Known(value) => Self::Known(value),
                _ => failed,
            },
        }
    }

    pub fn as_ref(&self) -> Fact<&T> {
        match self {
            Self::Known(value) => Fact::Known(value),
            Self::Absent => Fact::Absent,
            Self::Denied => Fact::Denied,
            Self::Garbled(why) => Fact::Garbled(why.clone()),
        }
    }

    /// The reason why the value is not known; `None` if it is known.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Known(_) => None,
            Self::Absent => Some("not there".to_owned()),
            Self::Denied => Some("reading is refused".to_owned()),
            Self::Garbled(why) => Some(why.clone()),
        }
    }
}

/// Makes a text of the machine safe for terminals and reports: control characters are replaced, and the text is cut
/// after `most_chars` characters.
pub fn printable(text: &str, most_chars: usize) -> String {
    let fit = |c: char| if c == '\t' { ' ' } else { Some(c).filter(|c| !c.is_control()).unwrap_or('\u{fffd}') };
    let mut shown: String = text.chars().take(most_chars).map(fit).collect();
    if text.chars().nth(most_chars).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::Fact::{self, Absent, Denied, Garbled, Known};

    #[test]
    fn a_second_source_is_asked_only_when_needed() {
        assert_eq!(Known(1).or_else(|| unreachable!("must not be asked")), Known(1));
        assert_eq!(Absent.or_else(|| Known(2)), Known(2));
        assert_eq!(Denied.or_else(|| Known(2)), Known(2));
        assert_eq!(Fact::<u8>::Denied.or_else(|| Absent), Denied);
        assert_eq!(Fact::<u8>::Absent.or_else(|| Denied), Denied);
    }

    #[test]
    fn failure_survives_derivation() {
        assert_eq!(Fact::<u8>::Denied.map(|n| n + 1), Denied);
        assert_eq!(Known(1).and_then(|_| Garbled::<u8>("odd".to_owned())), Garbled("odd".to_owned()));
    }
}
