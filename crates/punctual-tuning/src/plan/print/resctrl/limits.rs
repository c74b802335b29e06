//! Reads `/sys/fs/resctrl` and the caches: what can be partitioned, within which limits, and which cache ways each
//! group has.

use super::PartitionRefusal;
use super::ways::Limits;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::tree::{Tree, text};
use std::collections::BTreeMap;

pub(super) const FOLDER: &str = "/sys/fs/resctrl";
/// Folders in `/sys/fs/resctrl` that are not groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_data", "mon_groups"];
/// The names of the lines about caches in a schemata file, by cache level. A level has two lines if code and data are
/// partitioned separately.
const CACHES: [(u32, &[&str]); 2] = [(3, &["L3", "L3CODE", "L3DATA"]), (2, &["L2", "L2CODE", "L2DATA"])];

pub(super) struct Cache {
    pub level: u32,
    /// The names of the cache's lines in a schemata file.
    pub lines: Vec<String>,
    pub limits: Limits,
    /// Ways that devices use as well, as a mask for all domains.
    pub shareable: u64,
    /// Ways that are assigned to devices, as a mask for each domain.
    pub devices: BTreeMap<u32, u64>,
    /// The online CPUs of each domain.
    pub cpus: BTreeMap<u32, CpuSet>,
}

/// A group: its name, which is empty for the default group, and its masks by line name and domain.
pub(super) struct Group {
    pub name: String,
    pub masks: BTreeMap<String, BTreeMap<u32, u64>>,
}

pub(super) struct Hardware {
    pub caches: Vec<Cache>,
    /// All groups, with the default group first.
    pub groups: Vec<Group>,
    pub most_groups: u32,
    /// Whether one of the groups is reserved for device traffic.
    pub has_device_group: bool,
}

fn unreadable(path: &str, why: impl Into<String>) -> PartitionRefusal {
    PartitionRefusal::Unreadable { path: path.to_owned(), why: why.into() }
}

fn must<T>(path: &str, fact: Fact<T>) -> Result<T, PartitionRefusal> {
    match fact {
        Fact::Known(value) => Ok(value),
        other => Err(unreadable(path, other.trouble().unwrap_or_default())),
    }
}

fn number(tree: &dyn Tree, path: &str, radix: u32) -> Result<u64, PartitionRefusal> {
    let text = must(path, text(tree, path))?;
    u64::from_str_radix(text.trim(), radix).map_err(|_| unreadable(path, format!("'{text}' is no number")))
}

/// The mask of each domain in a line like `0=7ff;1=7ff`.
fn masks(path: &str, line: &str) -> Result<BTreeMap<u32, u64>, PartitionRefusal> {
    let part = |part: &str| {
        let (domain, mask) = part.split_once('=')?;
        Some((domain.trim().parse().ok()?, u64::from_str_radix(mask.trim(), 16).ok()?))
    };
    line.split(';').map(|text| part(text).ok_or_else(|| unreadable(path, format!("'{text}' is no mask")))).collect()
}

/// The masks in a schemata file, by line name and domain. Lines that are not about caches are left out.
pub(super) fn schemata(path: &str, text: &str) -> Result<BTreeMap<String, BTreeMap<u32, u64>>, PartitionRefusal> {
    let is_cache = |name: &str| CACHES.iter().any(|(_, lines)| lines.contains(&name));
    let lines = text.lines().filter_map(|line| line.trim().split_once(':')).filter(|(name, _)| is_cache(name));
    lines.map(|(name, line)| Ok((name.to_owned(), masks(path, line)?))).collect()
}

