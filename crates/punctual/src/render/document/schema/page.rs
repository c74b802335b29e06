//! The book's reference page of the schemas, which is generated from the schemas themselves.

use super::{Schema, schemas};
use crate::cli::Cli;
use clap::{CommandFactory, Parser};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const TOP: &str = "\
# Schemas

Generated from the schemas; do not edit. Each document in JSON that a verb prints or writes has a schema, in
[JSON Schema](https://json-schema.org/) 2020-12. This page has the outermost members of each document; the file of the schema also
has the members within them. Every document also has the members `schema`, which is its id with its version, and `tool_version`, the
version of the program that made it.

[Documents for programs](files.md#documents-for-programs) tells what all documents have in common. The packages contain the files in
`/usr/share/punctual`.

";
const WRITTEN_BY_PEOPLE: &str = "\
## Files that people write

With these schemas, editors complete and check a file while it is written. [Stating the need once](need.md) and
[An experiment anybody can repeat](campaign.md) tell how to name them in the file.

";
/// (heading, file) of the schemas of files that people write.
const READ: [(&str, &str); 2] = [
    ("punctual.toml", "schemas/punctual-toml-1.schema.json"),
    ("Campaign file", "examples/campaigns/campaign.schema.json"),
];
/// Members that every document has.
const OF_EVERY_DOCUMENT: [&str; 2] = ["schema", "tool_version"];

fn page() -> String {
    let mut documents = schemas();
    documents.sort_by(|a, b| a.file.cmp(&b.file));
    let written = READ.map(|(heading, path)| {
        let text = std::fs::read_to_string(fixtures::repository(path)).unwrap();
        section("###", heading, path, "", &text)
    });
    let documents: String = documents.iter().map(of_document).collect();
    format!("{TOP}{documents}{WRITTEN_BY_PEOPLE}{}", written.concat().trim_end()) + "\n"
}

fn of_document(Schema { file, text, printed_by }: &Schema) -> String {
    let schema: Value = serde_json::from_str(text).unwrap();
    let id = schema["properties"]["schema"]["const"].as_str().unwrap();
    let commands: Vec<String> = printed_by.iter().map(|words| format!("`punctual {words}`")).collect();
    let from = format!("From {}. ", commands.join(", "));
    section("##", &format!("`{id}`"), &format!("schemas/{file}"), &from, text)
}

fn section(level: &str, heading: &str, path: &str, from: &str, text: &str) -> String {
    let schema: Value = serde_json::from_str(text).unwrap();
    let told = schema["description"].as_str().map(|told| format!("{told}\n\n")).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    let rows: Vec<String> = members(&schema).iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    let rows = rows.concat();
    format!(
        "{level} {heading}\n\n{told}{from}Schema: [{name}](../../{path}).\n\n| member | type | meaning |\n|---|---|---|\n{rows}\n"
    )
}

/// Name, type and meaning of each outermost member. Members that only some documents have tell which.
fn members(schema: &Value) -> Vec<[String; 3]> {
    let mut rows = rows(schema, schema, "");
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let fixed = properties(variant)
            .filter_map(|(name, one)| Some(format!("`{name}` is `{}`", one.get("const")?.as_str()?)));
        let when = format!(" Only if {}.", fixed.collect::<Vec<_>>().join(" and "));
        rows.extend(self::rows(schema, variant, &when));
    }
    rows
}

fn rows(root: &Value, of: &Value, when: &str) -> Vec<[String; 3]> {
    let told = |one: &Value| {
        let of_type = || described(root.pointer(one["$ref"].as_str()?.trim_start_matches('#'))?);
        described(one).or_else(of_type).unwrap_or_default()
    };
    properties(of)
        .filter(|(name, one)| !OF_EVERY_DOCUMENT.contains(&name.as_str()) && one.get("const").is_none())
        .map(|(name, one)| [format!("`{name}`"), kind(root, one), format!("{}{when}", told(one)).trim().to_owned()])
        .collect()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flat_map(Map::iter)
}

/// The description as the cell of a table.
fn described(schema: &Value) -> Option<String> {
    Some(schema["description"].as_str()?.replace('\n', " ").replace('|', r"\|"))
}

/// The type of a member in words, `list of Finding` or `integer or null`, or the values that it can have. A definition that
/// is an object stands by its name.
fn kind(root: &Value, schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        let defined = root.pointer(path.trim_start_matches('#')).unwrap();
        let is_plain = defined["enum"].is_array() || defined["type"].as_str().is_some_and(|kind| kind != "object");
        let name = path.rsplit('/').next().unwrap_or(path);
        return if is_plain { kind(root, defined) } else { format!("`{name}`") };
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .filter_map(Value::as_str)
            .map(|value| format!("`{value}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let item = || kind(root, &schema["items"]);
    let in_words = |word: &str| if word == "array" { format!("list of {}", item()) } else { word.to_owned() };
    match (&schema["type"], &schema["anyOf"]) {
        (Value::String(word), _) => in_words(word),
        (Value::Array(words), _) => {
            words.iter().filter_map(Value::as_str).map(in_words).collect::<Vec<_>>().join(" or ")
        }
        (_, Value::Array(several)) => several.iter().map(|one| kind(root, one)).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

#[test]
fn the_page_of_schemas_is_fresh() {
    fixtures::check(&fixtures::repository("book/src/schemas.md"), &page());
}

/// The page tells truly which verb prints what: the program takes each command, and no verb with `--json` is missing.
#[test]
fn every_verb_that_prints_a_document_is_named() {
    let schemas = schemas();
    let commands: Vec<&str> = schemas.iter().flat_map(|schema| schema.printed_by).copied().collect();
    for words in &commands {
        let parsed = Cli::try_parse_from(["punctual"].into_iter().chain(words.split_whitespace()));
        assert!(parsed.is_ok(), "{words}: {}", parsed.unwrap_err());
    }
    let program = Cli::command();
    let outer = program.get_subcommands().filter(|verb| !verb.is_hide_set());
    let named = |name: &str| commands.iter().any(|words| words.split(" -").next().unwrap().starts_with(name));
    let missing: BTreeSet<String> = outer
        .flat_map(|verb| {
            let inner =
                verb.get_subcommands().map(|inner| (format!("{} {}", verb.get_name(), inner.get_name()), inner));
            std::iter::once((verb.get_name().to_owned(), verb)).chain(inner)
        })
        .filter(|(_, verb)| verb.get_arguments().any(|argument| argument.get_id() == "json"))
        .filter_map(|(name, _)| (!named(&name)).then_some(name))
        .collect();
    assert!(missing.is_empty(), "no schema is printed by {missing:?}");
}
