//! The real-time core that runs beside Linux: Cobalt (Xenomai 3) or EVL (Xenomai 4).
//!
//! Both tell about themselves in files below `/proc` and `/sys`. A core that is disabled or failed to start leaves only
//! its parameters there, so the parameters decide whether a kernel has a second one.

mod cobalt;
mod evl;
mod library;
mod state;
mod thread;

pub use cobalt::{COBALT_CLOCK, COBALT_FAULTS, COBALT_HEAP, COBALT_REGISTRY, COBALT_THREADS, COBALT_VERSION};
pub use cobalt::{Cobalt, Fault, Heap, Slots};
pub use evl::{EVL_CONTROL, EVL_DEVICES, EVL_GRAVITY, EVL_THREADS, Evl};
pub use library::{Fit, Library};
pub use state::CoreState;
pub use thread::CoreThread;

use super::{Arch, Config, Flavour};
use crate::cpu_set::CpuSet;
use crate::fact::Fact;
use crate::tree::{Tree, text};
use std::str::FromStr;

#[derive(Clone, Debug)]
pub enum SecondKernel {
    Evl(Evl),
    Cobalt(Cobalt),
}

/// How much earlier than asked the core lets its timers expire, in nanoseconds, for each kind of code that waits for
/// one. Xenomai calls this the gravity of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gravity {
    pub irq_ns: i64,
    pub kernel_ns: i64,
    pub user_ns: i64,
}

impl Gravity {
    /// Whether the values are those that a kernel starts with: none for interrupts, and one value for both kinds of
    /// threads. A calibration finds different values for the three.
    pub fn is_factory(self) -> bool {
        self.irq_ns == 0 && self.kernel_ns == self.user_ns
    }
}

/// Folders that only a kernel with a second one has, each with entries of which one must be in it.
const SIGNS: [(&str, &[&str], Flavour); 4] = [
    (cobalt::FOLDER, &["version"], Flavour::Cobalt),
    (evl::EVL_FOLDER, &["control"], Flavour::Evl),
    (cobalt::PARAMETERS, &["state", "supported_cpus", "allowed_group", "sysheap_size"], Flavour::Cobalt),
    (evl::PARAMETERS, &["state", "oobcpus", "sysheap_size"], Flavour::Evl),
];

impl SecondKernel {
    /// The second kernel; `Known(None)` if there is none.
    pub(super) fn read(tree: &dyn Tree, config: &Config) -> Fact<Option<Self>> {
        for (folder, entries, flavour) in SIGNS {
            match tree.list(folder) {
                Fact::Known(names) if names.iter().any(|name| entries.contains(&name.as_str())) => {
                    return Fact::Known(Some(match flavour {
                        Flavour::Evl => Self::Evl(Evl::read(tree, config)),
                        _ => Self::Cobalt(Cobalt::read(tree)),
                    }));
                }
                Fact::Denied => return Fact::Denied,
                _ => {}
            }
        }
        Fact::Known(None)
    }

    pub fn flavour(&self) -> Flavour {
        match self {
            Self::Evl(_) => Flavour::Evl,
            Self::Cobalt(_) => Flavour::Cobalt,
        }
    }

    pub fn state(&self) -> &Fact<CoreState> {
        match self {
            Self::Evl(core) => &core.state,
            Self::Cobalt(core) => &core.state,
        }
    }

    /// The file that shows whether the core runs.
    pub fn state_path(&self) -> &'static str {
        match self {
            Self::Evl(_) => evl::STATE,
            Self::Cobalt(_) => cobalt::TIMER,
        }
    }

    /// The CPUs on which the core may run threads.
    pub fn cpus(&self) -> &Fact<CpuSet> {
        match self {
            Self::Evl(core) => &core.cpus,
            Self::Cobalt(core) => &core.cpus,
        }
    }

    pub fn gravity(&self) -> &Fact<Gravity> {
        match self {
            Self::Evl(core) => &core.gravity,
            Self::Cobalt(core) => &core.gravity,
        }
    }

    pub fn threads(&self) -> &Fact<Vec<CoreThread>> {
        match self {
            Self::Evl(core) => &core.threads,
            Self::Cobalt(core) => &core.threads,
        }
    }

    /// The core's own messages in the kernel's log, without their prefix, oldest first.
    pub fn messages(&self) -> &Fact<Vec<String>> {
        match self {
            Self::Evl(core) => &core.messages,
            Self::Cobalt(core) => &core.messages,
        }
    }

    /// The installed libraries through which programs call the core.
    pub fn libraries(&self) -> &[Library] {
        match self {
            Self::Evl(core) => &core.libraries,
            Self::Cobalt(core) => &core.libraries,
        }
    }

    /// Whether the core serves programs that use this library.
    pub fn fits(&self, library: &Library) -> Fit {
        match self {
            Self::Evl(core) => core.fits(library),
            Self::Cobalt(core) => core.fits(library),
        }
    }

    /// The core as one line, which a recording keeps.
    pub fn line(&self, arch: &Fact<Arch>) -> String {
        let shown = |fact: Fact<String>| fact.known().cloned().unwrap_or_else(|| "unknown".to_owned());
        let what = match self {
            Self::Evl(core) => format!("EVL ABI {}", shown(core.abi.as_ref().map(u32::to_string))),
            Self::Cobalt(core) => {
                let abi = core.abi(arch).map_or_else(|| "unknown".to_owned(), |abi| abi.to_string());
                format!("Cobalt {} ABI {abi}", shown(core.version.clone()))
            }
        };
        let state = shown(self.state().as_ref().map(|state| state.name().to_owned()));
        let cpus = shown(self.cpus().as_ref().map(CpuSet::to_string));
        let gravity = self
            .gravity()
            .as_ref()
            .map(|gravity| format!("irq {} kernel {} user {} ns", gravity.irq_ns, gravity.kernel_ns, gravity.user_ns));
        format!("{what}, {state}, out-of-band CPUs {cpus}, gravity {}", shown(gravity))
    }
}

/// A number in a file.
fn number<T: FromStr>(tree: &dyn Tree, path: &str) -> Fact<T> {
    text(tree, path).and_then(|text| {
        let text = text.trim();
        text.parse().map_or_else(|_| Fact::Garbled(format!("'{text}' is not such a number")), Fact::Known)
    })
}

/// A value of the kernel's configuration that is a number.
fn configured<T: FromStr>(config: &Config, option: &str) -> Fact<T> {
    config.value(option).and_then(|value| {
        value.parse().map_or_else(|_| Fact::Garbled(format!("CONFIG_{option} is '{value}'")), Fact::Known)
    })
}

/// The kernel's log since boot. The reader of the live machine supplies it.
const LOG: &str = "punctual:/kernel/log";
/// The most messages of the core that are kept, the newest.
const MOST_MESSAGES: usize = 200;

/// The messages of the log that begin with a mark, without the mark. Level and time may precede it.
fn messages(tree: &dyn Tree, mark: &str) -> Fact<Vec<String>> {
    text(tree, LOG).map(|log| {
        let message = |line: &str| {
            let (before, message) = line.split_once(mark)?;
            let is_first = before.is_empty() || before.ends_with("] ") || before.ends_with('>');
            is_first.then(|| message.trim_end().to_owned())
        };
        let mut found: Vec<String> = log.lines().filter_map(message).collect();
        found.split_off(found.len().saturating_sub(MOST_MESSAGES))
    })
}

#[cfg(test)]
mod tests;
