//! Replaces control characters in text from outside: a file name must not be able to move the cursor.

use crate::render::lang::{char_width, width};
use crate::render::units::THIN;

/// `text` on one line, without control characters and with plain spaces in place of thin ones.
pub fn clean(text: &str) -> String {
    ascii(&clean_keeping_thin(text))
}

pub fn clean_keeping_thin(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() && c != THIN { ' ' } else { c }).map(visible).collect()
}

/// Replaces a character that could act on a terminal, or reverse the direction of the text, by a question mark.
pub fn visible(c: char) -> char {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { '?' } else { c }
}

/// `text` with plain spaces in place of the thin ones that hold numbers together.
pub fn ascii(text: &str) -> String {
    text.replace(THIN, " ")
}

/// `text` on one line of at most `limit` columns. Text that was cut ends in dots.
pub fn shortened(text: &str, limit: usize) -> String {
    let text = clean(text.trim());
    if width(&text) <= limit {
        return text;
    }
    let mut columns = 0;
    let fits = |c: &char| {
        columns += char_width(*c);
        columns <= limit.saturating_sub(3)
    };
    text.chars().take_while(fits).chain("...".chars()).collect()
}
