//! Splits Rust text into code and string literals, and finds code that is built only for tests.
//!
//! This is a small scanner, not a parser: it only keeps rules from reacting to comments and strings.

/// A Rust file, split into code and strings. The code has the length of the file, so that byte offsets and lines of
/// both agree.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text of the file, with comments, contents of literals and code for tests replaced by spaces.
    pub code: String,
    /// Line number and contents, as written, of each string literal outside of comments and tests.
    pub strings: Vec<(usize, String)>,
}

impl Source {
    pub fn new(text: &str) -> Self {
        let (mut code, literals) = mask(text);
        blank_tests(&mut code);
        let kept = literals.into_iter().filter(|(start, _)| code.get(*start) == Some(&b'"'));
        let strings = kept.map(|(start, contents)| (line_at(text.as_bytes(), start), contents)).collect();
        Self { code: String::from_utf8_lossy(&code).into_owned(), strings }
    }

    /// Line number and byte offset of each place where the code has `word` as a whole word.
    pub fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let bytes = self.code.as_bytes();
        let part_of_name = |at: Option<&u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        self.code
            .match_indices(word)
            .map(|(at, _)| at)
            .filter(move |at| {
                let before = at.checked_sub(1).and_then(|before| bytes.get(before));
                !part_of_name(before) && !part_of_name(bytes.get(at + word.len()))
            })
            .map(move |at| (line_at(bytes, at), at))
    }
}

/// The line, counted from 1, of a byte offset.
pub fn line_at(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// Byte offset just after the bracket that closes the one at `open`, or the end of the text.
pub fn after_closing(code: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Replaces comments and contents of literals by spaces. Returns the text, and each string literal with the byte offset
/// of its opening quote.
fn mask(text: &str) -> (Vec<u8>, Vec<(usize, String)>) {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut literals = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let next = match byte {
            b'/' if rest.starts_with(b"//") => blank(&mut code, at, at + line_comment(rest)),
            b'/' if rest.starts_with(b"/*") => blank(&mut code, at, at + block_comment(rest)),
            b'r' | b'b' | b'c' if !follows_name(bytes, at) && raw_string(rest).is_some() => {
                let (quote, inside, whole) = raw_string(rest).unwrap_or((0, 0, 1));
                literals.push((at + quote, text.get(at + quote + 1..at + inside).unwrap_or_default().to_owned()));
                blank(&mut code, at + quote + 1, at + inside);
                at + whole
            }
            b'"' => {
                let inside = at + 1 + quoted(rest.get(1..).unwrap_or_default(), b'"');
                literals.push((at, text.get(at + 1..inside).unwrap_or_default().to_owned()));
                blank(&mut code, at + 1, inside) + 1
            }
            b'\'' => match text.get(at..).and_then(character) {
                Some(long) => blank(&mut code, at + 1, at + long - 1) + 1,
                None => at + 1,
            },
            _ => at + 1,
        };
        at = next.max(at + 1);
    }
    (code, literals)
}

/// Replaces a range by spaces except for its line ends. Returns the end of the range.
fn blank(code: &mut [u8], from: usize, to: usize) -> usize {
    let to = to.min(code.len());
    if let Some(stretch) = code.get_mut(from..to) {
        stretch.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    to
}

fn follows_name(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn line_comment(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < rest.len() {
        match rest.get(at..at + 2) {
            Some(b"/*") => (at, depth) = (at + 2, depth + 1),
            Some(b"*/") => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Byte offsets in a raw string such as `r"…"` or `br#"…"#`: of the opening quote, of the end of the contents, and of
/// the end of the literal.
fn raw_string(rest: &[u8]) -> Option<(usize, usize, usize)> {
    let r = rest.iter().take(2).position(|byte| *byte == b'r')?;
    let hashes = rest.iter().skip(r + 1).take_while(|byte| **byte == b'#').count();
    let quote = r + 1 + hashes;
    if rest.get(quote) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let contents = rest.get(quote + 1..)?;
    let long = contents.windows(close.len()).position(|window| window == close).unwrap_or(contents.len());
    Some((quote, quote + 1 + long, quote + 1 + long + close.len()))
}

/// Number of bytes before the next `end` that is not escaped.
fn quoted(rest: &[u8], end: u8) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == end => return at,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Number of bytes of a character literal including its quotes; `None` if the quote begins a lifetime.
fn character(rest: &str) -> Option<usize> {
    let first = rest.chars().nth(1)?;
    if first == '\\' {
        return Some(2 + quoted(rest.as_bytes().get(1..)?, b'\''));
    }
    let long = 1 + first.len_utf8();
    (rest.as_bytes().get(long) == Some(&b'\'')).then_some(long + 1)
}

/// Replaces every item under `#[cfg(test)]` by spaces.
fn blank_tests(code: &mut [u8]) {
    const MARK: &[u8] = b"#[cfg(test)]";
    let mut from = 0;
    while let Some(found) = code.get(from..).and_then(|rest| rest.windows(MARK.len()).position(|w| w == MARK)) {
        let start = from + found;
        let item = start + MARK.len();
        let end = match code.iter().skip(item).position(|byte| matches!(byte, b'{' | b';')) {
            Some(at) if code.get(item + at) == Some(&b'{') => after_closing(code, item + at),
            Some(at) => item + at + 1,
            None => code.len(),
        };
        from = blank(code, start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let source = Source::new(text);
        assert_eq!(source.code.len(), text.len());
        source.code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_go_and_code_stays() {
        assert_eq!(code("a // b \"c\nd /* e /* f */ g */ h"), "a d h");
        assert_eq!(code("a / b * c"), "a / b * c");
    }

    #[test]
    fn strings_are_taken_out_of_the_code() {
        let text = "f(\"a // \\\" b\", r#\"c \" d\"#, b\"e\", '\"', 'x', '\\'', &'a str, 'é');\ng(\"h\")";
        assert_eq!(code(text), "f(\" \", r#\" \"#, b\" \", ' ', ' ', ' ', &'a str, ' '); g(\" \")");
        let strings = Source::new(text).strings;
        let expected = [(1, "a // \\\" b"), (1, "c \" d"), (1, "e"), (2, "h")];
        assert_eq!(strings, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn tests_are_not_part_of_the_product() {
        let text =
            "a; #[cfg(test)] mod tests { \"x\" { } } b; #[cfg(test)]\nextern crate std; c; #[cfg(test)] mod t; d";
        assert_eq!(code(text), "a; b; c; d");
        assert!(Source::new(text).strings.is_empty());
    }

    #[test]
    fn whole_words_only() {
        let source = Source::new("use x::Serialize;\n// Serialize\nSerializer; derive(Serialize)");
        assert_eq!(source.words("Serialize").map(|(line, _)| line).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn unfinished_text_does_not_panic() {
        for text in ["\"abc", "'", "'\\", "r#\"a", "/* a", "#[cfg(test)]", "#[cfg(test)] mod x {", "b'", "\"\\", "'é"]
        {
            assert_eq!(Source::new(text).code.len(), text.len(), "{text}");
        }
    }
}
