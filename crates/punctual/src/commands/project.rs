//! The project file, which states a need once. Errors name line and column, and what to write instead.

use crate::cli::{Loads, parse_cpus, parse_duration, parse_loads};
use anyhow::{Result, anyhow};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::load::LoadSpec;
use punctual_tuning::presets::Work;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Name of the project file that is read from the current folder.
pub const FILE: &str = "punctual.toml";
const KEYS: [&str; 7] = ["preset", "period", "budget", "cpus", "priority", "load", "duration"];
const PROFILE: &str = "profile";

/// The need as one source states it. Any term may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    pub period: Option<Nanos>,
    pub budget: Option<Nanos>,
    pub cpus: Option<CpuSet>,
    pub priority: Option<u8>,
    pub load: Option<Loads>,
    pub duration: Option<Nanos>,
}

impl Terms {
    /// Fills the terms that are missing with those of `other`.
    pub fn or(self, other: Self) -> Self {
        Self {
            period: self.period.or(other.period),
            budget: self.budget.or(other.budget),
            cpus: self.cpus.or(other.cpus),
            priority: self.priority.or(other.priority),
            load: self.load.or(other.load),
            duration: self.duration.or(other.duration),
        }
    }
}

impl Terms {
    /// Takes the value of a key that states a term of the need. Returns whether the key is one.
    pub fn take(&mut self, entry: &Entry<'_>) -> Result<bool, Refusal> {
        match entry.key {
            "period" => self.period = Some(entry.time()?),
            "budget" => self.budget = Some(entry.time()?),
            "duration" => self.duration = Some(entry.time()?),
            "cpus" => self.cpus = Some(entry.text(parse_cpus, "2-3")?),
            "load" => self.load = Some(entry.text(load, "idle:1,cpu+memory:2")?),
            "priority" => self.priority = Some(entry.priority()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The error about a key that does not exist, at this offset.
pub fn no_key(at: usize, unknown: &str, keys: &[&str]) -> Refusal {
    let hint = did_you_mean(unknown, keys.iter().copied());
    Refusal { at, why: format!("there is no key '{unknown}'{hint} There are {}", keys.join(", ")) }
}

#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The preset that fills terms that are not stated.
    pub preset: Option<Work>,
    pub terms: Terms,
    pub profiles: BTreeMap<String, Section>,
}

/// What is wrong with a value of a file, and where it stands: the offset in bytes.
pub struct Refusal {
    pub at: usize,
    pub why: String,
}

/// Reads the text of a project file; `path` is its name in errors.
pub fn parse(text: &str, path: &Path) -> Result<Section> {
    read(text, path, |table| section(table, true))
}

/// Reads the text of a file in the form of TOML with `of`. Errors name line and column; `path` is the file's name in them.
pub fn read<T>(text: &str, path: &Path, of: impl FnOnce(&DeTable<'_>) -> Result<T, Refusal>) -> Result<T> {
    let refused = |Refusal { at, why }| {
        let before = text.get(..at).unwrap_or(text);
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        anyhow!("{}, line {line}, column {column}: {why}", path.display())
    };
    let syntax = |error: toml::de::Error| Refusal {
        at: error.span().map_or(0, |span| span.start),
        why: error.message().to_owned(),
    };
    let table = DeTable::parse(text).map_err(syntax).map_err(refused)?;
    of(table.get_ref()).map_err(refused)
}

fn section(table: &DeTable<'_>, is_top: bool) -> Result<Section, Refusal> {
    let mut section = Section::default();
    let terms = &mut section.terms;
    for (key, value) in table {
        let entry = Entry { key: key.get_ref().as_ref(), value };
        if terms.take(&entry)? {
            continue;
        }
        match entry.key {
            "preset" => section.preset = Some(entry.text(preset, "ethercat")?),
            PROFILE if is_top => {
                for (name, own) in entry.table()? {
                    let own = Entry { key: name.get_ref().as_ref(), value: own };
                    section.profiles.insert(own.key.to_owned(), self::section(own.table()?, false)?);
                }
            }
            PROFILE => return entry.refuse("a profile within a profile: profiles do not nest"),
            unknown => return Err(no_key(key.span().start, unknown, &[&KEYS[..], &[PROFILE]].concat())),
        }
    }
    Ok(section)
}

fn preset(name: &str) -> Result<Work, String> {
    Work::find(name).ok_or_else(|| format!("there is no preset '{name}'{}", among(name, &Work::names())))
}

/// Reads loads, but refuses programs among them: a user who runs punctual as root in another user's folder must not run
/// that user's programs.
fn load(text: &str) -> Result<Loads, String> {
    let loads = parse_loads(text)?;
    for name in loads.0.iter().flat_map(|phase| &phase.loads) {
        if name.starts_with("cmd:") {
            let why = "a project file may only name punctual's own loads; name another program with --load";
            return Err(why.to_owned());
        }
        LoadSpec::parse(name).map_err(|error| error.to_string())?;
    }
    Ok(loads)
}

/// A key of a file with its value.
pub struct Entry<'a> {
    pub key: &'a str,
    pub value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Entry<'a> {
    pub fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal { at: self.value.span().start, why: why.into() })
    }

    fn table(&self) -> Result<&'a DeTable<'a>, Refusal> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => self
                .refuse(format!("'{}' is a table: write [profile.NAME] and the keys of that profile below", self.key)),
        }
    }

    /// The value as parsed text. `example` is a valid value for the error message.
    pub fn text<T>(&self, parse: impl Fn(&str) -> Result<T, String>, example: &str) -> Result<T, Refusal> {
        let DeValue::String(text) = self.value.get_ref() else {
            let text = self.bare().filter(|bare| parse(bare).is_ok()).unwrap_or_else(|| example.to_owned());
            return self.refuse(format!("this must be text in quotation marks. Write: {} = \"{text}\"", self.key));
        };
        parse(text).or_else(|why| self.refuse(why))
    }

    pub fn time(&self) -> Result<Nanos, Refusal> {
        if let Some(number) = self.bare().filter(|bare| bare.parse::<f64>().is_ok()) {
            return self.refuse(format!(
                "{number} of which unit? A time is text with a unit (ns, us, ms, s, m, h, d). Write for example: \
                 {} = \"{number}{}\"",
                self.key,
                usual_unit(self.key, &number)
            ));
        }
        self.text(parse_duration, "1ms")
    }

    pub fn priority(&self) -> Result<u8, Refusal> {
        let number = self.bare().and_then(|bare| bare.parse::<u8>().ok()).filter(|number| (1..=95).contains(number));
        match (number, self.value.get_ref()) {
            (Some(number), DeValue::Integer(_)) => Ok(number),
            (Some(number), _) => self.refuse(format!("a priority is a bare number. Write: priority = {number}")),
            (None, _) => {
                self.refuse("this is no priority: write a number from 1 to 95. Write for example: priority = 80")
            }
        }
    }

    /// The value as text without quotation marks. The items of a list are joined by commas.
    fn bare(&self) -> Option<String> {
        let of = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Float(number) => Some(number.to_string()),
            _ => None,
        };
        match self.value.get_ref() {
            DeValue::Array(items) => {
                Some(items.iter().map(|item| of(item.get_ref())).collect::<Option<Vec<_>>>()?.join(","))
            }
            value => of(value),
        }
    }
}

