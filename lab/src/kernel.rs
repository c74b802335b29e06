//! The kernels that the lab boots, by what they are: a release of Debian, an architecture, a flavour.
//!
//! Knows neither where packages come from nor how a guest is started.

use anyhow::{Context, Result};
use std::path::PathBuf;

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    Bookworm,
    Trixie,
}

impl Release {
    /// As archives call it.
    pub fn codename(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }

    /// Its number, for `/etc/os-release`.
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
    /// As Debian calls it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The one that this program runs on.
    pub fn of_host() -> Result<Self> {
        let all = [Self::Amd64, Self::Arm64];
        all.into_iter()
            .find(|arch| arch.machine() == std::env::consts::ARCH)
            .with_context(|| format!("the lab knows no {}", std::env::consts::ARCH))
    }

    /// As the kernel and the product call it.
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }
}

/// One kernel of the lab.
#[derive(Debug)]
pub struct Spec {
    /// Its name in the lab.
    pub id: &'static str,
    /// The release whose archive has it.
    pub release: Release,
    /// What it runs on.
    pub arch: Arch,
    /// Whether it is a `PREEMPT_RT` kernel.
    pub is_rt: bool,
    /// Its series, as the product's tables count them.
    pub series: &'static str,
    /// The package that depends on the newest one.
    pub meta: &'static str,
    /// Whether guests run it; of the others only the image is looked at.
    pub boots: bool,
}

impl Spec {
    /// The flavour, in the product's words.
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
    /// What `uname -r` will say.
    pub version: String,
    /// The image a boot loader loads.
    pub image: PathBuf,
    pub config: PathBuf,
    /// Its modules and their indexes.
    pub modules: PathBuf,
}
