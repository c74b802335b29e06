//! What the program and the C library consist of: bills of materials in the form of `CycloneDX` 1.5, and the list of licences.

use super::build;
use super::package::VERSION;
use crate::run;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What users get: the program, and the C library.
struct Shipped {
    /// The package of Cargo that it is built from.
    package: &'static str,
    features: &'static [&'static str],
    /// Its name for users, and its kind in the words of `CycloneDX`.
    name: &'static str,
    kind: &'static str,
}

const SHIPPED: [Shipped; 2] = [
    Shipped { package: "punctual", features: build::WHOLE, name: "punctual", kind: "application" },
    Shipped { package: "punctual-capi", features: &[], name: "libpunctual-rt", kind: "library" },
];

/// Writes a bill of materials for everything shipped, and one list of licences.
pub fn write(root: &Path, folder: &Path, made: u64) -> Result<Vec<PathBuf>> {
    let (mut files, mut all) = (Vec::new(), BTreeSet::new());
    for shipped in &SHIPPED {
        let crates = crates(root, shipped)?;
        let bill = folder.join(format!("{}-{VERSION}.cdx.json", shipped.name));
        let text =
            serde_json::to_string_pretty(&document(shipped, &crates, made)).context("write a bill of materials")?;
        fs::write(&bill, text + "\n").with_context(|| format!("write {}", bill.display()))?;
        files.push(bill);
        all.extend(crates);
    }
    let licences = folder.join("LICENSES.txt");
    fs::write(&licences, list(&all)).context("write the list of licences")?;
    files.push(licences);
    Ok(files)
}

/// A crate that is part of the program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    name: String,
    version: String,
    licence: String,
    /// Whether it comes from a registry, and not from this repository.
    is_foreign: bool,
}

/// The crates that something is built from with the features it is shipped with. Crates of tests and of the build alone
/// are not among them.
fn crates(root: &Path, shipped: &Shipped) -> Result<BTreeSet<Part>> {
    let mut tree = run::cargo(root, &["tree", "--package", shipped.package, "--prefix", "none"]);
    tree.args(shipped.features);
    tree.args(["--edges", "normal", "--target", "all", "--no-dedupe", "--format", "{p}\t{l}"]);
    Ok(parts(&run::read(&mut tree)?))
}

/// Reads lines of the form `NAME vVERSION (PLACE)<tab>LICENCE`.
fn parts(lines: &str) -> BTreeSet<Part> {
    let part = |line: &str| {
        let (crate_name, licence) = line.split_once('\t')?;
        let mut words = crate_name.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let is_foreign = !words.any(|word| word.starts_with("(/"));
        Some(Part { name: name.into(), version: version.into(), licence: licence.trim().into(), is_foreign })
    };
    lines.lines().filter_map(part).collect()
}

fn document(shipped: &Shipped, parts: &BTreeSet<Part>, made: u64) -> Value {
    let component = |part: &Part| {
        let mut value = json!({
            "type": "library",
            "name": part.name,
            "version": part.version,
            "licenses": [{ "expression": part.licence.replace('/', " OR ") }],
        });
        if part.is_foreign {
            value["purl"] = json!(format!("pkg:cargo/{}@{}", part.name, part.version));
        }
        value
    };
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": { "type": shipped.kind, "name": shipped.name, "version": VERSION },
            "properties": [{ "name": "source-date-epoch", "value": made.to_string() }],
        },
        "components": parts.iter().filter(|part| part.name != shipped.package).map(component).collect::<Vec<_>>(),
    })
}

fn list(parts: &BTreeSet<Part>) -> String {
    let mut by_licence = BTreeMap::<&str, Vec<String>>::new();
    for part in parts {
        by_licence.entry(&part.licence).or_default().push(format!("{} {}", part.name, part.version));
    }
    let paragraph = |(licence, parts): (&&str, &Vec<String>)| format!("{licence}\n  {}\n", parts.join("\n  "));
    by_licence.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_of_this_repository_has_no_place_in_a_registry() {
        let parts = parts(
            "punctual v0.1.0 (/somewhere/punctual)\tMIT\nlibc v0.2.1\tMIT OR Apache-2.0\nlibc v0.2.1\tMIT OR \
            Apache-2.0\n\nnonsense\n",
        );
        assert_eq!(parts.len(), 2);
        let foreign: Vec<_> = parts.iter().map(|part| (part.name.as_str(), part.is_foreign)).collect();
        assert_eq!(foreign, [("libc", true), ("punctual", false)]);
        let bill = document(&SHIPPED[0], &parts, 7);
        assert_eq!(bill["components"].as_array().unwrap().len(), 1);
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/libc@0.2.1");
        assert_eq!(list(&parts), "MIT\n  punctual 0.1.0\n\nMIT OR Apache-2.0\n  libc 0.2.1\n");
    }
}
