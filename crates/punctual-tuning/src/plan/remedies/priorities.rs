//! Ranks of the kernel's threads: what helps everybody stays low, and what feeds the real-time work comes first.

use super::super::{SchedPolicy, Step};
use super::draft::Draft;
use super::threads::Thread;
use super::{Found, Remedy, Site};
use crate::knobs::{Doubt, InterruptLine};

/// All interrupts' threads have this priority unless somebody changed it.
const INTERRUPTS: u32 = 50;
/// Above this the kernel's own helpers are held up.
const HIGHEST: u32 = 95;

impl Site<'_> {
    /// The priority of what feeds the real-time work: just above it, where its priority is known, else just above the
    /// other devices.
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

/// Helpers of the real-time CPUs that were raised to where devices are, back to where the kernel starts them. Those of
/// the other CPUs are left alone: peers disagree about them, and nothing of ours waits there.
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

/// The line a thread `irq/N-NAME` (or `irq/N-s-NAME`) belongs to, and the handler's name.
fn line_of(comm: &str) -> Option<(&str, &str)> {
    let (number, name) = comm.strip_prefix("irq/")?.split_once('-')?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| (number, name.strip_prefix("s-").unwrap_or(name)))
}

/// Threads of interrupts: that of a named device first, none above what the kernel itself needs, none without the class.
pub(super) fn interrupts(site: &Site<'_>) -> Found {
    let mut draft = Draft::default();
    let mut any = false;
    let wanted = site.device_priority();
    for thread in site.kernel_threads()? {
        let Some((number, handler)) = line_of(&thread.name.comm) else { continue };
        any = true;
        // The kernel cuts names to 15 bytes, so the end of a long handler's name is missing.
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
    if !any {
        return Doubt::not_applicable("no interrupt has a thread, see irq.threadirqs");
    }
    if draft.is_empty() && site.preferences.devices.is_empty() {
        return Ok(Remedy::ByHand(
            "name the device of the real-time work: its interrupt's thread is to come first".to_owned(),
        ));
    }
    Ok(draft.apart(
        "On PREEMPT_RT the soft interrupts that a thread raises run at its priority, too.",
        "chrt -p of each thread irq/N-NAME",
    ))
}
