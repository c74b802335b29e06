//! Reads `/sys/fs/resctrl`: which group of CPUs owns which part of which cache.
//!
//! The format of the files is described in `kernel/filesystems/resctrl.rst`. This module does not decide what is good
//! or bad.

use crate::knobs::prelude::*;
use std::collections::BTreeMap;

const FOLDER: &str = "/sys/fs/resctrl";
/// The folder that describes the caches and bandwidths that the hardware can partition.
pub const INFO: &str = "/sys/fs/resctrl/info";
/// The reason for an unknown verdict on a machine where resctrl is not mounted.
pub const UNMOUNTED: Missing =
    TellsNothing("resctrl is not mounted; a partition set through MSRs would not show either");

/// The groups of resctrl, by name; the default group's name is empty.
pub struct Partitions {
    groups: Vec<String>,
}

/// Parses `0=ff;1=ff`: for each cache domain its value, a number in base `radix`.
pub fn domains(line: &str, radix: u32) -> BTreeMap<u32, u64> {
    let part = |part: &str| {
        let (domain, value) = part.trim().split_once('=')?;
        Some((domain.trim().parse().ok()?, u64::from_str_radix(value.trim(), radix).ok()?))
    };
    line.split(';').filter_map(part).collect()
}

/// Reads a mask of cache ways from a file below `info`.
pub fn mask(case: &Case<'_>, file: &str) -> Result<u64, Doubt> {
    let path = format!("{INFO}/{file}");
    let text = case.text(&path, UNMOUNTED)?;
    u64::from_str_radix(text.trim(), 16).or_else(|_| Doubt::unknown(format!("{path} holds '{text}'")))
}

impl Partitions {
    /// Lists the groups. Unknown if resctrl is not mounted.
    pub fn read(case: &Case<'_>) -> Result<Self, Doubt> {
        let names = case.names(FOLDER, UNMOUNTED)?;
        if !names.iter().any(|name| name == "schemata") {
            return case.known(FOLDER, Fact::Absent, UNMOUNTED);
        }
        let is_group = |name: &String| case.exists(&format!("{FOLDER}/{name}/schemata"));
        let own = ["info", "mon_data", "mon_groups"];
        let groups = names.into_iter().filter(|name| !own.contains(&name.as_str()) && is_group(name)).collect();
        Ok(Self { groups })
    }

    fn cpus(case: &Case<'_>, group: &str) -> CpuSet {
        let list = case.peek(&format!("{FOLDER}/{group}/cpus_list"));
        list.known().and_then(|list| CpuSet::parse_list(list).ok()).unwrap_or_default()
    }

    fn mode(case: &Case<'_>, group: &str) -> Option<String> {
        case.peek(&format!("{FOLDER}/{group}/mode")).known().cloned()
    }

    /// The modes of all groups, such as `exclusive`, which are kept as evidence.
    pub fn modes(&self, case: &Case<'_>) -> Vec<String> {
        let modes: Vec<String> = self.groups.iter().filter_map(|group| Self::mode(case, group)).collect();
        case.note(format!("{FOLDER}/*/mode"), if modes.is_empty() { "no groups".to_owned() } else { modes.join(", ") });
        modes
    }

    /// The line of a group's `schemata` about a resource, without the resource's name.
    pub fn line(case: &Case<'_>, group: &str, resource: &str) -> Result<String, Doubt> {
        let path = format!("{FOLDER}/{group}/schemata").replace("//", "/");
        let schemata = case.content(&path, UNMOUNTED)?;
        let line = schemata.lines().find_map(|line| line.trim().strip_prefix(resource)?.strip_prefix(':'));
        match line {
            Some(line) => {
                case.note(format!("{path} {resource}"), line);
                Ok(line.to_owned())
            }
            None => Doubt::not_applicable(format!("resctrl does not partition {resource} here")),
        }
    }

    /// Whether every real-time CPU belongs to a group in mode `exclusive`.
    pub fn is_exclusive(&self, case: &Case<'_>, resource: &str) -> Judged {
        Self::line(case, "", resource)?;
        let mut exclusive = CpuSet::new();
        for group in &self.groups {
            if Self::mode(case, group).is_some_and(|mode| mode == "exclusive") {
                exclusive = exclusive.union(&Self::cpus(case, group));
            }
        }
        case.note(
            format!("{FOLDER}/*/mode"),
            if exclusive.is_empty() {
                "no exclusive group".to_owned()
            } else {
                format!("exclusive for CPUs {exclusive}")
            },
        );
        Ok(!case.rt().is_empty() && case.rt().is_subset(&exclusive))
    }

    /// The cache ways, by cache domain, of all groups that contain a real-time CPU.
    pub fn own_ways(&self, case: &Case<'_>, resource: &str) -> Result<BTreeMap<u32, u64>, Doubt> {
        let mut own: BTreeMap<u32, u64> = BTreeMap::new();
        for group in self.groups.iter().filter(|group| !Self::cpus(case, group).intersection(case.rt()).is_empty()) {
            for (domain, ways) in domains(&Self::line(case, group, resource)?, 16) {
                *own.entry(domain).or_default() |= ways;
            }
        }
        Doubt::not_applicable_if(own.is_empty(), "the real-time CPUs have no group of their own")?;
        Ok(own)
    }
}
