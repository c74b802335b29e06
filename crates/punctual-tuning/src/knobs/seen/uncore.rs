//! Parts of the chip other than CPUs that change their clock: the uncore, and devices that devfreq controls.

use crate::knobs::case::Missing::CannotBe;
use crate::knobs::case::{Case, Doubt, Missing};

pub(crate) const NO_UNCORE: Missing = CannotBe("no control of the uncore frequency here");
pub(crate) const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";
pub(crate) const DEVFREQ: &str = "/sys/class/devfreq";

/// A kind of device whose frequency devfreq controls.
#[derive(Clone, Copy)]
pub(crate) struct Clocked {
    /// Parts of names: a device belongs to this kind if its name contains one of them.
    parts: &'static [&'static str],
    pub(crate) what: &'static str,
}

pub(crate) const MEMORY: Clocked =
    Clocked { parts: &["dmc", "ddr", "dram", "memory", "mbus"], what: "the memory controller" };
pub(crate) const BUS: Clocked = Clocked { parts: &["bus", "noc", "interconnect", "cci", "uncore"], what: "a bus" };
pub(crate) const GPU: Clocked = Clocked { parts: &["gpu", "mali"], what: "a GPU" };
pub(crate) const NPU: Clocked = Clocked { parts: &["npu"], what: "a neural unit" };

impl Case<'_> {
    /// The names of the folders that hold the frequency limits of this machine's uncore.
    pub(crate) fn uncore_places(&self) -> Result<Vec<String>, Doubt> {
        let names = self.names(UNCORE, NO_UNCORE)?;
        let is_place = |name: &&String| name.starts_with("package_") || name.starts_with("uncore");
        let places: Vec<String> = names.iter().filter(is_place).map(|name| format!("{UNCORE}/{name}")).collect();
        if places.is_empty() { Doubt::not_applicable("no control of the uncore frequency here") } else { Ok(places) }
    }

    /// The names of the devices of one kind. A memory bus does not count as a bus.
    pub(crate) fn clocked(&self, kind: Clocked) -> Result<Vec<String>, Doubt> {
        let mut devices = self.names(DEVFREQ, CannotBe("no device here changes its frequency by devfreq"))?;
        let is_memory_bus = |name: &str| name.contains("mbus") && !kind.parts.contains(&"mbus");
        devices.retain(|name| kind.parts.iter().any(|part| name.contains(part)) && !is_memory_bus(name));
        Ok(devices)
    }

    /// Whether a frequency governor of this name keeps the clock constant.
    pub(crate) fn is_steady(governor: &str) -> bool {
        matches!(governor, "performance" | "powersave")
    }
}
