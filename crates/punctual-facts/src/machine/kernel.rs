//! The running kernel: its version, flavour and architecture.

use super::cpuinfo_field;
use crate::fact::Fact;
use crate::tree::{Tree, text};
use serde::Serialize;
use std::fmt;

#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel's release, as `uname -r` prints it.
    pub release: Fact<String>,
    pub version: Fact<Version>,
    /// The kernel's build, as `uname -v` prints it.
    pub build: Fact<String>,
    pub flavour: Fact<Flavour>,
    pub arch: Fact<Arch>,
}

pub const BUILD: &str = "/proc/sys/kernel/version";

/// The first two numbers of a kernel version, which decide whether advice applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The version in a release, for example 6.12 in `6.12.107+deb13-rt-amd64`.
    pub fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        Some(Self::new(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

crate::named! {
    /// Kinds of kernel, by how they preempt.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Flavour {
        /// A kernel whose preemption was fixed when it was built.
        Stock = "stock",
        /// A kernel whose preemption is chosen at boot (`PREEMPT_DYNAMIC`).
        Dynamic = "stock (PREEMPT_DYNAMIC)",
        /// A kernel with `PREEMPT_RT`, either built in or patched in.
        Rt = "PREEMPT_RT",
        /// A kernel with Xenomai 3 beside Linux.
        Cobalt = "Xenomai 3 (Cobalt)",
        /// A kernel with Xenomai 4 beside Linux.
        Evl = "Xenomai 4 (EVL)",
    }
}

impl Flavour {
    /// Whether real-time threads run under a second kernel and not under the scheduler of Linux.
    pub fn is_dual(self) -> bool {
        matches!(self, Self::Cobalt | Self::Evl)
    }
}

crate::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Arch {
        #[serde(rename = "x86_64")]
        X86 = "x86-64",
        #[serde(rename = "aarch64")]
        Arm64 = "arm64",
        #[serde(rename = "arm")]
        Arm = "arm (32 bits)",
        #[serde(rename = "riscv64")]
        Riscv64 = "riscv64",
        Other = "another architecture",
    }
}

impl Kernel {
    /// Reads the kernel, given its release and the flavour of the second kernel beside it.
    pub(super) fn read(
        tree: &dyn Tree,
        release: Fact<String>,
        second: Fact<Option<Flavour>>,
        cpuinfo: &Fact<String>,
    ) -> Self {
        let version = release.as_ref().and_then(|r| {
            Version::parse(r).map_or_else(|| Fact::Garbled(format!("'{r}' is no kernel release")), Fact::Known)
        });
        let build = text(tree, BUILD);
        let flavour = second.and_then(|second| second.map_or_else(|| flavour(tree, &build), Fact::Known));
        Self { release, version, build, flavour, arch: arch(tree, cpuinfo) }
    }
}

pub(super) fn release(tree: &dyn Tree) -> Fact<String> {
    text(tree, "/proc/sys/kernel/osrelease")
}

/// The flavour of a kernel without a second one. The build line is read first, because `/sys/kernel/realtime` exists only in kernels built
/// from the PREEMPT_RT patches.
fn flavour(tree: &dyn Tree, build: &Fact<String>) -> Fact<Flavour> {
    build.as_ref().and_then(|build| {
        let says = |word: &str| build.split_whitespace().any(|w| w == word);
        if says("PREEMPT_RT") {
            return Fact::Known(Flavour::Rt);
        }
        match text(tree, "/sys/kernel/realtime") {
            Fact::Known(yes) if yes == "1" => Fact::Known(Flavour::Rt),
            Fact::Denied => Fact::Denied,
            _ if says("PREEMPT_DYNAMIC") => Fact::Known(Flavour::Dynamic),
            _ => Fact::Known(Flavour::Stock),
        }
    })
}

fn arch(tree: &dyn Tree, cpuinfo: &Fact<String>) -> Fact<Arch> {
    let named = text(tree, "/proc/sys/kernel/arch").map(|name| match name.as_str() {
        "x86_64" => Arch::X86,
        "aarch64" => Arch::Arm64,
        "riscv64" => Arch::Riscv64,
        // `armv6l`, `armv7l` and the like.
        name if name.starts_with("armv") => Arch::Arm,
        _ => Arch::Other,
    });
    // Kernels before 6.1 do not have this file.
    if named != Fact::Absent {
        return named;
    }
    cpuinfo.as_ref().and_then(|info| {
        let value = |field: &str| cpuinfo_field(info, field).unwrap_or_default();
        let long_mode = cpuinfo_field(info, "flags").is_some_and(|f| f.split_whitespace().any(|w| w == "lm"));
        if long_mode {
            Fact::Known(Arch::X86)
        } else if value("CPU architecture") == "8" {
            Fact::Known(Arch::Arm64)
        } else if value("CPU architecture").starts_with(['5', '6', '7']) {
            Fact::Known(Arch::Arm)
        } else if value("isa").starts_with("rv64") {
            Fact::Known(Arch::Riscv64)
        } else {
            Fact::Garbled("/proc/cpuinfo names no architecture known here".to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_releases_of_all_ages() {
        for (release, major, minor) in
            [("3.10.0-1160.el7", 3, 10), ("6.12.107+deb13-rt-amd64", 6, 12), ("7.3-rc1", 7, 3)]
        {
            assert_eq!(Version::parse(release), Some(Version::new(major, minor)), "{release}");
        }
        assert_eq!(Version::parse("linux"), None);
    }
}
