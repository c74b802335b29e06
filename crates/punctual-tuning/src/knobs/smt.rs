//! Hardware threads that share a core.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob { blast: Blast::Disturbing, ..Knob::of(Family::Smt) };

pub(crate) const KNOBS: &[Knob] = &[Knob {
    id: "cpu.smt",
    title: "A real-time CPU shares its core with no other",
    severity: Weight::of(High, High, Info).at_most(Info, is_among_themselves),
    check: Check::Probe(smt),
    why: "Two threads of one core share its execution units and first-level cache: whatever the sibling does slows \
        the real-time thread down, by up to half, and no priority helps.",
    fix: Fix::prose(
        "Take the siblings of CPUs <I> offline (echo 0 > /sys/devices/system/cpu/cpuN/online); note their numbers first, \
        because offline siblings vanish from the topology.",
    ),
    persist: &[
        Lasting::word("nosmt"),
        Lasting::Firmware("Hyper-Threading or SMT, usually under Advanced, CPU configuration"),
    ],
    undo: Fix::prose("echo 1 > /sys/devices/system/cpu/cpuN/online; remove the word."),
    cost: "20 to 30 % of the machine's throughput.",
    sources: &[
        "kernel ABI testing/sysfs-devices-system-cpu: smt, topology",
        "kernel 7.3 admin-guide/cpu-isolation.rst",
        "firedancer#5866",
    ],
    ..KNOB
}];

const SIBLINGS: &str = "topology/thread_siblings_list";
const UNSEEN: Missing = TellsNothing("which CPUs share a core is not shown");

/// Whether the real-time CPUs share their cores only with one another, which can only be deliberate.
fn is_among_themselves(case: &Case<'_>) -> bool {
    let is_single = case.machine.topology.smt_active.known() == Some(&false);
    let is_within = |list: &str| CpuSet::parse_list(list).is_ok_and(|siblings| siblings.is_subset(case.rt()));
    let all_within = || case.of_rt(SIBLINGS, UNSEEN).is_ok_and(|all| all.iter().all(|of| is_within(&of.value)));
    !is_single && !case.has_no_others() && all_within()
}

fn smt(case: &Case<'_>) -> Judged {
    let mut is_alone = true;
    for OfCpus { cpus, value: siblings } in case.of_rt(SIBLINGS, UNSEEN)? {
        let Ok(siblings) = CpuSet::parse_list(&siblings) else {
            return Doubt::unknown(format!("the siblings of CPU {cpus} are given as '{siblings}'"));
        };
        is_alone &= siblings.len() == 1;
    }
    let is_guest = case.virtualisation().is_none_or(|v| v.hypervisor.is_some());
    let may_hide_siblings = is_alone && is_guest;
    Doubt::unknown_if(may_hide_siblings, "the topology shows no siblings, but a host may hide them from its guests")?;
    Ok(is_alone)
}
