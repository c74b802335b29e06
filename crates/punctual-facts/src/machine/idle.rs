//! The idle states of the first CPU. A recording keeps them so that slow exits from idle can be recognised as such.

use crate::tree::{Tree, text};
use punctual_hist::Nanos;

const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cpuidle";

/// An idle state of a CPU. Its number is its index in the list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    pub name: String,
    /// Longest time to leave the state, as the driver states it.
    #[serde(rename = "exit_ns")]
    pub exit: Nanos,
}

impl IdleState {
    /// All idle states; empty if the kernel does not describe them.
    pub(super) fn read(tree: &dyn Tree) -> Vec<Self> {
        let one = |number: usize| {
            let known = |file: &str| text(tree, &format!("{FOLDER}/state{number}/{file}")).known().cloned();
            let exit = known("latency")?.trim().parse().ok()?;
            Some(Self { name: known("name")?, exit: Nanos::from_us(exit) })
        };
        // The kernel has at most ten states, so sixteen are enough.
        (0..16).map_while(one).collect()
    }

    /// The states as one line: `POLL 0 us, C1 2 us`.
    pub fn line(states: &[Self]) -> String {
        let shown = |state: &Self| format!("{} {} us", state.name, state.exit.as_ns() / 1_000);
        states.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// Parses a line that [`line`](Self::line) wrote. Parsing ends at the first part that has another form, because the
    /// numbers of the states after it would be wrong.
    pub fn parse_line(line: &str) -> Vec<Self> {
        let one = |state: &str| {
            let (name, exit) = state.strip_suffix(" us")?.rsplit_once(' ')?;
            Some(Self { name: name.to_owned(), exit: Nanos::from_us(exit.parse().ok()?) })
        };
        line.split(", ").map_while(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Fact;
    use crate::tree::MemTree;

    #[test]
    fn states_are_read_and_a_line_says_them_all() {
        let mut tree = MemTree::new();
        for (number, name, latency) in [(0, "POLL", "0"), (1, "C1 of ACPI", "2"), (2, "C6", "133")] {
            tree.file(&format!("{FOLDER}/state{number}/name"), Fact::Known(name.into()));
            tree.file(&format!("{FOLDER}/state{number}/latency"), Fact::Known(format!("{latency}\n").into()));
        }
        let states = IdleState::read(&tree);
        let line = IdleState::line(&states);
        assert_eq!(line, "POLL 0 us, C1 of ACPI 2 us, C6 133 us");
        assert_eq!(IdleState::parse_line(&line), states);
        assert_eq!(IdleState::parse_line("POLL 0 us, what?, C6 133 us").len(), 1);
        assert_eq!(IdleState::parse_line(""), []);
    }
}
