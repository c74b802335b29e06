//! Which programs the EVL core serves. The core tells its newest interface in a file, and its oldest one only here.

use super::files::{fact, line, open};
use crate::sys;
use punctual_facts::fact::Fact;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The oldest revision of the interface that the core with this control device serves.
pub(super) fn abi_base(control: &Path) -> Fact<Vec<u8>> {
    let revision = std::fs::metadata(control).and_then(|meta| {
        if !meta.file_type().is_char_device() {
            return Err(io::Error::other("not the device of a core"));
        }
        sys::abi_base(&open(control)?)
    });
    fact(revision).map(|revision| line(u64::from(revision)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_device_is_no_fact() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(abi_base(&folder.path().join("control")), Fact::Absent);
        std::fs::write(folder.path().join("control"), [0; 24]).unwrap();
        assert!(matches!(abi_base(&folder.path().join("control")), Fact::Garbled(_)));
    }
}
