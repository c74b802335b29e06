//! What the machine is needed for: typed, or stated once in a project file, or usual for a kind of work.
//!
//! What is typed counts before `[profile.NAME]` of the file, that before the file's own top, and that before the preset.

use crate::cli::{Loads, NeedArgs, parse_cpus, parse_duration, parse_loads};
use anyhow::{Context, Result, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::profile::Kind;
use punctual_hist::Nanos;
use punctual_tuning::presets::{self, Preset};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The project file that is read where it lies in the folder.
pub const FILE: &str = "punctual.toml";

/// What a project file states, as a whole or in one of its profiles.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    /// The preset that fills what is not stated.
    preset: Option<String>,
    #[serde(deserialize_with = "length")]
    period: Option<Nanos>,
    #[serde(deserialize_with = "length")]
    budget: Option<Nanos>,
    #[serde(deserialize_with = "cpus")]
    cpus: Option<CpuSet>,
    #[serde(deserialize_with = "priority")]
    priority: Option<u8>,
    #[serde(deserialize_with = "load")]
    load: Option<Loads>,
    #[serde(deserialize_with = "length")]
    duration: Option<Nanos>,
    profile: BTreeMap<String, Section>,
}

impl Section {
    /// Whether it states nothing itself.
    fn states_nothing(&self) -> bool {
        let times = [self.period, self.budget, self.duration];
        times.iter().all(Option::is_none)
            && self.preset.is_none()
            && self.cpus.is_none()
            && self.priority.is_none()
            && self.load.is_none()
    }
}

fn length<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Nanos>, D::Error> {
    parse_duration(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

fn cpus<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CpuSet>, D::Error> {
    parse_cpus(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

fn priority<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u8>, D::Error> {
    let priority = u8::deserialize(from)?;
    let wrong = || D::Error::custom(format!("{priority} is no priority: write 1 to 95"));
    (1..=95).contains(&priority).then_some(Some(priority)).ok_or_else(wrong)
}

/// Who runs this as root in somebody else's folder must not run that person's programs by it.
fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Loads>, D::Error> {
    let loads = parse_loads(&String::deserialize(from)?).map_err(D::Error::custom)?;
    if loads.0.iter().flat_map(|phase| &phase.loads).any(|load| load.starts_with("cmd:")) {
        return Err(D::Error::custom(
            "a project file names loads of punctual alone; give an outside program with --load",
        ));
    }
    Ok(Some(loads))
}

/// What is known of the need beside what was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    pub kind: Kind,
    pub period: Option<Nanos>,
    pub budget: Option<Nanos>,
    pub cpus: Option<CpuSet>,
    pub priority: Option<u8>,
    pub load: Option<Loads>,
    pub duration: Option<Nanos>,
    /// The profile or preset it is from.
    pub name: Option<String>,
    /// Knobs that weigh more for this work than for others of its kind.
    pub weighs_more: &'static [&'static str],
}

impl Stated {
    /// Reads the project file that was named, or the one of this folder if there is one.
    pub fn read(args: &NeedArgs) -> Result<Self> {
        let (path, is_named) = args.config.as_ref().map_or((PathBuf::from(FILE), false), |path| (path.clone(), true));
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound && !is_named => None,
            Err(error) => return Err(error).with_context(|| format!("read the project file {}", path.display())),
        };
        let file = text.map(|text| section(&text, &path)).transpose()?.unwrap_or_default();
        Self::of(&file, args.profile.as_deref())
    }

    fn of(file: &Section, profile: Option<&str>) -> Result<Self> {
        if profile.is_none() && !file.profile.is_empty() && file.states_nothing() {
            let names: Vec<&str> = file.profile.keys().map(String::as_str).collect();
            bail!(
                "the project file has profiles and nothing above them: name one with --profile: {}",
                names.join(", ")
            );
        }
        let own = match profile {
            None => Section::default(),
            Some(name) => {
                let Some(own) = file.profile.get(name) else {
                    // A preset or a kind of work that was typed is not mixed with what the file says of other work.
                    let named = Self { name: Some(name.to_owned()), ..Self::default() };
                    return by_name(name, file).map(|preset| named.over(preset.0, preset.1));
                };
                own.clone()
            }
        };
        let (base, kind) = match own.preset.as_ref().or(file.preset.as_ref()) {
            Some(name) => by_name(name, file)?,
            None => (None, Kind::default()),
        };
        let stated = Self {
            period: own.period.or(file.period),
            budget: own.budget.or(file.budget),
            cpus: own.cpus.or_else(|| file.cpus.clone()),
            priority: own.priority.or(file.priority),
            load: own.load.or_else(|| file.load.clone()),
            duration: own.duration.or(file.duration),
            name: profile.map(str::to_owned).or_else(|| file.preset.clone()),
            ..Self::default()
        };
        Ok(stated.over(base, kind))
    }

    /// With what a preset says where nothing is stated.
    fn over(self, preset: Option<&'static Preset>, kind: Kind) -> Self {
        let Some(preset) = preset else { return Self { kind, ..self } };
        Self {
            kind: preset.kind,
            period: self.period.or(Some(preset.period)),
            budget: self.budget.or(Some(preset.budget)),
            priority: self.priority.or(Some(preset.priority)),
            load: self.load.or_else(|| parse_loads(preset.load).ok()),
            weighs_more: preset.weighs_more,
            ..self
        }
    }
}

/// The preset of this name, or the kind of work alone.
fn by_name(name: &str, file: &Section) -> Result<(Option<&'static Preset>, Kind)> {
    if let Some(preset) = presets::find(name) {
        return Ok((Some(preset), preset.kind));
    }
    if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) {
        return Ok((None, kind));
    }
    let presets = presets::ALL.iter().map(|preset| preset.name);
    let known: Vec<&str> = file.profile.keys().map(String::as_str).chain(presets).chain(["periodic", "poll"]).collect();
    bail!("there is no profile '{name}'; there are {}", known.join(", "))
}

