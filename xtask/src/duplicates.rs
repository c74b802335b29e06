//! The step `duplicates`: no crate may be built in two versions unless a line here gives the reason.

use crate::run;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;

/// (crate, reason) of all crates that are built in two versions.
const EXPLAINED: &[(&str, &str)] = &[
    ("base64", "jsonschema of tests asks for 0.22, ours is 0.23"),
    ("foldhash", "hashbrown 0.15 asks for 0.1, hashbrown 0.17 for 0.2"),
    ("getrandom", "ahash of parquet asks for 0.3, tempfile of cbindgen for 0.4"),
    ("hashbrown", "object 0.36 of aya asks for 0.15, everything else for 0.17"),
    ("miniz_oxide", "png of resvg asks for 0.8, flate2 for 0.9"),
    ("num-bigint", "fraction of jsonschema, in tests, asks for 0.4, parquet for 0.5"),
    ("object", "aya 0.13 asks for 0.36, and the next aya for a newer Rust than ours"),
    ("roxmltree", "fontconfig-parser of resvg asks for 0.20, usvg for 0.21"),
    ("syn", "zerocopy-derive of parquet, and cbindgen, ask for 2, all other derives for 3"),
    ("thiserror", "aya 0.13 asks for 1, ours is 2"),
    ("thiserror-impl", "the macro of thiserror, see there"),
    ("toml", "cbindgen asks for 0.9, project files are read by 1"),
    ("toml_datetime", "a part of toml, see there"),
    ("winnow", "toml 0.9 of cbindgen asks for 0.7, its parser and toml 1 for 1"),
];

/// Checks the dependencies of all packages with all features, including those of tests, because every CI run builds all
/// of them.
pub fn check(root: &Path) -> Result<()> {
    let words = ["tree", "--workspace", "--all-features", "--duplicates"];
    let said = run::read(&mut run::cargo(root, &[words.as_slice(), &["--depth", "0", "--prefix", "none"]].concat()))?;
    judge(&twice(&said), EXPLAINED)
}

/// Names of crates in the output of `cargo tree --duplicates --depth 0`.
fn twice(said: &str) -> BTreeSet<&str> {
    said.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

fn judge(twice: &BTreeSet<&str>, explained: &[(&str, &str)]) -> Result<()> {
    let explained: BTreeSet<&str> = explained.iter().map(|(name, _)| *name).collect();
    let new: Vec<&str> = twice.difference(&explained).copied().collect();
    let gone: Vec<&str> = explained.difference(twice).copied().collect();
    ensure!(
        new.is_empty(),
        "built in two versions: {}. `cargo tree --workspace --all-features --duplicates` says for whom: choose versions \
         that agree, or explain it in xtask/src/duplicates.rs",
        new.join(", ")
    );
    ensure!(gone.is_empty(), "no longer there twice, so take it out of xtask/src/duplicates.rs: {}", gone.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_duplicate_and_one_that_is_gone_are_told() {
        let said = "syn v2.0.119\n\nsyn v3.0.9\n\nwinnow v0.7.15\n\nwinnow v1.0.5\n";
        let explained = [("syn", "x"), ("winnow", "y")];
        assert!(judge(&twice(said), &explained).is_ok());
        let error = judge(&twice(said), &explained[..1]).unwrap_err().to_string();
        assert!(error.starts_with("built in two versions: winnow. "), "{error}");
        let error = judge(&twice("syn v2.0.119\n"), &explained).unwrap_err().to_string();
        assert!(error.ends_with("duplicates.rs: winnow"), "{error}");
        assert_eq!(twice(""), BTreeSet::new());
    }
}
