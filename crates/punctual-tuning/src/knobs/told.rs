//! The machine's own facts, as a probe asks for them.
//!
//! The machine was read before any knob was asked, so nobody saw what was refused then; here it is seen.

use super::Case;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::{Arch, CMDLINE, Cmdline, CoreKind, Flavour, KINDS, NODES, Node, Virtualisation};

impl Case<'_> {
    /// The architecture, where it is known.
    pub fn arch(&self) -> Option<&Arch> {
        self.told("/proc/sys/kernel/arch", &self.machine.kernel.arch)
    }

    /// What the kernel was booted with, where it is known.
    pub fn cmdline(&self) -> Option<&Cmdline> {
        self.told(CMDLINE, &self.machine.cmdline)
    }

    /// The CPUs that run, where they are known.
    pub fn online(&self) -> Option<&CpuSet> {
        self.told("/sys/devices/system/cpu/online", &self.machine.topology.online)
    }

    /// The CPUs that could exist, where they are known.
    pub fn possible(&self) -> Option<&CpuSet> {
        self.told("/sys/devices/system/cpu/possible", &self.machine.topology.possible)
    }

    /// What is between the kernel and the hardware, where it is known.
    pub fn virtualisation(&self) -> Option<&Virtualisation> {
        self.told("/proc/cpuinfo", &self.machine.virtualisation)
    }

    /// Whether this is `PREEMPT_RT`.
    pub fn is_rt(&self) -> bool {
        self.told("/proc/sys/kernel/version", &self.machine.kernel.flavour) == Some(&Flavour::Rt)
    }

    /// Whether the kernel is known to be built without an option.
    pub fn lacks(&self, option: &str) -> bool {
        let config = &self.machine.config;
        self.told(&config.source, &config.value(option)).is_some_and(|value| value == "n")
    }

    /// The container this runs in.
    pub fn container(&self) -> Option<&String> {
        self.peek("/run/systemd/container");
        self.machine.boot.container.as_ref()
    }

    /// The memory nodes, all of them or none.
    pub fn nodes(&self) -> &[Node] {
        let names = self.list(NODES);
        for name in names.known().into_iter().flatten().filter(|name| name.starts_with("node")) {
            self.peek(&format!("{NODES}/{name}/cpulist"));
        }
        &self.machine.topology.nodes
    }

    /// CPUs by kind of core.
    pub fn kinds(&self) -> &[CoreKind] {
        for kind in KINDS {
            self.peek(&format!("/sys/devices/{kind}/cpus"));
        }
        &self.machine.topology.kinds
    }

    /// The kernel's build line, where it is known.
    pub fn build(&self) -> Option<&String> {
        self.told("/proc/sys/kernel/version", &self.machine.kernel.build)
    }

    /// The value of one of the machine's own facts; being refused it is remembered as anywhere else.
    pub fn told<'f, T>(&self, path: &str, fact: &'f Fact<T>) -> Option<&'f T> {
        if matches!(fact, Fact::Denied) {
            self.seen(path, Fact::<()>::Denied);
        }
        fact.known()
    }
}
