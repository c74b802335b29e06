//! What is below the kernel, firmware and host: its state as far as software can tell, or where to look.

pub(super) mod advice;
pub(super) mod host;
pub(super) mod interruptions;
pub(super) mod memory;
pub(super) mod settings;

use crate::knobs::prelude::*;

/// Not applicable without a firmware setup menu of the usual kind.
fn has_setup(case: &Case<'_>) -> Result<(), Doubt> {
    case.only_on(Arch::X86, "ARM boards have no such menu; their boot loader and device tree decide")?;
    case.not_a_guest()
}

/// Not applicable without a firmware setup menu on a machine with Intel's CPU.
fn has_intel_setup(case: &Case<'_>) -> Result<(), Doubt> {
    has_setup(case)?;
    if case.cpu_field("vendor_id")? == "GenuineIntel" {
        return Ok(());
    }
    Doubt::not_applicable("this setting is of Intel's platforms")
}
