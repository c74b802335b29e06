//! Outside programs known by name, each with a command line that ends by itself.

use super::LoadError;
use super::words::{bad_command, split_words};
use punctual_facts::ability::Obstacle;
use punctual_hist::Nanos;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that users type, which is also the name of the program.
    pub name: &'static str,
    /// The package of Debian that has the program.
    pub package: &'static str,
    pub stresses: &'static str,
    /// The command line; words are split as in a shell. `{seconds}`, `{cpus}` and `{dir}` are replaced by the time
    /// limit, the number of CPUs and the folder for temporary files.
    pub command: &'static str,
    pub draws: bool,
}

pub const PRESETS: &[Preset] = &[
    Preset {
        name: "stress-ng",
        package: "stress-ng",
        stresses: "Arithmetic, memory, disk, context switches and timers at once, by stress-ng.",
        command: "stress-ng --quiet --cpu {cpus} --vm 1 --vm-bytes 64M --hdd 1 --hdd-bytes 64M \
                  --temp-path {dir} --switch 1 --timer 1 --timeout {seconds}s",
        draws: false,
    },
    Preset {
        name: "stress",
        package: "stress",
        stresses: "Arithmetic, memory and sync calls, by stress.",
        command: "stress --quiet --cpu {cpus} --io 1 --vm 1 --vm-bytes 64M --timeout {seconds}s",
        draws: false,
    },
    Preset {
        name: "hackbench",
        package: "rt-tests",
        stresses: "The scheduler and local sockets: groups of processes that send each other messages.",
        command: "hackbench -g 1 -f 4 -l 100000000",
        draws: false,
    },
    Preset {
        name: "iperf3",
        package: "iperf3",
        stresses: "The network stack over loopback, by iperf3 as its own server.",
        command: "sh -c 'iperf3 -s -1 -B 127.0.0.1 -p 52017 & sleep 0.3; \
                  exec iperf3 -c 127.0.0.1 -p 52017 -t {seconds}'",
        draws: false,
    },
    Preset {
        name: "glmark2",
        package: "glmark2-x11",
        stresses: "The graphics processor, its driver and the memory they share, by glmark2.",
        command: "glmark2 --run-forever",
        draws: true,
    },
    Preset {
        name: "x11perf",
        package: "x11-apps",
        stresses: "The X server and its driver, by x11perf: the graphics load of the published suite classic-2002.",
        command: "x11perf -repeat 1000 -all",
        draws: true,
    },
];

impl Preset {
    pub fn program(&self) -> Option<PathBuf> {
        find_program(self.name)
    }

    pub fn unavailable(&self) -> Option<String> {
        Some(match self.obstacle()? {
            Obstacle::NoDisplay => "there is no display to draw on (DISPLAY is not set)".to_owned(),
            _ => format!("{} is not found on PATH; install it to use this load", self.name),
        })
    }

    /// What keeps the program from running here, as far as that is known before its start.
    pub fn obstacle(&self) -> Option<Obstacle> {
        let shown = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if self.program().is_none() {
            return Some(Obstacle::NoProgram { program: self.name.to_owned(), package: self.package.to_owned() });
        }
        // The program x11perf works only with X, not with Wayland.
        let display = shown("DISPLAY") || (self.name != "x11perf" && shown("WAYLAND_DISPLAY"));
        (self.draws && !display).then_some(Obstacle::NoDisplay)
    }

    pub(super) fn command(&self, cpus: usize, dir: &Path, limit: Nanos) -> Result<Vec<String>, LoadError> {
        if let Some(reason) = self.unavailable() {
            return Err(LoadError::NotOffered { name: self.name.to_owned(), reason });
        }
        // The time limit given to the program is 5 s longer than that of the load, so that the program never ends
        // before the load.
        let seconds = limit.whole(Nanos::from_secs(1)).saturating_add(5).to_string();
        let cpus = cpus.to_string();
        let dir = dir.to_string_lossy();
        let fill = |word: String| word.replace("{seconds}", &seconds).replace("{cpus}", &cpus).replace("{dir}", &dir);
        let words = split_words(self.command).map_err(|reason| bad_command(self.command, reason))?;
        Ok(words.into_iter().map(fill).collect())
    }
}

/// The first executable file with this name on `PATH`.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let runs = |file: &PathBuf| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_on_path() {
        assert!(find_program("sh").is_some_and(|sh| sh.is_absolute()));
        assert!(find_program("no-such-program-as-this").is_none());
    }

    #[test]
    fn every_command_line_is_filled_in_or_refused() {
        for preset in PRESETS {
            match preset.command(3, Path::new("/d"), Nanos::from_secs(7)) {
                Ok(words) => assert!(words.iter().all(|word| !word.contains('{')), "{words:?}"),
                Err(LoadError::NotOffered { reason, .. }) => assert_eq!(Some(reason), preset.unavailable()),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
