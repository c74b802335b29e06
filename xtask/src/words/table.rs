//! The tables as the linter reads them: what every kernel has, merged, in lines of text.

use super::expr::Needs;
use super::source::How;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A kernel that is looked at. Kernels without PREEMPT_RT come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    pub is_real_time: bool,
    version: (u32, u32),
}

impl Kernel {
    pub fn parse(name: &str) -> Result<Self> {
        let (version, is_real_time) = name.strip_suffix("-rt").map_or((name, false), |version| (version, true));
        let (major, minor) = version.split_once('.').with_context(|| format!("`{name}` is no version as in 6.12"))?;
        Ok(Self { is_real_time, version: (major.parse()?, minor.parse()?) })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        write!(f, "{major}.{minor}{}", if self.is_real_time { "-rt" } else { "" })
    }
}

/// One word that one kernel has.
pub struct Entry {
    pub how: How,
    pub name: String,
    pub kind: char,
    /// The module of a parameter, and whether it can be loaded.
    pub module: Option<(String, bool)>,
    pub needs: Needs,
}

impl Entry {
    pub fn word(how: How, name: &str, kind: char) -> Self {
        Self { how, name: name.to_owned(), kind, module: None, needs: Needs::nothing() }
    }
}

/// The kernels that have a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Where {
    /// One set of architectures for each kernel.
    bits: Vec<u8>,
    is_elsewhere: bool,
    needs: Option<Needs>,
}

impl Where {
    fn add(&mut self, columns: usize, place: Option<(usize, usize)>, needs: Needs) {
        self.bits.resize(columns, 0);
        match place {
            Some((column, arch)) => {
                self.bits[column] |= 1 << arch;
                self.needs = Some(match self.needs.take() {
                    Some(known) => known.either(needs),
                    None => needs,
                });
            }
            None => self.is_elsewhere = true,
        }
    }

    fn needs(&self) -> String {
        self.needs.as_ref().map_or_else(|| "-".to_owned(), Needs::shown)
    }
}

impl fmt::Display for Where {
    /// The first kernel's architectures as a hexadecimal digit, then each kernel from which on it is another digit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for (column, bits) in ('g'..).zip(&self.bits) {
            if before != Some(bits) {
                if before.is_some() {
                    f.write_char(column)?;
                }
                write!(f, "{bits:x}")?;
            }
            before = Some(bits);
        }
        if self.is_elsewhere { f.write_char('+') } else { Ok(()) }
    }
}

#[derive(Debug, Default)]
struct Word {
    kinds: BTreeSet<char>,
    kind: char,
    place: Where,
}

#[derive(Debug, Default)]
struct Module {
    can_be_loaded: bool,
    has_more: bool,
    place: Where,
    parameters: BTreeMap<String, (char, Where)>,
}

pub struct Table {
    kernels: Vec<Kernel>,
    words: BTreeMap<String, Word>,
    modules: BTreeMap<String, Module>,
}

impl Table {
    pub fn new(kernels: Vec<Kernel>) -> Self {
        Self { kernels, words: BTreeMap::new(), modules: BTreeMap::new() }
    }

