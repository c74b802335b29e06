//! JSON documents about changing the machine: the plan with its result, what was reverted, the status of settings.

use super::Status;
use crate::render::document::Published;
use punctual_facts::profile::Kind;
use punctual_linux::apply::{Applied, Reverted};
use punctual_tuning::plan::Plan;
use serde::Serialize;

/// A plan and, if it was carried out, the result of each change.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TuneDocument<'a> {
    /// Kind of work the machine is for.
    profile: Kind,
    plan: &'a Plan,
    /// Words that the kernel command line of the next boot should have, including those of earlier transactions.
    cmdline_add: &'a [String],
    /// Names of the parameters that the kernel command line of the next boot should not have.
    cmdline_remove: &'a [String],
    /// The result of the changes; null if nothing was changed because of `--dry-run`, a captured machine, or an empty
    /// plan.
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
