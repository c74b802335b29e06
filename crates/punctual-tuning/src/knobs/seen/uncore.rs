//! Parts of the chip beside the CPUs that change their clock: the uncore, and devices that devfreq controls.

use crate::knobs::case::Missing::CannotBe;
use crate::knobs::case::{Case, Doubt, Missing};

pub(crate) const NO_UNCORE: Missing = CannotBe("no control of the uncore frequency here");
pub(crate) const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";
pub(crate) const DEVFREQ: &str = "/sys/class/devfreq";

/// A kind of device that devfreq controls.
#[derive(Clone, Copy)]
pub(crate) struct Clocked {
    /// The name of such a device contains one of these.
    parts: &'static [&'static str],
    pub(crate) what: &'static str,
}

pub(crate) const MEMORY: Clocked =
    Clocked { parts: &["dmc", "ddr", "dram", "memory", "mbus"], what: "the memory controller" };
pub(crate) const BUS: Clocked = Clocked { parts: &["bus", "noc", "interconnect", "cci", "uncore"], what: "a bus" };
pub(crate) const GPU: Clocked = Clocked { parts: &["gpu", "mali"], what: "a GPU" };
pub(crate) const NPU: Clocked = Clocked { parts: &["npu"], what: "a neural unit" };

impl Case<'_> {
    /// The folders in which the clock of this machine's uncore is set.
    pub(crate) fn uncore_places(&self) -> Result<Vec<String>, Doubt> {
        let names = self.names(UNCORE, NO_UNCORE)?;
        let is_place = |name: &&String| name.starts_with("package_") || name.starts_with("uncore");
        let places: Vec<String> = names.iter().filter(is_place).map(|name| format!("{UNCORE}/{name}")).collect();
        if places.is_empty() { Doubt::not_applicable("no control of the uncore frequency here") } else { Ok(places) }
    }

    /// The devices of a kind, by their names. The memory's bus is no other bus.
    pub(crate) fn clocked(&self, kind: Clocked) -> Result<Vec<String>, Doubt> {
        let mut devices = self.names(DEVFREQ, CannotBe("no device here changes its frequency by devfreq"))?;
        let is_memory_bus = |name: &str| name.contains("mbus") && !kind.parts.contains(&"mbus");
        devices.retain(|name| kind.parts.iter().any(|part| name.contains(part)) && !is_memory_bus(name));
        Ok(devices)
    }

    /// Whether a device keeps its clock, by the name of its governor.
    pub(crate) fn is_steady(governor: &str) -> bool {
        matches!(governor, "performance" | "powersave")
    }
}
