//! Commands of `cargo xtask` that the page *How we know* names must exist.

use super::Complaint;

pub const PAGE: &str = "book/src/how-we-know.md";

/// Complains about verbs, steps and scenarios of the page that the sources of these programs do not hold.
pub fn unknown(files: &[(&str, &str)]) -> Vec<Complaint> {
    let Some((_, page)) = files.iter().find(|(path, _)| *path == PAGE) else {
        return vec![Complaint::new(PAGE, 0, "is not committed")];
    };
    let mut complaints = Vec::new();
    for (at, line) in page.lines().enumerate() {
        for command in line.split('`').skip(1).step_by(2).filter_map(|text| text.strip_prefix("cargo xtask ")) {
            if let Some(word) = unknown_word(command, files) {
                complaints.push(Complaint::new(PAGE, at + 1, format!("`cargo xtask {command}`: there is no `{word}`")));
            }
        }
    }
    complaints
}

/// The first word that means nothing.
fn unknown_word<'a>(command: &'a str, files: &[(&str, &str)]) -> Option<&'a str> {
    let holds =
        |place: &str, word: String| files.iter().any(|(path, text)| path.starts_with(place) && text.contains(&word));
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    let mut names = rest.split(' ').filter(|word| !word.is_empty() && !word.starts_with('-'));
    if !holds("xtask/src/main.rs", format!("[\"{verb}\"")) {
        return Some(verb);
    }
    match verb {
        "ci" => names.find(|name| !holds("xtask/src/ci.rs", format!("(\"{name}\","))),
        "lab" => names.find(|name| !holds("lab/src/", format!("\"{name}\""))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_named() {
        let page = "`cargo xtask ci fleet`, `cargo xtask ci flea`\n`cargo xtask lab --full days nights`\n`cargo xtask tidings`\n";
        let files = [
            (PAGE, page),
            ("lab/src/scenario/days.rs", "name: \"days\""),
            ("xtask/src/main.rs", "[\"ci\", rest @ ..] => [\"lab\", rest @ ..] =>"),
            ("xtask/src/ci.rs", "(\"fleet\", fleet),"),
        ];
        let words: Vec<String> = unknown(&files).iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), 3, "{words:?}");
        for (said, word) in words.iter().zip(["`flea`", "`nights`", "`tidings`"]) {
            assert!(said.ends_with(word), "{said}");
        }
        assert_eq!(unknown(&[]).len(), 1);
    }
}
