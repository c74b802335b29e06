//! The language of what people read. English stands in the code, and a catalogue holds the translation of each text.
//!
//! [`tr!`] marks a text for translation: a whole sentence or phrase, with values in named places. The English text is
//! the key of the catalogue, so a text without a translation is shown in English.
//!
//! A text that another crate made has its values filled in already. [`said`] recognises it by its English.
//!
//! Only what is made within [`for_people`] is translated. All else is English whatever the language of the program is:
//! formats for programs (JSON, SARIF, `JUnit`, the line of `--brief`) and what a recording keeps.

mod below;
mod catalogue;
#[cfg(test)]
mod keys;
#[cfg(test)]
pub(in crate::render) mod leftover;
#[cfg(test)]
mod tests;

use crate::cli::Lang;
use clap::ValueEnum;
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Display;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::LocalKey;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The language of the program, as the index of [`LANGS`]. It is written once, before anything is printed.
static OF_PROGRAM: AtomicU8 = AtomicU8::new(0);
const LANGS: [Lang; 2] = [Lang::En, Lang::Zh];

thread_local! {
    /// The language of the text that is made on this thread now.
    static HERE: Cell<Lang> = const { Cell::new(Lang::En) };
    /// The language of the program, as tests of this thread have it.
    #[cfg(test)]
    static TESTED: Cell<Lang> = const { Cell::new(Lang::En) };
}

impl Lang {
    /// The language that the locale variables ask for. The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty
    /// decides. A locale of another language, or of a character set other than UTF-8, means English.
    pub fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Self {
        let names = ["LC_ALL", "LC_MESSAGES", "LANG"];
        let locale = names.into_iter().filter_map(variable).find(|value| !value.is_empty()).unwrap_or_default();
        let (name, charset) = locale.split_once('.').unwrap_or((&locale, "UTF-8"));
        let charset = charset.split('@').next().unwrap_or_default();
        let is_utf8 = charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8");
        let language = name.split(['_', '-', '@']).next().unwrap_or_default();
        if language == "zh" && is_utf8 { Self::Zh } else { Self::En }
    }

    /// The language that the option `--lang` names, as far as words that may be wrong elsewhere tell it: what refuses
    /// them is to speak that language.
    pub fn asked(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter().take_while(|word| word != "--").peekable();
        let mut asked = None;
        while let Some(word) = words.next() {
            let name = match word.to_str().and_then(|word| word.strip_prefix("--lang")) {
                Some("") => words.peek().and_then(|name| Self::from_str(name.to_str()?, false).ok()),
                Some(name) => name.strip_prefix('=').and_then(|name| Self::from_str(name, false).ok()),
                None => None,
            };
            asked = name.or(asked);
        }
        asked
    }

    /// Makes this the language of the program.
    pub fn speak(self) {
        let index = LANGS.iter().position(|lang| *lang == self).and_then(|index| u8::try_from(index).ok());
        OF_PROGRAM.store(index.unwrap_or(0), Ordering::Relaxed);
    }
}

#[cfg(not(test))]
fn of_program() -> Lang {
    LANGS.get(usize::from(OF_PROGRAM.load(Ordering::Relaxed))).copied().unwrap_or(Lang::En)
}

#[cfg(test)]
fn of_program() -> Lang {
    TESTED.get()
}

/// Makes a text for people: in the language of the program. Texts that are made elsewhere are English.
pub fn for_people<T>(render: impl FnOnce() -> T) -> T {
    within(&HERE, of_program(), render)
}

/// Runs a test of the translation, in a program that speaks Chinese.
#[cfg(test)]
pub fn in_chinese<T>(test: impl FnOnce() -> T) -> T {
    within(&TESTED, Lang::Zh, test)
}

/// Runs `render` with this language in `place`, and restores the former one even if it panics.
fn within<T>(place: &'static LocalKey<Cell<Lang>>, lang: Lang, render: impl FnOnce() -> T) -> T {
    struct Restore(&'static LocalKey<Cell<Lang>>, Lang);
    impl Drop for Restore {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(place, place.replace(lang));
    render()
}

/// The language of the text that is made now. The program for boards speaks English only.
#[inline]
fn here() -> Lang {
    if cfg!(feature = "every-verb") { HERE.get() } else { Lang::En }
}

/// Whether the text that is made now is English.
pub fn is_english() -> bool {
    here() == Lang::En
}

/// The translation of an English text, or the text itself if there is none.
pub fn text(english: &str) -> &str {
    translated(english).unwrap_or(english)
}

/// The translation of an English text; `None` if the language is English or the catalogue lacks the text.
#[inline]
pub fn translated(english: &str) -> Option<&'static str> {
    match here() {
        Lang::En => None,
        Lang::Zh => below::chinese().texts.get(english).map(String::as_str),
    }
}

/// The translation of a text that another part of the program made: the finding of a knob, the reason of an error. It is
/// found by its English, whatever values were filled in. Parts that have no translation stay English.
pub fn said(english: &str) -> Cow<'_, str> {
    match here() {
        Lang::En => Cow::Borrowed(english),
        Lang::Zh => below::chinese().said(english),
    }
}

/// The pattern with each `{name}` replaced by the value of that name. Replaced values are not searched for names.
pub fn filled(pattern: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut rest = pattern;
    let mut text = String::with_capacity(pattern.len() * 2);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, behind) = after.split_once('}').unwrap_or((after, ""));
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            text.push_str(&value.to_string());
        }
        rest = behind;
    }
    text + rest
}

/// A text for people in the language of the program. Without values it is a `&'static str`, with values a `String`.
///
/// The pattern is a whole sentence or phrase in English, with values in named places: `tr!("budget {budget}", budget =
/// units::latency(b))`. A value that is a variable of that name needs no `=`.
macro_rules! tr {
    ($english:literal) => {
        match $crate::render::lang::translated($english) {
            Some(translation) => translation,
            None => $english,
        }
    };
    ($english:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        match $crate::render::lang::translated($english) {
            Some(pattern) => $crate::render::lang::filled(
                pattern,
                &[$((stringify!($name), &$crate::render::lang::value!($name $(= $value)?))),+],
            ),
            None => format!($english, $($name = $crate::render::lang::value!($name $(= $value)?)),+),
        }
    };
}
pub(crate) use tr;

/// The value of a place in a pattern: the one that is given, or else the variable of that name.
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident = $value:expr) => {
        $value
    };
}
pub(crate) use value;

/// Number of columns that the text takes on a terminal: two for each Chinese character.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Number of columns that the character takes on a terminal.
pub fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The text, filled with spaces at its right up to this number of columns.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The pieces of a word between which a line may be broken. A word of Latin letters is one piece. Chinese has no spaces
/// between words, so a line may be broken beside each character, but not before closing marks or after opening ones.
pub fn pieces(word: &str) -> Vec<&str> {
    const CLOSING: &str = "，。、；：？！）」』》〉】…%";
    const OPENING: &str = "（「『《〈【";
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (at, c) in word.char_indices() {
        let may_break = before.is_some_and(|before| {
            (char_width(before) == 2 || char_width(c) == 2) && !CLOSING.contains(c) && !OPENING.contains(before)
        });
        if may_break {
            pieces.extend(word.get(start..at));
            start = at;
        }
        before = Some(c);
    }
    pieces.extend(word.get(start..).filter(|last| !last.is_empty()));
    pieces
}
