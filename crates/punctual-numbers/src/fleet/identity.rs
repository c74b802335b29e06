//! Names of runs and configurations that say nothing but whether two are the same.
//!
//! A run is named after what its header holds, so that a copy of a file, or half of it, is known as the same run. A
//! configuration is named after its settings. The hash keeps no secret and need not: whoever knows the settings knows the
//! name.

use crate::recording::Header;

/// FNV-1a of 128 bits (Fowler, Noll and Vo), which is the same in every version and on every machine.
struct Hash(u128);

impl Hash {
    fn new(kind: &str) -> Self {
        let mut hash = Self(0x6C62_272E_07BB_0142_62B8_2175_6295_C58D);
        hash.add(kind.as_bytes());
        hash
    }

    /// Adds bytes with their number, so that no two lists of texts are alike.
    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_be_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B);
        }
    }

    /// The upper 96 bits: with millions of runs no two have one name by chance.
    fn name(self) -> String {
        format!("{:024x}", self.0 >> 32)
    }
}

/// The name of the run with this header. A recording that was continued or merged has the name of its first run.
pub fn run(header: &Header) -> String {
    let mut hash = Hash::new("run");
    hash.add(header.tool_version.as_bytes());
    hash.add(&header.started_unix_ns.to_be_bytes());
    hash.add(&header.epoch.as_ns().to_be_bytes());
    for thread in &header.scenario.threads {
        hash.add(&thread.cpu.to_be_bytes());
        hash.add(&thread.period.as_ns().to_be_bytes());
    }
    for line in &header.machine {
        hash.add(line.name.as_bytes());
        hash.add(line.value.as_bytes());
    }
    hash.name()
}

/// The name of a document with these bytes.
pub fn document(bytes: &[u8]) -> String {
    let mut hash = Hash::new("document");
    hash.add(bytes);
    hash.name()
}

/// The name of a configuration, by its settings in ascending order.
pub fn configuration<'a>(settings: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash = Hash::new("configuration");
    for (name, value) in settings {
        hash.add(name.as_bytes());
        hash.add(value.as_bytes());
    }
    hash.name()
}