    /// Notes a word of a kernel: the kernel's column and the architecture's place, or none if another architecture has
    /// the word.
    pub fn add(&mut self, entry: Entry, place: Option<(usize, usize)>) {
        let columns = self.kernels.len();
        let Some((module, can_be_loaded)) = entry.module else {
            let word = self.words.entry(entry.name).or_default();
            word.kinds.insert(match entry.how {
                How::Early => 'e',
                How::Setup => 's',
                How::Core | How::Module => 'c',
            });
            word.kind = if matches!(word.kind, '\0' | '-') { entry.kind } else { word.kind };
            word.place.add(columns, place, entry.needs);
            return;
        };
        let module = self.modules.entry(module).or_default();
        module.can_be_loaded |= can_be_loaded;
        module.place.add(columns, place, entry.needs.clone());
        if entry.name == "*" {
            module.has_more = true;
            return;
        }
        // Later kernels come later, and the newest type counts.
        let parameter = module.parameters.entry(entry.name).or_default();
        parameter.0 = entry.kind;
        parameter.1.add(columns, place, entry.needs);
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        ensure!(self.words.len() > 500 && self.modules.len() > 1000, "too few words were found to be all");
        for (name, text) in [("words.txt", self.words()), ("modules.txt", self.modules())] {
            let path = folder.join(name);
            println!("{}: {} lines, {} bytes", path.display(), text.lines().count(), text.len());
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }

    fn kernels(&self) -> String {
        let names: Vec<String> = self.kernels.iter().map(ToString::to_string).collect();
        names.join(" ")
    }

    fn words(&self) -> String {
        let mut out = format!("{WORDS}# KERNELS {}\n", self.kernels());
        for (name, word) in &self.words {
            let kinds: String = word.kinds.iter().collect();
            let _ = writeln!(out, "{kinds} {name} {} {} {}", word.place, word.kind, word.place.needs());
        }
        out
    }

    fn modules(&self) -> String {
        let mut out = MODULES.to_owned();
        for (name, module) in &self.modules {
            let kind = if module.can_be_loaded { 'm' } else { 'k' };
            let more = if module.has_more { '*' } else { '-' };
            let _ = write!(out, "{kind} {name} {} {more} {}", module.place, module.place.needs());
            for (name, (kind, place)) in &module.parameters {
                let _ = write!(out, " {name}:{kind}");
                if place.bits != module.place.bits {
                    let _ = write!(out, "@{place}");
                }
            }
            out.push('\n');
        }
        out
    }
}

const WORDS: &str = "\
# Words that the kernel itself takes from its command line. Facts, written by `cargo xtask words` from the places where
# the sources register them; sorted by name, `-` written as `_`.
#
# KINDS NAME WHERE TYPE NEEDS
#
# KINDS  e: early_param, compared whole. s: __setup, compared by its beginning. c: core_param, compared whole.
# NAME   ends in `=` where the kernel asks for a value.
# WHERE  the architectures of the first kernel that have it, as a hexadecimal digit: 1 x86-64, 2 arm64, 4 arm, 8 riscv64;
#        then a letter for each kernel from which on it is another digit, and that digit. Letters count the kernels of the
#        list below from g on. A last `+` where other architectures have it.
# TYPE   of a core_param: b bool, d bool kept as int, n inverted bool, i int, u uint, l long, L ulong, h short, H ushort,
#        y byte, q ull, s string, a array, x any other; `-` for none.
# NEEDS  options it is compiled with, & binds tighter than |; `-` for none worth telling.
";
const MODULES: &str = "\
# Parameters with a dot: those of every module of the kernel's sources that can exist on the architectures of words.txt,
# and of core code that takes parameters under a prefix of its own. Facts, gathered as those in words.txt; sorted.
#
# KIND MODULE WHERE MORE NEEDS NAME:TYPE[@WHERE]...
#
# KIND   m: can be a loadable module. k: is always part of the kernel.
# WHERE  as in words.txt, for the module, and for a parameter where it differs.
# MORE   `*` where more parameters are made by macros than stand here; `-` otherwise.
# TYPE, NEEDS  as in words.txt.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_by_their_changes() {
        let shown = |bits: &[u8]| Where { bits: bits.to_vec(), ..Where::default() }.to_string();
        assert_eq!(shown(&[15, 15, 15]), "f");
        assert_eq!(shown(&[0, 0, 3, 3, 0]), "0i3k0");
        assert_eq!(Where { bits: vec![0, 1], is_elsewhere: true, needs: None }.to_string(), "0h1+");
    }

    #[test]
    fn kernels_are_named_by_version_and_kind() {
        let mut names = ["6.12-rt", "6.1", "6.12", "5.4"].map(|name| Kernel::parse(name).unwrap());
        names.sort();
        assert_eq!(names.map(|kernel| kernel.to_string()), ["5.4", "6.1", "6.12", "6.12-rt"]);
        assert!(Kernel::parse("6").is_err() && Kernel::parse("6.x").is_err());
    }
}
