//! Probes about work that is kept off the real-time CPUs. Several families of knobs use these probes.

use crate::knobs::case::Missing::{CannotBe, TellsNothing};
use crate::knobs::case::{Case, Doubt, Judged, or_absent};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::{CMDLINE, ISOLATED, NOHZ_FULL};
use punctual_facts::profile::Kind;

/// The file that lists the CPUs of isolated cpuset partitions.
pub(crate) const PARTITIONS: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";
pub(crate) const QUEUES: &str = "/sys/devices/virtual/workqueue";
/// The file with the CPUs on which the kernel may run unbound work.
pub(crate) const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";

/// Whether the scheduler leaves the real-time CPUs out of its balancing.
pub(crate) fn domain(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.is(Kind::Audio), "a desktop session needs all CPUs")?;
    let online = case.online();
    let is_single = online.is_some_and(|online| online.len() == 1);
    Doubt::not_applicable_if(is_single, "there is one CPU, and it has to do everything")?;
    let at_boot = case.cpu_list(ISOLATED, TellsNothing("the kernel does not say which CPUs are isolated"))?;
    let by_cpuset = case.cpu_list_if_there(PARTITIONS)?;
    case.known_rt()?;
    Ok(case.rt().is_subset(&at_boot.union(&by_cpuset)))
}

/// The CPU whose RCU callbacks a kernel thread of this name runs; `None` for other threads. On kernels without
/// preemptible RCU, the name begins with `rcuos/`.
pub(crate) fn offloaded_cpu(thread: &str) -> Option<u32> {
    thread.strip_prefix("rcuop/").or_else(|| thread.strip_prefix("rcuos/"))?.parse().ok()
}

/// The CPUs that have a thread for their RCU callbacks. The CPUs are kept as evidence.
pub(crate) fn with_rcu_thread(case: &Case<'_>) -> Result<CpuSet, Doubt> {
    let threads = case.tasks(|task| task.is_kernel && offloaded_cpu(&task.name).is_some())?;
    let cpus: CpuSet = threads.iter().filter_map(|task| offloaded_cpu(&task.name)).collect();
    let shown = if cpus.is_empty() { "none".to_owned() } else { format!("for CPUs {cpus}") };
    case.note("kernel threads rcuop/N, rcuos/N", shown);
    Ok(cpus)
}

/// Whether the RCU callbacks of the real-time CPUs run on other CPUs.
pub(crate) fn rcu_nocbs(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let with_thread = with_rcu_thread(case)?;
    let online = case.online().cloned().unwrap_or_default();
    // Kernels before 6.1 create these threads only for the CPUs whose callbacks they offload, later kernels for all
    // CPUs.
    if !case.rt().is_subset(&with_thread) || !online.is_subset(&with_thread) {
        return Ok(case.rt().is_subset(&with_thread));
    }
    Ok(case.rt().is_subset(&offloaded_at_boot(case)?))
}

/// The CPUs whose callbacks are offloaded, if the threads prove that some are: the tick-free CPUs and those that the
/// command line names.
fn offloaded_at_boot(case: &Case<'_>) -> Result<CpuSet, Doubt> {
    let tick_free = or_absent(case.cpu_list(NOHZ_FULL, CannotBe("")), CpuSet::new())?;
    if case.rt().is_subset(&tick_free) {
        return Ok(tick_free);
    }
    let unseen = TellsNothing("the kernel command line, which may name CPUs in rcu_nocbs=, is not shown");
    let line = case.known(CMDLINE, case.machine.cmdline.clone(), unseen)?;
    let Some(list) = line.value("rcu_nocbs") else {
        case.note(format!("{CMDLINE} rcu_nocbs"), "not there");
        // A kernel that is built to offload every CPU offloads only the tick-free CPUs if there are any.
        let is_all = case.config("RCU_NOCB_CPU_DEFAULT_ALL")? == "y" && tick_free.is_empty();
        return Ok(if is_all { case.rt().clone() } else { tick_free });
    };
    case.note(format!("{CMDLINE} rcu_nocbs"), list);
    let named = CpuSet::parse_list(list);
    let named =
        named.or_else(|e| Doubt::unknown(format!("rcu_nocbs={list}: {e}; the kernel may read it otherwise")))?;
    Ok(tick_free.union(&named))
}

pub(crate) fn common_mask(case: &Case<'_>) -> Result<CpuSet, Doubt> {
    case.cpu_mask(WORKQUEUES, TellsNothing("this kernel does not show where unbound work may run"))
}

/// Whether irqbalance does not run, or runs and leaves out the real-time CPUs.
pub(crate) fn irqbalance(case: &Case<'_>) -> Judged {
    if case.running("irq.irqbalance")?.is_empty() {
        return Ok(true);
    }
    let isolated = case.isolated()?;
    let tick_free = case.tick_free()?;
    let left_alone = isolated.union(&tick_free);
    case.note(
        "isolated and tick-free CPUs",
        if left_alone.is_empty() { "none".to_owned() } else { left_alone.to_string() },
    );
    Ok(!case.rt().is_empty() && case.rt().is_subset(&left_alone))
}

/// The CPUs on which process 1 may run. Everything that process 1 starts inherits them.
pub(crate) fn first_process(case: &Case<'_>) -> Result<CpuSet, Doubt> {
    let path = "/proc/1/status";
    let missing = TellsNothing("process 1 cannot be seen");
    let status = case.content_or_trouble(path, missing)?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim();
    case.note(format!("{path} Cpus_allowed_list"), list);
    match CpuSet::parse_list(list) {
        Ok(cpus) if !cpus.is_empty() => Ok(cpus),
        _ => Doubt::unknown(format!("{path}: the CPUs of process 1 are given as '{list}'")),
    }
}
