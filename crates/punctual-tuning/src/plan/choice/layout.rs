//! What matters for a choice of CPUs: which of them share a core, a cache, a memory node or a kind.
//!
//! Files that exist once per CPU are read at most once, and not at all for a CPU that another CPU's file has named
//! already: a machine of hundreds of CPUs costs some hundreds of small reads. This module only reads, and does not
//! choose CPUs.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::allowed;
use punctual_facts::machine::{Arch, BOOT_CPU, CoreKind, Machine, Node};
use punctual_facts::tree::{Tree, text};

const CPUS: &str = "/sys/devices/system/cpu";
/// The file with the CPUs of the topmost control group that can be seen, for cgroup v2 and v1. In a container this is
/// the container's own group.
const GROUP_CPUS: [&str; 2] = ["/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset/cpuset.effective_cpus"];
/// The file with the CPUs of isolated cpuset partitions, which the scheduler avoids like CPUs isolated at boot.
const PARTITIONED: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";
/// Cores whose capacity is at least this percentage of the fastest core's count as one kind, because clusters of the
/// same core often differ a little in their highest clock.
const SAME_KIND_PERCENT: u128 = 90;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindOfCore {
    /// The name of the kind, as used in a sentence.
    pub name: String,
    pub cpus: CpuSet,
}

/// CPUs that the scheduler does not use, and the setting that isolates them.
#[derive(Clone, Debug)]
pub(super) struct Isolated {
    pub cpus: CpuSet,
    pub by: &'static str,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// CPUs that exist, online or not, if they are known.
    pub present: Option<CpuSet>,
    pub online: CpuSet,
    /// CPUs that can be chosen: all online CPUs or, in a container, the CPUs that the container was given.
    pub usable: CpuSet,
    pub isolated: Option<Isolated>,
    /// The online CPUs by core. If the machine does not show which CPUs share a core, each CPU stands alone.
    pub cores: Vec<CpuSet>,
    /// Whether the machine shows which CPUs share a core.
    pub knows_cores: bool,
    /// The sets of CPUs that share a second-level cache.
    pub l2: Vec<CpuSet>,
    /// The sets of CPUs that share a third-level cache.
    pub l3: Vec<CpuSet>,
    /// Kinds of cores, the fastest first. Empty if there is only one kind, or if the kinds are not known.
    pub kinds: Vec<KindOfCore>,
    pub nodes: Vec<Node>,
    /// Whether this machine is a virtual guest, from which the host may hide that CPUs share a core.
    pub is_guest: bool,
    pub is_contained: bool,
}

impl Layout {
    /// Reads the layout; `None` if not even the online CPUs are known.
    pub fn read(tree: &dyn Tree, machine: &Machine) -> Option<Self> {
        let topology = &machine.topology;
        let allowed = allowed(tree);
        let online = topology.online.known().cloned().or_else(|| allowed.clone()).filter(|cpus| !cpus.is_empty())?;
        let (cores, knows_cores) = cores(tree, &online);
        let [l2, l3] = caches(tree, &online);
        let virtualisation = machine.virtualisation.known();
        let is_contained = virtualisation.is_some_and(|v| v.container.is_some());
        let given = || first_list(tree, &GROUP_CPUS).or(allowed);
        let usable = if is_contained { given().map(|cpus| cpus.intersection(&online)) } else { None };
        Some(Self {
            present: topology.present.known().or(topology.possible.known()).cloned(),
            usable: usable.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| online.clone()),
            isolated: isolated(tree, machine),
            l2,
            l3,
            kinds: kinds(tree, machine, &online),
            nodes: topology.nodes.iter().filter(|node| !node.cpus.is_empty()).cloned().collect(),
            is_guest: virtualisation.is_some_and(|v| v.hypervisor.is_some()),
            is_contained,
            online,
            cores,
            knows_cores,
        })
    }

    /// The threads of the core that a CPU belongs to.
    pub fn core(&self, cpu: u32) -> CpuSet {
        share(&self.cores, cpu)
    }

    /// All threads of the cores that these CPUs belong to.
    pub fn whole_cores(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().fold(CpuSet::new(), |all, cpu| all.union(&self.core(cpu)))
    }

    /// The CPU that is always a housekeeping CPU: the boot CPU, or the first usable CPU if the boot CPU is not usable.
    pub fn keeper(&self) -> u32 {
        if self.usable.contains(BOOT_CPU) { BOOT_CPU } else { self.usable.first().unwrap_or(BOOT_CPU) }
    }
}

/// The first set that contains the CPU; the CPU alone if no set does.
pub(super) fn share(sets: &[CpuSet], cpu: u32) -> CpuSet {
    sets.iter().find(|set| set.contains(cpu)).cloned().unwrap_or_else(|| [cpu].into_iter().collect())
}

