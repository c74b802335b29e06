//! Finds the functions that a function can reach, from object code: the relocations of its section lead to other
//! sections, and so on. This module does not know which functions are allowed.

use anyhow::{Context, Result};
use object::read::archive::ArchiveFile;
use object::{File, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolIndex};
use std::collections::{BTreeMap, HashMap};

/// A section of the library: index of its object file, and index of the section in that file.
type Place = (usize, SectionIndex);

/// A static library as object files, with an index of its symbols.
pub struct Library<'data> {
    files: Vec<File<'data>>,
    /// The section that defines each symbol shared between object files.
    defined: HashMap<&'data str, Place>,
}

/// A symbol that a function reaches.
#[derive(Debug, PartialEq, Eq)]
pub struct Reached<'data> {
    pub name: &'data str,
    /// Whether the symbol is defined outside of the library.
    pub is_outside: bool,
    /// The names of the symbols from the function to this symbol, which is the last.
    pub chain: Vec<&'data str>,
}

impl<'data> Library<'data> {
    pub fn parse(bytes: &'data [u8]) -> Result<Self> {
        let archive = ArchiveFile::parse(bytes).context("read the archive")?;
        let mut files = Vec::new();
        for member in archive.members() {
            let member = member.context("read a member of the archive")?;
            let data = member.data(bytes).context("read a member of the archive")?;
            // Archive members that are no object files hold notes of the compiler.
            if let Ok(file) = File::parse(data) {
                files.push(file);
            }
        }
        let mut defined = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            for symbol in file.symbols().filter(ObjectSymbol::is_global) {
                if let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name()) {
                    defined.entry(name).or_insert((at, section));
                }
            }
        }
        Ok(Self { files, defined })
    }

    /// Names of the defined functions that begin with `prefix`, sorted.
    pub fn functions(&self, prefix: &str) -> Vec<&'data str> {
        let mut names: Vec<_> = self.defined.keys().copied().filter(|name| name.starts_with(prefix)).collect();
        names.sort_unstable();
        names
    }

    /// All symbols that a function can reach, nearest first. Calls of symbols for which `ends` is true are not
    /// followed.
    pub fn reached_from(&self, function: &'data str, ends: impl Fn(&str) -> bool) -> Result<Vec<Reached<'data>>> {
        let start = *self.defined.get(function).with_context(|| format!("`{function}` is not in the library"))?;
        let mut chains: BTreeMap<(usize, usize), Vec<&'data str>> = BTreeMap::new();
        let mut found: Vec<Reached<'data>> = Vec::new();
        chains.insert((start.0, start.1.0), vec![function]);
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some((at, section)) = queue.pop_front() {
            let chain = chains.get(&(at, section.0)).cloned().unwrap_or_default();
            for symbol in self.targets((at, section))? {
                let (name, place) = self.resolve(at, symbol)?;
                let with = || chain.iter().copied().chain([name]).collect::<Vec<_>>();
                if found.iter().all(|reached| reached.name != name) {
                    found.push(Reached { name, is_outside: place.is_none(), chain: with() });
                }
                if let Some(place) = place.filter(|_| !ends(name)) {
                    chains.entry((place.0, place.1.0)).or_insert_with(|| {
                        queue.push_back(place);
                        with()
                    });
                }
            }
        }
        Ok(found)
    }

    fn file(&self, at: usize) -> Result<&File<'data>> {
        self.files.get(at).context("a file of the library")
    }

    fn targets(&self, (at, section): Place) -> Result<Vec<SymbolIndex>> {
        let section = self.file(at)?.section_by_index(section).context("find a section")?;
        let targets = section.relocations().filter_map(|(_, relocation)| match relocation.target() {
            RelocationTarget::Symbol(symbol) => Some(symbol),
            _ => None,
        });
        Ok(targets.collect())
    }

    /// Name of a symbol, and the section that defines it; `None` if that is outside of the library.
    fn resolve(&self, at: usize, symbol: SymbolIndex) -> Result<(&'data str, Option<Place>)> {
        let file = self.file(at)?;
        let symbol = file.symbol_by_index(symbol).context("find a symbol")?;
        let name = symbol.name().context("read a symbol's name")?;
        let Some(section) = symbol.section_index() else { return Ok((name, self.defined.get(name).copied())) };
        if !name.is_empty() {
            return Ok((name, Some((at, section))));
        }
        // A symbol without a name stands for its whole section.
        Ok((self.section_name(at, section)?, Some((at, section))))
    }

    fn section_name(&self, at: usize, section: SectionIndex) -> Result<&'data str> {
        let named = self
            .file(at)?
            .symbols()
            .find(|symbol| symbol.section_index() == Some(section) && symbol.name().is_ok_and(|name| !name.is_empty()));
        Ok(named.and_then(|symbol| symbol.name().ok()).unwrap_or("(data)"))
    }
}
