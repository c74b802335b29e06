//! SARIF 2.1.0, as code-review tools read it: rules, and results with a place.
//!
//! Any command that finds fault can build a document of these; this module knows neither knobs nor words.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

const VERSION: &str = "2.1.0";
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Must be changed.
    Error,
    /// Should be changed.
    Warning,
    /// Worth knowing.
    Note,
}

/// What came out of holding a rule against something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A fault.
    Fail(Level),
    /// As it should be.
    Pass,
    /// Could not be told.
    Open,
    /// Only a person can tell.
    Review,
    /// The rule says nothing here.
    NotApplicable,
}

/// Something that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, which results name.
    pub id: String,
    /// What should be, in a few words.
    pub short: String,
    /// Why it matters.
    pub full: String,
    /// What to do about it.
    pub help: String,
    /// How bad it is where nothing else is said.
    pub level: Level,
    /// Words to filter by.
    pub tags: Vec<String>,
}

/// What a rule says of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rule's id.
    pub rule: String,
    /// What came out.
    pub outcome: Outcome,
    /// What was found, and what to do.
    pub message: String,
    /// Where.
    pub places: Vec<Place>,
}

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Something that has a name and is no file of the repository: a file of the machine that was looked at.
    Named(String),
    /// A piece of a file.
    File {
        /// The file; relative ones are relative to where the reader's repository begins.
        path: std::path::PathBuf,
        /// Which piece; `None` for all of it.
        region: Option<Region>,
    },
}

/// A piece of one line; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The line.
    pub line: usize,
    /// Its first column, and the one after its last; `None` for the whole line.
    pub columns: Option<(usize, usize)>,
}

/// One document of one run. `facts` say what was looked at.
pub fn document(rules: &[Rule], found: &[Found], facts: &[(String, String)]) -> Result<String, serde_json::Error> {
    let index: BTreeMap<&str, usize> = rules.iter().enumerate().map(|(n, rule)| (rule.id.as_str(), n)).collect();
    let log = Log {
        schema: SCHEMA,
        version: VERSION,
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "punctual",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: rules.iter().map(descriptor).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            results: found.iter().map(|found| result(found, &index)).collect(),
            properties: facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        }],
    };
    serde_json::to_string_pretty(&log)
}

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    column_kind: &'static str,
    results: Vec<ResultOut<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Descriptor<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    id: &'a str,
    short_description: Text,
    full_description: Text,
    help: Text,
    default_configuration: Configuration,
    properties: Tags<'a>,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
struct Configuration {
    level: Level,
}

#[derive(Serialize)]
struct Tags<'a> {
    tags: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultOut<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    kind: &'static str,
    level: &'static str,
    message: Text,
    locations: Vec<Location>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    fully_qualified_name: String,
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<RegionOut>,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RegionOut {
    start_line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
}

fn descriptor(rule: &Rule) -> Descriptor<'_> {
    Descriptor {
        id: &rule.id,
        short_description: text(&rule.short),
        full_description: text(&rule.full),
        help: text(&rule.help),
        default_configuration: Configuration { level: rule.level },
        properties: Tags { tags: &rule.tags },
    }
}

fn result<'a>(found: &'a Found, index: &BTreeMap<&str, usize>) -> ResultOut<'a> {
    let (kind, level) = match found.outcome {
        Outcome::Fail(Level::Error) => ("fail", "error"),
        Outcome::Fail(Level::Warning) => ("fail", "warning"),
        Outcome::Fail(Level::Note) => ("fail", "note"),
        Outcome::Pass => ("pass", "none"),
        Outcome::Open => ("open", "none"),
        Outcome::Review => ("review", "none"),
        Outcome::NotApplicable => ("notApplicable", "none"),
    };
    ResultOut {
        rule_id: &found.rule,
        rule_index: index.get(found.rule.as_str()).copied(),
        kind,
        level,
        message: text(&found.message),
        locations: locations(&found.places),
    }
}

/// Names that belong to the same finding stand together with its first file, as readers show one location.
fn locations(places: &[Place]) -> Vec<Location> {
    let mut locations: Vec<Location> = Vec::new();
    for place in places {
        match place {
            Place::Named(name) => {
                let named = LogicalLocation { fully_qualified_name: name.clone(), kind: "resource" };
                match locations.first_mut() {
                    Some(first) => first.logical_locations.push(named),
                    None => locations.push(Location { logical_locations: vec![named], ..Location::default() }),
                }
            }
            Place::File { path, region } => {
                let physical = PhysicalLocation {
                    artifact_location: ArtifactLocation { uri: uri(path) },
                    region: region.map(|region| RegionOut {
                        start_line: region.line,
                        start_column: region.columns.map(|(first, _)| first),
                        end_column: region.columns.map(|(_, end)| end),
                    }),
                };
                locations.push(Location { physical_location: Some(physical), ..Location::default() });
            }
        }
    }
    locations
}

/// A message: braces mark arguments and brackets links, neither of which there are.
fn text(message: &str) -> Text {
    Text { text: message.replace('{', "{{").replace('}', "}}").replace("](", "] (") }
}

/// A path as a URI reference.
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
