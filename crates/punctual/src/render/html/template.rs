//! Templates in the language of the program: the text between their tags is replaced, and nothing else.

use crate::render::lang::{is_english, text};
use std::borrow::Cow;

/// What a template holds besides text, by how it begins and ends.
const MARKS: [(&str, &str); 5] = [("<!--", "-->"), ("{%", "%}"), ("{{", "}}"), ("{#", "#}"), ("<", ">")];

/// A template in which each piece of text is replaced by its translation.
pub(super) fn in_language(template: &str) -> Cow<'_, str> {
    if is_english() {
        return Cow::Borrowed(template);
    }
    let mut translated = String::with_capacity(template.len());
    for (mark, piece) in pieces(template) {
        let bare = piece.trim();
        let (before, after) = piece.split_once(bare).unwrap_or((piece, ""));
        translated.extend([before, text(bare), after, mark]);
    }
    Cow::Owned(translated)
}

/// The pieces of text of a template, each with the mark behind it.
fn pieces(template: &str) -> Vec<(&str, &str)> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((at, (open, close))) = MARKS
        .iter()
        .filter_map(|mark| Some((rest.find(mark.0)?, mark)))
        .min_by_key(|(at, (open, _))| (*at, usize::MAX - open.len()))
    {
        let (piece, behind) = rest.split_at(at);
        let end = behind
            .get(open.len()..)
            .and_then(|inner| inner.find(close))
            .map_or(behind.len(), |end| open.len() + end + close.len());
        let (mark, next) = behind.split_at(end);
        pieces.push((mark, piece));
        rest = next;
    }
    pieces.push(("", rest));
    pieces
}

/// The texts of a template that are words, as the catalogue has them.
#[cfg(test)]
pub fn texts(template: &str) -> Vec<String> {
    let words = pieces(template).into_iter().map(|(_, piece)| piece.trim());
    words.filter(|words| words.contains(char::is_alphabetic)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::lang::{for_people, in_chinese};

    #[test]
    fn only_text_between_tags_and_expressions_is_replaced() {
        let template = "<h3 title=\"What next\">What next</h3>{% if x > 1 %} <p> {{ What }} skipped</p><!-- x -->";
        assert_eq!(in_language(template), template);
        let chinese = in_chinese(|| for_people(|| in_language(template).into_owned()));
        assert_eq!(chinese, template.replace(">What next<", ">下一步做什么<").replace(" skipped<", " 跳过<"));
    }
}
