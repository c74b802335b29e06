//! Translates texts that are complete before they reach this crate.
//!
//! The crates below speak English and know no other language, and a recording keeps the English of the day when it was
//! made. So a text from there is recognised: it is a text of the catalogue, or one of its patterns with values filled
//! in, or several of these one after the other.

use super::catalogue::{messages, unpacked};
use super::filled;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::LazyLock;

/// How deep a value of a text may hold a text with values, as `On the host: Kernel command line: quiet` does.
const DEPTH: usize = 3;
/// The letters that a pattern must have outside its places. One with fewer would recognise texts by accident.
const LETTERS: usize = 3;
/// What joins texts, and what joins their translations.
const JOINTS: [(&str, &str); 5] = [(". ", "。"), ("; ", "；"), (": ", "："), (", ", "，"), (" -> ", " -> ")];

pub(super) struct Catalogue {
    /// The Chinese text for each English one.
    pub texts: HashMap<String, String>,
    /// Those of the texts that have places for values.
    patterns: Patterns,
}

pub(super) fn chinese() -> &'static Catalogue {
    static PARSED: LazyLock<Catalogue> = LazyLock::new(|| {
        let texts: HashMap<String, String> = messages(&unpacked()).into_iter().collect();
        Catalogue { patterns: Patterns::of(&texts), texts }
    });
    &PARSED
}

/// A text of the catalogue with places for values.
struct Pattern {
    /// The text before the first place, between the places, and after the last.
    around: Vec<String>,
    names: Vec<String>,
    chinese: String,
}

/// Patterns, those with the most text first.
struct Patterns(Vec<Pattern>);

impl Patterns {
    fn of(texts: &HashMap<String, String>) -> Self {
        let mut all: Vec<Pattern> =
            texts.iter().filter_map(|(english, chinese)| Pattern::of(english, chinese)).collect();
        all.sort_by(|a, b| b.letters().cmp(&a.letters()).then_with(|| a.around.cmp(&b.around)));
        Self(all)
    }
}

impl Pattern {
    fn of(english: &str, chinese: &str) -> Option<Self> {
        let mut around = Vec::new();
        let mut names = Vec::new();
        let mut rest = english;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}')?;
            around.push(before.to_owned());
            names.push(name.to_owned());
            rest = behind;
        }
        around.push(rest.to_owned());
        let pattern = Self { around, names, chinese: chinese.to_owned() };
        (!pattern.names.is_empty() && pattern.letters() >= LETTERS).then_some(pattern)
    }

    fn letters(&self) -> usize {
        self.around.iter().flat_map(|text| text.chars()).filter(|c| c.is_alphabetic()).count()
    }

    /// The values that make this pattern the text; `None` if none do. A value ends where the text after its place first
    /// occurs, except the last, which ends with the text.
    fn values<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let [first, between @ .., last] = self.around.as_slice() else { return None };
        let mut rest = text.strip_prefix(first.as_str())?.strip_suffix(last.as_str())?;
        let mut values = Vec::with_capacity(self.names.len());
        for after in between {
            let (value, behind) = rest.split_once(after.as_str())?;
            values.push(value);
            rest = behind;
        }
        values.push(rest);
        values.iter().all(|value| !value.is_empty()).then_some(values)
    }
}

impl Catalogue {
    pub(super) fn said<'t>(&'t self, english: &'t str) -> Cow<'t, str> {
        self.whole(english, DEPTH).or_else(|| self.joined(english, DEPTH)).unwrap_or(Cow::Borrowed(english))
    }

    /// The translation of one text, with or without its full stop.
    fn whole<'t>(&'t self, english: &'t str, depth: usize) -> Option<Cow<'t, str>> {
        if let Some(chinese) = self.texts.get(english) {
            return Some(Cow::Borrowed(chinese));
        }
        if let Some(text) = english.strip_suffix('.')
            && let Some(chinese) = self.texts.get(text)
        {
            return Some(Cow::Owned(format!("{chinese}。")));
        }
        let depth = depth.checked_sub(1)?;
        // A text without a space is a name, a number or a path.
        let _ = english.split_once(' ')?;
        self.patterns.0.iter().find_map(|pattern| {
            let values: Vec<Cow<'_, str>> =
                pattern.values(english)?.into_iter().map(|value| self.value(value, depth)).collect();
            let named = pattern.names.iter().zip(&values);
            let named: Vec<(&str, &dyn Display)> =
                named.map(|(name, value)| (name.as_str(), value as &dyn Display)).collect();
            Some(Cow::Owned(filled(&pattern.chinese, &named)))
        })
    }

    /// A value is a text, several texts, or what needs no translation. A single word is a name.
    fn value<'t>(&'t self, value: &'t str, depth: usize) -> Cow<'t, str> {
        if !value.trim().contains(' ') {
            return Cow::Borrowed(value);
        }
        self.whole(value, depth).or_else(|| self.joined(value, depth)).unwrap_or(Cow::Borrowed(value))
    }

    /// The translation of texts one after the other; `None` if no part has a translation.
    fn joined<'t>(&'t self, english: &'t str, depth: usize) -> Option<Cow<'t, str>> {
        let depth = depth.checked_sub(1)?;
        JOINTS.into_iter().find_map(|(joint, chinese)| {
            // A full stop belongs to the sentence before it.
            let parts: Vec<&str> = english.split(joint).collect();
            if parts.len() < 2 {
                return None;
            }
            let said: Vec<Option<Cow<'_, str>>> =
                parts.iter().map(|part| self.whole(part, depth).or_else(|| self.joined(part, depth))).collect();
            if said.iter().all(Option::is_none) {
                return None;
            }
            let mut text = String::with_capacity(english.len() * 2);
            for (place, (part, said)) in parts.iter().zip(&said).enumerate() {
                if place > 0 {
                    text = text.trim_end_matches('。').to_owned() + chinese;
                }
                text.push_str(said.as_deref().unwrap_or(part));
            }
            Some(Cow::Owned(text))
        })
    }
}
