//! Rules about the rights and limits of the process.

use super::{Answer, fired, unless, us};
use crate::check::Severity::{High, Info};
use crate::check::host::HostCpu;
use crate::check::{Host, Plan, Waits};
use crate::memory::ROOM_BYTES;
use crate::setup::{LatencyQos, Limit};
use crate::{Error, Policy, SetupError};

const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

pub(super) fn priority(plan: &Plan, host: &Host) -> Answer {
    unless(!plan.setup.policy.is_real_time() || host.has_capability(CAP_SYS_NICE)?)?;
    if matches!(plan.setup.policy, Policy::Deadline { .. }) {
        let evidence = "SCHED_DEADLINE needs CAP_SYS_NICE, which is missing".to_owned();
        return fired(plan.when_refused(), evidence, Error::Setup(SetupError::Deadline(libc::EPERM)).remedy());
    }
    let asked = u64::from(plan.priority()?);
    let Limit::At(most) = host.rights.priority? else { return None };
    unless(asked <= most)?;
    let evidence = format!("priority {asked} is asked for; RLIMIT_RTPRIO is {most} and CAP_SYS_NICE is missing");
    let remedy =
        "run as root, or grant CAP_SYS_NICE or RLIMIT_RTPRIO (`@realtime - rtprio 95` in /etc/security/limits.d/)";
    fired(plan.when_refused(), evidence, remedy)
}

/// Compares the limit on locked memory with what [`crate::lock_memory`] requires and the memory that is to be touched.
pub(super) fn memory(plan: &Plan, host: &Host) -> Answer {
    let (stack, heap) = plan.locks()?;
    let Limit::At(most) = host.rights.memory? else { return None };
    let needs = (ROOM_BYTES as u64).saturating_add(stack as u64).saturating_add(heap as u64);
    unless(host.has_capability(CAP_IPC_LOCK)? || most >= needs)?;
    let evidence = format!("RLIMIT_MEMLOCK is {most} bytes and CAP_IPC_LOCK is missing; {needs} bytes must fit");
    fired(plan.when_refused(), evidence, Error::Setup(SetupError::MemoryLock(libc::ENOMEM)).remedy())
}

pub(super) fn rt_time(plan: &Plan, host: &Host) -> Answer {
    let Limit::At(most_us) = host.rights.rt_time_us? else { return None };
    unless(plan.waits != Waits::Spins || plan.priority().is_none())?;
    let evidence = format!("spins under {}, and is ended after {most_us} us (RLIMIT_RTTIME)", plan.setup.policy);
    fired(High, evidence, "raise it (prlimit --rttime=unlimited), or wait hybrid: each sleep starts the count anew")
}

pub(super) fn group(plan: &Plan, host: &Host) -> Answer {
    plan.priority()?;
    unless(host.rights.group_runtime_us? != 0)?;
    let evidence =
        "this control group has no real-time run time (cpu.rt_runtime_us is 0): EPERM, for root too".to_owned();
    fired(plan.when_refused(), evidence, "write a budget there (950000), or start it in the root group")
}

pub(super) fn deadline_period(plan: &Plan, host: &Host) -> Answer {
    let Policy::Deadline { period, .. } = plan.setup.policy else { return None };
    let (least, most) = host.deadline_periods_us?;
    unless((least.saturating_mul(1000)..=most.saturating_mul(1000)).contains(&period.as_ns()))?;
    let evidence = format!("a reservation every {} is asked for; the kernel takes {least} to {most} us", us(period));
    fired(
        plan.when_refused(),
        evidence,
        "take another period, or SCHED_FIFO, or change sched_deadline_period_{min,max}_us",
    )
}

pub(super) fn global_latency(plan: &Plan, host: &Host) -> Answer {
    unless(!matches!(plan.setup.latency_qos, LatencyQos::Global(_)) || host.rights.is_latency_writable?)?;
    let evidence = "/dev/cpu_dma_latency cannot be written".to_owned();
    fired(plan.when_refused(), evidence, "run as root, or give the user write access to /dev/cpu_dma_latency")
}

pub(super) fn cpu_latency(plan: &Plan, host: &Host) -> Answer {
    unless(plan.setup.latency_qos != LatencyQos::PerCpu)?;
    let hosts = || plan.cpus(host).iter().filter_map(|cpu| host.cpu(*cpu));
    let is_refused = |cpu: &&HostCpu| cpu.is_latency_writable == Some(false);
    if let Some(HostCpu { cpu, .. }) = hosts().find(is_refused) {
        let evidence = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us cannot be written");
        let remedy = "run as root, or give the user write access to that file of each of its CPUs";
        return fired(plan.when_refused(), evidence, remedy);
    }
    // The file does not show who set the limit: an administrator, a running program, or one that ended without
    // resetting it.
    let limit_of = |cpu: &HostCpu| Some((cpu.cpu, cpu.latency_limit.clone().filter(|limit| limit != "0")?));
    let (cpu, limit) = hosts().find_map(limit_of)?;
    let evidence = format!(
        "pm_qos_resume_latency_us of CPU {cpu} is {limit} before this task asks for it: perhaps left behind by a program \
         that was ended, and to be left so again"
    );
    let remedy = "if nobody wants it, write 0 there; or ask for LatencyQos::Global, which ends with the process";
    fired(Info, evidence, remedy)
}
