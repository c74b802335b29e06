//! Hypervisors and containers. A hypervisor affects every measurement, and half of the knobs then have to be set on the
//! host.

use super::{CLOCKSOURCE, cpuinfo_field};
use crate::fact::Fact;
use crate::tree::{Tree, exists, text};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Virtualisation {
    pub hypervisor: Option<String>,
    /// The engine of the container in which this program runs, if it runs in one.
    pub container: Option<String>,
}

impl fmt::Display for Virtualisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.hypervisor, &self.container) {
            (None, None) => f.write_str("none"),
            (Some(host), None) => write!(f, "guest of {host}"),
            (None, Some(container)) => write!(f, "container ({container})"),
            (Some(host), Some(container)) => write!(f, "container ({container}) in a guest of {host}"),
        }
    }
}

/// Makers of virtual machines: the beginning of each maker's name in the DMI tables, and the name shown to the user.
const MAKERS: [(&str, &str); 7] = [
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Microsoft Corporation", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("Google", "Google Compute Engine"),
];

impl Virtualisation {
    pub(super) fn read(tree: &dyn Tree, cpuinfo: &Fact<String>) -> Fact<Self> {
        let container = container(tree);
        hypervisor(tree, cpuinfo).map(|hypervisor| Self { hypervisor, container })
    }
}

fn hypervisor(tree: &dyn Tree, cpuinfo: &Fact<String>) -> Fact<Option<String>> {
    let named = || name(tree).unwrap_or_else(|| "an unnamed hypervisor".to_owned());
    if exists(tree, "/proc/device-tree/hypervisor")
        || text(tree, "/proc/device-tree/model") == Fact::Known("linux,dummy-virt".to_owned())
    {
        return Fact::Known(Some(named()));
    }
    if let Some(flags) = cpuinfo.known().and_then(|info| cpuinfo_field(info, "flags")) {
        let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
        return Fact::Known(is_guest.then(named));
    }
    match (name(tree), text(tree, "/proc/device-tree/model"), text(tree, "/sys/class/dmi/id/sys_vendor")) {
        (Some(name), _, _) => Fact::Known(Some(name)),
        // No hypervisor: the machine has a board's device tree, or DMI names a maker of real computers.
        (None, Fact::Known(_), _) | (None, _, Fact::Known(_)) => Fact::Known(None),
        (None, _, _) => cpuinfo.as_ref().and_then(|_| Fact::Absent),
    }
}

fn name(tree: &dyn Tree) -> Option<String> {
    let xen = || text(tree, "/sys/hypervisor/type").known().cloned();
    let maker = || {
        let vendor = text(tree, "/sys/class/dmi/id/sys_vendor");
        let vendor = vendor.known()?;
        MAKERS.iter().find(|(start, _)| vendor.starts_with(start)).map(|(_, name)| (*name).to_owned())
    };
    let clock = || match text(tree, CLOCKSOURCE).known()?.as_str() {
        "kvm-clock" => Some("KVM".to_owned()),
        "hyperv_clocksource_tsc_page" | "hyperv_clocksource_msr" => Some("Hyper-V".to_owned()),
        "xen" => Some("xen".to_owned()),
        _ => None,
    };
    xen().or_else(maker).or_else(clock)
}

/// The engine of the container in which this program runs; `None` outside a container.
pub fn container(tree: &dyn Tree) -> Option<String> {
    let systemd = || text(tree, "/run/systemd/container").known().filter(|name| !name.is_empty()).cloned();
    let podman = || exists(tree, "/run/.containerenv").then(|| "podman".to_owned());
    let docker = || (tree.read("/.dockerenv") != Fact::Absent).then(|| "docker".to_owned());
    systemd().or_else(podman).or_else(docker)
}
