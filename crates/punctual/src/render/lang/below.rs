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
const LETTERS: usize = 5;
/// A value with this number of plain words is English prose. A text is not recognised if one of its values would stay so.
const PROSE: usize = 4;
/// Marks of a command, which is not prose however many plain words it has.
const SHELL: [&str; 3] = [" > /", "$", "; done"];
/// How the value of a place begins that follows another place without text between the two.
const ADDITION: &str = ", the ";
/// The name of a place that is empty unless a name comes near to the one that was typed.
const HINT: &str = "hint";
/// The one word that is a text and no name where a value is expected.
const NONE: &str = "none";
/// What stands between the texts of a list, and what stands between their translations.
const LISTS: [(&str, &str); 2] = [("; ", "；"), (", ", "，")];
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
        for (at, after) in between.iter().enumerate() {
            // The addition ends the value, or else the text behind its place does, or the end.
            let behind =
                || between.get(at + 1).filter(|text| !text.is_empty()).and_then(|text| rest.find(text.as_str()));
            let (value, behind) = match after.as_str() {
                "" => rest.split_at(rest.find(ADDITION).or_else(behind).unwrap_or(rest.len())),
                after => rest.split_once(after)?,
            };
            values.push(value);
            rest = behind;
        }
        values.push(rest);
        // A place of this name holds a number.
        let is_number = |value: &str| value.starts_with(|c: char| c.is_ascii_digit());
        // An addition may be missing.
        let is_addition = |at: usize| {
            at > 0
                && (self.around.get(at).is_some_and(String::is_empty)
                    || self.names.get(at).is_some_and(|of| of == HINT))
        };
        let mut named = self.names.iter().zip(&values).enumerate();
        named
            .all(|(at, (name, value))| (!value.is_empty() || is_addition(at)) && (name != "n" || is_number(value)))
            .then_some(values)
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
        // Several texts in a list are taken one by one, if all are known. Else the first would swallow the others as a value.
        for (between, chinese) in LISTS {
            let listed = self.split(english, between);
            if listed.len() > 1 {
                let said: Option<Vec<Cow<'_, str>>> = listed.iter().map(|part| self.whole(part, depth)).collect();
                if let Some(said) = said {
                    return Some(Cow::Owned(said.join(chinese).replace(&format!("。{chinese}"), chinese)));
                }
            }
        }
        // A text without a space is a name, a number or a path.
        let _ = english.split_once(' ')?;
        self.patterns.0.iter().find_map(|pattern| {
            let values = pattern.values(english)?;
            let said: Option<Vec<Cow<'_, str>>> = values.into_iter().map(|value| self.value(value, depth)).collect();
            let said = said?;
            let named = pattern.names.iter().zip(&said);
            let named: Vec<(&str, &dyn Display)> =
                named.map(|(name, value)| (name.as_str(), value as &dyn Display)).collect();
            Some(Cow::Owned(filled(&pattern.chinese, &named)))
        })
    }

    /// A value is a text, several texts, or what needs no translation, such as a name or a command. `None` if it is English
    /// prose that the catalogue lacks.
    fn value<'t>(&'t self, value: &'t str, depth: usize) -> Option<Cow<'t, str>> {
        if !value.trim().contains(' ') {
            return Some(Cow::Borrowed(if value == NONE {
                self.texts.get(NONE).map_or(NONE, String::as_str)
            } else {
                value
            }));
        }
        let is_plain = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_prose =
            value.split(' ').filter(is_plain).count() >= PROSE && !SHELL.iter().any(|mark| value.contains(mark));
        let said = self.whole(value, depth).or_else(|| self.joined(value, depth));
        // Chinese has no plural.
        let value = value.strip_prefix("CPUs ").map_or(Cow::Borrowed(value), |list| format!("CPU {list}").into());
        said.or((!is_prose).then_some(value))
    }

    /// The parts between joints. A part may hold joints of its own if the catalogue has it as a whole.
    fn split<'t>(&self, english: &'t str, joint: &str) -> Vec<&'t str> {
        let mut ends: Vec<usize> = english.match_indices(joint).map(|(at, _)| at).collect();
        ends.push(english.len());
        let mut parts = Vec::new();
        let mut start = 0;
        while let Some(first) = ends.iter().copied().find(|end| *end >= start) {
            let known = |end: &usize| english.get(start..*end).is_some_and(|part| self.texts.contains_key(part));
            let end = ends.iter().rev().copied().find(known).unwrap_or(first);
            parts.extend(english.get(start..end));
            start = end + joint.len();
        }
        parts
    }

    /// The translation of texts one after the other; `None` if no part has a translation.
    fn joined<'t>(&'t self, english: &'t str, depth: usize) -> Option<Cow<'t, str>> {
        let depth = depth.checked_sub(1)?;
        JOINTS.into_iter().find_map(|(joint, chinese)| {
            // A full stop belongs to the sentence before it.
            let parts = self.split(english, joint);
            if parts.len() < 2 {
                return None;
            }
            // A sentence may stand in the catalogue with its full stop, which the joint has taken.
            let sentence = |part: &str| -> Option<Cow<'t, str>> {
                let whole = joint.starts_with('.').then(|| format!("{part}."))?;
                Some(Cow::Owned(self.whole(&whole, depth)?.into_owned()))
            };
            // A single word is a name, or the `done` of a command.
            let told = |part: &&'t str| {
                part.contains(' ').then(|| self.whole(part, depth).or_else(|| sentence(part))).flatten()
            };
            let said: Vec<Option<Cow<'_, str>>> =
                parts.iter().map(|part| told(part).or_else(|| self.joined(part, depth))).collect();
            if said.iter().all(Option::is_none) {
                return None;
            }
            let mut text = String::with_capacity(english.len() * 2);
            let mut before = None;
            for (part, said) in parts.iter().zip(&said) {
                match before {
                    None => {}
                    // Between two Chinese texts stands a Chinese mark. Beside a command its own mark stays, which a shell reads.
                    Some(true) if said.is_some() => text = text.trim_end_matches('。').to_owned() + chinese,
                    Some(_) => text.push_str(joint),
                }
                text.push_str(said.as_deref().unwrap_or(part));
                before = Some(said.is_some());
            }
            Some(Cow::Owned(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(english: &str) -> String {
        let texts = [
            ("Kernel command line: {1}", "内核命令行：{1}"),
            ("Boot again.", "重新启动。"),
            ("{a} and {b}", "{a}和{b}"),
            ("{n} result", "{n} 个结果"),
            ("cannot read {path}: {why}", "无法读取 {path}：{why}"),
            ("it is too long", "太长"),
            ("done", "完成"),
            ("no word of {versions} for {arch}{nearest}", "{versions} 对 {arch} 没有这个词{nearest}"),
            (", the nearest to {asked}", "（最接近 {asked}）"),
            ("no parameter of {versions}{nearest}; it is seen by {1}", "不是 {versions} 的参数{nearest}；{1} 会看到它"),
        ];
        let texts: HashMap<String, String> = texts.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        Catalogue { patterns: Patterns::of(&texts), texts }.said(english).into_owned()
    }

    #[test]
    fn a_text_is_recognised_with_its_values_and_beside_others() {
        assert_eq!(said("Boot again."), "重新启动。");
        assert_eq!(
            said("Kernel command line: a; Kernel command line: b; Boot again."),
            "内核命令行：a；内核命令行：b；重新启动。"
        );

        assert_eq!(said("Kernel command line: quiet; Boot again."), "内核命令行：quiet；重新启动。");
        assert_eq!(said("cannot read /a b: it is too long"), "无法读取 /a b：太长");
        assert_eq!(said("1 result, 2 result"), "1 个结果，2 个结果", "the first must not take the second as its value");
        assert_eq!(said("no parameter of 6.12; it is seen by quiet"), "不是 6.12 的参数；quiet 会看到它");
        assert_eq!(said("no word of 6.12 for arm64"), "6.12 对 arm64 没有这个词");
        assert_eq!(said("no word of 6.12 for arm64, the nearest to 6.14"), "6.12 对 arm64 没有这个词（最接近 6.14）");
    }

    #[test]
    fn a_command_beside_a_text_can_still_be_pasted() {
        let text = "Boot again.; for c in 1 2; do echo 0 > /sys/x$c; done";
        assert_eq!(said(text), "重新启动。; for c in 1 2; do echo 0 > /sys/x$c; done");
    }

    #[test]
    fn what_the_catalogue_lacks_stays_english_as_a_whole() {
        for english in
            ["Check the name and that you may read it", "read result", "cannot read x: nobody knows why this is"]
        {
            assert_eq!(said(english), english);
        }
    }
}
