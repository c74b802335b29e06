//! What the scheduler keeps back for others, and how readily it lets somebody in.

use super::super::{Expected, Reading, Step};
use super::draft::Draft;
use super::{Found, Remedy, Site};
use crate::knobs::{Blast, Case, Doubt, Missing};
use punctual_facts::fact::Fact;
use punctual_facts::machine::Version;

const DEBUG: &str = "/sys/kernel/debug/sched";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
/// From here on a fair server takes the place of throttling.
const FAIR_SERVER_SINCE: Version = Version::new(6, 12);

/// Up to here the kernel forgets what it reserved for fair servers when it builds its scheduling domains at boot, and
/// then takes every smaller reservation for more than there is (`EBUSY`), unless nothing is limited.
const MISCOUNTED_BEFORE: Version = Version::new(6, 17);
/// The limit for real-time threads; where a fair server took its place, for what `SCHED_DEADLINE` may reserve.
const LIMIT: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Goes on only where the scheduler's debug files could be written by root.
fn debug_files(case: &Case<'_>) -> Result<(), Doubt> {
    let lockdown = case.aside(|case| case.peek(LOCKDOWN));
    let mode = |text: &String| text.split(['[', ']']).nth(1).map(str::to_owned);
    match lockdown.known().and_then(mode) {
        Some(mode) if mode != "none" => {
            return Doubt::unknown(format!(
                "unknown, and cannot be changed: the kernel is locked down ({mode}), so nobody may use debugfs"
            ));
        }
        _ => {}
    }
    match case.aside(|case| case.list(DEBUG)) {
        Fact::Absent => Doubt::unknown(
            "the scheduler's debug files are not there: mount -t debugfs none /sys/kernel/debug, if the kernel was built \
                with it",
        ),
        _ => Ok(()),
    }
}

/// The reservation of one kind, taken from each real-time CPU.
fn server(site: &Site<'_>, name: &str, risk: &str) -> Found {
    let case = site.case;
    if case.version()? < FAIR_SERVER_SINCE {
        return Doubt::not_applicable("kernels before 6.12 have none; they throttle, see sched.rt_runtime");
    }
    debug_files(case)?;
    let mut draft = Draft::default();
    if case.version()? < MISCOUNTED_BEFORE && !is_grouped(case) {
        draft.write(case, "limit for deadline tasks", LIMIT, "-1");
    }
    let mut any = false;
    for cpu in case.rt().iter() {
        let path = format!("{DEBUG}/{name}/cpu{cpu}/runtime");
        match case.peek(&path) {
            Fact::Known(text) if text.parse::<u64>().is_ok() => {
                any |= draft.write(case, &format!("CPU {cpu}"), &path, "0");
            }
            Fact::Known(text) => return Doubt::unknown(format!("{path} holds '{text}', not a number")),
            // Whoever is refused without a lockdown is not root, and says so when it comes to writing.
            Fact::Denied => {
                any = true;
                let expected = Expected::same(Reading::Plain);
                draft.step(
                    &format!("CPU {cpu}"),
                    "not known",
                    "0",
                    Step::Write { path, value: "0".to_owned(), expected },
                );
            }
            Fact::Absent | Fact::Garbled(_) => {}
        }
    }
    if !any {
        return Doubt::not_applicable(format!("this kernel has no {name} to set"));
    }
    let proof = format!("{DEBUG}/{name}/cpuN/runtime");
    Ok(draft.remedy(risk, &proof).reaching(Blast::Breaking))
}

/// Whether groups have limits of their own, and real-time threads are still throttled.
fn is_grouped(case: &Case<'_>) -> bool {
    case.machine.config.value("RT_GROUP_SCHED").known().is_some_and(|value| value == "y")
}

/// What ordinary tasks are given ahead of real-time ones.
pub(super) fn fair_server(site: &Site<'_>) -> Found {
    server(
        site,
        "fair_server",
        "An ordinary task or kernel thread behind a real-time thread that spins on one of these CPUs starves for good; \
            the machine may hang with it. Where SCHED_DEADLINE tasks are no longer limited, they may ask for more than \
            there is.",
    )
}

/// What tasks of a loaded BPF scheduler are given.
pub(super) fn ext_server(site: &Site<'_>) -> Found {
    server(site, "ext_server", "Tasks of the loaded BPF scheduler can starve on these CPUs for good.")
}

/// The limit for all real-time threads together, in kernels that have it.
pub(super) fn throttling(site: &Site<'_>) -> Found {
    let case = site.case;
    if case.version()? >= FAIR_SERVER_SINCE && !is_grouped(case) {
        return Doubt::not_applicable(
            "from 6.12 this only limits what SCHED_DEADLINE may reserve; what stops FIFO threads now is sched.fair_server",
        );
    }
    let mut draft = Draft::default();
    if !draft.write(case, "real-time threads", LIMIT, "-1") {
        return Doubt::not_applicable("this kernel does not show its limit for real-time threads");
    }
    let risk = "A real-time thread that spins locks its CPU up, and a machine of one CPU altogether.";
    Ok(draft.remedy(risk, LIMIT).reaching(Blast::Breaking))
}

/// Whether the kernel lets somebody in wherever it can.
pub(super) fn preempt(site: &Site<'_>) -> Found {
    let case = site.case;
    debug_files(case)?;
    let path = format!("{DEBUG}/preempt");
    if let Fact::Known(modes) = case.peek(&path) {
        if !modes.contains("full") {
            return Doubt::not_applicable(format!("{path} does not offer full: '{modes}'"));
        }
    }
    let mut draft = Draft::default();
    if !draft.write_as(case, "preemption", &path, "full", Expected::same(Reading::Marked)) {
        return Doubt::not_applicable("this kernel does not choose its preemption at run time");
    }
    Ok(draft.remedy("The kernel patches itself, which stops all CPUs for a moment.", &path))
}

/// Features that were switched on for the scheduler's own debugging.
pub(super) fn features(site: &Site<'_>) -> Found {
    const HARMFUL: [&str; 4] = ["RT_RUNTIME_SHARE", "WARN_DOUBLE_CLOCK", "LATENCY_WARN", "DOUBLE_TICK"];
    let case = site.case;
    debug_files(case)?;
    let path = format!("{DEBUG}/features");
    let missing = Missing::TellsNothing("the scheduler's features are not shown");
    let text = case.known(&path, case.peek(&path), missing)?;
    let is_wrong = |name: &&str| HARMFUL.contains(name) || case.is_rt() && *name == "TTWU_QUEUE";
    let wrong: Vec<&str> = text.split_whitespace().filter(is_wrong).collect();
    if wrong.is_empty() {
        return Doubt::not_applicable("none of those that do harm is on");
    }
    // One file takes one word and shows them all, which no step of ours can tell from another's words.
    let words: Vec<String> = wrong.iter().map(|name| format!("NO_{name}")).collect();
    Ok(Remedy::ByHand(format!("as root, one after the other, to {path}: {}", words.join(", "))))
}
