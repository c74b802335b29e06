//! The facts about a machine that a recording keeps, as typed values. A recording holds these facts as lines for
//! people, and this module parses the lines.

use super::{Arch, Flavour, IDLE, IdleState, MachineLine};
use crate::cpu_set::CpuSet;
use serde::Serialize;
use std::collections::BTreeMap;

/// Facts about a machine. A fact is null if it could not be read or was not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineFacts {
    /// Model of the computer or, failing that, of its CPU.
    pub model: Option<String>,
    /// Release of the kernel, as `uname -r` prints it.
    pub kernel_release: Option<String>,
    /// How far the kernel can be preempted, as `stock`, `stock (PREEMPT_DYNAMIC)` or `PREEMPT_RT`.
    pub kernel_flavour: Option<String>,
    /// Architecture of the kernel, by name.
    pub architecture: Option<String>,
    /// CPUs that were online.
    pub online_cpus: Option<CpuSet>,
    /// CPUs that were isolated from the scheduler at boot.
    pub isolated_cpus: Option<CpuSet>,
    /// CPUs that may stop their tick.
    pub tick_free_cpus: Option<CpuSet>,
    /// Whether cores run several threads at once.
    pub smt: Option<bool>,
    /// Clock source of the kernel, by name.
    pub clock: Option<String>,
    /// Whether the machine is a guest of a hypervisor.
    pub is_guest: Option<bool>,
    /// Hypervisor under the machine, by name; null without one.
    pub hypervisor: Option<String>,
    /// Container in which the program ran, by name; null without one.
    pub container: Option<String>,
    /// Command line of the kernel, without values that are private.
    pub command_line: Option<String>,
    /// Idle states of the CPUs, the lightest first.
    pub idle_states: Vec<IdleState>,
    /// Recorded facts with names that this program does not know.
    pub others: BTreeMap<String, String>,
}

impl MachineFacts {
    /// Parses lines that [`Machine::recorded`](super::Machine::recorded) wrote, in this version or another.
    pub fn of(recorded: &[MachineLine]) -> Self {
        let mut facts = Self::default();
        for MachineLine { name, value } in recorded {
            match name.as_str() {
                "model" => facts.model = known(value),
                "kernel" => facts.kernel(value),
                "cpus" => facts.cpus(value),
                "virtualisation" => facts.virtualisation(value),
                "command line" => facts.command_line = known(value),
                IDLE => facts.idle_states = IdleState::parse_line(value),
                _ => {
                    facts.others.insert(name.clone(), value.clone());
                }
            }
        }
        facts
    }

    /// Parses a line like `6.12.43, stock (PREEMPT_DYNAMIC), arm64`.
    fn kernel(&mut self, line: &str) {
        let Some((rest, arch)) = line.rsplit_once(", ") else { return };
        let Some((release, flavour)) = rest.rsplit_once(", ") else { return };
        let one_of = |names: &[&str], name: &str| names.contains(&name).then(|| name.to_owned());
        self.kernel_release = known(release);
        self.kernel_flavour = one_of(&Flavour::ALL.map(Flavour::name), flavour);
        self.architecture = one_of(&Arch::ALL.map(Arch::name), arch).filter(|name| name != Arch::Other.name());
    }

    /// Parses a line like `0-3 online, isolated 2-3, tick-free none, no SMT, clock tsc`.
    fn cpus(&mut self, line: &str) {
        let parts = || {
            let (online, rest) = line.split_once(" online, isolated ")?;
            let (isolated, rest) = rest.split_once(", tick-free ")?;
            let (rest, clock) = rest.split_once(", clock ")?;
            let (tick_free, smt) = rest.rsplit_once(", ")?;
            Some(([online, isolated, tick_free], smt, clock))
        };
        let Some((sets, smt, clock)) = parts() else { return };
        let set = |list: &str| if list == "none" { Some(CpuSet::new()) } else { CpuSet::parse_list(list).ok() };
        [self.online_cpus, self.isolated_cpus, self.tick_free_cpus] = sets.map(set);
        self.smt = [("SMT on", true), ("no SMT", false)].into_iter().find(|(word, _)| *word == smt).map(|(_, on)| on);
        self.clock = known(clock);
    }

