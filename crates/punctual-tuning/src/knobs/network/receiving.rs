//! Knobs about the context in which packets are handled: interrupt, thread or caller.

use super::{FOLDER, devices, nics};
use crate::knobs::prelude::*;

pub(super) fn wifi(case: &Case<'_>) -> Judged {
    let is_wireless = |name: &String| {
        let parts = case.list(&format!("{FOLDER}/{name}"));
        parts.known().is_some_and(|parts| parts.iter().any(|part| part == "phy80211" || part == "wireless"))
    };
    devices(case)?;
    let nics = or_absent(nics(case), Vec::new())?;
    let wireless: Vec<String> = nics.into_iter().map(|nic| nic.name).filter(is_wireless).collect();
    case.none_found(FOLDER, wireless.join(", "), "no wireless device")
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
