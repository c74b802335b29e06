//! Writes SARIF 2.1.0, which code-review tools read: rules, and results with a place.
//!
//! Commands that judge something make their documents from these types. Must not know what is judged.

use punctual_facts::machine::MachineLine;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;

const VERSION: &str = "2.1.0";
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warning,
    Note,
}

/// The result of checking a rule: SARIF's `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    Fail(Level),
    Pass,
    /// It is unknown whether the checked thing follows the rule.
    Open,
    /// A person has to decide.
    Review,
    NotApplicable,
}

/// A rule, such as a knob that has a wanted state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The id of the rule. Results refer to it.
    pub id: String,
    /// The wanted state in a few words.
    pub short: String,
    pub full: String,
    pub help: String,
    /// Level of faults whose results state none.
    pub level: Level,
    pub tags: Vec<String>,
}

/// The result of one rule for one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub rule: String,
    pub kind: ResultKind,
    pub message: String,
    pub places: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A place with a name that is not a file of the repository, such as a file of the audited machine.
    Named(String),
    File {
        /// Path of the file. A relative path starts at the root of the reader's repository.
        path: std::path::PathBuf,
        /// The piece; `None` for the whole file.
        region: Option<Region>,
    },
}

/// A piece of one line; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub line: usize,
    /// The first column of the piece and the column after its last; `None` for the whole line.
    pub columns: Option<(usize, usize)>,
}

/// A document with one run. `facts` describe what was checked.
pub fn document(rules: &[Rule], results: &[Checked], facts: &[MachineLine]) -> String {
    let properties: Map<String, Value> = facts.iter().map(|line| (line.name.clone(), json!(line.value))).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [{
            "tool": { "driver": {
                "name": "punctual",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(descriptor).collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.iter().map(|checked| result(checked, rules)).collect::<Vec<Value>>(),
            "properties": properties,
        }],
    });
    format!("{log:#}")
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": text(&rule.short),
        "fullDescription": text(&rule.full),
        "help": text(&rule.help),
        "defaultConfiguration": { "level": rule.level },
        "properties": { "tags": rule.tags },
    })
}

fn result(checked: &Checked, rules: &[Rule]) -> Value {
    let (kind, level) = match checked.kind {
        ResultKind::Fail(level) => ("fail", json!(level)),
        ResultKind::Pass => ("pass", json!("none")),
        ResultKind::Open => ("open", json!("none")),
        ResultKind::Review => ("review", json!("none")),
        ResultKind::NotApplicable => ("notApplicable", json!("none")),
    };
    json!({
        "ruleId": checked.rule,
        "ruleIndex": rules.iter().position(|rule| rule.id == checked.rule),
        "kind": kind,
        "level": level,
        "message": text(&checked.message),
        "locations": locations(&checked.places),
    })
}

/// Locations of one result. All names are put into the first location, because readers show the names of that location
/// only.
fn locations(places: &[Place]) -> Vec<Value> {
    let (mut files, mut names) = (Vec::new(), Vec::new());
    for place in places {
        match place {
            Place::Named(name) => names.push(json!({ "fullyQualifiedName": name, "kind": "resource" })),
            Place::File { path, region } => files.push(json!({ "physicalLocation": physical(path, *region) })),
        }
    }
    if !names.is_empty() {
        files.resize(files.len().max(1), json!({}));
        files[0]["logicalLocations"] = Value::Array(names);
    }
    files
}

fn physical(path: &Path, region: Option<Region>) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(path) } });
    if let Some(Region { line, columns }) = region {
        place["region"] = json!({ "startLine": line });
        if let Some((first, end)) = columns {
            place["region"]["startColumn"] = json!(first);
            place["region"]["endColumn"] = json!(end);
        }
    }
    place
}

/// A message as SARIF. Braces would mark arguments and brackets links, so both are escaped.
fn text(message: &str) -> Value {
    json!({ "text": message.replace('{', "{{").replace('}', "}}").replace("](", "] (") })
}

fn uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let quoted = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(*byte).to_string(),
        other => format!("%{other:02X}"),
    };
    let uri: String = path.as_os_str().as_bytes().iter().map(quoted).collect();
    if path.is_absolute() { format!("file://{uri}") } else { uri }
}

#[cfg(test)]
mod tests;
