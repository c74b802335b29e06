//! The kernels that the lab boots.

pub use punctual_lab::kernel::{Arch, Release};

use std::ops::Deref;

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
    /// Whether guests boot this kernel. Of other kernels only the image is read.
    pub boots: bool,
}

impl Spec {
    /// The package of Debian that depends on the newest kernel of this kind.
    pub fn meta(&self) -> String {
        punctual_lab::kernel::newest(self.arch, self.is_rt)
    }

    /// The product's name of the flavour.
    pub fn flavour(&self) -> &'static str {
        if self.is_rt { "rt" } else { "stock" }
    }
}

/// All kernels of the lab.
pub const KERNELS: [Spec; 6] = [
    Spec { id: "12-amd64", release: Release::Bookworm, arch: Arch::Amd64, is_rt: false, series: "6.1", boots: true },
    Spec { id: "12-rt-amd64", release: Release::Bookworm, arch: Arch::Amd64, is_rt: true, series: "6.1", boots: true },
    Spec { id: "13-amd64", release: Release::Trixie, arch: Arch::Amd64, is_rt: false, series: "6.12", boots: true },
    Spec { id: "13-rt-amd64", release: Release::Trixie, arch: Arch::Amd64, is_rt: true, series: "6.12", boots: true },
    Spec { id: "12-rt-arm64", release: Release::Bookworm, arch: Arch::Arm64, is_rt: true, series: "6.1", boots: true },
    Spec { id: "13-arm64", release: Release::Trixie, arch: Arch::Arm64, is_rt: false, series: "6.12", boots: false },
];

/// A kernel of the lab whose package has been unpacked.
#[derive(Debug)]
pub struct Kernel {
    pub spec: &'static Spec,
    pub unpacked: punctual_lab::kernel::Kernel,
}

impl Deref for Kernel {
    type Target = punctual_lab::kernel::Kernel;

    fn deref(&self) -> &Self::Target {
        &self.unpacked
    }
}
