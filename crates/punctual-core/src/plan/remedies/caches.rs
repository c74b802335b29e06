//! Groups that divide caches and memory bandwidth, as somebody worked them out from the hardware's limits.
//!
//! This module places what it is given; which ways a group gets is decided where artefacts are made.

use super::super::{Expected, Reading, Step};
use super::draft::Draft;
use super::{Found, Site};
use crate::cpu_set::CpuSet;
use crate::fact::Fact;
use crate::knobs::Doubt;

const FOLDER: &str = "/sys/fs/resctrl";

/// What is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The third-level cache.
    L3,
    /// The second-level cache.
    L2,
    /// Memory bandwidth.
    Bandwidth,
}

/// What one group gets of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheGroup {
    /// Its name below `/sys/fs/resctrl`; empty for the group that everything is in unless it is moved.
    pub name: String,
    /// The CPUs that are to be in it; none for the group of the rest.
    pub cpus: CpuSet,
    /// What this is about.
    pub resource: Resource,
    /// The line of `schemata`: `L3:0=00f;1=00f`.
    pub schemata: String,
}

/// The groups of one resource: the rest gives up its part first, so that nothing is shared at any time.
fn groups(site: &Site<'_>, resource: Resource) -> Found {
    let case = site.case;
    let mut meant: Vec<&CacheGroup> = site.needs.caches.iter().filter(|group| group.resource == resource).collect();
    if meant.is_empty() {
        return Doubt::not_applicable("no division of it was worked out for this machine");
    }
    if case.peek(&format!("{FOLDER}/schemata")) == Fact::Absent {
        return Doubt::unknown(format!("resctrl is not mounted: mount -t resctrl resctrl {FOLDER}"));
    }
    meant.sort_by_key(|group| !group.name.is_empty());
    let mut draft = Draft::default();
    for group in meant {
        let folder = if group.name.is_empty() { FOLDER.to_owned() } else { format!("{FOLDER}/{}", group.name) };
        let named = if group.name.is_empty() { "the rest" } else { &group.name };
        if !group.name.is_empty() && !case.exists(&folder) {
            draft.silent(Step::Folder { path: folder.clone() });
        }
        let before = line_of(&case.peek(&format!("{folder}/schemata")), &group.schemata);
        if before != group.schemata {
            let expected = Expected::same(Reading::Schemata);
            let (path, value) = (format!("{folder}/schemata"), group.schemata.clone());
            draft.step(named, &before, &group.schemata, Step::Write { path, value, expected });
        }
        if !group.cpus.is_empty() {
            let (path, value) = (format!("{folder}/cpus_list"), group.cpus.to_string());
            let expected = Expected::same(Reading::CpuList);
            draft.step(named, "no CPUs", &format!("CPUs {value}"), Step::Write { path, value, expected });
        }
    }
    Ok(draft
        .remedy("The rest of the machine gets by with less of it.", "schemata and cpus_list of each group; bit_usage"))
}

/// The line of the same resource, out of a `schemata` file.
fn line_of(schemata: &Fact<String>, wanted: &str) -> String {
    let resource = wanted.split(':').next().unwrap_or(wanted);
    let text = schemata.known().map(String::as_str).unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| line.split(':').next() == Some(resource));
    line.unwrap_or("no group").to_owned()
}

/// The third-level cache.
pub(super) fn l3(site: &Site<'_>) -> Found {
    groups(site, Resource::L3)
}

/// The second-level cache.
pub(super) fn l2(site: &Site<'_>) -> Found {
    groups(site, Resource::L2)
}

/// Memory bandwidth.
pub(super) fn bandwidth(site: &Site<'_>) -> Found {
    groups(site, Resource::Bandwidth)
}
