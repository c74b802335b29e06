//! Schemas of the documents, generated from the types that also print them. Tests compare them with `schemas/`.
//!
//! The generated schemas allow unknown members and give numbers formats that only Rust has. This module refuses unknown
//! members and removes these formats.

mod page;

use super::{Published, glossary};
use crate::render::{
    audit, campaign, compare, explain, fleet, inspect, json, lab, lint, optimize, share, torture, trend, tune, watch,
    why_not,
};
use punctual_linux::apply::Reverted;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A value whose JSON has at most this number of characters is written on one line of the schema file.
const WIDTH: usize = 180;
/// Keywords of JSON Schema whose value is a schema, a list of schemas, or a map of schemas by name.
const SCHEMAS: [&str; 7] = ["items", "oneOf", "anyOf", "allOf", "prefixItems", "properties", "additionalProperties"];

pub(in crate::render) fn schema<T: JsonSchema + Published>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut root = settings.into_generator().into_root_schema_for::<T>().to_value();
    root["properties"]["schema"] = json!({ "const": T::SCHEMA });
    root["properties"]["tool_version"] = json!({ "type": "string", "description": "The program that printed this." });
    root["required"].as_array_mut().unwrap().extend([json!("schema"), json!("tool_version")]);
    let mut open = BTreeSet::new();
    extended(&root, &mut open);
    if let Some(definitions) = root.get_mut("$defs").and_then(Value::as_object_mut) {
        for (name, definition) in definitions {
            close(definition, open.contains(name));
        }
    }
    close(&mut root, false);
    explain(&mut root);
    root
}

/// Describes each member that has no description by the words of the glossary, unless it can have only one value.
fn explain(value: &mut Value) {
    match value {
        Value::Object(schema) => {
            if let Some(Value::Object(members)) = schema.get_mut("properties") {
                for (name, member) in members.iter_mut().filter_map(|(name, one)| Some((name, one.as_object_mut()?))) {
                    if !member.contains_key("description") && !member.contains_key("const") {
                        let meaning =
                            glossary::meaning(name).unwrap_or_else(|| panic!("what does the member {name} mean?"));
                        member.insert("description".to_owned(), json!(meaning));
                    }
                }
            }
            schema.values_mut().for_each(explain);
        }
        Value::Array(several) => several.iter_mut().for_each(explain),
        _ => {}
    }
}

/// The schemas directly inside this one, each with the keyword that holds it.
fn below(schema: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    schema.iter().filter(|(key, _)| SCHEMAS.contains(&key.as_str())).flat_map(|(key, value)| {
        let values: Vec<&Value> = match value {
            Value::Array(several) => several.iter().collect(),
            Value::Object(named) if key == "properties" => named.values().collect(),
            one => vec![one],
        };
        values.into_iter().map(move |value| (key.as_str(), value))
    })
}

/// Whether a schema has members of its own and also includes the members of other schemas. Unknown members of such an
/// object can only be refused by `unevaluatedProperties`.
fn combines(schema: &Map<String, Value>) -> bool {
    let has = |key: &str| schema.contains_key(key);
    has("properties") && ["$ref", "oneOf", "anyOf", "allOf"].into_iter().any(has)
}

/// Collects the names of definitions that other schemas include and extend by further members.
fn extended(value: &Value, open: &mut BTreeSet<String>) {
    let Value::Object(schema) = value else { return };
    let name = |one: &Value| one.get("$ref")?.as_str()?.strip_prefix("#/$defs/").map(str::to_owned);
    if combines(schema) {
        open.extend(name(value));
        open.extend(below(schema).filter(|(key, _)| key.ends_with("Of")).filter_map(|(_, one)| name(one)));
    }
    schema
        .get("$defs")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values)
        .for_each(|one| extended(one, open));
    below(schema).for_each(|(_, one)| extended(one, open));
}

