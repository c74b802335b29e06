//! Plans how to reserve ways of a cache for the real-time CPUs, within the limits of the hardware: what to write below
//! `/sys/fs/resctrl`, in which order, and why.
//!
//! The group is exclusive, so that the kernel refuses groups that would overlap it later. The kernel allows only an
//! exclusive group whose masks overlap no other mask in any domain of any cache (`rdtgroup_mode_test_exclusive`).
//! Therefore domains without real-time CPUs have to give up ways, too, but only the smallest number that the hardware
//! allows.

mod limits;
mod ways;

use crate::plan::{Expected, Reading, Step};
use limits::{Cache, FOLDER, Group, Hardware};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::tree::Tree;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use ways::{carve, fair_share};

const GROUP: &str = "punctual";

/// How the ways of one cache are divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub level: u32,
    pub domain: u32,
    pub cpus: CpuSet,
    pub housekeeping: CpuSet,
    pub own: u64,
    /// The ways that remain for the other CPUs, as a mask for each line of the schemata file.
    pub others: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The steps in order. They are undone in reverse order, so that the group is removed before the default group gets
    /// its ways back.
    pub steps: Vec<Step>,
    pub shares: Vec<Share>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionRefusal {
    #[error("{FOLDER} is not mounted, so what the CPU can do is not known")]
    NotMounted,
    /// A file does not show a value that is needed.
    #[error("{path}: {why}")]
    Unreadable { path: String, why: String },
    #[error("this CPU or kernel can partition no cache")]
    NoCache,
    #[error("no cache that can be partitioned is shared between real-time and housekeeping CPUs")]
    NothingShared,
    #[error(
        "{most} groups are possible with what is switched on, and no more is free: there are {}",
        if .taken.is_empty() { "none but the default one".to_owned() } else { .taken.join(", ") }
    )]
    TooFewGroups { most: u32, taken: Vec<String> },
    /// In cache `domain`, only the ways `free` out of `all` can be given to an exclusive group. At least `least` ways
    /// in a row are needed.
    #[error(
        "L{level} cache {domain}: of ways {all:x}, {free:x} belong to no device and no other group, and no {least} in a \
         row can be taken from them and leave {least} in a row to the others{}",
        if .holders.is_empty() { String::new() } else { format!(" (groups: {})", .holders.join(", ")) }
    )]
    TooFewWays { level: u32, domain: u32, all: u64, free: u64, least: u32, holders: Vec<String> },
}

impl PartitionRefusal {
    pub fn remedy(&self) -> String {
        match self {
            Self::NotMounted => format!(
                "mount -t resctrl resctrl {FOLDER}; where that fails, /proc/cpuinfo has neither cat_l3 nor cat_l2, or \
                 the kernel is built without X86_CPU_RESCTRL (arm64: ARM64_MPAM)."
            ),
            Self::Unreadable { .. } => {
                "Read it as root; if it says the same, the machine cannot be planned for.".to_owned()
            }
            Self::NoCache => "Choose real-time CPUs that share no cache with others.".to_owned(),
            Self::NothingShared => "None needed.".to_owned(),
            Self::TooFewGroups { .. } => {
                "Remove a group (rmdir), or mount without -o cdp, cdpl2, which halve their number.".to_owned()
            }
            Self::TooFewWays { holders, .. } if holders.is_empty() => {
                "None: choose real-time CPUs that share no cache with others.".to_owned()
            }
            Self::TooFewWays { .. } => "Remove one of these groups (rmdir), or make it smaller.".to_owned(),
        }
    }
}

pub fn resctrl(tree: &dyn Tree, rt: &CpuSet, housekeeping: &CpuSet) -> Result<Partition, PartitionRefusal> {
    let online = rt.union(housekeeping);
    let hardware = Hardware::read(tree, &online)?;
    if hardware.caches.is_empty() {
        return Err(PartitionRefusal::NoCache);
    }
    let is_shared = |cpus: &CpuSet| !cpus.intersection(rt).is_empty() && !cpus.intersection(housekeeping).is_empty();
    if !hardware.caches.iter().any(|cache| cache.cpus.values().any(is_shared)) {
        return Err(PartitionRefusal::NothingShared);
    }
    room_for_a_group(&hardware)?;
    let mut shares = Vec::new();
    for cache in &hardware.caches {
        let domains = hardware.groups[0].masks.get(&cache.lines[0]).into_iter().flat_map(BTreeMap::keys);
        for domain in domains {
            shares.push(share(&hardware, cache, *domain, [rt, housekeeping])?);
        }
    }
    Ok(Partition { steps: steps(&hardware, &shares, rt), notes: notes(&hardware, &shares), shares })
}

fn room_for_a_group(hardware: &Hardware) -> Result<(), PartitionRefusal> {
    let is_there = hardware.groups.iter().any(|group| group.name == GROUP);
    let taken = hardware.groups.len() + usize::from(hardware.has_device_group);
    if is_there || taken < hardware.most_groups as usize {
        return Ok(());
    }
    let names = hardware.groups.iter().map(|group| group.name.clone()).filter(|name| !name.is_empty());
    let device = hardware.has_device_group.then(|| "the one of io_alloc".to_owned());
    Err(PartitionRefusal::TooFewGroups { most: hardware.most_groups, taken: names.chain(device).collect() })
}

