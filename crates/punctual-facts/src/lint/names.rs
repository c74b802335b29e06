//! The names of words that kernels take, by version, architecture and flavour.
//!
//! `words.txt` and `modules.txt` hold the names, and their headers describe the columns. Three versions were examined.
//! Versions between them are interpolated, and the verdict says so. Values and effects of words are not considered
//! here.

use super::Target;
use crate::machine::{Arch, Flavour, Version};
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) const LOOKED_AT: [Version; 3] = [Version::new(6, 1), Version::new(6, 12), Version::new(7, 3)];

/// The examined versions that represent another version. The two are equal if a single version represents it.
pub(super) struct Nearest {
    pub(super) before: Version,
    pub(super) after: Version,
}

/// The versions that represent this one: the version itself if it was examined, otherwise the nearest examined versions
/// before and after it.
pub(super) fn nearest(version: Version) -> Nearest {
    let after = LOOKED_AT.iter().find(|looked_at| **looked_at >= version).unwrap_or(&LOOKED_AT[LOOKED_AT.len() - 1]);
    let before = LOOKED_AT.iter().rfind(|looked_at| **looked_at <= version).unwrap_or(&LOOKED_AT[0]);
    Nearest { before: *before, after: *after }
}

/// The examined kernels in which a name exists, as one set of bits for each version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Where {
    bits: [u8; 3],
    on_others: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// The kernel has the name, if it is built with the options that the name needs.
    Yes,
    /// Of the two nearest examined versions, only the given one has the name.
    Perhaps(Version),
    No,
}

impl Where {
    fn parse(text: &str) -> Self {
        let mut bits = [0; 3];
        for (bit, digit) in bits.iter_mut().zip(text.chars()) {
            *bit = u8::try_from(digit.to_digit(16).unwrap_or(0)).unwrap_or(0);
        }
        Self { bits, on_others: text.ends_with('o') }
    }

    pub(super) fn on(self, target: &Target) -> Presence {
        let mask = mask(target);
        if target.arch == Arch::Other {
            // For other architectures, only the kernel code that all architectures share was examined.
            let is_there = self.on_others || self.bits.iter().any(|b| *b != 0);
            return if is_there { Presence::Yes } else { Presence::No };
        }
        let at = |version| LOOKED_AT.iter().zip(self.bits).any(|(v, bits)| *v == version && bits & mask != 0);
        let Nearest { before, after } = nearest(target.version);
        match (at(before), at(after)) {
            (true, true) => Presence::Yes,
            (false, false) => Presence::No,
            (true, false) => Presence::Perhaps(before),
            (false, true) => Presence::Perhaps(after),
        }
    }

    /// A text about other kernels that have the name; `None` if none has it.
    pub(super) fn elsewhere(self, target: &Target) -> Option<String> {
        let any = |mask: u8| self.bits.iter().any(|b| b & mask != 0);
        let (mine, others) = if target.arch == Arch::X86 { (3, 12) } else { (12, 3) };
        if any(mask(target)) {
            let has = LOOKED_AT.iter().zip(self.bits).filter(|(_, b)| b & mask(target) != 0);
            let versions: Vec<String> = has.map(|(v, _)| v.to_string()).collect();
            return Some(format!("of the versions looked at only {} has it", versions.join(" and ")));
        }
        if any(mine) {
            let other = if target.flavour == Flavour::Rt { "kernels without PREEMPT_RT" } else { "PREEMPT_RT kernels" };
            return Some(format!("only {other} have it"));
        }
        if any(others) {
            let other = if target.arch == Arch::X86 { Arch::Arm64 } else { Arch::X86 };
            return Some(format!("only {} kernels have it", other.name()));
        }
        self.on_others.then(|| "only kernels of other architectures have it".to_owned())
    }
}

fn mask(target: &Target) -> u8 {
    let stock = if target.arch == Arch::Arm64 { 4 } else { 1 };
    if target.flavour == Flavour::Rt { stock << 1 } else { stock }
}

/// A word of the command line that is built into kernels. The fields are the columns of `words.txt`.
#[derive(Clone, Debug)]
pub(super) struct KernelWord {
    /// The name, with `=` at its end if the kernel requires a value.
    pub(super) name: &'static str,
    kinds: &'static str,
    pub(super) place: Where,
    /// The type of the word's value, as a letter of the tables.
    pub(super) kind: char,
    /// The configuration options that the word needs to be compiled in.
    pub(super) needs: &'static str,
}

impl KernelWord {
    fn parse(line: &'static str) -> Option<Self> {
        let mut parts = line.split(' ');
        let (kinds, name, place) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = parts.next()?.chars().next()?;
        Some(Self { name, kinds, place: Where::parse(place), kind, needs: parts.next()? })
    }

