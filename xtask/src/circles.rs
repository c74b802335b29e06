//! Checks that no modules of a folder use each other in a circle, so that each can be read without the others that use
//! it.
//!
//! Each module folder of a crate is checked by itself. Its children (files and folders) are nodes. A path such as
//! `crate::a::b` or `super::c` that leads from one child into another is an arrow. A name that a folder's own file
//! re-exports (`pub use c::Name`) leads to the child that defines it. Paths between a folder's own file and its
//! children do not count: a folder may introduce its parts, and the parts may use the definitions of the folder.
//!
//! Like the rules of `tidy`, this reads text and not syntax. Code that is built only for tests is left out.

use crate::tidy::Sources;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The path of a module from the crate's root; empty for the root.
type Module = Vec<String>;

/// The paths in each module's file of one crate, without code for tests.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Module, Vec<Vec<String>>>,
}

/// Fails with a line for every circle.
pub fn check(root: &Path) -> Result<()> {
    let sources = Sources::read(root)?;
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for (path, code) in sources.product() {
        if let Some((name, module)) = place(path) {
            crates.entry(name.to_owned()).or_default().modules.insert(module, paths(&code));
        }
    }
    let mut found = Vec::new();
    for (name, one) in &crates {
        found.extend(one.circles().into_iter().map(|circle| format!("{name}: {circle}")));
    }
    for circle in &found {
        println!("{circle}");
    }
    if !found.is_empty() {
        bail!("{} circles between modules: move what both need below them, or into one of the two", found.len());
    }
    println!("{} crates, no circle between the modules of any folder", crates.len());
    Ok(())
}

/// The crate's folder and the module that a source file belongs to.
fn place(path: &str) -> Option<(&str, Module)> {
    let (name, rest) = path.split_once("/src/")?;
    let rest = rest.strip_suffix(".rs")?;
    let mut module: Module = rest.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    Some((name, module))
}

impl Crate {
    /// A line for each circle, with an example of each of its arrows.
    fn circles(&self) -> Vec<String> {
        let mut arrows: BTreeMap<Module, BTreeMap<(String, String), String>> = BTreeMap::new();
        for (module, paths) in &self.modules {
            for path in paths {
                let Some(to) = self.resolve(module, path, 0) else { continue };
                let shared = module.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(a), Some(b)) = (module.get(shared), to.get(shared)) {
                    let folder = module.iter().take(shared).cloned().collect();
                    let example = format!("{} uses {}", module.join("::"), path.join("::"));
                    arrows.entry(folder).or_default().entry((a.clone(), b.clone())).or_insert(example);
                }
            }
        }
        arrows.iter().flat_map(|(folder, arrows)| circles(folder, arrows)).collect()
    }

    /// The module that defines the item at a path in the module `from`.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut at: Module = from.clone();
        let mut rest = path;
        while let [first, more @ ..] = rest {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                _ => break,
            }
            rest = more;
        }
        while let [first, more @ ..] = rest {
            let mut child = at.clone();
            child.push(first.clone());
            if !self.modules.contains_key(&child) {
                break;
            }
            (at, rest) = (child, more);
        }
        let [name, ..] = rest else { return Some(at) };
        // If the module re-exports the name, another module defines it.
        let passed_on = self
            .modules
            .get(&at)?
            .iter()
            .find(|path| path.len() > 1 && path.last() == Some(name) && !(path.len() == 2 && path[0] == "self"));
        match passed_on {
            Some(path) if depth < 8 => self.resolve(&at, path, depth + 1).or(Some(at)),
            _ => Some(at),
        }
    }
}

