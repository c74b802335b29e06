//! The need, that is the work the machine has to do: from options, a project file or a preset for the kind of work.
//!
//! Options override `[profile.NAME]` of the file, which overrides the top of the file, which overrides the preset.

pub use super::project::Terms;

use super::project::{FILE, Section, among, parse};
use crate::cli::{NeedArgs, parse_loads};
use crate::render::words::command::length;
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::profile::{Kind, Need};
use punctual_hist::Nanos;
use punctual_tuning::presets::{Preset, Work};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    pub kind: Kind,
    pub terms: Terms,
    pub name: Option<String>,
    /// Knobs that matter more for this work than for other work of the same kind.
    pub weighs_more: &'static [&'static str],
}

impl Stated {
    /// The need from options and from the project file, which is the one that `--config` names or else the one in the
    /// current folder.
    pub fn read(args: &NeedArgs, typed: Terms) -> Result<Self> {
        let path = args.config.as_deref().unwrap_or(Path::new(FILE));
        let read = fs::read_to_string(path);
        let is_file = read.is_ok();
        let file = match read {
            Ok(text) => {
                super::of_whole_program("a project file", "punctual measure --config punctual.toml")?;
                parse(&text, path)?
            }
            Err(error) if error.kind() == ErrorKind::NotFound && args.config.is_none() => Section::default(),
            Err(error) => return Err(error).with_context(|| format!("read the project file {}", path.display())),
        };
        let stated = Self::of(file, args.profile.as_deref(), path)?;
        let stated = Self { terms: typed.or(stated.terms), ..stated };
        let of_file = || if is_file { format!(" (see also {})", path.display()) } else { String::new() };
        stated.possible().map_err(|why| anyhow!("{why}{}", of_file()))?;
        Ok(stated)
    }

    /// Refuses a need that no machine can meet.
    fn possible(&self) -> Result<(), String> {
        if self.terms.period == Some(Nanos::ZERO) {
            return Err("a period of 0 is no period: name the time between two releases, as in 1ms".to_owned());
        }
        below_the_period(self.terms.budget, self.terms.period)
    }

    /// The need that a project file states for a profile. `path` is the file's name in errors.
    pub fn of(mut file: Section, profile: Option<&str>, path: &Path) -> Result<Self> {
        let names: Vec<String> = file.profiles.keys().cloned().collect();
        if profile.is_none() && !names.is_empty() && file.preset.is_none() && file.terms == Terms::default() {
            let path = path.display();
            bail!("{path} has profiles and nothing above them: name one with --profile: {}", names.join(", "));
        }
        let own = profile.and_then(|name| file.profiles.remove(name));
        let (Some(name), None) = (profile, &own) else {
            let own = own.unwrap_or_default();
            let terms = own.terms.or(file.terms);
            let work = own.preset.or(file.preset);
            let name = profile.or(work.map(Work::name)).map(str::to_owned);
            return Ok(Self { terms, name, ..Self::default() }.over(work));
        };
        // If the command line names a preset or kind of work, the file's values are not used: they may be meant for
        // other work.
        let Some(work) = Work::find(name) else {
            let known: Vec<&str> = names.iter().map(String::as_str).chain(Work::names()).collect();
            let file = if names.is_empty() { String::new() } else { format!(", and none in {}", path.display()) };
            bail!("there is no profile '{name}'{file}{}", among(name, &known));
        };
        Ok(Self { name: Some(name.to_owned()), ..Self::default() }.over(Some(work)))
    }

    /// Fills missing terms with the usual values for the work.
    fn over(self, work: Option<Work>) -> Self {
        match work {
            None => self,
            Some(Work::Kind(kind)) => Self { kind, ..self },
            Some(Work::Preset(preset)) => {
                Self { kind: preset.kind, terms: self.terms.or(usual(preset)), weighs_more: preset.weighs_more, ..self }
            }
        }
    }

    pub fn need(&self) -> Need {
        Need {
            kind: self.kind,
            period: self.terms.period,
            budget: self.terms.budget,
            cpus: self.terms.cpus.clone().unwrap_or_default(),
            weighs_more: self.weighs_more,
        }
    }
}