    /// Whether the kernel itself writes the value into a variable, so that no handler is called.
    pub(super) fn is_variable(&self) -> bool {
        self.kinds == "c"
    }

    /// Whether the kernel takes every word that begins with this name.
    pub(super) fn is_by_beginning(&self) -> bool {
        self.kinds.contains('s')
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) place: Where,
    pub(super) kind: char,
}

/// A module, or a part of the core kernel, whose parameters are written with a dot.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) name: &'static str,
    pub(super) can_be_loaded: bool,
    pub(super) place: Where,
    /// Whether the module has more parameters than the tables list.
    pub(super) has_more: bool,
    pub(super) needs: &'static str,
    parameters: &'static str,
}

impl Module {
    fn parse(line: &'static str) -> Option<Self> {
        let mut parts = line.splitn(6, ' ');
        let (kind, name, place) = (parts.next()?, parts.next()?, parts.next()?);
        let (more, needs) = (parts.next()?, parts.next()?);
        Some(Self {
            name,
            can_be_loaded: kind == "m",
            place: Where::parse(place),
            has_more: more == "*",
            needs,
            parameters: parts.next().unwrap_or_default(),
        })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<Parameter> {
        self.parameters.split(' ').find_map(|text| {
            let rest = text.strip_prefix(name)?.strip_prefix(':')?;
            let (kind, place) = rest.split_once('@').map_or((rest, self.place), |(k, w)| (k, Where::parse(w)));
            Some(Parameter { place, kind: kind.chars().next()? })
        })
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.split(' ').filter_map(|text| Some(text.split_once(':')?.0))
    }
}

pub(super) struct Names {
    pub(super) words: Vec<KernelWord>,
    pub(super) modules: BTreeMap<&'static str, Module>,
}

pub(super) static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
    Names {
        words: lines(include_str!("words.txt")).filter_map(KernelWord::parse).collect(),
        modules: lines(include_str!("modules.txt")).filter_map(Module::parse).map(|m| (m.name, m)).collect(),
    }
});

impl Names {
    /// Whether the name is `MODULE.PARAMETER` of a known module.
    pub(super) fn is_parameter(&self, name: &str) -> bool {
        let Some((module, parameter)) = name.split_once('.') else { return false };
        self.modules.get(module).is_some_and(|module| module.parameter(parameter).is_some())
    }

    /// Every entry with exactly this name. An entry that ends in `=` is returned only if the word has a value.
    pub(super) fn exact(&self, name: &str, has_value: bool) -> Vec<&KernelWord> {
        let from = self.words.partition_point(|entry| entry.name < name);
        let mine = self.words[from..].iter().take_while(|entry| entry.name.starts_with(name));
        mine.filter(|entry| match entry.name.strip_prefix(name) {
            Some("") => true,
            Some("=") => has_value,
            _ => false,
        })
        .collect()
    }

    /// The entry with the longest name that this word begins with, among the entries that the kernel compares by their
    /// beginning.
    pub(super) fn by_beginning(&self, name: &str, value: Option<&str>) -> Option<&KernelWord> {
        let whole = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
        let is_taken = |entry: &&KernelWord| entry.is_by_beginning() && whole.starts_with(entry.name);
        self.words.iter().filter(is_taken).max_by_key(|entry| entry.name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_complete() {
        let names = &*NAMES;
        assert!(names.words.windows(2).all(|w| w[0].name < w[1].name), "words.txt is not sorted");
        let lines = |text: &str| text.lines().filter(|l| !l.starts_with('#')).count();
        assert_eq!(names.words.len(), lines(include_str!("words.txt")));
        assert_eq!(names.modules.len(), lines(include_str!("modules.txt")));
        assert!(names.words.len() > 800 && names.modules.len() > 1900);
        let kinds = |c: char| "bdniulLhHyqsax-".contains(c);
        for module in names.modules.values() {
            for name in module.parameters() {
                assert!(module.parameter(name).is_some_and(|p| kinds(p.kind)), "{}.{name}", module.name);
            }
        }
        assert!(names.words.iter().all(|w| kinds(w.kind)));
    }

    #[test]
    fn versions_between_are_interpolated() {
        let on = |bits, major, minor| Where::parse(bits).on(&Target::x86(major, minor, Flavour::Stock));
        assert_eq!(on("011", 6, 12), Presence::Yes);
        assert_eq!(on("011", 6, 6), Presence::Perhaps(Version::new(6, 12)));
        assert_eq!(on("110", 6, 18), Presence::Perhaps(Version::new(6, 12)));
        assert_eq!(on("111", 6, 18), Presence::Yes);
        assert_eq!(on("011", 3, 10), Presence::No);
        assert_eq!(on("001", 8, 1), Presence::Yes);
        assert_eq!(on("222", 6, 1), Presence::No);
    }
}
