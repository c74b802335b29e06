//! The names of words that kernels take, by version, architecture and flavour.
//!
//! `words.txt` and `modules.txt` hold the names, and their headers describe the columns; `cargo xtask words` writes them.
//! Versions between the examined ones are interpolated, and the verdict says so. Values and effects of words are not
//! considered here.

use super::Target;
use crate::machine::{Arch, Flavour, Version};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A kernel whose sources were examined. Its place in [`KERNELS`] is its column in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Examined {
    version: Version,
    is_real_time: bool,
}

/// The examined kernels, in the order of the tables' columns: those without PREEMPT_RT come first, by version.
static KERNELS: LazyLock<Vec<Examined>> = LazyLock::new(|| {
    let header = include_str!("words.txt").lines().find_map(|line| line.strip_prefix("# KERNELS "));
    let parse = |name: &str| {
        let (version, is_real_time) = name.strip_suffix("-rt").map_or((name, false), |version| (version, true));
        Some(Examined { version: Version::parse(version)?, is_real_time })
    };
    header.unwrap_or_default().split(' ').filter_map(parse).collect()
});

/// The examined versions of a flavour, from the oldest to the newest.
fn versions(flavour: Flavour) -> impl DoubleEndedIterator<Item = Version> {
    let is_real_time = flavour == Flavour::Rt;
    KERNELS.iter().filter(move |kernel| kernel.is_real_time == is_real_time).map(|kernel| kernel.version)
}

/// The versions of which kernels without PREEMPT_RT were examined.
pub(super) fn examined() -> Vec<Version> {
    versions(Flavour::Stock).collect()
}

