//! Knobs about the layers below the kernel: firmware and host. Each shows the state if software can determine it, and
//! otherwise says where to look.

pub(super) mod advice;
pub(super) mod host;
pub(super) mod interruptions;
pub(super) mod memory;
pub(super) mod settings;

use crate::knobs::prelude::*;

/// Not applicable on a machine without a firmware setup menu as x86 machines have it.
fn has_setup(case: &Case<'_>) -> Result<(), Doubt> {
    case.only_on(Arch::X86, "only x86 machines have the setup menu that this knob is about; on other boards, the boot loader and the device tree make these settings")?;
    case.not_a_guest()
}

/// Not applicable on a machine without a firmware setup menu or without a CPU from Intel.
fn has_intel_setup(case: &Case<'_>) -> Result<(), Doubt> {
    has_setup(case)?;
    if case.cpu_field("vendor_id")? == "GenuineIntel" {
        return Ok(());
    }
    Doubt::not_applicable("only Intel's platforms have this setting")
}
