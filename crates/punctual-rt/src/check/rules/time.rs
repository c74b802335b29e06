//! Rules about clocks, the kernel and virtual machines.

use super::{Answer, fired, unless, us};
use crate::check::Severity::{High, Info, Medium};
use crate::check::{Host, Plan, Waits};
use crate::{Backend, Nanos, Policy};

/// Clock sources that are slow to read, because each reading goes over a bus, or that are no more precise than a tick.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

/// A clock that takes longer than this to read is probably read by a system call.
const READ_MAX: Nanos = Nanos::from_ns(100);

/// Timers that are rounded by more than this noticeably delay wake-ups.
const SLACK_MAX: Nanos = Nanos::from_us(1);

pub(super) fn source(plan: &Plan, host: &Host) -> Answer {
    let source = host.clock_source.as_deref().filter(|source| SLOW.contains(source))?;
    if plan.backend != Backend::Linux {
        let evidence = format!(
            "the clock source is {source}: each look at the clock is a system call, which takes the thread in-band to Linux"
        );
        return fired(
            High,
            evidence,
            "use the CPU's own clock (tsc, arch_sys_counter), which is read without a system call",
        );
    }
    let evidence = format!("the clock source is {source}: each look at the clock takes about a microsecond");
    fired(High, evidence, "use the CPU's own clock (tsc, arch_sys_counter) where the kernel takes it to be sound")
}

pub(super) fn read_cost(plan: &Plan, host: &Host) -> Answer {
    let cost = host.clock_read.filter(|cost| *cost > READ_MAX)?;
    // The rule above has already reported the cause.
    unless(source(plan, host).is_some())?;
    let evidence = format!("one look at the clock takes {}", us(cost));
    fired(Medium, evidence, "use a clock source the vDSO can read; a tracer or an emulator slows it down, too")
}

pub(super) fn slack(plan: &Plan, host: &Host) -> Answer {
    let slack = host.timer_slack.filter(|slack| *slack > SLACK_MAX)?;
    unless(plan.setup.policy != Policy::Other || plan.is_applied || plan.waits == Waits::Spins)?;
    let evidence = format!("an ordinary thread's timers are rounded by up to {}", us(slack));
    fired(Medium, evidence, "set the thread up with Setup::apply, or call prctl(PR_SET_TIMERSLACK, 1) in it")
}

pub(super) fn flavour(_: &Plan, host: &Host) -> Answer {
    unless(host.is_realtime?)?;
    let evidence = "the kernel is not a PREEMPT_RT one: a driver can hold a CPU for milliseconds, rarely".to_owned();
    fired(Medium, evidence, "boot a PREEMPT_RT kernel where rare misses of milliseconds cannot be borne")
}

pub(super) fn guest(_: &Plan, host: &Host) -> Answer {
    unless(!host.is_guest?)?;
    let evidence = "a hypervisor is underneath: when this CPU runs at all is the host's decision".to_owned();
    fired(Info, evidence, "read tails as the host's; run on the hardware, or give the guest CPUs of its own")
}
