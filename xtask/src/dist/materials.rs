//! What the program consists of: a bill of materials in the form of `CycloneDX` 1.5, and the list of licences.

use super::package::VERSION;
use crate::run;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub fn write(root: &Path, folder: &Path, made: u64) -> Result<Vec<PathBuf>> {
    let crates = crates(root)?;
    let bill = folder.join(format!("punctual-{VERSION}.cdx.json"));
    let text = serde_json::to_string_pretty(&document(&crates, made)).context("write the bill of materials")?;
    fs::write(&bill, text + "\n").context("write the bill of materials")?;
    let licences = folder.join("LICENSES.txt");
    fs::write(&licences, list(&crates)).context("write the list of licences")?;
    Ok(vec![bill, licences])
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

/// The crates that the program is built from with all features of packages. Crates of tests and of the build alone are
/// not among them.
fn crates(root: &Path) -> Result<Vec<Part>> {
    let mut tree =
        run::cargo(root, &["tree", "--package", "punctual", "--features", "parquet,png", "--prefix", "none"]);
    tree.args(["--edges", "normal", "--target", "all", "--no-dedupe", "--format", "{p}\t{l}"]);
    Ok(parts(&run::read(&mut tree)?))
}

/// Reads lines of the form `NAME vVERSION (PLACE)<tab>LICENCE`.
fn parts(lines: &str) -> Vec<Part> {
    let part = |line: &str| {
        let (crate_name, licence) = line.split_once('\t')?;
        let mut words = crate_name.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let is_foreign = !words.any(|word| word.starts_with("(/"));
        Some(Part { name: name.into(), version: version.into(), licence: licence.trim().into(), is_foreign })
    };
    let mut parts: Vec<Part> = lines.lines().filter_map(part).collect();
    parts.sort();
    parts.dedup();
    parts
}

fn document(parts: &[Part], made: u64) -> Value {
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
            "component": { "type": "application", "name": "punctual", "version": VERSION },
            "properties": [{ "name": "source-date-epoch", "value": made.to_string() }],
        },
        "components": parts.iter().filter(|part| part.name != "punctual").map(component).collect::<Vec<_>>(),
    })
}

fn list(parts: &[Part]) -> String {
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
        assert!(parts[0].is_foreign && parts[0].name == "libc");
        assert!(!parts[1].is_foreign);
        let bill = document(&parts, 7);
        assert_eq!(bill["components"].as_array().unwrap().len(), 1);
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/libc@0.2.1");
        assert_eq!(list(&parts), "MIT\n  punctual 0.1.0\n\nMIT OR Apache-2.0\n  libc 0.2.1\n");
    }
}
