//! Which CPUs do the real-time work, and which are housekeeping CPUs.
//!
//! CPUs that the user names are checked, and warnings state doubts about them. Otherwise the isolated CPUs are chosen,
//! or other CPUs if none is isolated. A sentence explains each step. This module changes nothing on the machine; other
//! modules put the choice into force.

mod layout;
mod pick;
mod refusal;
mod review;

pub use layout::KindOfCore;
pub use refusal::{ChoiceRefusal, Warning};

use layout::{Isolated, Layout};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;
use refusal::worded;
use serde::Serialize;

/// The division of the CPUs into CPUs for the real-time work and CPUs for everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// CPUs for the real-time work.
    pub cpus: CpuSet,
    /// Online CPUs for everything else. There is at least one, and CPUs that are to be taken offline are not among
    /// them.
    pub housekeeping: CpuSet,
    /// Siblings of chosen CPUs that were not chosen themselves and can be taken offline, so that no core is split.
    /// While they are online, they are housekeeping CPUs.
    pub offline: CpuSet,
    /// The reasons for the choice, one sentence for each step.
    pub reasons: Vec<String>,
    /// Doubts about this choice of CPUs.
    pub warnings: Vec<Warning>,
}

/// Chooses the CPUs, or checks the CPUs that `need` names.
pub fn choose(tree: &dyn Tree, machine: &Machine, need: &Need) -> Result<Choice, ChoiceRefusal> {
    let layout = Layout::read(tree, machine).ok_or(ChoiceRefusal::Unknown)?;
    if !need.cpus.is_empty() {
        check(&layout, &need.cpus)?;
        let cpus = &need.cpus;
        let asked = worded(cpus, format!("CPU {cpus} was asked for."), format!("CPUs {cpus} were asked for."));
        return Ok(chosen(&layout, need.cpus.clone(), vec![asked]));
    }
    if let Some(Isolated { cpus: isolated, by }) = &layout.isolated {
        let isolated = isolated.intersection(&layout.usable);
        if !isolated.is_empty() && isolated != layout.usable {
            let reason = worded(
                &isolated,
                format!("CPU {isolated} is already isolated by {by}, so this choice uses it."),
                format!("CPUs {isolated} are already isolated by {by}, so this choice uses them."),
            );
            return Ok(chosen(&layout, isolated, vec![reason]));
        }
    }
    let pick = pick::pick(&layout, need.kind)?;
    Ok(chosen(&layout, pick.cpus, pick.reasons))
}

/// Fails if these CPUs cannot be chosen.
fn check(layout: &Layout, cpus: &CpuSet) -> Result<(), ChoiceRefusal> {
    let present =
        layout.present.as_ref().map_or_else(|| layout.online.clone(), |present| present.union(&layout.online));
    let missing = cpus.difference(&present);
    if !missing.is_empty() {
        return Err(ChoiceRefusal::Missing { cpus: missing, present });
    }
    let offline = cpus.difference(&layout.online);
    if !offline.is_empty() {
        return Err(ChoiceRefusal::Offline { cpus: offline });
    }
    let foreign = cpus.difference(&layout.usable);
    if !foreign.is_empty() {
        return Err(ChoiceRefusal::NotGiven { cpus: foreign, given: layout.usable.clone() });
    }
    if layout.usable.len() == 1 {
        return Err(ChoiceRefusal::OneCpu { cpu: layout.keeper() });
    }
    if layout.usable.is_subset(cpus) {
        return Err(ChoiceRefusal::NoHousekeeping { cpus: cpus.clone(), usable: layout.usable.clone() });
    }
    Ok(())
}

fn chosen(layout: &Layout, cpus: CpuSet, mut reasons: Vec<String>) -> Choice {
    let offline = review::offline(layout, &cpus);
    let housekeeping = layout.usable.difference(&cpus).difference(&offline);
    let warnings = review::warnings(layout, &cpus, &housekeeping, &offline);
    let shares_last_level = cpus
        .iter()
        .any(|cpu| !layout.l3.is_empty() && !layout::share(&layout.l3, cpu).intersection(&housekeeping).is_empty());
    if shares_last_level {
        let told = "The last-level cache is shared with housekeeping CPUs; if the CPU supports it, a part of this \
            cache can be reserved (cat.l3).";
        reasons.push(told.to_owned());
    }
    if layout.is_guest && layout.cores.iter().all(|core| core.len() == 1) {
        reasons.push("No siblings are shown, but a host may hide from its guests which CPUs share a core.".to_owned());
    }
    Choice { cpus, housekeeping, offline, reasons, warnings }
}
