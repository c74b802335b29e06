//! The names that a user may type for a load, and what they stand for.
//!
//! This module knows only names. Whether a program exists on this machine is checked when it is listed or started.

use super::builtin::ALL;
use super::error::LoadError;
use super::preset::{PRESETS, Preset, find_program};
use super::words::{bad_command, split_words};
use super::worker::Load;
use std::path::Path;

#[derive(Clone, Debug)]
pub enum LoadSpec {
    BuiltIn(&'static Load),
    Preset(&'static Preset),
    Program(Vec<String>),
}

impl LoadSpec {
    /// Accepts the name of a load, the name of a preset, or `cmd:PROGRAM ARGS`.
    pub fn parse(name: &str) -> Result<Self, LoadError> {
        if let Some(command) = name.strip_prefix("cmd:") {
            return match split_words(command) {
                Ok(words) if !words.is_empty() => Ok(Self::Program(words)),
                Ok(_) => Err(bad_command(command, "no program is named; write cmd:PROGRAM ARGS")),
                Err(reason) => Err(bad_command(command, reason)),
            };
        }
        let built_in = ALL.iter().find(|load| load.name == name);
        let preset = || PRESETS.iter().find(|preset| preset.name == name);
        built_in.map(Self::BuiltIn).or_else(|| preset().map(Self::Preset)).ok_or_else(|| unknown(name))
    }

    pub fn unit(&self) -> &'static str {
        match self {
            Self::BuiltIn(load) => load.unit,
            Self::Preset(_) | Self::Program(_) => "not counted",
        }
    }

    pub fn needs_dir(&self) -> bool {
        matches!(self, Self::BuiltIn(load) if load.needs_dir)
    }

    /// The reason why the load cannot run on this machine, as far as it is known before the start.
    pub fn unavailable(&self) -> Option<String> {
        match self {
            Self::Preset(preset) => preset.unavailable(),
            Self::BuiltIn(_) => None,
            Self::Program(words) => missing(words.first()?),
        }
    }
}

/// The error for a missing program. A name without `/` is searched on `PATH`; a path is used as it is.
fn missing(program: &str) -> Option<String> {
    let found = if program.contains('/') { Path::new(program).is_file() } else { find_program(program).is_some() };
    (!found).then(|| format!("there is no program '{program}'; is it installed, and the name right?"))
}

fn unknown(name: &str) -> LoadError {
    let names = || ALL.iter().map(|load| load.name).chain(PRESETS.iter().map(|preset| preset.name));
    let near = names().map(|known| (strsim::levenshtein(name, known), known)).min().filter(|(edits, _)| *edits <= 2);
    let hint = near.map_or_else(String::new, |(_, known)| format!(", did you mean '{known}'?"));
    LoadError::Unknown { name: name.to_owned(), hint, known: names().collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_stand_for_loads_presets_and_programs() {
        assert!(matches!(LoadSpec::parse("io-copy"), Ok(LoadSpec::BuiltIn(load)) if load.needs_dir));
        assert!(matches!(LoadSpec::parse("stress-ng"), Ok(LoadSpec::Preset(_))));
        assert!(matches!(LoadSpec::parse("cmd:sleep 1"), Ok(LoadSpec::Program(words)) if words == ["sleep", "1"]));
        assert!(matches!(LoadSpec::parse("cmd:  "), Err(LoadError::Command { .. })));
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let text = LoadSpec::parse("memroy").unwrap_err().to_string();
        assert!(text.contains("did you mean 'memory'?"), "{text}");
        let text = LoadSpec::parse("xyzzy-plugh").unwrap_err().to_string();
        assert!(!text.contains("did you mean") && text.contains("io-copy"), "{text}");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ALL.iter().map(|l| l.name).chain(PRESETS.iter().map(|p| p.name)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    proptest! {
        #[test]
        fn no_name_panics(name in ".{0,40}") {
            let _ = LoadSpec::parse(&name);
            let _ = LoadSpec::parse(&format!("cmd:{name}"));
        }
    }
}