/// The examined versions as a text: `6.1, 6.12`, with this word before the last one.
pub(super) fn examined_text(before_last: &str) -> String {
    let names: Vec<String> = examined().iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{}{before_last}{last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// The examined versions that represent another version. The two are equal if a single version represents it.
pub(super) struct Nearest {
    pub(super) before: Version,
    pub(super) after: Version,
}

/// The versions that represent the target's version: the version itself if its flavour was examined, otherwise the
/// nearest examined versions before and after it.
pub(super) fn nearest(target: &Target) -> Nearest {
    let (asked, all) = (target.version, || versions(target.flavour));
    let before = all().rfind(|version| *version <= asked).or_else(|| all().next());
    let after = all().find(|version| *version >= asked).or_else(|| all().next_back());
    Nearest { before: before.unwrap_or(asked), after: after.unwrap_or(asked) }
}

/// The examined kernels in which a name exists, in the notation of the tables: a set of architectures as a hexadecimal
/// digit, and changes of that set, each as the letter of a column and a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Where(&'static str);

/// The letter of the first column.
const FIRST_COLUMN: u8 = b'g';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// The kernel has the name, if it is built with the options that the name needs.
    Yes,
    /// Of the two nearest examined versions, only the given one has the name.
    Perhaps(Version),
    No,
}

impl Where {
    /// The set of architectures in a column.
    fn bits(self, column: usize) -> u8 {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (Some(first), changes) = (self.0.bytes().next(), self.0.as_bytes().get(1..).unwrap_or_default()) else {
            return 0;
        };
        let reached =
            changes.chunks_exact(2).take_while(|change| usize::from(change[0].saturating_sub(FIRST_COLUMN)) <= column);
        reached.last().map_or(Some(first), |change| Some(change[1])).and_then(digit).unwrap_or(0)
    }

    fn on_others(self) -> bool {
        self.0.ends_with('+')
    }

    fn all(self) -> impl Iterator<Item = (Examined, u8)> {
        KERNELS.iter().enumerate().map(move |(column, kernel)| (*kernel, self.bits(column)))
    }

    pub(super) fn on(self, target: &Target) -> Presence {
        let Some(mask) = mask(target.arch) else {
            // For other architectures, only the kernel code that all architectures share was examined.
            let is_there = self.on_others() || self.all().any(|(_, bits)| bits != 0);
            return if is_there { Presence::Yes } else { Presence::No };
        };
        let is_real_time = target.flavour == Flavour::Rt;
        let at =
            |version| self.all().any(|(kernel, bits)| kernel == Examined { version, is_real_time } && bits & mask != 0);
        let Nearest { before, after } = nearest(target);
        match (at(before), at(after)) {
            (true, true) => Presence::Yes,
            (false, false) => Presence::No,
            (true, false) => Presence::Perhaps(before),
            (false, true) => Presence::Perhaps(after),
        }
    }

    /// A text about other kernels that have the name; `None` if none has it.
    pub(super) fn elsewhere(self, target: &Target) -> Option<String> {
        let (mask, is_real_time) = (mask(target.arch).unwrap_or(0), target.flavour == Flavour::Rt);
        let mine: Vec<Examined> = self.all().filter(|(_, bits)| bits & mask != 0).map(|(kernel, _)| kernel).collect();
        let same = mine.iter().filter(|kernel| kernel.is_real_time == is_real_time);
        let versions: Vec<String> = same.map(|kernel| kernel.version.to_string()).collect();
        if let Some((last, rest)) = versions.split_last() {
            let others = rest.join(", ");
            return Some(match rest {
                [] => format!("of the known versions, only {last} has it"),
                _ => format!("of the known versions, only {others} and {last} have it"),
            });
        }
        if !mine.is_empty() {
            let other = if is_real_time { "kernels without PREEMPT_RT" } else { "PREEMPT_RT kernels" };
            return Some(format!("only {other} have it"));
        }
        let has = |(arch, _): &&(Arch, u8)| self.all().any(|(_, bits)| bits & self::mask(*arch).unwrap_or(0) != 0);
        let arches: Vec<&str> = MASKS.iter().filter(has).map(|(arch, _)| arch.name()).collect();
        if !arches.is_empty() {
            return Some(format!("only {} kernels have it", arches.join(" and ")));
        }
        self.on_others().then(|| "only kernels of other architectures have it".to_owned())
    }
}

/// The bit of each examined architecture in the digits of the tables.
const MASKS: [(Arch, u8); 4] = [(Arch::X86, 1), (Arch::Arm64, 2), (Arch::Arm, 4), (Arch::Riscv64, 8)];

fn mask(arch: Arch) -> Option<u8> {
    MASKS.iter().find(|(known, _)| *known == arch).map(|(_, mask)| *mask)
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
        Some(Self { name, kinds, place: Where(place), kind, needs: parts.next()? })
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
            place: Where(place),
            has_more: more == "*",
            needs,
            parameters: parts.next().unwrap_or_default(),
        })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<Parameter> {
        self.parameters.split(' ').find_map(|text| {
            let rest = text.strip_prefix(name)?.strip_prefix(':')?;
            let (kind, place) = rest.split_once('@').map_or((rest, self.place), |(k, w)| (k, Where(w)));
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
    fn the_columns_are_in_order() {
        let versions = examined();
        assert!(versions.is_sorted() && versions.len() >= 8, "{versions:?}");
        assert!(KERNELS.is_sorted_by_key(|kernel| kernel.is_real_time));
        assert!(KERNELS.iter().any(|kernel| kernel.is_real_time));
        for place in NAMES.words.iter().map(|word| word.place).chain(NAMES.modules.values().map(|module| module.place))
        {
            let letters = place.0.trim_end_matches('+').as_bytes();
            let is_right = |change: &[u8]| {
                change[0] > FIRST_COLUMN
                    && usize::from(change[0] - FIRST_COLUMN) < KERNELS.len()
                    && change[1].is_ascii_hexdigit()
            };
            assert!(letters.len() % 2 == 1 && letters[1..].chunks_exact(2).all(is_right), "{place:?}");
        }
    }

    #[test]
    fn versions_between_are_interpolated() {
        let column = |major, minor| {
            let place = KERNELS.iter().position(|kernel| kernel.version == Version::new(major, minor)).unwrap();
            char::from(FIRST_COLUMN + u8::try_from(place).unwrap())
        };
        let real_time = KERNELS.iter().position(|kernel| kernel.is_real_time).unwrap();
        let real_time = char::from(FIRST_COLUMN + u8::try_from(real_time).unwrap());
        let on = |place: String, major, minor| {
            Where(Box::leak(place.into_boxed_str())).on(&Target::x86(major, minor, Flavour::Stock))
        };
        let from_6_12 = || format!("0{}1", column(6, 12));
        assert_eq!(on(from_6_12(), 6, 12), Presence::Yes);
        assert_eq!(on(from_6_12(), 6, 6), Presence::No);
        assert_eq!(on(from_6_12(), 6, 9), Presence::Perhaps(Version::new(6, 12)));
        assert_eq!(on(format!("1{}0", column(7, 3)), 6, 18), Presence::Perhaps(Version::new(6, 12)));
        assert_eq!(on("1".to_owned(), 6, 18), Presence::Yes);
        assert_eq!(on(from_6_12(), 3, 10), Presence::No);
        assert_eq!(on(from_6_12(), 8, 1), Presence::Yes);
        assert_eq!(on(format!("0{real_time}1"), 6, 1), Presence::No);
        assert_eq!(on("2".to_owned(), 6, 1), Presence::No);
    }
}
