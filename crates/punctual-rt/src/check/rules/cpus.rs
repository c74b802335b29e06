//! Rules about the CPUs that a task will run on.

use super::{Answer, fired, unless, us};
use crate::Nanos;
use crate::check::Severity::{High, Medium};
use crate::check::host::HostCpu;
use crate::check::{Host, Plan, Waits};
use crate::setup::named;

/// Since this kernel version, the fair server protects ordinary tasks; throttling applies only to control groups with
/// real-time run time.
const FAIR_SERVER_SINCE: (u32, u32) = (6, 12);

/// Idle states with a longer exit latency than this noticeably delay every loop that sleeps.
const SHALLOW: Nanos = Nanos::from_us(10);

pub(super) fn missing(plan: &Plan, host: &Host) -> Answer {
    let online = host.online.as_ref()?;
    let missing: Vec<u32> = plan.setup.cpus.iter().filter(|cpu| !online.contains(cpu)).copied().collect();
    unless(missing.is_empty())?;
    let evidence = format!("{} asked for; on-line: {}", named(&missing), named(online));
    fired(plan.when_refused(), evidence, "choose from /sys/devices/system/cpu/online, or bring them on-line")
}

/// The CPUs of a task onto which the kernel also schedules other tasks.
fn not_isolated(plan: &Plan, host: &Host) -> Option<Vec<u32>> {
    let isolated = host.isolated.as_ref()?;
    let shared: Vec<u32> = plan.cpus(host).iter().filter(|cpu| !isolated.contains(cpu)).copied().collect();
    (!shared.is_empty()).then_some(shared)
}

fn is_or_are(cpus: &[u32]) -> &'static str {
    if cpus.len() == 1 { "is" } else { "are" }
}

fn is_real_time_spinner(plan: &Plan) -> bool {
    plan.waits == Waits::Spins && plan.priority().is_some()
}

pub(super) fn shared(plan: &Plan, host: &Host) -> Answer {
    unless(plan.waits != Waits::Spins)?;
    let shared = not_isolated(plan, host)?;
    let (cpus, is) = (named(&shared), is_or_are(&shared));
    let evidence = if plan.setup.policy.is_real_time() {
        format!("spins on {cpus}, which {is} not isolated: whatever else is scheduled there starves")
    } else {
        format!("spins as an ordinary task on {cpus}, which {is} not isolated: others take turns with it")
    };
    fired(
        High,
        evidence,
        "spin on an isolated CPU (isolcpus=managed_irq,domain, or a cpuset partition), or wait hybrid",
    )
}

/// Reports the throttling of real-time threads: on every kernel before 6.12, later only if control groups assign run
/// time.
pub(super) fn throttled(plan: &Plan, host: &Host) -> Answer {
    let (runtime, period) = (host.rt_runtime_us?, host.rt_period_us?);
    let applies = host.kernel? < FAIR_SERVER_SINCE || host.has_rt_groups == Some(true);
    unless(!is_real_time_spinner(plan) || !applies || runtime < 0 || runtime >= period)?;
    let hole_us = period.saturating_sub(runtime);
    let evidence = format!(
        "spins under {}, and real-time throttling (sched_rt_runtime_us = {runtime}) stops it for {hole_us} us of every \
         {period} us, isolated CPU or not",
        plan.setup.policy
    );
    let remedy = "spin as an ordinary task on an isolated CPU, wait hybrid, or write -1 to sched_rt_runtime_us once nothing \
                  else needs that CPU";
    fired(High, evidence, remedy)
}

/// Since Linux 6.12, an ordinary task that starves on a CPU gets a share of time ahead of all real-time priorities.
pub(super) fn fair_server(plan: &Plan, host: &Host) -> Answer {
    unless(!is_real_time_spinner(plan) || host.kernel? < FAIR_SERVER_SINCE)?;
    let is_off = |cpu: &u32| host.cpu(*cpu).and_then(|host| host.fair_server) == Some(0);
    let cpus: Vec<u32> = not_isolated(plan, host)?.into_iter().filter(|cpu| !is_off(cpu)).collect();
    unless(cpus.is_empty())?;
    let evidence = format!(
        "spins under {} on {}, which {} not isolated: whenever an ordinary task waits there, the kernel's fair \
         server stops it for its share, 50 ms of every second by default",
        plan.setup.policy,
        named(&cpus),
        is_or_are(&cpus)
    );
    let remedy = "spin on an isolated CPU, wait hybrid, or write 0 to /sys/kernel/debug/sched/fair_server/cpuN/runtime";
    fired(High, evidence, remedy)
}