    /// Parses `none`, `guest of KVM`, `container (docker)` or `container (docker) in a guest of KVM`.
    fn virtualisation(&mut self, line: &str) {
        self.container =
            line.strip_prefix("container (").and_then(|rest| rest.split_once(')')).map(|(name, _)| name.to_owned());
        self.hypervisor = line.split_once("guest of ").map(|(_, name)| name.to_owned());
        let is_told = line == "none" || self.container.is_some() || self.hypervisor.is_some();
        self.is_guest = is_told.then_some(self.hypervisor.is_some());
    }
}

/// The value. `None` if the value is only the reason why it could not be read, such as `unknown (permission denied)`.
fn known(value: &str) -> Option<String> {
    (!value.starts_with("unknown (")).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Fact;
    use crate::machine::{Machine, Virtualisation};
    use crate::tree::MemTree;

    fn of(machine: &Machine) -> MachineFacts {
        MachineFacts::of(&machine.recorded())
    }

    #[test]
    fn what_was_recorded_is_read_again() {
        let mut machine = Machine::read(&MemTree::new());
        let unknown = of(&machine);
        assert_eq!(unknown, MachineFacts::default(), "what is not known is no value");
        let set = |list: &str| Fact::Known(CpuSet::parse_list(list).unwrap());
        machine.model = Fact::Known("Board, rev. 2".to_owned());
        machine.kernel.release = Fact::Known("6.12.43".to_owned());
        machine.kernel.flavour = Fact::Known(Flavour::Dynamic);
        machine.kernel.arch = Fact::Known(Arch::Arm64);
        machine.topology.online = set("0-3,8");
        machine.topology.smt_active = Fact::Known(false);
        (machine.isolated, machine.nohz_full) = (set(""), set("2-3"));
        machine.clocksource = Fact::Known("arch_sys_counter".to_owned());
        let states = [("WFI", 1), ("cpu-sleep", 133)];
        let states =
            states.map(|(name, us)| IdleState { name: name.to_owned(), exit: punctual_hist::Nanos::from_us(us) });
        machine.idle = states.to_vec();
        let guest = |hypervisor: Option<&str>, container: Option<&str>| {
            let [hypervisor, container] = [hypervisor, container].map(|name| name.map(str::to_owned));
            Virtualisation { hypervisor, container }
        };
        for told in
            [guest(None, None), guest(Some("KVM"), None), guest(None, Some("docker")), guest(Some("KVM"), Some("lxc"))]
        {
            machine.virtualisation = Fact::Known(told.clone());
            let facts = of(&machine);
            assert_eq!(
                (facts.hypervisor, facts.container, facts.is_guest),
                (told.hypervisor.clone(), told.container, Some(told.hypervisor.is_some()))
            );
        }
        let facts = of(&machine);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!((facts.model, facts.kernel_release), (text("Board, rev. 2"), text("6.12.43")));
        assert_eq!((facts.kernel_flavour, facts.architecture), (text("stock (PREEMPT_DYNAMIC)"), text("arm64")));
        let lists = [facts.online_cpus, facts.isolated_cpus, facts.tick_free_cpus].map(|set| set.unwrap().to_string());
        assert_eq!(lists, ["0-3,8", "", "2-3"]);
        assert_eq!(
            (facts.smt, facts.clock, facts.idle_states),
            (Some(false), text("arch_sys_counter"), states.to_vec())
        );
    }

    #[test]
    fn what_another_version_recorded_stays_text() {
        let facts =
            MachineFacts::of(&[("bench", "left"), ("cpus", "8 of them"), ("kernel", "?")].map(MachineLine::from));
        let others = BTreeMap::from([("bench".to_owned(), "left".to_owned())]);
        assert_eq!(facts, MachineFacts { others, ..MachineFacts::default() });
    }
}
