//! Remedies for priorities of kernel threads: general helpers get a low priority, and threads of the real-time work's
//! devices a high one.

use super::super::{SchedPolicy, Step};
use super::draft::Draft;
use super::threads::Thread;
use super::{Found, Site, by_hand};
use crate::knobs::{Doubt, InterruptLine};

/// The kernel's default priority for threads of interrupts.
const INTERRUPTS: u32 = 50;
/// The highest priority to set. With a higher one, a thread would delay the kernel's own helper threads.
const HIGHEST: u32 = 95;

impl Site<'_> {
    /// The priority for interrupt threads of the real-time work's devices: one above the priority of the real-time work
    /// if that is known, and otherwise one above the threads of other devices.
    pub(super) fn device_priority(&self) -> u32 {
        self.preferences
            .priority
            .map_or(INTERRUPTS + 1, |priority| priority.saturating_add(1).clamp(INTERRUPTS + 1, HIGHEST))
    }
}

fn rank(draft: &mut Draft, thread: &Thread, policy: SchedPolicy) {
    if thread.policy != policy {
        let step = Step::Policy { task: thread.name.clone(), policy };
        draft.step(&thread.name.comm, &thread.policy.to_string(), &policy.to_string(), step);
    }
}

fn priority(policy: SchedPolicy) -> u32 {
    match policy {
        SchedPolicy::Other(_) => 0,
        SchedPolicy::Fifo(priority) | SchedPolicy::Rr(priority) => priority,
    }
}

/// Gives helper threads on the real-time CPUs the kernel's default priority again, if somebody raised them to the
/// priority of interrupt threads or higher. Helper threads on other CPUs stay as they are: advice about them differs,
/// and the real-time work does not wait for them.
pub(super) fn kernel(site: &Site<'_>) -> Found {
    let mut draft = Draft::default();
    for thread in site.kernel_threads()? {
        let Some((name, cpu)) = thread.name.comm.split_once('/') else { continue };
        let is_here =
            cpu.split(':').next().and_then(|cpu| cpu.parse().ok()).is_some_and(|cpu| site.case.rt().contains(cpu));
        if !is_here || priority(thread.policy) < INTERRUPTS {
            continue;
        }
        match name {
            "ktimers" | "irq_work" | "rcuc" => rank(&mut draft, thread, SchedPolicy::Fifo(1)),
            "ksoftirqd" | "backlog_napi" | "kworker" => rank(&mut draft, thread, SchedPolicy::Other(0)),
            _ => {}
        }
    }
    Ok(draft.apart("Networking and coarse timers on these CPUs wait for the real-time work.", "chrt -p of each thread"))
}

/// The interrupt's number and the handler's name in the name of a thread, `irq/N-NAME` or `irq/N-s-NAME`.
fn line_of(comm: &str) -> Option<(&str, &str)> {
    let (number, name) = comm.strip_prefix("irq/")?.split_once('-')?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| (number, name.strip_prefix("s-").unwrap_or(name)))
}

/// Raises the interrupt threads of the devices that the user named. Other interrupt threads get the default priority if
/// they have no real-time priority or a too high one.
pub(super) fn interrupts(site: &Site<'_>) -> Found {
    let mut draft = Draft::default();
    let mut any = false;
    let wanted = site.device_priority();
    for thread in site.kernel_threads()? {
        let Some((number, handler)) = line_of(&thread.name.comm) else { continue };
        any = true;
        // The kernel cuts thread names to 15 bytes, so a long handler name is incomplete here and may not match.
        let is_named = site
            .preferences
            .devices
            .iter()
            .any(|device| device == number || device == handler || InterruptLine::device(handler) == device);
        let now = priority(thread.policy);
        if is_named {
            rank(&mut draft, thread, SchedPolicy::Fifo(wanted));
        } else if now == 0 || now > HIGHEST {
            rank(&mut draft, thread, SchedPolicy::Fifo(INTERRUPTS));
        }
    }
    Doubt::not_applicable_if(!any, "no interrupt has a thread, see irq.threadirqs")?;
    if draft.is_empty() && site.preferences.devices.is_empty() {
        return by_hand(
            "name the device of the real-time work with --device: its interrupt's thread should have the highest \
            priority",
        );
    }
    Ok(draft.apart(
        "On PREEMPT_RT the soft interrupts that a thread raises run at its priority, too.",
        "chrt -p of each thread irq/N-NAME",
    ))
}
