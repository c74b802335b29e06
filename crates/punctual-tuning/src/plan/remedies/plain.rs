//! Remedies that write single files, for knobs whose catalogue entry has only a word or a module option for the next
//! boot.

use super::draft::Draft;
use super::{Found, Site};
use crate::knobs::{Blast, Doubt};
use punctual_facts::fact::Fact;

pub(super) fn one(site: &Site<'_>, subject: &str, path: &str, value: &str, risk: &str) -> Found {
    let mut draft = Draft::default();
    if !draft.write(site.case, subject, path, value) {
        return Doubt::not_applicable(format!("{path} is not there"));
    }
    Ok(draft.remedy(risk, path))
}

/// Switches RCU from expedited to ordinary grace periods.
pub(super) fn rcu(site: &Site<'_>) -> Found {
    let mut draft = Draft::default();
    let mut any = draft.write(site.case, "rcu_expedited", "/sys/kernel/rcu_expedited", "0");
    any |= draft.write(site.case, "rcu_normal", "/sys/kernel/rcu_normal", "1");
    Doubt::not_applicable_if(!any, "this kernel does not show whether RCU is expedited")?;
    Ok(draft.remedy("Administration gets slower: loading modules, setting up the network.", "/sys/kernel/rcu_normal"))
}

/// Sets an idle governor that takes the next timer into account.
pub(super) fn idle_governor(site: &Site<'_>) -> Found {
    let folder = "/sys/devices/system/cpu/cpuidle";
    let offered = site.case.peek(&format!("{folder}/available_governors"));
    let is_not_built_in = offered.known().is_some_and(|names| !names.split_whitespace().any(|name| name == "menu"));
    Doubt::not_applicable_if(is_not_built_in, "the governor menu is not built into this kernel")?;
    one(site, "all CPUs", &format!("{folder}/current_governor"), "menu", "None.")
}

pub(super) fn fixup(site: &Site<'_>) -> Found {
    let path = "/sys/module/spurious/parameters/irqfixup";
    Doubt::not_applicable_if(site.case.peek(path) == Fact::Known("0".to_owned()), "the value is right already")?;
    let risk = "A machine whose interrupts are routed wrongly stops working.";
    Ok(one(site, "lost interrupts", path, "0", risk)?.reaching(Blast::Breaking))
}