fn share(
    hardware: &Hardware,
    cache: &Cache,
    domain: u32,
    [rt, others]: [&CpuSet; 2],
) -> Result<Share, PartitionRefusal> {
    let users = cache.cpus.get(&domain).cloned().unwrap_or_default();
    let (cpus, housekeeping) = (users.intersection(rt), users.intersection(others));
    let limits = &cache.limits;
    let mask = |group: &Group, line: &String| group.masks.get(line).and_then(|m| m.get(&domain)).copied().unwrap_or(0);
    let is_other = |group: &&Group| !group.name.is_empty() && group.name != GROUP;
    let held = |group: &Group| cache.lines.iter().fold(0, |held, line| held | mask(group, line));
    let holders: Vec<&Group> = hardware.groups.iter().filter(is_other).filter(|group| held(group) != 0).collect();
    let taken = holders.iter().fold(0, |taken, group| taken | held(group));
    let devices = cache.shareable | cache.devices.get(&domain).copied().unwrap_or(0);
    let free = limits.all & !devices & !taken;
    // The ways of our group, if it exists already, and of the default group are divided again.
    let ours = hardware.groups.iter().filter(|group| group.name == GROUP).fold(0, |ours, group| ours | held(group));
    let default: Vec<u64> = cache.lines.iter().map(|line| mask(&hardware.groups[0], line) | (ours & free)).collect();
    let wanted = match (cpus.is_empty(), housekeeping.is_empty()) {
        (true, _) => limits.least,
        (false, true) => limits.count().saturating_sub(limits.least.max(1)),
        (false, false) => fair_share(limits.count(), cpus.len(), housekeeping.len()),
    };
    let own = carve(limits, free, &default, wanted).ok_or_else(|| PartitionRefusal::TooFewWays {
        level: cache.level,
        domain,
        all: limits.all,
        free,
        least: limits.least.max(1),
        holders: holders.iter().map(|group| group.name.clone()).collect(),
    })?;
    let others = default.iter().map(|mask| mask & !own).collect();
    Ok(Share { level: cache.level, domain, cpus, housekeeping, own, others })
}

fn hex(masks: &[u64]) -> String {
    masks.iter().map(|mask| format!("{mask:x}")).collect::<Vec<_>>().join("/")
}

fn steps(hardware: &Hardware, shares: &[Share], cpus: &CpuSet) -> Vec<Step> {
    let mut texts = [String::new(), String::new()];
    for cache in &hardware.caches {
        for (n, line) in cache.lines.iter().enumerate() {
            let of = |mask: &dyn Fn(&Share) -> u64| {
                let of_cache = shares.iter().filter(|share| share.level == cache.level);
                let masks: Vec<String> = of_cache.map(|s| format!("{}={:x}", s.domain, mask(s))).collect();
                format!("{line}:{}\n", masks.join(";"))
            };
            texts[0] += &of(&|share| share.others.get(n).copied().unwrap_or(0));
            texts[1] += &of(&|share| share.own);
        }
    }
    let [others, own] = texts;
    let group = format!("{FOLDER}/{GROUP}");
    let write = |path: String, value: String, reading| {
        let value = value.trim_end().to_owned();
        Step::Write { path, value, expected: Expected::same(reading) }
    };
    let is_there = hardware.groups.iter().any(|group| group.name == GROUP);
    let mut steps = Vec::new();
    if is_there {
        // While our group is exclusive, neither our group nor the default group can be given ways of the other.
        steps.push(write(format!("{group}/mode"), "shareable".to_owned(), Reading::Plain));
    }
    steps.push(write(format!("{FOLDER}/schemata"), others, Reading::Schemata));
    if !is_there {
        steps.push(Step::Folder { path: group.clone() });
    }
    steps.push(write(format!("{group}/schemata"), own, Reading::Schemata));
    steps.push(write(format!("{group}/mode"), "exclusive".to_owned(), Reading::Plain));
    steps.push(write(format!("{group}/cpus_list"), cpus.to_string(), Reading::CpuList));
    steps
}

/// One note for each cache that both real-time and housekeeping CPUs use. Other caches with equal masks share one note,
/// because there may be hundreds of caches.
fn notes(hardware: &Hardware, shares: &[Share]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut alike = BTreeMap::<_, CpuSet>::new();
    for share in shares {
        let Share { level, domain, cpus, housekeeping, own, others } = share;
        if !cpus.is_empty() && !housekeeping.is_empty() {
            let left = hex(others);
            notes.push(format!(
                "L{level} cache {domain}: ways {own:x} for CPU {cpus} alone, {left} for {housekeeping} and the rest."
            ));
        } else {
            alike.entry((Reverse(*level), cpus.is_empty(), *own, others)).or_default().insert(*domain);
        }
    }
    for ((Reverse(level), is_foreign, own, others), domains) in alike {
        let (left, caches) = (hex(others), if domains.len() == 1 { "cache" } else { "caches" });
        notes.push(if is_foreign {
            format!(
                "L{level} {caches} {domains}, without a real-time CPU: gives up ways {own:x}, the least there is, since \
                 an exclusive group may overlap nowhere; {left} remain."
            )
        } else {
            format!("L{level} {caches} {domains}, of real-time CPUs only: ways {own:x}, all but {left}.")
        });
    }
    for cache in hardware.caches.iter().filter(|cache| cache.shareable != 0) {
        notes.push(format!("L{}: ways {:x} are left out, since devices write there.", cache.level, cache.shareable));
    }
    if hardware.caches.iter().any(|cache| cache.lines.len() > 1) {
        notes.push("Code and data are partitioned apart here; both get the same ways.".to_owned());
    }
    notes.push(
        "A task that was put into another group keeps that group's ways, whichever CPU it runs on. Nothing of this \
         survives a boot or an unmount."
            .to_owned(),
    );
    notes
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "# {note}")?;
        }
        for step in &self.steps {
            match step {
                Step::Folder { path } => writeln!(f, "mkdir {path}")?,
                Step::Write { path, value, .. } => {
                    writeln!(f, "printf '{}\\n' > {path}", value.replace('\n', "\\n"))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
