//! What the catalogue may translate: the texts that stand in the code, as tests find them there.

use clap::CommandFactory;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Texts that are translated where they are shown and not where they stand.
const ELSEWHERE: [&str; 3] = [crate::render::words::CHECKED, "releases", "activations"];
/// The folders whose texts reach people as finished texts, and are recognised by their English.
const BELOW: [&str; 9] = [
    "crates/punctual/src/commands",
    "crates/punctual/src/cli",
    "crates/punctual/src/render",
    "crates/punctual-facts/src",
    "crates/punctual-tuning/src",
    "crates/punctual-numbers/src",
    "crates/punctual-optimize/src",
    "crates/punctual-linux/src",
    "crates/punctual-lab/src",
];

/// The texts that must have a translation: the English of each `tr!`, nouns that are counted, all that the catalogue of
/// knobs says in whole sentences, and the help.
pub(super) fn wanted() -> BTreeSet<String> {
    let mut keys: BTreeSet<String> = ELSEWHERE.map(str::to_owned).into();
    for knob in punctual_tuning::knobs::ALL.iter() {
        keys.extend([knob.title, knob.why, knob.cost].map(with_places));
    }
    keys.extend(crate::render::help::texts(&crate::cli::Cli::command()));
    for template in files("crates/punctual/src", "jinja") {
        keys.extend(crate::render::html::texts(&template));
    }
    for code in sources("crates/punctual/src") {
        keys.extend(code.split("tr!(").skip(1).filter_map(first_text));
        keys.extend(code.split("counted(").skip(1).filter_map(last_text).map(|noun| format!("{{n}} {noun}")));
    }
    keys.remove("");
    keys
}

/// The texts that may have a translation: those that must, and every text of the code with its values as places.
pub(super) fn known() -> BTreeSet<String> {
    let mut keys = wanted();
    for folder in BELOW {
        for code in sources(folder) {
            keys.extend(texts(&code).iter().map(|text| with_places(text)));
        }
    }
    keys
}

/// The code of all files in a folder, without tests and without the names of included files.
fn sources(folder: &str) -> Vec<String> {
    let code = files(folder, "rs").into_iter().map(|code| code.replace("include_str!(", ""));
    code.map(|code| code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()).collect()
}

/// The text of all files in a folder whose names have this ending.
fn files(folder: &str, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![fixtures::repository(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == wanted)
                && !path.parent().unwrap().ends_with("lang")
            {
                found.push(fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The string that the arguments of a call begin with.
fn first_text(arguments: &str) -> Option<String> {
    Some(text_and_rest(arguments.trim_start().strip_prefix('"')?)?.0)
}

/// A string whose opening quote is before `code`, and what follows it.
fn text_and_rest(code: &str) -> Option<(String, &str)> {
    let mut characters = code.char_indices().peekable();
    let mut text = String::new();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((text, &code[at + 1..])),
            '\\' if characters.peek().is_some_and(|(_, c)| *c == '\n') => {
                while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
            }
            '\\' => text.extend(characters.next().map(|(_, c)| if c == 'n' { '\n' } else { c })),
            c => text.push(c),
        }
    }
    None
}

/// All strings of a file. Lines of comments are left out, and so are quotes that are characters.
fn texts(code: &str) -> Vec<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.flat_map(|line| [line, "\n"]).collect::<String>().replace("'\"'", "' '").replace("'\\\"'", "' '");
    let mut rest = code.as_str();
    let mut found = Vec::new();
    while let Some((_, after)) = rest.split_once('"') {
        let Some((text, behind)) = text_and_rest(after) else { break };
        found.push(text);
        rest = behind;
    }
    found
}

/// The text with each value of a format as a named place. Values without a name are numbered from 1, and the blanks of a
/// template, `<I>` and `<H mask>`, become places as well.
fn with_places(text: &str) -> String {
    let mut rest = text;
    let mut key = String::new();
    let mut number = 0_u32;
    while let Some((before, after)) = rest.split_once('{') {
        key.push_str(before);
        let Some((place, behind)) = after.split_once('}') else { break };
        let name = place.split(':').next().unwrap_or_default();
        if name.is_empty() {
            number += 1;
            key += &["{", &number.to_string(), "}"].concat();
        } else {
            key += &["{", name, "}"].concat();
        }
        rest = behind;
    }
    let mut key = key + rest;
    for (blank, place) in [("<I>", "{I}"), ("<I apart>", "{I}"), ("<H>", "{H}"), ("<H mask>", "{H}")] {
        key = key.replace(blank, place);
    }
    without_brackets(&key)
}

/// Blanks that a person fills are shown without their brackets.
fn without_brackets(text: &str) -> String {
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, after)) = rest.split_once('<') {
        shown.push_str(before);
        match after.split_once('>') {
            Some((name, behind))
                if !name.is_empty()
                    && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c)) =>
            {
                shown.push_str(name);
                rest = behind;
            }
            _ => {
                shown.push('<');
                rest = after;
            }
        }
    }
    shown + rest
}

/// The string that the arguments of a call end with.
fn last_text(arguments: &str) -> Option<String> {
    let mut depth = 1;
    let end = arguments.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    let (_, noun) = arguments.get(..end)?.trim_end().trim_end_matches(',').strip_suffix('"')?.rsplit_once('"')?;
    Some(noun.to_owned())
}
