//! Splits a command line into words.

use super::error::LoadError;

/// Splits a command line as a shell does, with quotes and backslashes but no other features of a shell.
pub(super) fn split_words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\0', _) => return Err("it holds a zero byte, which no command line can"),
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => {
                let next = letters.next().ok_or("it ends in a backslash; write \\\\ for a real one")?;
                word.get_or_insert_default().push(next);
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quotation mark is not closed");
    }
    words.extend(word);
    Ok(words)
}

pub(super) fn bad_command(command: &str, reason: &'static str) -> LoadError {
    LoadError::Command { command: command.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn splits_as_a_shell_does() {
        assert_eq!(split_words(r#"a  'b c' d"e f"\ g "" "#).unwrap(), ["a", "b c", "de f g", ""]);
        assert!(split_words("a 'b").is_err());
        assert!(split_words("a \\").is_err());
        assert!(split_words("a\0").is_err());
    }

    proptest! {
        #[test]
        fn quoted_words_survive(words in prop::collection::vec("[^'\0]{0,8}", 1..6)) {
            let line = words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split_words(&line).unwrap(), words);
        }
    }
}
