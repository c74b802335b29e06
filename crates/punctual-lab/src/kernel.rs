//! Kernels of Debian, each defined by a release, an architecture and a flavour.
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

/// An architecture for which Debian has kernels and QEMU has a computer.
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

    /// The program that emulates a computer of the architecture.
    pub fn qemu(self) -> &'static str {
        match self {
            Self::Amd64 => "qemu-system-x86_64",
            Self::Arm64 => "qemu-system-aarch64",
        }
    }

    /// The architecture of this machine.
    pub fn of_host() -> Result<Self> {
        let all = [Self::Amd64, Self::Arm64];
        all.into_iter().find(|arch| arch.machine() == std::env::consts::ARCH).with_context(|| {
            format!("kernels are booted on x86_64 and aarch64 only, not on {}", std::env::consts::ARCH)
        })
    }

    /// The name of the architecture in the kernel and in the product.
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }
}

/// A kernel whose package has been unpacked.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The output of `uname -r` on this kernel.
    pub version: String,
    pub image: PathBuf,
    pub config: PathBuf,
    /// The folder with the modules and their indexes.
    pub modules: PathBuf,
}

/// The package of Debian that depends on the newest kernel of this kind.
pub fn newest(arch: Arch, is_rt: bool) -> String {
    format!("linux-image-{}{}", if is_rt { "rt-" } else { "" }, arch.debian())
}
