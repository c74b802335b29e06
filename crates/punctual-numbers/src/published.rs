//! Serialises lists of names and values as the members of an object.

use punctual_facts::machine::MachineLine;
use serde::Serializer;

/// Serialises the lines about a machine as the members of an object.
pub(crate) fn lines<S: Serializer>(lines: &[MachineLine], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(lines.iter().map(|line| (&line.name, &line.value)))
}
