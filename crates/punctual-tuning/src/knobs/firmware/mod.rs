//! What is below the kernel: firmware and host, as far as software can tell, and where to look where it cannot.

pub(super) mod advice;
pub(super) mod host;
pub(super) mod interruptions;
pub(super) mod memory;
pub(super) mod settings;

use crate::knobs::prelude::*;

/// Goes on only where there is a setup menu of the usual kind.
fn has_setup(case: &Case<'_>) -> Result<(), Doubt> {
    case.only_on(Arch::X86, "ARM boards have no such menu; their boot loader and device tree decide")?;
    case.not_a_guest()
}

/// Goes on only with the setup menu of a machine with Intel's CPU.
fn has_intel_setup(case: &Case<'_>) -> Result<(), Doubt> {
    has_setup(case)?;
    if case.cpu_field("vendor_id")? == "GenuineIntel" {
        return Ok(());
    }
    Doubt::not_applicable("this setting is of Intel's platforms")
}
