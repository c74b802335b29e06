//! `cargo xtask words`: writes the linter's tables of the words that kernels take from their command lines.
//!
//! The tables hold facts only: names, the kernels that have them, types of values, and options that they need. Each
//! kernel is a folder with its sources. What a kernel can have is found from its Kconfig files ([`kconfig`]), its
//! makefiles ([`kbuild`]) and the places that register words ([`source`]); nothing is built.

mod expr;
mod kbuild;
mod kconfig;
mod searched;
mod source;
mod table;

use anyhow::{Context, Result, bail, ensure};
use kbuild::Part;
use kconfig::{ArchNames, Kconfig, Options};
use source::{Found, How, Looked};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use table::{Entry, Kernel, Table};

/// The architectures that are looked at, in the order of the bits in the tables.
const ARCHES: [ArchNames; 4] = [
    ArchNames { arch: "x86_64", source: "x86" },
    ArchNames { arch: "arm64", source: "arm64" },
    ArchNames { arch: "arm", source: "arm" },
    ArchNames { arch: "riscv", source: "riscv" },
];

/// Options whose values the kernels that are looked at are built with.
const FIXED: [(&str, bool); 4] = [("BROKEN", false), ("64BIT", true), ("32BIT", false), ("ARCH_RV64I", true)];
/// The options that make a kernel a real-time one; the latter two in patches up to 5.0.
const REAL_TIME: [&str; 3] = ["PREEMPT_RT", "PREEMPT_RT_FULL", "PREEMPT_RT_BASE"];

/// Writes the tables. Each argument is `VERSION=FOLDER` or, for a kernel with PREEMPT_RT, `VERSION-rt=FOLDER`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut kernels = Vec::new();
    for argument in arguments {
        let (name, folder) = argument.split_once('=').with_context(|| format!("`{argument}` is no VERSION=FOLDER"))?;
        kernels.push((Kernel::parse(name)?, PathBuf::from(folder)));
    }
    ensure!(!kernels.is_empty(), "no kernel is named: VERSION=FOLDER or VERSION-rt=FOLDER");
    kernels.sort();
    let mut table = Table::new(kernels.iter().map(|(kernel, _)| *kernel).collect());
    // Two kernels can have the same sources, which are then read once.
    let mut trees: BTreeMap<&Path, Tree> = BTreeMap::new();
    for (column, (kernel, folder)) in kernels.iter().enumerate() {
        if !trees.contains_key(folder.as_path()) {
            trees.insert(folder, Tree::read(folder)?);
        }
        let Some(tree) = trees.get(folder.as_path()) else { bail!("{} was not read", folder.display()) };
        tree.tell(*kernel, column, &mut table);
        println!("{kernel}: {} sources register words", tree.found.len());
    }
    table.write(&root.join("crates/punctual-facts/src/lint"))
}

/// The sources of a kernel.
struct Tree {
    arches: Vec<(Kconfig, Vec<Part>)>,
    /// By path: what each source file registers.
    found: BTreeMap<String, Found>,
    /// Words for which code searches the line, by architecture.
    searched: Vec<Vec<(String, char)>>,
    /// Words of other architectures.
    elsewhere: Vec<(How, String)>,
}

impl Tree {
    fn read(root: &Path) -> Result<Self> {
        let mut arches = Vec::new();
        let mut looked = Looked::default();
        let mut found: BTreeMap<String, Found> = BTreeMap::new();
        for names in ARCHES {
            let config = Kconfig::read(root, names).with_context(|| format!("{} of {}", names.arch, root.display()))?;
            let parts = kbuild::parts(root, names.source);
            ensure!(parts.len() > 5000, "{}: only {} objects", root.display(), parts.len());
            for part in &parts {
                if !found.contains_key(&part.source) {
                    found.insert(part.source.clone(), source::read(root, &part.source, &mut looked));
                }
            }
            arches.push((config, parts));
        }
        found.retain(|_, found| !found.all.is_empty() || found.has_more);
        let searched = ARCHES.iter().map(|names| searched::words(root, names.source)).collect();
        Ok(Self { arches, found, searched, elsewhere: searched::elsewhere(root) })
    }

    /// Puts what this kernel can have into the table.
    fn tell(&self, kernel: Kernel, column: usize, table: &mut Table) {
        for (arch, (config, parts)) in self.arches.iter().enumerate() {
            let mut fixed: BTreeMap<&str, bool> = FIXED.into();
            if ARCHES[arch].arch == "arm" {
                fixed.extend([("64BIT", false), ("32BIT", true)]);
            }
            fixed.extend(REAL_TIME.map(|option| (option, kernel.is_real_time)));
            let options = config.solve(&fixed);
            for part in parts {
                if let Some(found) = self.found.get(&part.source) {
                    tell_part(part, found, &options, |entry, is_here| {
                        table.add(entry, is_here.then_some((column, arch)));
                    });
                }
            }
            for (name, kind) in &self.searched[arch] {
                table.add(Entry::word(How::Early, name, *kind), Some((column, arch)));
            }
        }
        for (how, name) in &self.elsewhere {
            table.add(Entry::word(*how, name, '-'), None);
        }
    }
}

/// Passes on each word of a source file, and whether this kernel can have it.
fn tell_part(part: &Part, found: &Found, options: &Options, mut add: impl FnMut(Entry, bool)) {
    let can = |name: &str| options.can(name);
    let can_be_loaded = part.by.as_ref().is_some_and(|by| by.is_empty() || options.is_tristate(by));
    for one in &found.all {
        let needs = part.condition.clone().and(one.condition.clone()).needs(&can);
        let is_here = !needs.is_impossible();
        let module = one.prefix.as_deref().unwrap_or(&part.module);
        let entry = match one.how {
            How::Module if !module.is_empty() => {
                Entry { module: Some((module.to_owned(), can_be_loaded)), ..Entry::word(one.how, &one.name, one.kind) }
            }
            How::Module => Entry::word(How::Core, &one.name, one.kind),
            how => Entry::word(how, &one.name, one.kind),
        };
        // What is built for other machines only, such as x86 with 32 bits, is still the name of a word.
        if is_here || entry.module.is_none() {
            add(Entry { needs, ..entry }, is_here);
        }
    }
    if found.has_more && !part.condition.needs(&can).is_impossible() {
        add(Entry { module: Some((part.module.clone(), can_be_loaded)), ..Entry::word(How::Module, "*", '-') }, true);
    }
}
