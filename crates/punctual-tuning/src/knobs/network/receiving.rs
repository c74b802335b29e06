//! Knobs about the context in which packets are handled: interrupt, thread or caller.

use super::{FOLDER, Nic, devices, nics};
use crate::knobs::prelude::*;

/// Good if `is_wanted` holds for the file's number on every hardware device that has the file.
pub(super) fn every_nic(case: &Case<'_>, file: &str, is_wanted: impl Fn(i64) -> bool) -> Judged {
    let (mut seen, mut all) = (false, true);
    for Nic { name, .. } in nics(case)? {
        let path = format!("{FOLDER}/{name}/{file}");
        if case.peek(&path).known().is_some() {
            seen = true;
            all &= is_wanted(case.number(&path, TellsNothing("the setting is not shown"))?);
        }
    }
    if seen { Ok(all) } else { Doubt::not_applicable(format!("no network device here has {file}")) }
}

pub(super) fn wifi(case: &Case<'_>) -> Judged {
    let is_wireless = |name: &String| {
        let parts = case.list(&format!("{FOLDER}/{name}"));
        parts.known().is_some_and(|parts| parts.iter().any(|part| part == "phy80211" || part == "wireless"))
    };
    let wireless: Vec<String> =
        nics_or_none(case)?.into_iter().map(|nic| nic.name).filter(|name| is_wireless(name)).collect();
    case.none_found(FOLDER, wireless.join(", "), "no wireless device")
}

fn nics_or_none(case: &Case<'_>) -> Result<Vec<Nic>, Doubt> {
    devices(case)?;
    match nics(case) {
        Err(Doubt::NotApplicable(_)) => Ok(Vec::new()),
        found => found,
    }
}

pub(super) fn ethercat(case: &Case<'_>) -> Judged {
    let modules = "/sys/module";
    let loaded = case.names(modules, TellsNothing("/sys/module cannot be seen here"))?;
    let has_no_master = !case.has_module("ec_master")?;
    Doubt::not_applicable_if(has_no_master, "no EtherCAT master is loaded (a master in user space does not show)")?;
    let drivers: Vec<&str> =
        loaded.iter().filter(|name| name.starts_with("ec_") && *name != "ec_master").map(String::as_str).collect();
    case.note(modules, format!("ec_master, {}", drivers.join(", ")));
    Ok(!drivers.is_empty() && !drivers.contains(&"ec_generic"))
}
