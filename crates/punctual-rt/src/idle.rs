//! The idle states of a CPU as the kernel lists them. They show how long a wake-up may take, and explain differences
//! between two kinds of wake-up.

use punctual_hist::Nanos;
use std::path::Path;

/// An idle state of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Number of the state on this CPU; 0 is the lightest.
    pub number: u32,
    /// Name of the state in its driver.
    pub name: String,
    /// The longest time that leaving the state takes, according to the driver.
    pub exit_latency: Nanos,
    /// Whether the CPU may enter the state.
    pub enabled: bool,
}

/// The idle states of a CPU, lightest first; empty if the kernel lists none, as in most virtual machines.
///
/// # Real-time
/// Not for the loop: reads files.
///
/// # Kernel
/// `/sys/devices/system/cpu/cpuN/cpuidle`.
pub fn idle_states(cpu: u32) -> Vec<IdleState> {
    states_below(&Path::new("/sys/devices/system/cpu").join(format!("cpu{cpu}")).join("cpuidle"))
}

pub(crate) fn states_below(folder: &Path) -> Vec<IdleState> {
    (0..).map_while(|number| state_in(&folder.join(format!("state{number}")), number)).collect()
}

fn state_in(folder: &Path, number: u32) -> Option<IdleState> {
    let word = |file: &str| Some(std::fs::read_to_string(folder.join(file)).ok()?.trim().to_owned());
    Some(IdleState {
        number,
        name: word("name")?,
        exit_latency: Nanos::from_us(word("latency")?.parse().ok()?),
        enabled: word("disable").is_none_or(|flag| flag == "0"),
    })
}

#[cfg(test)]
impl IdleState {
    pub(crate) fn of(number: u32, name: &str, exit_us: u64) -> Self {
        Self { number, name: name.to_owned(), exit_latency: Nanos::from_us(exit_us), enabled: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn states_are_read_until_one_is_missing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        let write = |state: &str, file: &str, text: &str| {
            std::fs::create_dir_all(folder.join(state)).unwrap();
            std::fs::write(folder.join(state).join(file), text).unwrap();
        };
        for (state, name, latency, disable) in [("state0", "POLL", "0", "0"), ("state1", "C6", "133", "1")] {
            write(state, "name", &format!("{name}\n"));
            write(state, "latency", &format!("{latency}\n"));
            write(state, "disable", &format!("{disable}\n"));
        }
        write("state2", "name", "GARBLED\n");
        let states = states_below(folder);
        let c6 = IdleState { enabled: false, ..IdleState::of(1, "C6", 133) };
        assert_eq!((states.len(), states.get(1)), (2, Some(&c6)));
        assert_eq!(states_below(&folder.join("cpu7")), [], "no such CPU");
    }
}
