//! A checksum over everything that decides a result, so that a kept result is found again and never mistaken.

use anyhow::{Context, Result};
use crc32fast::Hasher;
use std::path::Path;

#[derive(Clone, Debug, Default)]
pub struct Key(Hasher);

impl Key {
    /// Adds the contents of a file. Its path does not matter.
    pub fn file(&mut self, path: &Path) -> Result<()> {
        let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        self.part(&bytes);
        Ok(())
    }

    pub fn text(&mut self, text: &str) {
        self.part(text.as_bytes());
    }

    pub fn value(&self) -> u32 {
        self.0.clone().finalize()
    }

    /// The length keeps neighbours apart: `ab` and `c` are not `a` and `bc`.
    fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        let of = |parts: &[&str]| {
            let mut key = Key::default();
            for part in parts {
                key.text(part);
            }
            key.value()
        };
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    }
}