impl Hardware {
    pub fn read(tree: &dyn Tree, online: &CpuSet) -> Result<Self, PartitionRefusal> {
        let names = match tree.list(FOLDER) {
            Fact::Known(names) if names.iter().any(|name| name == "schemata") => names,
            Fact::Denied => return Err(unreadable(FOLDER, "reading is refused")),
            _ => return Err(PartitionRefusal::NotMounted),
        };
        let info = must(&format!("{FOLDER}/info"), tree.list(&format!("{FOLDER}/info")))?;
        let groups = groups(tree, &names)?;
        let default = &groups[0].masks;
        let mut caches = Vec::new();
        for (level, names) in CACHES {
            let lines: Vec<String> =
                names.iter().map(|n| (*n).to_owned()).filter(|n| default.contains_key(n)).collect();
            if !lines.is_empty() {
                caches.push(Cache::read(tree, level, lines, online)?);
            }
        }
        let mut most_groups = u32::MAX;
        for name in info {
            // A folder of `info` about monitoring has no such file, and is skipped.
            let path = format!("{FOLDER}/info/{name}/num_closids");
            if text(tree, &path) != Fact::Absent {
                most_groups = most_groups.min(u32::try_from(number(tree, &path, 10)?).unwrap_or(u32::MAX));
            }
        }
        let has_device_group = caches.iter().any(|cache| !cache.devices.is_empty());
        Ok(Self { caches, groups, most_groups, has_device_group })
    }
}

fn groups(tree: &dyn Tree, names: &[String]) -> Result<Vec<Group>, PartitionRefusal> {
    let mut groups = Vec::new();
    let folders = names.iter().filter(|name| !NO_GROUPS.contains(&name.as_str())).map(|name| format!("/{name}"));
    for folder in [String::new()].into_iter().chain(folders) {
        let path = format!("{FOLDER}{folder}/schemata");
        match text(tree, &path) {
            Fact::Absent if !folder.is_empty() => {}
            told => {
                let masks = schemata(&path, &must(&path, told)?)?;
                groups.push(Group { name: folder.trim_start_matches('/').to_owned(), masks });
            }
        }
    }
    Ok(groups)
}

impl Cache {
    fn read(tree: &dyn Tree, level: u32, lines: Vec<String>, online: &CpuSet) -> Result<Self, PartitionRefusal> {
        let info = |file: &str| format!("{FOLDER}/info/{}/{file}", lines[0]);
        let limits = Limits {
            all: number(tree, &info("cbm_mask"), 16)?,
            least: u32::try_from(number(tree, &info("min_cbm_bits"), 10)?).unwrap_or(u32::MAX),
            sparse: text(tree, &info("sparse_masks")).known().is_some_and(|yes| yes == "1"),
        };
        let shareable = match text(tree, &info("shareable_bits")) {
            Fact::Absent => 0,
            _ => number(tree, &info("shareable_bits"), 16)?,
        };
        let devices = match text(tree, &info("io_alloc")).known().map(String::as_str) {
            Some("enabled") => {
                let path = info("io_alloc_cbm");
                masks(&path, &must(&path, text(tree, &path))?)?
            }
            _ => BTreeMap::new(),
        };
        Ok(Self { level, limits, shareable, devices, cpus: domains(tree, level, online)?, lines })
    }
}

/// CPUs by the number of their cache of this level, which is also the number of the domain. A CPU that is listed in the
/// file of another CPU is not read again.
fn domains(tree: &dyn Tree, level: u32, online: &CpuSet) -> Result<BTreeMap<u32, CpuSet>, PartitionRefusal> {
    let mut found: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for cpu in online.iter() {
        if found.values().any(|cpus| cpus.contains(cpu)) {
            continue;
        }
        let folder = |index: u32| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        let is_level =
            |index: &u32| text(tree, &format!("{}/level", folder(*index))).known() == Some(&level.to_string());
        // Some chips have cores without a cache of this level.
        let Some(index) = [level, 1, 2, 3, 4].into_iter().find(is_level) else { continue };
        let id = number(tree, &format!("{}/id", folder(index)), 10)?;
        let id = u32::try_from(id).map_err(|_| unreadable(&folder(index), "its number is out of range"))?;
        let path = format!("{}/shared_cpu_list", folder(index));
        let list = must(&path, text(tree, &path))?;
        let mut cpus = CpuSet::parse_list(&list).map_err(|e| unreadable(&path, e.to_string()))?.intersection(online);
        cpus.insert(cpu);
        let domain = found.entry(id).or_default();
        *domain = domain.union(&cpus);
    }
    Ok(found)
}