/// Makes a schema and all schemas inside it refuse unknown members. With `open`, this schema itself keeps allowing
/// them, because the schema that includes it has further members.
fn close(value: &mut Value, open: bool) {
    let Value::Object(schema) = value else { return };
    schema.remove("format");
    schema.remove("title");
    if let Some(Value::String(told)) = schema.get_mut("description") {
        *told = told.replace('\n', " ").replace("`None`", "null");
    }
    let combines = combines(schema);
    for (key, inner) in schema.iter_mut().filter(|(key, _)| SCHEMAS.contains(&key.as_str())) {
        let same_object = key.ends_with("Of");
        let open = same_object && (combines || open);
        match inner {
            Value::Array(several) => several.iter_mut().for_each(|one| close(one, open)),
            Value::Object(named) if key == "properties" => named.values_mut().for_each(|one| close(one, false)),
            one => close(one, open),
        }
    }
    if combines && !open {
        schema.insert("unevaluatedProperties".to_owned(), json!(false));
    } else if schema.contains_key("properties") && !open {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// JSON with a line for each property, variant and list of words. Brackets have no lines of their own, and a value that
/// is not broken into lines stands on the line of its parent.
fn compact(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text + "\n"
}

/// Whether a value is written on several lines: a list of properties, definitions or variants that is longer than
/// [`WIDTH`], or a value that contains one.
fn is_broken(value: &Value) -> bool {
    let is_long = || value.to_string().len() > WIDTH;
    match value {
        Value::Object(members) => is_long() && members.values().any(|member| member.is_object() || is_broken(member)),
        Value::Array(items) => is_long() && items.iter().any(|item| item.get("properties").is_some()),
        _ => false,
    }
}

fn write(value: &Value, indent: usize, text: &mut String) {
    let (open, shut, parts) = match value {
        Value::Object(members) if is_broken(value) => {
            let plain = members.iter().filter(|(_, member)| !member.is_object() && !is_broken(member));
            let others = members.iter().filter(|(_, member)| member.is_object() || is_broken(member));
            ('{', '}', plain.chain(others).map(|(name, member)| (format!("{}: ", json!(name)), member)).collect())
        }
        Value::Array(items) if is_broken(value) => {
            ('[', ']', items.iter().map(|item| (String::new(), item)).collect::<Vec<(String, &Value)>>())
        }
        flat => return text.push_str(&flat.to_string()),
    };
    text.push(open);
    let mut on_a_line = value.is_object();
    for (nth, (name, part)) in parts.iter().enumerate() {
        on_a_line &= !part.is_object() && !is_broken(part);
        text.push_str(if nth == 0 { "" } else { "," });
        if on_a_line {
            text.push_str(if nth == 0 { "" } else { " " });
        } else {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent + 1));
        }
        text.push_str(name);
        if value.is_array() { text.push_str(&part.to_string()) } else { write(part, indent + 1, text) }
    }
    text.push(shut);
}

/// A validator for the schema of a document, used as a program that reads the document would use it.
pub(in crate::render) fn validator<T: JsonSchema + Published>() -> jsonschema::Validator {
    let schema = schema::<T>();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// Asserts that the printed document fits its schema, and returns it. The failure message lists every place that does
/// not fit.
#[track_caller]
pub(crate) fn assert_valid<T: JsonSchema + Published>(value: &T) -> Value {
    let document: Value = serde_json::from_str(&super::document(value).unwrap()).unwrap();
    let validator = validator::<T>();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

/// The schema of one document, as a file.
struct Schema {
    file: String,
    text: String,
    /// The verbs that print the document, each as one types it after `punctual`, with the options that it takes.
    printed_by: &'static [&'static str],
}

impl Schema {
    fn of<T: JsonSchema + Published>(printed_by: &'static [&'static str]) -> Self {
        let (name, version) = T::SCHEMA.strip_prefix("punctual/").unwrap().split_once('/').unwrap();
        Self { file: format!("{name}-{version}.schema.json"), text: compact(&schema::<T>()), printed_by }
    }
}

/// The schema of every document this program prints.
fn schemas() -> Vec<Schema> {
    vec![
        Schema::of::<audit::AuditDocument<'_>>(&["audit --json"]),
        Schema::of::<audit::DifferenceDocument<'_>>(&["audit --diff A B --json"]),
        Schema::of::<lint::LintDocument<'_>>(&["lint --json"]),
        Schema::of::<optimize::Published<'_>>(&["optimize --json"]),
        Schema::of::<tune::TuneDocument<'_>>(&["tune --json"]),
        Schema::of::<Reverted>(&["revert --json"]),
        Schema::of::<tune::Status>(&["status --json"]),
        Schema::of::<json::Document<'_>>(&[
            "check --json",
            "measure --json",
            "merge A B --out C --json",
            "report RECORDING --json",
        ]),
        Schema::of::<json::Imported<'_>>(&["report RESULT --json"]),
        Schema::of::<explain::json::Document<'_>>(&["explain --json"]),
        Schema::of::<fleet::answer::FleetDocument<'_>>(&["fleet ask FOLDER worst --json"]),
        Schema::of::<fleet::run::FleetRun>(&["fleet run --hosts HOSTS --json -- check"]),
        Schema::of::<inspect::InspectDocument<'_>>(&["inspect PROGRAM --json"]),
        Schema::of::<watch::WatchDocument<'_>>(&["report FOLDER --json"]),
        Schema::of::<compare::Published<'_>>(&["compare A B --json", "measure --kernel linux,evl --json"]),
        Schema::of::<compare::turns::TurnsPlan>(&["compare --interleave A B --dry-run --json"]),
        Schema::of::<torture::TortureDocument<'_>>(&["torture switches --json"]),
        Schema::of::<lab::Published<'_>>(&[
            "lab compare --kernel A,B --json",
            "lab gate --baseline A --kernel B --json",
        ]),
        Schema::of::<lab::Bisected>(&["lab bisect --kernel A,B --json"]),
        Schema::of::<trend::TrendDocument<'_>>(&["trend FOLDER --json"]),
        Schema::of::<share::Shared<'_>>(&["share"]),
        Schema::of::<why_not::WhyNot<'_>>(&["check --why-not --json"]),
        Schema::of::<campaign::Result>(&["campaign FILE --json"]),
        Schema::of::<campaign::Intended>(&["campaign FILE --dry-run --json"]),
    ]
}

