//! Reads files of the kernel as text.

use std::fs;

/// The file's text; `None` if it is missing or refused.
pub fn text(path: &str) -> Option<String> {
    // A name may hold any bytes.
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The number behind a label, in a file of lines such as `VmLck:  4 kB`.
pub fn number_after(text: &str, label: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(label)?.split_whitespace().next()?.parse().ok())
}
