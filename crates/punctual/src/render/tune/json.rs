//! JSON documents about changing the machine: the plan with its result, what was reverted, the status of settings.

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
    profile: Kind,
    plan: &'a Plan,
    /// Words for the kernel that are wanted at the next boot, those of earlier tunings among them.
    cmdline_add: &'a [String],
    /// Words for the kernel, by name, that are to be gone at the next boot.
    cmdline_remove: &'a [String],
    /// Null where nothing was changed: `--dry-run`, a captured machine, or nothing to change.
    applied: Option<&'a Applied>,
}

impl<'a> TuneDocument<'a> {
    pub fn of(profile: Kind, plan: &'a Plan, applied: Option<&'a Applied>) -> Self {
        let (cmdline_add, cmdline_remove) = (&plan.wanted.words, &plan.wanted.no_words);
        Self { profile, plan, cmdline_add, cmdline_remove, applied }
    }
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
