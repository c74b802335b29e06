//! The words that a kernel's image says it knows, against lists that were made from its sources.
//!
//! Nothing is booted.

use super::{Claim, Judged, Lab, Scenario, skip};
use crate::kernel::Kernel;
use anyhow::Result;

/// The scenario.
pub const ORACLE: Scenario =
    Scenario { name: "oracle", claims: CLAIMS, wants: |_| true, run };

const CLAIMS: &[Claim] = &[Claim {
    id: "oracle.words",
    says: "every name on the list of this kernel's known-present and known-absent words is classed right from its image alone",
}];

fn run(_: &Lab, _: &Kernel) -> Result<Judged> {
    Ok(skip(CLAIMS, "no list"))
}
