//! Knobs about boards: chips with cores of several kinds, device trees, vendors' kernels, and cores that other software
//! than Linux runs.

pub(super) mod amp;
pub(super) mod cores;
pub(super) mod vendor;

use crate::knobs::prelude::*;

/// The device tree that the kernel was booted with.
const TREE: &str = "/proc/device-tree";

const NO_TREE: Missing = CannotBe("this machine has no device tree");

/// The text of a property of the device tree, whose strings end in a NUL byte; several strings are separated by blanks.
fn strings(text: &str) -> String {
    text.split('\0').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A property of the device tree in words, if it is there.
fn property(case: &Case<'_>, path: &str) -> Option<String> {
    case.peek(path).known().map(|text| strings(text))
}
