//! Artefacts for people who build images: texts for files, and values to be written.
//!
//! Each artefact is a pure function of the wanted settings and of the machine's files.

mod dual_kernel;
mod kconfig;
mod resctrl;

pub use crate::rk3568::{L3Split, L3SplitRefusal, rk3568_l3};
pub use dual_kernel::{DualKernelRefusal, DualKernelWords, evl_words, xenomai_words};
pub use kconfig::{KconfigRefusal, kconfig};
pub use resctrl::{Partition, PartitionRefusal, Share, resctrl};
