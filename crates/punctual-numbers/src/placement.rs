//! Who runs where: our helpers keep off the measured CPUs and their SMT siblings as long as there is room, and say so
//! when there is not.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;

/// Who ran where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPUs our own helper threads kept to.
    pub housekeeping: CpuSet,
    /// CPUs the loads could use.
    pub loads: CpuSet,
    /// CPUs isolated from the scheduler.
    pub isolated: CpuSet,
    /// Measured CPUs our helpers had to share.
    pub shared: CpuSet,
    /// Measured CPUs whose SMT sibling our helpers had to use.
    pub shared_siblings: CpuSet,
}

/// Where helpers and loads run when `measured` is measured. Loads go where `wanted` says, or wherever an ordinary task
/// could run.
pub fn place(measured: &CpuSet, cpus: &Cpus, wanted: Option<&CpuSet>) -> Placement {
    let near = cpus.siblings_of(measured).union(measured);
    let ordinary = cpus.ordinary();
    let housekeeping = first_nonempty([
        ordinary.difference(&near),
        ordinary.difference(measured),
        cpus.allowed.difference(measured),
        ordinary,
    ]);
    let shared = housekeeping.intersection(measured);
    let beside: CpuSet = measured
        .iter()
        .filter(|cpu| cpus.siblings.get(cpu).is_some_and(|s| !s.intersection(&housekeeping).is_empty()))
        .collect();
    Placement {
        loads: wanted.cloned().unwrap_or_else(|| cpus.ordinary()),
        isolated: cpus.isolated.clone(),
        shared_siblings: beside.difference(&shared),
        shared,
        housekeeping,
    }
}

fn first_nonempty<const N: usize>(sets: [CpuSet; N]) -> CpuSet {
    sets.into_iter().find(|set| !set.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn machine(allowed: &str, isolated: &str, pairs: &[(u32, &str)]) -> Cpus {
        Cpus {
            online: set(allowed),
            allowed: set(allowed),
            isolated: set(isolated),
            siblings: pairs.iter().map(|(cpu, list)| (*cpu, set(list))).collect(),
        }
    }

    const PAIRS: &[(u32, &str)] = &[(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")];

    #[test]
    fn helpers_leave_the_measured_core_alone_when_they_can() {
        let placement = place(&set("3"), &machine("0-3", "", PAIRS), None);
        assert_eq!(
            (placement.housekeeping, placement.shared, placement.shared_siblings),
            (set("0,2"), set(""), set(""))
        );
    }

    #[test]
    fn a_sibling_is_better_than_the_measured_cpu_itself_and_is_named() {
        let placement = place(&set("0,1,3"), &machine("0-3", "", PAIRS), None);
        assert_eq!((placement.housekeeping, placement.shared_siblings), (set("2"), set("0")));
    }

    #[test]
    fn one_cpu_is_shared_and_that_is_said() {
        let placement = place(&set("0"), &machine("0", "", &[]), None);
        assert_eq!((placement.housekeeping, placement.shared), (set("0"), set("0")));
    }

    #[test]
    fn loads_stay_off_isolated_cpus_unless_sent_there() {
        let cpus = machine("0-3", "2-3", &[]);
        assert_eq!(place(&set("2-3"), &cpus, None).loads, set("0-1"));
        assert_eq!(place(&set("2-3"), &cpus, Some(&set("2"))).loads, set("2"));
    }

    #[test]
    fn helpers_do_not_settle_on_isolated_cpus() {
        assert_eq!(place(&set("2"), &machine("0-3", "2-3", &[]), None).housekeeping, set("0-1"));
    }
}
