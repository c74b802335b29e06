//! House rules for prose that a program can check. They refuse phrases without a number or noun, comments that repeat a
//! name, sentences that continue in the next field, and words with another meaning in scheduling theory.

use super::Complaint;
use super::source::Source;
use super::text::ending;

/// Phrases that leave open how many of what, or which of several things, is meant.
const RIDDLES: [&str; 12] = [
    "so many",
    "so much",
    "so long",
    "so soon",
    "so often",
    "so late",
    "so few",
    "so little",
    "such a one",
    "that many",
    "keeps house",
    "keep house",
];
/// (wrong word, right word): words with another meaning in scheduling theory, and their replacements.
const WRONG: [(&str, &str); 2] = [("lateness", "latency"), ("latenesses", "latencies")];
/// Files that may use a wrong word, because it is the name of a column in files of other programs.
const OTHERS_WORDS: [&str; 2] = ["crates/punctual-numbers/src/foreign/columns.rs", "xtask/src/tidy/prose.rs"];

/// A doc comment with at most this number of words is refused outside of [`PUBLISHED`]: a good name says as much.
const SHORT: usize = 3;
/// Crates whose public items are documented for strangers, and the command line, whose comments are the help text.
const PUBLISHED: [&str; 4] =
    ["crates/punctual-hist/", "crates/punctual-rt/", "crates/punctual-capi/", "crates/punctual/src/cli/"];
/// Words that are ignored when a comment is compared with a name.
const EMPTY: [&str; 16] =
    ["the", "a", "an", "of", "its", "their", "it", "this", "that", "those", "these", "them", "to", "in", "for", "is"];
/// Pages whose words are checked. CHANGELOG.md is not among them, because it describes the past in the words of its
/// time.
const PAGES: [&str; 2] = ["book/src/", "README.md"];

pub fn check(path: &str, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if ending(path) == "rs" {
        let source = Source::new(text);
        for (line, comment) in comments(text) {
            phrases(path, line, comment, &mut complaints);
        }
        for (line, literal) in &source.strings {
            phrases(path, *line, literal, &mut complaints);
        }
        for block in docs(text) {
            doc(path, &block, &mut complaints);
        }
    } else if ending(path) == "md" && PAGES.iter().any(|page| path.contains(page)) {
        for (at, line) in text.lines().enumerate() {
            phrases(path, at + 1, line, &mut complaints);
        }
    }
    complaints
}

fn phrases(path: &str, line: usize, text: &str, complaints: &mut Vec<Complaint>) {
    if path.ends_with("tidy/prose.rs") {
        return;
    }
    let spaced = format!(" {} ", words(text).join(" "));
    for riddle in RIDDLES.iter().filter(|riddle| spaced.contains(&format!(" {riddle} "))) {
        complaints.push(Complaint::new(path, line, format!("`{riddle}`: say how many of what, or name the thing")));
    }
    for (wrong, right) in WRONG.iter().filter(|(wrong, _)| spaced.contains(&format!(" {wrong} "))) {
        if !OTHERS_WORDS.contains(&path) {
            complaints.push(Complaint::new(path, line, format!("`{wrong}`: the field says `{right}`")));
        }
    }
}

fn doc(path: &str, block: &Doc, complaints: &mut Vec<Complaint>) {
    let said = words(&block.text);
    let telling: Vec<&String> = said.iter().filter(|word| !EMPTY.contains(&word.as_str())).collect();
    let names = words(&spread(&block.item));
    let echo = said.len() <= SHORT && telling.iter().all(|word| names.iter().any(|name| same(name, word)));
    let short = said.len() <= SHORT && !PUBLISHED.iter().any(|published| path.starts_with(published));
    if echo {
        complaints.push(Complaint::new(
            path,
            block.line,
            "the comment repeats the name: delete it, or say what the name does not",
        ));
    } else if short {
        let what =
            format!("a comment of {} words: delete it, or write a sentence that tells more than the name", said.len());
        complaints.push(Complaint::new(path, block.line, what));
    }
    let text = block.text.trim();
    let goes_on = text.ends_with("...") || text.ends_with('…') || text.ends_with(',') || text.ends_with(';');
    let went_on = text.starts_with("...") || text.starts_with('…') || text.starts_with(char::is_lowercase);
    if goes_on || (went_on && !path.starts_with("crates/punctual/src/cli/")) {
        complaints.push(Complaint::new(
            path,
            block.line,
            "a sentence that goes on in another comment: say it once, in one place",
        ));
    }
}