/// The circles among the children of a folder. Each is reported once, beginning with its first name in alphabetical
/// order.
fn circles(folder: &Module, arrows: &BTreeMap<(String, String), String>) -> Vec<String> {
    let reach = |from: &str| {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![from];
        while let Some(name) = next.pop() {
            for (_, to) in arrows.keys().filter(|(a, _)| a == name) {
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let names: BTreeSet<&str> = arrows.keys().map(|(a, _)| a.as_str()).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = names.iter().map(|name| (*name, reach(name))).collect();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for name in &names {
        let ring: BTreeSet<&str> = names
            .iter()
            .filter(|other| {
                reached.get(name).is_some_and(|r| r.contains(*other))
                    && reached.get(*other).is_some_and(|r| r.contains(name))
            })
            .copied()
            .collect();
        if ring.is_empty() || !told.insert(ring.clone()) {
            continue;
        }
        let examples: Vec<&str> = arrows
            .iter()
            .filter(|((a, b), _)| ring.contains(a.as_str()) && ring.contains(b.as_str()))
            .map(|(_, example)| example.as_str())
            .collect();
        let ring: Vec<&str> = ring.into_iter().collect();
        let (folder, ring, arrows) = (folder.join("::"), ring.join(", "), examples.len());
        found.push(format!("in `{folder}`: {ring}, {arrows} arrows ({})", examples.join("; ")));
    }
    found
}

/// Every path in a text that begins with `crate`, `super` or `self`, and every path in a `use`, as a list of names. A
/// list in braces gives one path for each of its items.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let word: String = rest.chars().take_while(|c| is_name(*c)).collect();
        if word.is_empty() {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        if word == "use" {
            let statement = rest.get(3..).and_then(|rest| rest.split(';').next()).unwrap_or_default();
            expand(&[], statement, &mut found);
            at += 3 + statement.len();
            continue;
        }
        let is_rooted = matches!(word.as_str(), "crate" | "super" | "self");
        if is_rooted && rest.get(word.len()..).is_some_and(|rest| rest.starts_with("::")) {
            let end = rest.find(|c: char| !is_name(c) && c != ':').unwrap_or(rest.len());
            expand(&[], rest.get(..end).unwrap_or_default(), &mut found);
            at += end;
            continue;
        }
        at += word.len();
    }
    found
}

/// Splits `a::b::{c, d::e as f, self}` into one path for each name.
fn expand(before: &[String], text: &str, found: &mut Vec<Vec<String>>) {
    let text = text.trim();
    let Some((head, list)) = text.split_once('{') else {
        let path = text.split(" as ").next().unwrap_or_default();
        let words = path.split("::").map(str::trim).filter(|word| !word.is_empty() && *word != "*");
        let mut all: Vec<String> = before.to_vec();
        all.extend(words.map(str::to_owned));
        if all.len() > 1 && all.last().is_some_and(|last| last == "self") {
            all.pop();
        }
        if !all.is_empty() {
            found.push(all);
        }
        return;
    };
    let mut all: Vec<String> = before.to_vec();
    all.extend(head.split("::").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
    let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&all, list.get(start..at).unwrap_or_default(), found);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&all, list.get(start..).unwrap_or_default(), found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let modules = files.iter().map(|(path, code)| (place(path).unwrap().1, paths(code))).collect();
        Crate { modules }.circles()
    }

    #[test]
    fn lists_are_taken_apart() {
        let joined = |code: &str| paths(code).iter().map(|path| path.join("::")).collect::<Vec<_>>();
        assert_eq!(joined("use crate::{a, b::{c, self}, d::*};"), ["crate::a", "crate::b::c", "crate::b", "crate::d"]);
        assert_eq!(joined("fn f() { super::g::h(self.x, crate::K) }"), ["super::g::h", "crate::K"]);
        assert_eq!(joined("pub(crate) use x::Y as Z;"), ["x::Y"]);
    }

    #[test]
    fn neighbours_that_use_each_other_are_a_circle() {
        let found = of(&[
            ("c/src/lib.rs", "mod a; mod b;"),
            ("c/src/a.rs", "use crate::b::B;"),
            ("c/src/b/mod.rs", "mod deep;"),
            ("c/src/b/deep.rs", "fn f() { crate::a::g() }"),
        ]);
        assert_eq!(found, ["in ``: a, b, 2 arrows (a uses crate::b::B; b::deep uses crate::a::g)"]);
    }

    #[test]
    fn a_name_that_is_passed_on_leads_to_who_defines_it() {
        let found = of(&[
            ("c/src/x/mod.rs", "mod a; mod b; pub use b::B;"),
            ("c/src/x/a.rs", "use super::B;"),
            ("c/src/x/b.rs", "use super::a::A;"),
            ("c/src/lib.rs", ""),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn parents_and_one_way_streets_are_none() {
        let found = of(&[
            ("c/src/lib.rs", "mod x; struct T;"),
            ("c/src/x/mod.rs", "mod a; mod b; use a::A; struct S;"),
            ("c/src/x/a.rs", "use super::{S, b::B}; use crate::T;"),
            ("c/src/x/b.rs", "use super::S;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }
}
