//! The source of all facts: a file system that is only read.
//!
//! A live machine, a captured machine and a test look alike behind this trait, so an audit can be tested and a bug
//! report replayed. Facts that are not in files (the cost of reading the clock, the unpacked kernel configuration, the
//! list of tasks, settings of network devices) have a path below `punctual:/`. The meaning of the files does not matter
//! here.

mod mask;
mod snapshot;
mod transcript;

pub use mask::{Masks, masked, without_private_values};
pub use snapshot::{MemTree, SnapshotError};
pub use transcript::Transcript;

use crate::fact::Fact;

/// The file with the number of bytes that the command line had before it was masked.
pub const CMDLINE_BYTES: &str = "punctual:/cmdline/bytes";

/// A source that can be read like a machine's file system. Paths are absolute, with `/` between the parts.
pub trait Tree {
    fn read(&self, path: &str) -> Fact<Vec<u8>>;
    /// The names in a folder, sorted.
    fn list(&self, path: &str) -> Fact<Vec<String>>;
    /// The target of a symbolic link, as written in the link.
    fn link(&self, path: &str) -> Fact<String>;
}

/// The content of a file as text, without the newline at its end.
pub fn text(tree: &dyn Tree, path: &str) -> Fact<String> {
    tree.read(path).and_then(|bytes| match String::from_utf8(bytes) {
        Ok(mut text) => {
            text.truncate(text.trim_end_matches(['\n', '\r', '\0']).len());
            Fact::Known(text)
        }
        Err(_) => Fact::Garbled("holds bytes that are not text".to_owned()),
    })
}

/// Whether a file or folder exists. Also `false` if the folder around it cannot be read.
pub fn exists(tree: &dyn Tree, path: &str) -> bool {
    let (folder, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
    let folder = if folder.is_empty() { "/" } else { folder };
    tree.list(folder).known().is_some_and(|names| names.iter().any(|n| n == name))
}