fn list(tree: &dyn Tree, path: &str) -> Option<CpuSet> {
    CpuSet::parse_list(text(tree, path).known()?).ok()
}

fn first_list(tree: &dyn Tree, paths: &[&str]) -> Option<CpuSet> {
    paths.iter().find_map(|path| list(tree, path)).filter(|cpus| !cpus.is_empty())
}

fn isolated(tree: &dyn Tree, machine: &Machine) -> Option<Isolated> {
    let booted = machine.isolated.known().cloned().unwrap_or_default();
    let partitioned = list(tree, PARTITIONED).unwrap_or_default();
    let tick_free = machine.nohz_full.known().cloned().unwrap_or_default();
    let by = if booted.is_empty() { "a cpuset partition" } else { "isolcpus=" };
    let found = [Isolated { cpus: booted.union(&partitioned), by }, Isolated { cpus: tick_free, by: "nohz_full=" }];
    found.into_iter().find(|isolated| !isolated.cpus.is_empty())
}

/// The online CPUs by core, and whether the machine shows for every CPU which CPUs share its core.
fn cores(tree: &dyn Tree, online: &CpuSet) -> (Vec<CpuSet>, bool) {
    let mut cores: Vec<CpuSet> = Vec::new();
    let (mut seen, mut is_known) = (CpuSet::new(), true);
    for cpu in online.iter() {
        if seen.contains(cpu) {
            continue;
        }
        let siblings = list(tree, &format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"));
        is_known &= siblings.is_some();
        let mut core = siblings.unwrap_or_default().intersection(online).difference(&seen);
        core.insert(cpu);
        seen = seen.union(&core);
        cores.push(core);
    }
    (cores, is_known)
}

/// The levels of caches that are compared when CPUs are chosen.
const LEVELS: [&str; 2] = ["2", "3"];
/// The indices that caches of these levels may have in the kernel's list of caches, the usual indices first.
const INDEXES: [u32; 3] = [2, 3, 1];

fn caches(tree: &dyn Tree, online: &CpuSet) -> [Vec<CpuSet>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for cpu in online.iter() {
        let is_missing = |found: &[Vec<CpuSet>; 2], level: usize| !found[level].iter().any(|set| set.contains(cpu));
        for index in INDEXES {
            if (0..LEVELS.len()).all(|level| !is_missing(&found, level)) {
                break;
            }
            let folder = format!("{CPUS}/cpu{cpu}/cache/index{index}");
            let level = text(tree, &format!("{folder}/level"));
            let Some(level) = LEVELS.iter().position(|name| level.known().is_some_and(|l| l == name)) else { continue };
            if is_missing(&found, level) {
                let mut set = list(tree, &format!("{folder}/shared_cpu_list")).unwrap_or_default().intersection(online);
                set.insert(cpu);
                found[level].push(set);
            }
        }
    }
    found
}

fn kinds(tree: &dyn Tree, machine: &Machine, online: &CpuSet) -> Vec<KindOfCore> {
    let named = |kind: &CoreKind| KindOfCore {
        name: match kind.name {
            "cpu_core" => "performance cores".to_owned(),
            "cpu_atom" => "efficient cores".to_owned(),
            "cpu_lowpower" => "low-power cores".to_owned(),
            other => other.to_owned(),
        },
        cpus: kind.cpus.intersection(online),
    };
    let kinds: Vec<KindOfCore> = machine.topology.kinds.iter().map(named).filter(|k| !k.cpus.is_empty()).collect();
    if !kinds.is_empty() || machine.kernel.arch.known() == Some(&Arch::X86) {
        return if kinds.len() > 1 { kinds } else { Vec::new() };
    }
    by_capacity(online.iter().filter_map(|cpu| {
        Some((text(tree, &format!("{CPUS}/cpu{cpu}/cpu_capacity")).known()?.trim().parse().ok()?, cpu))
    }))
}

/// CPUs grouped by their capacity, the fastest first; empty if all CPUs are alike.
fn by_capacity(capacities: impl Iterator<Item = (u64, u32)>) -> Vec<KindOfCore> {
    let mut capacities: Vec<(u64, u32)> = capacities.collect();
    capacities.sort_by_key(|(capacity, cpu)| (std::cmp::Reverse(*capacity), *cpu));
    let mut kinds: Vec<(u64, KindOfCore)> = Vec::new();
    for (capacity, cpu) in capacities {
        match kinds.last_mut() {
            Some((fastest, kind)) if u128::from(capacity) * 100 >= u128::from(*fastest) * SAME_KIND_PERCENT => {
                kind.cpus.insert(cpu);
            }
            _ => {
                let name = format!("cores of capacity {capacity}");
                kinds.push((capacity, KindOfCore { name, cpus: [cpu].into_iter().collect() }));
            }
        }
    }
    if kinds.len() > 1 { kinds.into_iter().map(|(_, kind)| kind).collect() } else { Vec::new() }
}
