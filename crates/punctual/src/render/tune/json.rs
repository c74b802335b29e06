//! What is published of changing the machine: the plan and what became of it, what was put back, how everything stands.

use super::Status;
use crate::render::document::Published;
use punctual_facts::profile::Kind;
use punctual_linux::apply::{Applied, Reverted};
use punctual_tuning::plan::Plan;
use serde::Serialize;

/// A plan, and what became of it where it was carried out.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TuneDocument<'a> {
    /// Kind of work the machine is for.
    pub profile: Kind,
    pub plan: &'a Plan,
    /// Null where nothing was changed: `--dry-run`, a captured machine, or nothing to change.
    pub applied: Option<&'a Applied>,
}

impl Published for TuneDocument<'_> {
    const SCHEMA: &'static str = "punctual/tune/2";
}

impl Published for Reverted {
    const SCHEMA: &'static str = "punctual/revert/2";
}

impl Published for Status {
    const SCHEMA: &'static str = "punctual/status/2";
}
