//! The schema of a campaign file, for editors: generated from the types below, which a test holds against the keys that
//! the parser takes. `BLESS=1` writes it to `examples/campaigns`.

use super::{CELL, COMPARE, FIGURES, ORDERS, PAIR, PUBLISHED, SETTINGS, TOP, parse};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A campaign: a written-down experiment that punctual carries out.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is made")]
struct CampaignFile {
    title: Option<String>,
    /// What the campaign is about.
    about: Option<String>,
    /// Where the published figures come from.
    source: Option<String>,
    /// Order of the cells within a repetition: abba (the default), random or written.
    order: Option<String>,
    /// Seed of the order, where it is random.
    seed: Option<u32>,
    /// Number of times that each cell is measured; 1 if it is not stated.
    repetitions: Option<u32>,
    /// Time that the machine must have been up before a boot is measured, as text with a unit.
    settle: Option<String>,
    /// What every cell takes that does not state it.
    need: Option<Settings>,
    /// The cells, in order.
    cell: Vec<Cell>,
    /// Pairs of cells to be compared.
    compare: Option<Vec<Pair>>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is made")]
struct Settings {
    /// Time between releases, as text with a unit.
    period: Option<String>,
    /// Largest latency that the work can live with.
    budget: Option<String>,
    /// Length of one measurement.
    duration: Option<String>,
    /// CPUs to measure, as a list; every CPU that the process may use if it is not stated.
    cpus: Option<String>,
    /// Load phases, as for --load, of punctual's own loads.
    load: Option<String>,
    /// Priority of `SCHED_FIFO`, 1 to 95.
    priority: Option<u8>,
    /// How the threads wait: absolute, relative, timerfd, futex, hybrid, spin or nanosleep.
    mechanism: Option<String>,
    /// Value that `/dev/cpu_dma_latency` is held at during a measurement.
    dma_latency_us: Option<u32>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is made")]
struct Cell {
    /// Up to 40 letters, digits, `-`, `_` and `.`.
    name: String,
    about: Option<String>,
    /// Words of the kernel command line, each booted once; a minus before a name takes that word away. `<cpus>` stands for
    /// the measured CPUs, `<others>` for the rest.
    boot: Option<Vec<String>>,
    /// Ids of knobs that are set while the cell is measured.
    knobs: Option<Vec<String>>,
    published: Option<Vec<Published>>,
    #[serde(flatten)]
    settings: Settings,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is made")]
struct Published {
    /// The machine that was measured.
    of: Option<String>,
    /// The published figure: min, mean, p50, p99, p99.9 or max.
    what: String,
    /// A time as text with a unit.
    value: String,
    cpu: Option<u16>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is made")]
struct Pair {
    first: String,
    second: String,
    question: Option<String>,
}

fn schema() -> Value {
    let mut value = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator()
        .into_root_schema_for::<CampaignFile>()
        .to_value();
    let words = |names: Vec<&str>| json!(names);
    value["properties"]["order"]["enum"] = words(ORDERS.iter().map(|(name, _)| *name).collect());
    value["$defs"]["Published"]["properties"]["what"]["enum"] = words(FIGURES.iter().map(|(name, _)| *name).collect());
    // An optional key is left out, not null.
    without_null(&mut value);
    value
}

fn without_null(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|one| one != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(any)) = members.get_mut("anyOf") {
                any.retain(|one| one.get("type") != Some(&json!("null")));
            }
            members.remove("format");
            members.values_mut().for_each(without_null);
        }
        Value::Array(several) => several.iter_mut().for_each(without_null),
        _ => {}
    }
}

fn keys(of: &Value) -> BTreeSet<String> {
    of["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

#[test]
fn the_schema_has_the_keys_of_the_parser() {
    let schema = schema();
    let set = |parts: &[&[&str]]| -> BTreeSet<String> { parts.concat().iter().map(|key| (*key).to_owned()).collect() };
    assert_eq!(keys(&schema), set(&[&TOP, &[COMPARE]]));
    assert_eq!(keys(&schema["$defs"]["Settings"]), set(&[&SETTINGS]));
    assert_eq!(keys(&schema["$defs"]["Cell"]), set(&[&CELL, &SETTINGS]));
    assert_eq!(keys(&schema["$defs"]["Published"]), set(&[&PUBLISHED]));
    assert_eq!(keys(&schema["$defs"]["Pair"]), set(&[&PAIR]));
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    fixtures::check(&fixtures::repository("examples/campaigns/campaign.schema.json"), &text);
}

#[test]
fn every_example_is_a_campaign_and_fits_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(fixtures::repository("examples/campaigns")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        parse(&text, &path).unwrap_or_else(|error| panic!("{error:#}"));
        let value: Value = toml::from_str(&text).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        seen += 1;
    }
    assert!(seen >= 4, "{seen} examples");
}