/// The unit to propose for a number without one. A period of 100 or more is probably meant in microseconds.
fn usual_unit(key: &str, number: &str) -> &'static str {
    match key {
        "duration" => "s",
        "period" if number.parse::<f64>().is_ok_and(|number| number < 100.0) => "ms",
        _ => "us",
    }
}

/// The end of an error message: `; did you mean 'ethercat'?` if a known name differs by at most two letters, otherwise
/// a full stop.
fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known.into_iter().map(|name| (strsim::osa_distance(wanted, name), name)).min();
    near.filter(|(edits, _)| *edits <= 2)
        .map_or_else(|| ".".to_owned(), |(_, name)| format!("; did you mean '{name}'?"))
}

/// The rest of an error message about an unknown name: the nearest known name, and the list of all.
pub fn among(wanted: &str, known: &[&str]) -> String {
    let (hint, known) = (did_you_mean(wanted, known.iter().copied()), known.join(", "));
    format!("{hint} There are {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, place: &str, parts: &[&str]) {
        let why = format!("{:#}", parse(text, Path::new("dir/p.toml")).unwrap_err());
        assert!(why.starts_with(&format!("dir/p.toml, {place}: ")), "{text}: {why}");
        for part in parts {
            assert!(why.contains(part), "{text}: no '{part}' in {why}");
        }
    }

    /// The schema for editors names what this module reads.
    #[test]
    fn the_schema_of_the_file_has_its_keys_and_values() {
        let path = fixtures::repository("schemas/punctual-toml-1.schema.json");
        let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let keys = |of: &serde_json::Value| of["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut wanted = KEYS.map(str::to_owned).to_vec();
        wanted.sort();
        let mut seen = keys(&schema["definitions"]["profile"]);
        seen.sort();
        assert_eq!(seen, wanted);
        seen = keys(&schema);
        seen.retain(|key| key != PROFILE);
        seen.sort();
        assert_eq!(seen, wanted);
        let presets = schema["definitions"]["preset"]["enum"].as_array().unwrap();
        assert_eq!(presets.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>(), Work::names());
        let validator = jsonschema::validator_for(&schema).unwrap();
        let file = serde_json::json!({"preset": "ethercat", "period": "1.5m", "cpus": "2-3,5", "load": "none",
            "priority": 95, "profile": {"slow": {"period": "4ms", "budget": "0.5us"}}});
        assert!(validator.is_valid(&file));
        let text = "preset = 'ethercat'\nperiod = '1.5m'\ncpus = '2-3,5'\nload = 'none'\npriority = 95\n";
        parse(&format!("{text}[profile.slow]\nperiod = '4ms'\nbudget = '0.5us'\n"), Path::new("p")).unwrap();
        for wrong in [
            "{\"period\": 1}",
            "{\"budgt\": \"1us\"}",
            "{\"cpus\": \"x\"}",
            "{\"period\": \"1m30s\"}",
            "{\"priority\": 99}",
        ] {
            assert!(!validator.is_valid(&serde_json::from_str(wrong).unwrap()), "{wrong}");
        }
    }

    #[test]
    fn a_time_without_a_unit_is_told_the_unit_to_add() {
        refused("period = 1", "line 1, column 10", &["period = \"1ms\""]);
        refused("period = 250", "line 1, column 10", &["period = \"250us\""]);
        refused("period = \"1ms\"\nbudget = \"50\"\n", "line 2, column 10", &["budget = \"50us\"", "unit"]);
        refused("duration = 30", "line 1, column 12", &["duration = \"30s\""]);
        refused("budget = 0.5", "line 1, column 10", &["budget = \"0.5us\""]);
        refused("budget = \"50usec\"", "line 1, column 10", &["'50usec'", "as in 50us"]);
        refused("period = true", "line 1, column 10", &["period = \"1ms\""]);
    }

    #[test]
    fn a_name_that_is_misspelt_is_told_the_one_that_was_meant() {
        refused("# µ\nbudgt = \"50us\"", "line 2, column 1", &["no key 'budgt'", "did you mean 'budget'?"]);
        refused("preset = \"ethercta\"", "line 1, column 10", &["did you mean 'ethercat'?", "robotics", "poll"]);
        refused("[profile.a]\npreset=\"nonsense\"", "line 2, column 8", &["no preset 'nonsense'. There are ethercat"]);
        refused("[profile.a]\nprofil=1", "line 2, column 1", &["did you mean 'profile'?"]);
        refused("load = \"idle,memroy\"", "line 1, column 8", &["did you mean 'memory'?"]);
    }

    #[test]
    fn every_other_value_is_told_what_to_write() {
        for (text, place, wants) in [
            ("cpus = 2", "line 1, column 8", "cpus = \"2\""),
            ("cpus = [2, 3]", "line 1, column 8", "cpus = \"2,3\""),
            ("cpus = false", "line 1, column 8", "cpus = \"2-3\""),
            ("cpus = \"x\"", "line 1, column 8", "'x'"),
            ("priority = 99", "line 1, column 12", "1 to 95"),
            ("priority = \"80\"", "line 1, column 12", "priority = 80"),
            ("load = 1", "line 1, column 8", "load = \"idle:1,cpu+memory:2\""),
            ("load = \"cmd:sh\"", "line 1, column 8", "--load"),
            ("preset = 1", "line 1, column 10", "preset = \"ethercat\""),
            ("profile = \"a\"", "line 1, column 11", "[profile.NAME]"),
            ("[profile.a.profile.b]", "line 1, column 12", "do not nest"),
            ("budget = \"1us\"\nbudget = \"2us\"", "line 2, column 1", "duplicate"),
            ("period = ", "line 1, column 10", ""),
        ] {
            refused(text, place, &[wants]);
        }
    }
}