fn section(text: &str, path: &Path) -> Result<Section> {
    let section: Section = toml::from_str(text).with_context(|| format!("{} cannot be used", path.display()))?;
    if let Some((name, _)) = section.profile.iter().find(|(_, own)| !own.profile.is_empty()) {
        bail!("{}: a profile within profile '{name}': profiles do not nest", path.display());
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str, profile: Option<&str>) -> Result<Stated> {
        Stated::of(&section(text, Path::new(FILE))?, profile)
    }

    fn refused(text: &str, profile: Option<&str>) -> String {
        format!("{:#}", stated(text, profile).unwrap_err())
    }

    const FILE_OF_TWO: &str = r#"
preset = "ethercat"
budget = "40us"
cpus = "2-3"
[profile.slow]
period = "4ms"
"#;

    #[test]
    fn a_profile_counts_before_the_file_and_that_before_the_preset() {
        let whole = stated(FILE_OF_TWO, None).unwrap();
        assert_eq!((whole.period, whole.budget), (Some(Nanos::from_ms(1)), Some(Nanos::from_us(40))));
        assert_eq!((whole.priority, whole.cpus.unwrap().to_string()), (Some(80), "2-3".to_owned()));
        let slow = stated(FILE_OF_TWO, Some("slow")).unwrap();
        assert_eq!((slow.period, slow.budget), (Some(Nanos::from_ms(4)), Some(Nanos::from_us(40))));
        assert!(slow.weighs_more.contains(&"net.ethercat"));
    }

    #[test]
    fn a_preset_that_was_typed_is_not_mixed_with_the_file() {
        let cnc = stated(FILE_OF_TWO, Some("cnc")).unwrap();
        assert_eq!((cnc.budget, cnc.cpus), (Some(Nanos::from_us(50)), None));
        let poll = stated(FILE_OF_TWO, Some("poll")).unwrap();
        assert_eq!(poll, Stated { kind: Kind::Poll, name: Some("poll".to_owned()), ..Stated::default() });
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_to_write() {
        let unit = refused("period = \"1ms\"\nbudget = \"50\"\n", None);
        assert!(unit.contains("line 2, column 10") && unit.contains("as in 50us"), "{unit}");
        let key = refused("budgt = \"50us\"\n", None);
        assert!(key.contains("line 1, column 1") && key.contains("`budget`"), "{key}");
        for (text, profile, wants) in [
            ("", Some("ethercta"), "there are ethercat"),
            ("priority = 99", None, "1 to 95"),
            ("load = \"cmd:sh\"", None, "--load"),
            ("budget = \"1us\"\nbudget = \"2us\"", None, "duplicate"),
            ("[profile.a.profile.b]", None, "do not nest"),
            ("[profile.a]\n[profile.b]", None, "name one with --profile: a, b"),
            ("preset = \"a\"", None, "no profile 'a'"),
        ] {
            assert!(refused(text, profile).contains(wants), "{text}: {}", refused(text, profile));
        }
    }

    #[test]
    fn every_preset_has_loads_that_are_understood() {
        for preset in presets::ALL {
            assert!(parse_loads(preset.load).is_ok(), "{}", preset.name);
        }
    }
}
