//! A captured machine in a file: found, bounded and understood, or refused with the place.

use anyhow::{Context, Result, bail};
use punctual_core::tree::MemTree;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Two tables of interrupts of the largest machines, and everything else.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a captured machine.
pub fn read(path: &Path) -> Result<MemTree> {
    let name = path.display();
    let unread = || format!("cannot read the captured machine {name}; is the path right?");
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).with_context(unread)?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("{name} is larger than {MOST_BYTES} bytes, which no captured machine is");
    }
    MemTree::from_bytes(&bytes).with_context(|| format!("{name} is not a captured machine this program understands"))
}