/// Whether two words have roughly the same stem: `task` and `tasks`, `measured` and `measure`.
fn same(a: &str, b: &str) -> bool {
    let long = a.len().min(b.len()).saturating_sub(1).max(3);
    a == b || (a.get(..long).is_some() && a.get(..long) == b.get(..long))
}

/// The words of a text in lower case, without punctuation.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Splits a name into words: `lateTotal` becomes `late Total`.
fn spread(name: &str) -> String {
    let mut apart = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            apart.push(' ');
        }
        apart.push(if c == '_' { ' ' } else { c });
    }
    apart
}

fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let line = line.trim_start();
        line.starts_with("//").then(|| (at + 1, line.trim_start_matches(['/', '!'])))
    })
}

/// A doc comment with the item that it describes.
struct Doc {
    line: usize,
    text: String,
    /// First line of the item, up to where its body begins.
    item: String,
}

fn docs(text: &str) -> Vec<Doc> {
    let mut found: Vec<Doc> = Vec::new();
    let mut open: Option<Doc> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(said) = line.strip_prefix("///") {
            let doc = open.get_or_insert(Doc { line: at + 1, text: String::new(), item: String::new() });
            doc.text.push(' ');
            doc.text.push_str(said.trim());
        } else if !line.starts_with("#[")
            && let Some(doc) = open.take()
        {
            found.push(Doc { item: line.split(['{', '=']).next().unwrap_or_default().to_owned(), ..doc });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|one| format!("{}: {}", one.line, one.what)).collect()
    }

    #[test]
    fn a_phrase_without_number_or_noun_is_refused_in_comments_messages_and_pages() {
        let text = "// Waits for so\nfn f() { g(\"after so many tries\") } // x\n/// Reads so long as it is told to.\nfn g() {}";
        let found = complaints("crates/a/src/a.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("3: `so long`") && found[1].starts_with("2: `so many`"), "{found:?}");
        assert_eq!(complaints("book/src/a.md", "a\nThe lateness of such a one.").len(), 2);
        assert_eq!(complaints("CHANGELOG.md", "lateness"), [""; 0]);
    }

    #[test]
    fn a_comment_that_repeats_the_name_is_refused() {
        for text in
            ["/// The task.\ntask: Task,", "/// It.\n#[x]\npath: P,", "/// Measured values.\nfn measure_value()"]
        {
            let found = complaints("crates/punctual-rt/src/a.rs", text);
            assert!(found.len() == 1 && found[0].contains("repeats the name"), "{text}: {found:?}");
        }
        assert_eq!(complaints("crates/punctual-rt/src/a.rs", "/// In nanoseconds.\nperiod: u64,"), [""; 0]);
        assert!(complaints("crates/a/src/a.rs", "/// In nanoseconds.\nperiod: u64,")[0].contains("of 2 words"));
        let sentence = "/// The period that the machine drifts to within an hour.\nperiod: u64,";
        assert_eq!(complaints("crates/a/src/a.rs", sentence), [""; 0]);
    }

    #[test]
    fn a_sentence_does_not_go_on_in_the_next_comment() {
        let text = "/// Counters are read this often, ...\na: u8,\n/// ... and again after every late activation.\nb: u8,\n/// and a third of them is kept for later.\nc: u8,";
        assert_eq!(complaints("crates/a/src/a.rs", text).len(), 3);
        assert_eq!(complaints("crates/a/src/a.rs", "/// `x` is kept until the end of the run.\nc: u8,"), [""; 0]);
    }
}
