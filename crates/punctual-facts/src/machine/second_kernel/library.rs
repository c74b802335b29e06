//! The libraries through which programs call a real-time core, found by the files that they are installed with.
//!
//! What a library needs of the core stands in the library's code, which is not read. The files beside it that tell a
//! compiler about the library tell its version. Systems without these files do not tell it.

use crate::fact::Fact;
use crate::tree::{Tree, text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Path of the library under the name that programs load.
    pub path: String,
    pub version: Fact<String>,
    /// The revision of the core's binary interface that the library was made for.
    pub abi: Fact<u32>,
}

/// Whether a core serves a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Fits,
    /// The core refuses programs that use the library.
    Refused,
    /// The files do not tell.
    Untold,
}

/// Folders of libraries below a prefix.
const FOLDERS: [&str; 5] = ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib/arm-linux-gnueabihf"];
/// Numbers that the name of a library may end in.
const NUMBERS: std::ops::RangeInclusive<u32> = 0..=9;

/// A library that was found: the prefix it was installed under, its folder, and its path.
pub(super) struct Found {
    pub prefix: &'static str,
    pub folder: String,
    pub path: String,
}

/// Looks for libraries of this name below prefixes. The loader's name of an installed library is a symbolic link.
pub(super) fn find(tree: &dyn Tree, name: &str, prefixes: &[&'static str]) -> Vec<Found> {
    let mut found = Vec::new();
    for prefix in prefixes {
        for folder in FOLDERS.map(|folder| format!("{prefix}/{folder}")) {
            for path in NUMBERS.map(|number| format!("{folder}/{name}.so.{number}")) {
                if tree.link(&path).known().is_some() {
                    found.push(Found { prefix, folder: folder.clone(), path });
                }
            }
        }
    }
    found
}

/// The value behind `start` in the first line of a file that begins so, without quotes.
pub(super) fn field(tree: &dyn Tree, path: &str, start: &str) -> Fact<String> {
    text(tree, path).and_then(|text| {
        let value = text.lines().find_map(|line| line.strip_prefix(start));
        let value = value.map(|value| value.trim().trim_matches('"').to_owned()).filter(|value| !value.is_empty());
        value.map_or_else(|| Fact::Garbled(format!("{path} has no line that begins with '{start}'")), Fact::Known)
    })
}
