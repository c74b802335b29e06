//! Masked names of machines, and the private list of the real ones: one line each, masked name and name.
//!
//! A masked name is a keyed hash: names of hosts are few and easily guessed, so that a hash without a secret key would
//! hide nothing.

use std::collections::BTreeMap;
use std::path::Path;

pub const FILE: &str = "machines.tsv";

/// The names by masked names; empty if there is no list, or this user may not read it.
pub fn read(private: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(private.join(FILE)).unwrap_or_default();
    let line = |line: &str| line.split_once('\t').map(|(masked, name)| (masked.to_owned(), unescaped(name)));
    text.lines().filter_map(line).collect()
}

/// The masked name of a machine. Two machines of one name are told apart by their model.
#[cfg(feature = "parquet")]
pub fn masked(key: &[u8], name: &str, model: &str) -> String {
    use sha2::{Digest, Sha256};
    /// Number of bytes that are kept: enough for a million machines.
    const KEPT: usize = 6;
    let mut hash = Sha256::new();
    for part in [key, name.as_bytes(), model.as_bytes()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let bytes: Vec<String> = hash.finalize().iter().take(KEPT).map(|byte| format!("{byte:02x}")).collect();
    format!("m-{}", bytes.concat())
}

#[cfg(feature = "parquet")]
pub fn text(names: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = names.iter().map(|(masked, name)| format!("{masked}\t{}\n", escaped(name))).collect();
    lines.concat()
}

/// A name on one line: tabs, line breaks and backslashes are escaped.
#[cfg(feature = "parquet")]
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> String {
    let mut name = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c == '\\').then(|| chars.next()).flatten() {
            Some('t') => name.push('\t'),
            Some('n') => name.push('\n'),
            Some('r') => name.push('\r'),
            Some(other) => name.push(other),
            None => name.push(c),
        }
    }
    name
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;

    #[test]
    fn a_masked_machine_cannot_be_guessed_and_one_name_can_be_two_machines() {
        let name = masked(b"key", "line-7.customer", "Board");
        assert!(name.starts_with("m-") && name.len() == 14 && !name.contains("line"), "{name}");
        assert_ne!(name, masked(b"other key", "line-7.customer", "Board"));
        assert_ne!(name, masked(b"key", "line-7.customer", "Another board"));
    }

    #[test]
    fn any_name_is_one_line_and_is_read_again() {
        for name in ["a", "a\tb\nc", "\\n", "tail\\", "", "'; DROP TABLE runs; --"] {
            assert!(!escaped(name).contains(['\n', '\t']));
            assert_eq!(unescaped(&escaped(name)), name);
        }
    }
}