#[test]
fn the_schemas_are_fresh() {
    for Schema { file, text, .. } in schemas() {
        fixtures::check(&fixtures::repository("schemas").join(file), &text);
    }
}

#[test]
fn every_meaning_in_the_glossary_is_used_and_stands_in_order() {
    let all: String = schemas().into_iter().map(|schema| schema.text).collect();
    for (name, meaning) in glossary::MEMBERS {
        assert!(all.contains(&format!("\"{name}\":")) && all.contains(meaning), "{name} is in no document");
    }
    assert!(glossary::MEMBERS.is_sorted_by_key(|(name, _)| *name));
}

#[test]
fn no_schema_is_kept_of_a_document_that_is_gone() {
    let known: BTreeSet<String> = schemas().into_iter().map(|schema| schema.file).collect();
    let kept = std::fs::read_dir(fixtures::repository("schemas")).unwrap();
    let kept: BTreeSet<String> = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    // The schema of the project file describes what is read, and a test of its reader holds it.
    let kept = kept.into_iter().filter(|name| !name.starts_with("punctual-toml-")).collect();
    assert_eq!(known, kept);
}

#[test]
fn members_that_are_not_named_are_refused() {
    #[derive(serde::Serialize, JsonSchema)]
    #[serde(tag = "code", rename_all = "kebab-case")]
    #[allow(dead_code, reason = "only its schema is asked for")]
    enum Reason {
        Early { cpu: u32 },
        Late,
    }
    #[derive(serde::Serialize, JsonSchema)]
    struct Inner {
        /// A time that may be unknown.
        a_ns: Option<punctual_hist::Nanos>,
        cpus: punctual_facts::cpu_set::CpuSet,
    }
    #[derive(serde::Serialize, JsonSchema)]
    struct Sample {
        #[serde(flatten)]
        reason: Reason,
        /// A value within the sample.
        inner: Inner,
        /// Further values of the same kind.
        more: Vec<Inner>,
    }
    impl Published for Sample {
        const SCHEMA: &'static str = "punctual/sample/3";
    }
    let inner = || Inner { a_ns: None, cpus: punctual_facts::cpu_set::CpuSet::parse_list("0-3,8").unwrap() };
    let right = assert_valid(&Sample { reason: Reason::Early { cpu: 1 }, inner: inner(), more: vec![inner()] });
    assert_eq!(right["inner"], json!({ "a_ns": null, "cpus": "0-3,8" }));
    assert_eq!((&right["code"], &right["cpu"]), (&json!("early"), &json!(1)));
    let validator = validator::<Sample>();
    for place in ["", "/inner", "/more/0"] {
        let mut wrong = right.clone();
        wrong.pointer_mut(place).unwrap()["surprise"] = json!(1);
        assert!(!validator.is_valid(&wrong), "surprise in '{place}'");
        for member in right.pointer(place).unwrap().as_object().unwrap().keys() {
            let mut wrong = right.clone();
            wrong.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(member);
            assert!(!validator.is_valid(&wrong), "'{place}' without {member}");
        }
    }
    let values =
        [("/code", json!("never")), ("/inner/a_ns", json!(-1)), ("/inner/cpus", json!([0])), ("/schema", json!(""))];
    for (place, value) in values {
        let mut wrong = right.clone();
        *wrong.pointer_mut(place).unwrap() = value;
        assert!(!validator.is_valid(&wrong), "{place}");
    }
}
