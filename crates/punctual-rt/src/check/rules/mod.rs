//! The rules of a check, each with the code of its findings.
//!
//! A rule looks at one plan and the machine, and returns what is wrong. It returns nothing if all is fine, or if a fact
//! that it needs is unknown.

mod cpus;
mod rights;
mod task;
mod time;

use super::{Finding, Host, Plan, Severity};
use crate::{Backend, Nanos};

/// Severity, evidence and remedy of a rule that found something.
pub(super) struct Fired {
    severity: Severity,
    evidence: String,
    remedy: &'static str,
}

/// The answer of a rule; `None` if it found nothing.
type Answer = Option<Fired>;

pub(super) struct Rule {
    pub(super) code: &'static str,
    judge: fn(&Plan, &Host) -> Answer,
    /// Whether the rule is about how Linux wakes, ranks or sets up a thread, which a real-time core does itself.
    is_of_linux: bool,
}

const fn rule(code: &'static str, judge: fn(&Plan, &Host) -> Answer) -> Rule {
    Rule { code, judge, is_of_linux: false }
}

const fn linux_rule(code: &'static str, judge: fn(&Plan, &Host) -> Answer) -> Rule {
    Rule { code, judge, is_of_linux: true }
}

/// The code of the rule about two tasks that need the same CPU at the same moment.
pub(super) const SAME_TURN: &str = "task.same_turn";

/// The rules about a single task.
pub(super) const ALONE: &[Rule] = &[
    rule("task.period", task::period),
    rule("task.priority", task::priority),
    rule("task.reservation", task::reservation),
    rule("task.reservation_margin", task::reservation_margin),
    rule("task.margin", task::margin),
    rule("task.load", task::load),
    rule("task.deadline", task::deadline),
    linux_rule("task.short_period", task::short_period),
    rule("task.deadline_affinity", task::deadline_affinity),
    linux_rule("mem.lock", task::unlocked),
    rule("proc.affinity", task::unpinned),
    rule("task.cpu", cpus::missing),
    rule("iso.domain", cpus::shared),
    rule("sched.rt_runtime", cpus::throttled),
    rule("sched.fair_server", cpus::fair_server),
    rule("cpu.smt", cpus::siblings),
    rule("agree.tick_boot_cpu", cpus::boot_cpu),
    rule("agree.container", cpus::container),
    rule("pm.idle_state", cpus::idle_states),
    rule("pm.governor", cpus::governor),
    rule("lim.rtprio", rights::priority),
    rule("lim.memlock", rights::memory),
    rule("lim.rttime", rights::rt_time),
    rule("sched.rt_group", rights::group),
    rule("sched.dl_period", rights::deadline_period),
    rule("pm.qos_global", rights::global_latency),
    rule("pm.qos_percpu", rights::cpu_latency),
    rule("clk.source", time::source),
    rule("clk.vdso", time::read_cost),
    linux_rule("clk.timer_slack", time::slack),
    linux_rule("kconf.flavour", time::flavour),
    rule("virt.detect", time::guest),
];

/// The rule about a task that starts alone, or is the first of a group whose phases count from it.
pub(super) const FIRST: Rule = linux_rule("task.on_tick", task::on_tick);

impl Rule {
    pub(super) fn finding(&self, plan: &Plan, host: &Host) -> Option<Finding> {
        unless(self.is_of_linux && plan.backend != Backend::Linux)?;
        let Fired { severity, evidence, remedy } = (self.judge)(plan, host)?;
        Some(Finding { code: self.code, severity, task: plan.name.clone(), evidence, remedy })
    }
}

/// The findings about each pair of tasks.
pub(super) fn judge_together(plans: &[Plan]) -> impl Iterator<Item = Finding> + '_ {
    let pairs =
        plans.iter().enumerate().flat_map(|(n, one)| plans.iter().skip(n.saturating_add(1)).map(move |b| (one, b)));
    pairs.filter_map(|(one, other)| {
        let Fired { severity, evidence, remedy } = task::same_turn(one, other)?;
        Some(Finding { code: SAME_TURN, severity, task: format!("{}, {}", one.name, other.name), evidence, remedy })
    })
}

/// Ends a rule without a finding if `fine`: `unless(nothing_is_wrong)?`.
fn unless(fine: bool) -> Option<()> {
    (!fine).then_some(())
}

#[allow(clippy::unnecessary_wraps, reason = "the last word of a rule, which answers with an option")]
fn fired(severity: Severity, evidence: String, remedy: &'static str) -> Answer {
    Some(Fired { severity, evidence, remedy })
}

/// A length of time as text in microseconds, with three decimals if it is not a whole number.
fn us(time: Nanos) -> String {
    let (whole, rest) = (time.as_ns() / 1000, time.as_ns() % 1000);
    let text = if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:03}") };
    let short = if rest == 0 { text.as_str() } else { text.trim_end_matches('0') };
    format!("{short} us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_microseconds() {
        for (ns, text) in [(0, "0 us"), (1000, "1 us"), (1500, "1.5 us"), (20, "0.02 us"), (100_000, "100 us")] {
            assert_eq!(us(Nanos::from_ns(ns)), text);
        }
    }
}
