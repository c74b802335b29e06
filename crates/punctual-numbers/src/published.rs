//! Pairs of a name and a value: how they are published, and how one is found.

use serde::{Serialize, Serializer};

/// Publishes pairs as the members of an object.
pub(crate) fn map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// The value with this name.
pub(crate) fn named<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
