//! The kernels that the lab boots, each defined by a release of Debian, an architecture and a flavour.
//!
//! This module does not know where packages come from or how a guest is started.

use anyhow::{Context, Result};
use std::path::PathBuf;

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    Bookworm,
    Trixie,
}

impl Release {
    /// The release's name in archives.
    pub fn codename(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }

    /// The release's number in `/etc/os-release`.
    pub fn number(self) -> u32 {
        match self {
            Self::Bookworm => 12,
            Self::Trixie => 13,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    /// Debian's name of the architecture.
    pub fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The architecture of this machine.
    pub fn of_host() -> Result<Self> {
        let all = [Self::Amd64, Self::Arm64];
        all.into_iter()
            .find(|arch| arch.machine() == std::env::consts::ARCH)
            .with_context(|| format!("the lab knows no {}", std::env::consts::ARCH))
    }

    /// The name of the architecture in the kernel and in the product.
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }
}

/// A kernel that the lab uses.
#[derive(Debug)]
pub struct Spec {
    pub id: &'static str,
    /// The release of Debian whose archive contains the kernel.
    pub release: Release,
    pub arch: Arch,
    pub is_rt: bool,
    /// The kernel's series, as in the product's tables.
    pub series: &'static str,
    /// The metapackage that depends on the newest kernel of this kind.
    pub meta: &'static str,
    /// Whether guests boot this kernel. Of other kernels only the image is read.
    pub boots: bool,
}

impl Spec {
    /// The product's name of the flavour.
    pub fn flavour(&self) -> &'static str {
        if self.is_rt { "rt" } else { "stock" }
    }
}

/// All kernels of the lab.
pub const KERNELS: [Spec; 6] = [
    Spec {
        id: "12-amd64",
        release: Release::Bookworm,
        arch: Arch::Amd64,
        is_rt: false,
        series: "6.1",
        meta: "linux-image-amd64",
        boots: true,
    },
    Spec {
        id: "12-rt-amd64",
        release: Release::Bookworm,
        arch: Arch::Amd64,
        is_rt: true,
        series: "6.1",
        meta: "linux-image-rt-amd64",
        boots: true,
    },
    Spec {
        id: "13-amd64",
        release: Release::Trixie,
        arch: Arch::Amd64,
        is_rt: false,
        series: "6.12",
        meta: "linux-image-amd64",
        boots: true,
    },
    Spec {
        id: "13-rt-amd64",
        release: Release::Trixie,
        arch: Arch::Amd64,
        is_rt: true,
        series: "6.12",
        meta: "linux-image-rt-amd64",
        boots: true,
    },
    Spec {
        id: "12-rt-arm64",
        release: Release::Bookworm,
        arch: Arch::Arm64,
        is_rt: true,
        series: "6.1",
        meta: "linux-image-rt-arm64",
        boots: true,
    },
    Spec {
        id: "13-arm64",
        release: Release::Trixie,
        arch: Arch::Arm64,
        is_rt: false,
        series: "6.12",
        meta: "linux-image-arm64",
        boots: false,
    },
];

/// A kernel whose package has been unpacked.
#[derive(Debug)]
pub struct Kernel {
    pub spec: &'static Spec,
    /// The output of `uname -r` on this kernel.
    pub version: String,
    pub image: PathBuf,
    pub config: PathBuf,
    /// The folder with the modules and their indexes.
    pub modules: PathBuf,
}
