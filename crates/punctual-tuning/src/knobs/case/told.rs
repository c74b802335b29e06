//! Access for probes to the facts of the machine that were read before the case existed.
//!
//! The files of these facts were not read through the case, so the case does not know which files were refused. Each
//! method here adds a refusal to the case when a probe asks for the fact.

use super::Missing::TellsNothing;
use super::{Case, Doubt, Judged};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::{Arch, CMDLINE, Cmdline, CoreKind, Flavour, KINDS, NODES, Node, Version, Virtualisation};

impl Case<'_> {
    pub fn arch(&self) -> Option<&Arch> {
        self.told("/proc/sys/kernel/arch", &self.machine.kernel.arch)
    }

    pub fn cmdline(&self) -> Option<&Cmdline> {
        self.told(CMDLINE, &self.machine.cmdline)
    }

    pub fn online(&self) -> Option<&CpuSet> {
        self.told("/sys/devices/system/cpu/online", &self.machine.topology.online)
    }

    /// The CPUs that could exist, online or not.
    pub fn possible(&self) -> Option<&CpuSet> {
        self.told("/sys/devices/system/cpu/possible", &self.machine.topology.possible)
    }

    /// The hypervisor and the container between this kernel and the hardware, if they are known.
    pub fn virtualisation(&self) -> Option<&Virtualisation> {
        self.told("/proc/cpuinfo", &self.machine.virtualisation)
    }

    pub fn is_rt(&self) -> bool {
        self.told("/proc/sys/kernel/version", &self.machine.kernel.flavour) == Some(&Flavour::Rt)
    }

    /// Whether the kernel's configuration is known and this option is off in it.
    pub fn lacks(&self, option: &str) -> bool {
        let config = &self.machine.config;
        self.told(&config.source, &config.value(option)).is_some_and(|value| value == "n")
    }

    pub fn container(&self) -> Option<&String> {
        self.peek("/run/systemd/container");
        self.machine.boot.container.as_ref()
    }

    /// The memory nodes; empty if one of them could not be read.
    pub fn nodes(&self) -> &[Node] {
        let names = self.list(NODES);
        for name in names.known().into_iter().flatten().filter(|name| name.starts_with("node")) {
            self.peek(&format!("{NODES}/{name}/cpulist"));
        }
        &self.machine.topology.nodes
    }

    pub fn kinds(&self) -> &[CoreKind] {
        for kind in KINDS {
            self.peek(&format!("/sys/devices/{kind}/cpus"));
        }
        &self.machine.topology.kinds
    }

    pub fn build(&self) -> Option<&String> {
        self.told("/proc/sys/kernel/version", &self.machine.kernel.build)
    }

    /// The value of one of the machine's facts; `None` if it is not known. The case remembers a refusal of `path`.
    pub fn told<'f, T>(&self, path: &str, fact: &'f Fact<T>) -> Option<&'f T> {
        if matches!(fact, Fact::Denied) {
            self.seen(path, Fact::<()>::Denied);
        }
        fact.known()
    }

    pub(crate) fn built_with(&self, option: &str) -> Judged {
        let is_built = self.config(option)? != "n";
        if !is_built {
            self.has_whole_config()?;
        }
        Ok(is_built)
    }

    /// Good if the kernel was built with none of the options. Those that it was built with become the evidence.
    pub(crate) fn built_without(&self, options: &[&str]) -> Judged {
        let config = &self.machine.config;
        let mut on = Vec::new();
        for option in options {
            match config.is_on(option) {
                Fact::Known(true) => on.push(format!("CONFIG_{option}=y")),
                Fact::Known(false) => {}
                // Reading the option through the case returns the doubt that says why the configuration is not known.
                _ => return self.config(option).map(|_| false),
            }
        }
        if on.is_empty() {
            self.has_whole_config()?;
        }
        self.none_found(&config.source, on.join(", "), format!("none of {}", options.join(", ")))
    }

    /// Fails if the configuration is incomplete, because an option that is missing there may then be on. Every complete
    /// configuration names `CONFIG_HZ`.
    pub(crate) fn has_whole_config(&self) -> Result<(), Doubt> {
        let config = &self.machine.config;
        let is_cut = config.is_on("HZ") == Fact::Known(false);
        let source = &config.source;
        Doubt::unknown_if(is_cut, format!("{source} is not a whole configuration: it does not even name CONFIG_HZ"))
    }

    /// Whether a folder has the entry `wanted`. The answer is unknown if the folder also lacks `always`: every machine
    /// has that entry, so only a part of the folder is visible.
    fn holds(&self, folder: &str, always: &str, wanted: &str) -> Result<bool, Doubt> {
        let names = self.names(folder, TellsNothing("what /sys contains cannot be seen from here"))?;
        let has = |name: &str| names.iter().any(|found| found == name);
        Doubt::unknown_if(!has(wanted) && !has(always), format!("only a part of {folder} is seen here"))?;
        Ok(has(wanted))
    }

    /// Whether the kernel has this module, either loaded or built in. A built-in module is found only if it has
    /// parameters.
    pub(crate) fn has_module(&self, module: &str) -> Result<bool, Doubt> {
        let is_there = self.holds("/sys/module", "kernel", module)?;
        self.note("/sys/module", if is_there { module.to_owned() } else { format!("no {module}") });
        Ok(is_there)
    }

    pub(crate) fn has_bus(&self, bus: &str) -> Result<bool, Doubt> {
        self.holds("/sys/bus", "platform", bus)
    }

    pub(crate) fn has_no_device(&self, class: &str, start: &str) -> Judged {
        let folder = format!("/sys/class/{class}");
        let names = if self.holds("/sys/class", "mem", class)? {
            self.names(&folder, TellsNothing("the devices in a folder of /sys/class cannot be seen"))?
        } else {
            Vec::new()
        };
        let found: Vec<String> = names.into_iter().filter(|name| name.starts_with(start)).collect();
        self.none_found(folder, found.join(", "), "none")
    }

    /// Whether the first CPU has this flag, without keeping the answer as evidence.
    pub(crate) fn has_flag(&self, flag: &str) -> Result<bool, Doubt> {
        Ok(self.cpu_field("flags")?.split_whitespace().any(|found| found == flag))
    }

    /// Whether the CPU's flags promise a TSC of constant rate that does not stop. The flags do not become evidence.
    pub(crate) fn has_sound_tsc(&self) -> Judged {
        SOUND_TSC.into_iter().try_fold(true, |all, flag| Ok(all && self.has_flag(flag)?))
    }

    /// Whether this kernel keeps its own threads off isolated CPUs; `false` if the kernel's version is not known.
    pub(crate) fn threads_keep_off_isolated(&self) -> bool {
        self.machine.kernel.version.known().is_some_and(|version| *version >= ROLES_SWAPPED)
    }

    /// A field of `/proc/self/status`, kept as evidence.
    pub(crate) fn status(&self, field: &str) -> Result<String, Doubt> {
        let path = "/proc/self/status";
        let status = self.content(path, TellsNothing("/proc/self/status is not there"))?;
        let value = status.lines().find_map(|line| line.split_once(':').filter(|(name, _)| *name == field));
        let Some((_, value)) = value else { return Doubt::unknown(format!("{path} has no line {field}")) };
        self.note(format!("{path} {field}"), value.trim());
        Ok(value.trim().to_owned())
    }
}

/// The CPU flags of a TSC that runs at a constant rate and does not stop.
pub(crate) const SOUND_TSC: [&str; 2] = ["constant_tsc", "nonstop_tsc"];

/// From this version on, the fair server replaces throttling.
pub(crate) const FAIR_SERVER_SINCE: Version = Version::new(6, 12);

/// From this version on, `isolcpus=` keeps kernel threads off CPUs; up to 6.12, `nohz_full=` did. The versions between
/// 6.12 and 7.0 were not examined.
pub(crate) const ROLES_SWAPPED: Version = Version::new(7, 0);