/// Refuses a budget of a period or more: an activation with such a latency has skipped a release, which is a miss in
/// itself.
pub fn below_the_period(budget: Option<Nanos>, period: Option<Nanos>) -> Result<(), String> {
    match (budget, period) {
        (Some(budget), Some(period)) if budget >= period => Err(format!(
            "a budget of {} is not below the period of {}: name a smaller --budget or a longer --period",
            length(budget),
            length(period)
        )),
        _ => Ok(()),
    }
}

fn usual(preset: &Preset) -> Terms {
    Terms {
        period: Some(preset.period),
        budget: Some(preset.budget),
        priority: Some(preset.priority),
        load: parse_loads(preset.load).ok(),
        ..Terms::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_tuning::presets;

    fn stated(text: &str, profile: Option<&str>) -> Result<Stated> {
        let path = Path::new(FILE);
        Stated::of(parse(text, path)?, profile, path)
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
        let Stated { terms: whole, name, .. } = stated(FILE_OF_TWO, None).unwrap();
        assert_eq!((whole.period, whole.budget), (Some(Nanos::from_ms(1)), Some(Nanos::from_us(40))));
        assert_eq!((whole.priority, whole.cpus.unwrap().to_string()), (Some(80), "2-3".to_owned()));
        assert_eq!(name.as_deref(), Some("ethercat"));
        let slow = stated(FILE_OF_TWO, Some("slow")).unwrap();
        assert_eq!((slow.need().period, slow.need().budget), (Some(Nanos::from_ms(4)), Some(Nanos::from_us(40))));
        assert!(slow.weighs_more.contains(&"net.ethercat") && slow.name.as_deref() == Some("slow"));
    }

    #[test]
    fn a_need_that_cannot_be_met_is_refused_and_its_file_named() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("need.toml");
        for (text, part) in [
            ("period = \"1ms\"\nbudget = \"1ms\"", "a budget of 1ms is not below the period of 1ms"),
            ("period = \"0ms\"", "a period of 0 is no period"),
        ] {
            fs::write(&config, text).unwrap();
            let args = NeedArgs { profile: None, config: Some(config.clone()) };
            let why = Stated::read(&args, Terms::default()).unwrap_err().to_string();
            assert!(why.contains(part) && why.contains("need.toml"), "{why}");
        }
    }

    #[test]
    fn what_was_typed_counts_before_all_else() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("other.toml");
        fs::write(&config, FILE_OF_TWO).unwrap();
        let args = NeedArgs { profile: None, config: Some(config) };
        let typed = Terms { budget: Some(Nanos::from_us(30)), ..Terms::default() };
        let need = Stated::read(&args, typed).unwrap().need();
        assert_eq!((need.budget, need.cpus.to_string()), (Some(Nanos::from_us(30)), "2-3".to_owned()));
    }

    #[test]
    fn a_preset_that_was_typed_is_not_mixed_with_the_file() {
        let cnc = stated(FILE_OF_TWO, Some("cnc")).unwrap();
        assert_eq!((cnc.terms.budget, cnc.terms.cpus), (Some(Nanos::from_us(50)), None));
        let poll = stated(FILE_OF_TWO, Some("poll")).unwrap();
        assert_eq!(poll, Stated { kind: Kind::Poll, name: Some("poll".to_owned()), ..Stated::default() });
    }

    #[test]
    fn a_profile_that_is_not_there_is_told_with_those_that_are() {
        for (text, profile, wants) in [
            ("", Some("ethercta"), "no profile 'ethercta'; did you mean 'ethercat'? There are ethercat"),
            (FILE_OF_TWO, Some("slwo"), "none in punctual.toml; did you mean 'slow'? There are slow, ethercat"),
            ("[profile.a]\n[profile.b]", None, "punctual.toml has profiles and nothing above them: name one"),
        ] {
            let why = format!("{:#}", stated(text, profile).unwrap_err());
            assert!(why.contains(wants), "{text}: {why}");
        }
    }

    #[test]
    fn every_preset_has_loads_that_are_understood() {
        for preset in presets::ALL {
            assert!(parse_loads(preset.load).is_ok(), "{}", preset.name);
        }
    }
}
