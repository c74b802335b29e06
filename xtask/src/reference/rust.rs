//! The page of the Rust interface: the public items of `punctual-rt`, each with the beginning of its documentation.
//!
//! rustdoc's list of them is stable only as HTML. This module follows `pub mod` and `pub use` from `lib.rs` on, which is
//! all that the library uses to publish names.

use super::{cell, parsed};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

pub const PAGE: &str = "book/src/rust-api.md";

const CRATE: &str = "punctual_rt";
/// (name in Rust, folder) of the crates whose items the library publishes.
const CRATES: [(&str, &str); 2] = [(CRATE, "crates/punctual-rt/src"), ("punctual_hist", "crates/punctual-hist/src")];

const TOP: &str = "\
# Rust API

Generated from the sources of `punctual-rt`; do not edit. This page lists what the library publishes.
[The library](punctual-rt.md) tells what it is for. The whole documentation, with all methods and with examples, is built from the
sources and opened in a browser by

    cargo doc -p punctual-rt --open

";

/// Modules by their paths: `["punctual_rt", "servo"]`.
type Modules = BTreeMap<Vec<String>, Module>;

struct Module {
    told: String,
    items: Vec<Item>,
}

/// A public item, as a row of the page.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: String,
    kind: &'static str,
    told: String,
}

pub fn generate(root: &Path) -> Result<String> {
    let mut modules = Modules::new();
    for (name, folder) in CRATES {
        let folder = root.join(folder);
        read(&mut modules, vec![name.to_owned()], &folder.join("lib.rs"), &folder)?;
    }
    let mut out = String::from(TOP);
    section(&mut out, &modules, &[CRATE.to_owned()])?;
    Ok(format!("{}\n", out.trim_end()))
}

/// Reads a module and all modules in it. `folder` is where the files of these are.
fn read(modules: &mut Modules, path: Vec<String>, file: &Path, folder: &Path) -> Result<()> {
    let syn::File { attrs, items, .. } = parsed(file)?;
    for item in &items {
        let Item::Mod(module) = item else { continue };
        if module.content.is_some() || is_for_tests(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        let own = folder.join(&name);
        let file =
            [folder.join(&name).with_extension("rs"), own.join("mod.rs")].into_iter().find(|file| file.is_file());
        let file = file.with_context(|| format!("find the file of module {name} in {}", folder.display()))?;
        read(modules, path.iter().cloned().chain([name]).collect(), &file, &own)?;
    }
    modules.insert(path, Module { told: summary(&attrs), items });
    Ok(())
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => {
            list.path.is_ident("cfg") && ["test", "doctest"].contains(&list.tokens.to_string().as_str())
        }
        _ => false,
    })
}

/// The section of a public module, followed by those of the public modules in it.
fn section(out: &mut String, modules: &Modules, path: &[String]) -> Result<()> {
    let module = modules.get(path).with_context(|| format!("find module {}", path.join("::")))?;
    writeln!(out, "## `{}`\n", path.join("::"))?;
    if !module.told.is_empty() {
        writeln!(out, "{}\n", module.told)?;
    }
    writeln!(out, "| item | kind | what it is |\n|---|---|---|")?;
    let (mut rows, mut inner) = (BTreeSet::new(), Vec::new());
    for item in module.items.iter().filter(|item| !is_hidden(item)) {
        match item {
            Item::Use(import) if is_public(&import.vis) => {
                for (name, target) in imports(&import.tree, &[]) {
                    let item = find(modules, path, &target)?;
                    rows.insert(
                        row(item).map(|row| Row { name, ..row }).context("only items with a name are published")?,
                    );
                }
            }
            Item::Mod(module) if is_public(&module.vis) => inner.push(module.ident.to_string()),
            item => rows.extend(row(item)),
        }
    }
    if path.len() == 1 {
        let of_crate = modules.iter().filter(|(one, _)| one.starts_with(path)).flat_map(|(_, module)| &module.items);
        rows.extend(of_crate.filter(|item| !is_hidden(item)).filter_map(exported_macro));
    }
    for Row { name, kind, told } in rows {
        writeln!(out, "| `{name}` | {kind} | {} |", cell(&told))?;
    }
    writeln!(out)?;
    inner
        .into_iter()
        .try_for_each(|name| section(out, modules, &path.iter().cloned().chain([name]).collect::<Vec<_>>()))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(item: &Item) -> bool {
    attributes(item).iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("doc") && list.tokens.to_string() == "hidden",
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(one) => &one.attrs,
        Item::Enum(one) => &one.attrs,
        Item::Fn(one) => &one.attrs,
        Item::Macro(one) => &one.attrs,
        Item::Mod(one) => &one.attrs,
        Item::Struct(one) => &one.attrs,
        Item::Trait(one) => &one.attrs,
        Item::Type(one) => &one.attrs,
        Item::Use(one) => &one.attrs,
        _ => &[],
    }
}

/// The row of a public item that has a name of its own.
fn row(item: &Item) -> Option<Row> {
    let (kind, visibility, name) = match item {
        Item::Const(one) => ("constant", &one.vis, &one.ident),
        Item::Enum(one) => ("enum", &one.vis, &one.ident),
        Item::Fn(one) => ("function", &one.vis, &one.sig.ident),
        Item::Struct(one) => ("struct", &one.vis, &one.ident),
        Item::Trait(one) => ("trait", &one.vis, &one.ident),
        Item::Type(one) => ("type", &one.vis, &one.ident),
        _ => return None,
    };
    is_public(visibility).then(|| Row { name: name.to_string(), kind, told: summary(attributes(item)) })
}

