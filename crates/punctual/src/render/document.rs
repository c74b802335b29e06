//! JSON documents: a published value, preceded by the name and version of its schema.
//!
//! A document is named after the verb that prints it: `punctual report --json` (and `check`, `measure` with `--json`)
//! prints `punctual/report/3`, described by `schemas/report-3.schema.json`. Values derive their JSON where they are
//! defined; the schemas are generated from the same definitions by the test below (`cargo xtask codegen` writes them).
//!
//! Rules of all documents: a length of time is an integer number of nanoseconds and its name ends in `_ns`; a CPU set
//! is text in the kernel's list format (`0-3,8`); a missing value is null, never 0; a value of an enum is a word in
//! kebab-case. A change of a member's name or meaning makes a new version.

#[cfg(test)]
mod glossary;
#[cfg(test)]
pub mod schema;

use serde::Serialize;

/// A value that is printed as a document of its own.
pub trait Published: Serialize {
    /// Name and version of the document: `punctual/report/3`.
    const SCHEMA: &'static str;
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    tool_version: &'static str,
    #[serde(flatten)]
    value: &'a T,
}

/// The document, indented, with a line break at its end. Fails for a value that JSON cannot hold, such as a map with
/// keys that are not strings.
pub fn document<T: Published>(value: &T) -> serde_json::Result<String> {
    let document = Document { schema: T::SCHEMA, tool_version: env!("CARGO_PKG_VERSION"), value };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Keyed(BTreeMap<(u8, u8), u8>);

    impl Published for Keyed {
        const SCHEMA: &'static str = "punctual/keyed/1";
    }

    #[test]
    fn what_json_cannot_hold_is_an_error_and_no_document() {
        assert!(document(&Keyed(BTreeMap::from([((1, 2), 3)]))).is_err());
    }
}
