//! How pairs of a name and a value are published: as the members of an object.

use serde::{Serialize, Serializer};

pub(crate) fn map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}