/// The row of a macro that is published, which Rust puts at the root of the crate wherever it is defined.
fn exported_macro(item: &Item) -> Option<Row> {
    let Item::Macro(one) = item else { return None };
    let is_exported = one.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
    let name = one.ident.as_ref().filter(|_| is_exported)?;
    Some(Row { name: format!("{name}!"), kind: "macro", told: summary(&one.attrs) })
}

/// The names that a `use` brings, each with the path that it stands for.
fn imports(tree: &UseTree, before: &[String]) -> Vec<(String, Vec<String>)> {
    let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => imports(&path.tree, &with(&path.ident)),
        UseTree::Name(name) => vec![(name.ident.to_string(), with(&name.ident))],
        UseTree::Rename(renamed) => vec![(renamed.rename.to_string(), with(&renamed.ident))],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| imports(tree, before)).collect(),
        UseTree::Glob(_) => Vec::new(),
    }
}

/// The item that a path means in a module. Follows the imports of the modules on the way.
fn find<'m>(modules: &'m Modules, from: &[String], target: &[String]) -> Result<&'m Item> {
    let [to @ .., name] = target else { bail!("a path is empty") };
    let place = place(modules, from, to);
    let lost = || format!("find `{}`, which {} publishes", target.join("::"), from.join("::"));
    let module = modules.get(&place).with_context(lost)?;
    let named = |item: &&Item| row(item).is_some_and(|row| row.name == *name);
    if let Some(item) = module.items.iter().find(named) {
        return Ok(item);
    }
    let uses =
        module.items.iter().filter_map(|item| if let Item::Use(import) = item { Some(&import.tree) } else { None });
    let onward = uses.flat_map(|tree| imports(tree, &[])).find(|(imported, _)| imported == name);
    let (_, onward) = onward.with_context(lost)?;
    find(modules, &place, &onward)
}

/// The path of the module that `to` means in the module `from`.
fn place(modules: &Modules, from: &[String], to: &[String]) -> Vec<String> {
    let (mut place, mut rest) = (from.to_vec(), to);
    if let [first, after @ ..] = rest {
        if modules.contains_key([first.clone()].as_slice()) {
            (place, rest) = (vec![first.clone()], after);
        }
    }
    for name in rest {
        match name.as_str() {
            "crate" => place.truncate(1),
            "self" => {}
            "super" => drop(place.pop()),
            name => place.push(name.to_owned()),
        }
    }
    place
}

/// The first paragraph of the documentation, without links, which would lead to pages of rustdoc.
fn summary(attributes: &[Attribute]) -> String {
    let text = attributes.iter().filter_map(doc).collect::<Vec<_>>().join("\n");
    let paragraph: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    without_links(&paragraph.join(" "))
}

fn doc(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(one) if one.path.is_ident("doc") => match &one.value {
            Expr::Lit(literal) => {
                if let Lit::Str(text) = &literal.lit {
                    Some(text.value())
                } else {
                    None
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// Markdown whose links are replaced by their texts.
fn without_links(text: &str) -> String {
    let Some((before, rest)) = text.split_once('[') else { return text.to_owned() };
    let Some((shown, after)) = rest.split_once(']') else { return text.to_owned() };
    let after = after.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(after, |(_, after)| after);
    format!("{before}{shown}{}", without_links(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Module {
        let syn::File { attrs, items, .. } = syn::parse_file(text).unwrap();
        Module { told: summary(&attrs), items }
    }

    #[test]
    fn published_names_are_followed_to_their_documentation() {
        let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
        let modules = Modules::from([
            (path("punctual_rt"), module("mod a; pub mod b; pub use a::{One, two as three}; pub use other::Far;")),
            (path("punctual_rt::a"), module("pub use inner::One;\n/// Twice [`One`].\npub fn two() {}")),
            (path("punctual_rt::a::inner"), module("/// The one.\n///\n/// More.\npub struct One;\nstruct Private;")),
            (
                path("punctual_rt::b"),
                module("//! Of b.\n/// Says | so.\n#[macro_export] macro_rules! say { () => {} }"),
            ),
            (path("other"), module("/// Is\n/// far.\npub enum Far {}")),
        ]);
        let mut out = String::new();
        section(&mut out, &modules, &path("punctual_rt")).unwrap();
        let rows: Vec<&str> = out.lines().filter(|line| line.starts_with("| `")).collect();
        let wanted = [
            "| `Far` | enum | Is far. |",
            "| `One` | struct | The one. |",
            r"| `say!` | macro | Says \| so. |",
            "| `three` | function | Twice `One`. |",
        ];
        assert_eq!(rows, wanted);
        assert!(out.contains("## `punctual_rt::b`\n\nOf b.\n"), "{out}");
        let lost =
            section(&mut out, &Modules::from([(path("punctual_rt"), module("pub use a::B;"))]), &path("punctual_rt"));
        assert!(lost.is_err());
    }

    #[test]
    fn links_become_their_texts() {
        assert_eq!(without_links("a [`B`] c [d](e::F) g[0"), "a `B` c d g[0");
    }
}
