//! Serialises lists of names and values as the members of an object.

use punctual_facts::machine::MachineLine;
use serde::{Serialize, Serializer};

/// Serialises (name, value) pairs as the members of an object.
pub(crate) fn map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Serialises the lines about a machine as the members of an object.
pub(crate) fn lines<S: Serializer>(lines: &[MachineLine], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(lines.iter().map(|line| (&line.name, &line.value)))
}
