//! Chooses the CPUs on which our helper threads and the loads run. Helpers keep off the measured CPUs and their SMT
//! siblings if there are other CPUs; otherwise the recording states which CPUs they shared.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPUs to which our own helper threads were confined.
    pub housekeeping: CpuSet,
    /// CPUs that the loads could use.
    pub loads: CpuSet,
    pub isolated: CpuSet,
    /// Measured CPUs that our helpers had to share.
    pub shared: CpuSet,
    /// Measured CPUs whose SMT sibling our helpers had to use.
    pub shared_siblings: CpuSet,
}

/// The placement for a measurement of the CPUs `measured`. Loads run on `wanted`, or else on all CPUs on which ordinary
/// tasks can run.
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
    fn helpers_keep_off_the_measured_cores_where_they_can_and_name_what_they_share() {
        let smt = machine("0-3", "", PAIRS);
        for (measured, cpus, housekeeping, shared, shared_siblings) in [
            ("3", &smt, "0,2", "", ""),
            ("0,1,3", &smt, "2", "", "0"),
            ("0", &machine("0", "", &[]), "0", "0", ""),
            ("2", &machine("0-3", "2-3", &[]), "0-1", "", ""),
        ] {
            let placement = place(&set(measured), cpus, None);
            assert_eq!(
                (placement.housekeeping, placement.shared, placement.shared_siblings),
                (set(housekeeping), set(shared), set(shared_siblings)),
                "{measured}"
            );
        }
    }

    #[test]
    fn loads_stay_off_isolated_cpus_unless_sent_there() {
        let cpus = machine("0-3", "2-3", &[]);
        assert_eq!(place(&set("2-3"), &cpus, None).loads, set("0-1"));
        assert_eq!(place(&set("2-3"), &cpus, Some(&set("2"))).loads, set("2"));
    }
}
