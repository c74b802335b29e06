//! Escapes text from outside for Markdown, so that it cannot become markup, a link, a table cell or a mention of a
//! user.

/// Escapes Markdown for a cell of a table. A `|` would end the cell, even inside code, unless an odd number of
/// backslashes stands before it.
pub fn cell(markdown: &str) -> String {
    let mut cell = String::new();
    let mut backslashes = 0;
    for c in markdown.chars() {
        if c == '|' {
            cell.push_str(if backslashes % 2 == 0 { "\\" } else { "\\\\" });
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        cell.push(c);
    }
    cell
}

pub fn code(text: &str) -> String {
    let text = one_line(text);
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A sentence as Markdown. It is shown as code if a forge would turn a part of it into a link or a mention.
pub fn prose(text: &str) -> String {
    let is_lively = |text: &str| text.contains(['@', '#']) || text.contains("://") || text.contains("www.");
    if is_lively(text) {
        return code(text);
    }
    let mut escaped = String::new();
    for c in one_line(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '>' | '~' | '$' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

fn one_line(text: &str) -> String {
    super::clean::clean(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(code("a = b"), "`a = b`");
        assert_eq!(code("a`b``c|d\ne\u{1b}[0m"), "```a`b``c|d e?[0m```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(code(" "), "");
        assert_eq!(
            prose("no <b>bold</b> *here* | [or](there)"),
            "no &lt;b\\>bold&lt;/b\\> \\*here\\* | \\[or\\](there)"
        );
        assert_eq!(prose("ask @root about #1"), "`ask @root about #1`");
        for (text, expected) in [("a|b", "`a\\|b`"), ("a\\|b", "`a\\\\\\|b`"), ("a\\\\|b", "`a\\\\\\|b`")] {
            assert_eq!(cell(&code(text)), expected, "{text}");
        }
        assert_eq!(prose("see https://x.example"), "`see https://x.example`");
    }
}
