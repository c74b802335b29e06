//! Replaces a file atomically: readers see the old or the new file, never a part of either, also after a power failure.
//!
//! The new file is first written beside the old one, under a name that is derived from the old name. So it can be found
//! and removed if the program ended in between.

use crate::hand::{Hand, Meta};
use std::io;

/// The name under which the new file is written. Programs that read whole folders of settings skip it, because it
/// begins with a dot and has none of their endings.
pub fn beside(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}/.{name}.punctual")
}

/// Removes the new file of a program that ended before renaming it.
pub fn sweep(hand: &dyn Hand, path: &str) -> io::Result<()> {
    let left = beside(path);
    if hand.stat(&left)?.is_some() { hand.remove(&left) } else { Ok(()) }
}

/// Replaces the file at `path`, or creates it.
pub fn replace(hand: &dyn Hand, path: &str, bytes: &[u8], meta: Meta) -> io::Result<()> {
    sweep(hand, path)?;
    let new = beside(path);
    hand.create(&new, bytes, meta)?;
    hand.rename(&new, path)
}

pub fn missing_folders(hand: &dyn Hand, path: &str) -> io::Result<Vec<String>> {
    let mut missing = Vec::new();
    let mut folder = path;
    while let Some((above, _)) = folder.rsplit_once('/') {
        if above.is_empty() || hand.stat(above)?.is_some() {
            break;
        }
        missing.push(above.to_owned());
        folder = above;
    }
    missing.reverse();
    Ok(missing)
}

/// Whether `found` can result from an interrupted write of `new` over `old` in place.
pub fn is_between(old: &[u8], new: &[u8], found: &[u8]) -> bool {
    let agrees = new.iter().zip(found).take_while(|(new, found)| new == found).count();
    let rest_is_old = |written: usize| found.get(written..) == Some(old.get(written..).unwrap_or_default());
    (0..=agrees).any(rest_is_old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_half_written_is_known_as_such() {
        for (old, new) in [(&b"abcdef"[..], &b"uvwxyz"[..]), (b"abc", b"abcdefg"), (b"abcdefg", b"xyz"), (b"", b"x")] {
            for written in 0..=new.len() {
                let mut found = new[..written].to_vec();
                found.extend(old.get(written..).unwrap_or_default());
                assert!(is_between(old, new, &found), "{old:?} {new:?} {written}");
            }
        }
        assert!(!is_between(b"abcdef", b"uvwxyz", b"uvwXef"));
        assert!(!is_between(b"abcdef", b"uvwxyz", b"uvwde"));
        assert!(!is_between(b"abcdef", b"uvwxyz", b""));
    }

    #[test]
    fn the_new_file_is_beside_the_old_one() {
        assert_eq!(beside("/etc/sysctl.d/90-punctual.conf"), "/etc/sysctl.d/.90-punctual.conf.punctual");
    }
}