pub(super) fn siblings(plan: &Plan, host: &Host) -> Answer {
    let is_shared = |cpu: &&HostCpu| cpu.siblings.as_ref().is_some_and(|all| all.len() > 1);
    let hosts = plan.setup.cpus.iter().filter_map(|cpu| host.cpu(*cpu)).find(is_shared)?;
    let evidence = format!("CPU {} shares its core: {}", hosts.cpu, named(hosts.siblings.as_deref()?));
    fired(
        High,
        evidence,
        "take the sibling off-line (echo 0 > /sys/devices/system/cpu/cpuN/online), or boot with nosmt",
    )
}

pub(super) fn boot_cpu(plan: &Plan, host: &Host) -> Answer {
    let tick_free = host.nohz_full.as_ref().filter(|cpus| !cpus.is_empty())?;
    unless(!plan.setup.cpus.contains(&0))?;
    let evidence = format!("runs on CPU 0, which keeps the tick and the time for the tick-free {}", named(tick_free));
    fired(Medium, evidence, "run on one of the tick-free CPUs")
}

/// Reports CPUs that the process may not use because it runs in a container. Outside of a container the affinity can be
/// widened, but the cpuset of a container cannot be changed from inside.
pub(super) fn container(plan: &Plan, host: &Host) -> Answer {
    let allowed = host.allowed.as_ref().filter(|_| host.is_container == Some(true))?;
    let beyond: Vec<u32> = plan.setup.cpus.iter().filter(|cpu| !allowed.contains(cpu)).copied().collect();
    unless(beyond.is_empty())?;
    let evidence = format!("{} asked for; this container has {}", named(&beyond), named(allowed));
    fired(plan.when_refused(), evidence, "give the container these CPUs (docker: --cpuset-cpus)")
}

/// An idle state delays a task if the CPU may enter it and its exit latency is longer than the polling before a
/// release.
pub(super) fn idle_states(plan: &Plan, host: &Host) -> Answer {
    unless(plan.waits == Waits::Spins)?;
    let asked = plan.idle_limit();
    let limit = asked.unwrap_or(Nanos::MAX).min(plan.margin().max(SHALLOW));
    let is_ruled_out = |latency: Nanos| asked.is_some_and(|most| latency > most);
    let states = plan
        .cpus(host)
        .iter()
        .filter_map(|cpu| host.cpu(*cpu))
        .flat_map(|cpu| cpu.idle.iter().filter(|state| state.enabled).map(move |state| (cpu.cpu, state)));
    let felt = states.filter(|(_, state)| state.exit_latency > limit && !is_ruled_out(state.exit_latency));
    let (cpu, state) = felt.max_by_key(|(_, state)| state.exit_latency)?;
    let evidence = format!("CPU {cpu} may enter {}, which takes {} to leave", state.name, us(state.exit_latency));
    fired(High, evidence, "ask for LatencyQos::Global(Nanos::ZERO) or LatencyQos::PerCpu, or switch the state off")
}

pub(super) fn governor(plan: &Plan, host: &Host) -> Answer {
    let cpus = plan.cpus(host).iter().filter_map(|cpu| host.cpu(*cpu));
    let changing = cpus.filter_map(|cpu| Some((cpu.cpu, cpu.governor.as_deref()?)));
    let (cpu, governor) =
        changing.into_iter().find(|(_, governor)| !["performance", "userspace"].contains(governor))?;
    let evidence = format!("CPU {cpu} changes its frequency as '{governor}' decides");
    fired(Medium, evidence, "echo performance > /sys/devices/system/cpu/cpuN/cpufreq/scaling_governor")
}
