//! Remedies for the CPU time that the scheduler reserves for ordinary tasks, and for preemption.

use super::super::{Expected, Reading};
use super::draft::Draft;
use super::{Found, Site, by_hand};
use crate::knobs::{Blast, Case, Doubt, FAIR_SERVER_SINCE, Missing};
use punctual_facts::fact::Fact;
use punctual_facts::machine::Version;

const DEBUG: &str = "/sys/kernel/debug/sched";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
/// Kernels before this version forget the reservations of fair servers when they build the scheduling domains at boot.
/// They then refuse every smaller reservation as too large (`EBUSY`), unless there is no limit.
const MISCOUNTED_BEFORE: Version = Version::new(6, 17);
/// The limit for real-time threads. On kernels with fair servers it only limits what `SCHED_DEADLINE` may reserve.
const LIMIT: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Fails if even root cannot write the scheduler's debug files.
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

/// Removes the reservation of a deadline server (`fair_server` or `ext_server`) from each real-time CPU.
fn server(site: &Site<'_>, name: &str, risk: &str) -> Found {
    let case = site.case;
    let has_no_server = case.version()? < FAIR_SERVER_SINCE;
    Doubt::not_applicable_if(
        has_no_server,
        "kernels before 6.12 have no fair server; they throttle, see sched.rt_runtime",
    )?;
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
            // The plan is carried out as root, who may read this file, since the kernel is not locked down.
            Fact::Denied => any |= draft.write(case, &format!("CPU {cpu}"), &path, "0"),
            Fact::Absent | Fact::Garbled(_) => {}
        }
    }
    if !any {
        return Doubt::not_applicable(format!("this kernel has no {name} to set"));
    }
    let proof = format!("{DEBUG}/{name}/cpuN/runtime");
    Ok(draft.remedy(risk, &proof).reaching(Blast::Breaking))
}

/// Whether control groups have real-time limits of their own, so that real-time threads are still throttled.
fn is_grouped(case: &Case<'_>) -> bool {
    case.machine.config.value("RT_GROUP_SCHED").known().is_some_and(|value| value == "y")
}

/// Removes the reservation of CPU time for ordinary tasks from the real-time CPUs.
pub(super) fn fair_server(site: &Site<'_>) -> Found {
    server(
        site,
        "fair_server",
        "An ordinary task or kernel thread behind a real-time thread that spins on one of these CPUs starves for good, \
        which may hang the machine. If SCHED_DEADLINE tasks are no longer limited, they may reserve more time than \
        there is.",
    )
}

/// Removes the reservation of CPU time for tasks of a BPF scheduler from the real-time CPUs.
pub(super) fn ext_server(site: &Site<'_>) -> Found {
    server(site, "ext_server", "Tasks of the loaded BPF scheduler can starve on these CPUs for good.")
}

/// Removes the limit on the CPU time of all real-time threads, in kernels that have this limit.
pub(super) fn throttling(site: &Site<'_>) -> Found {
    let case = site.case;
    if case.version()? >= FAIR_SERVER_SINCE && !is_grouped(case) {
        return Doubt::not_applicable(
            "from 6.12 the setting only limits what SCHED_DEADLINE may reserve; FIFO threads are now stopped by the \
            fair server, see sched.fair_server",
        );
    }
    let mut draft = Draft::default();
    let is_unshown = !draft.write(case, "real-time threads", LIMIT, "-1");
    Doubt::not_applicable_if(is_unshown, "this kernel does not show its limit for real-time threads")?;
    let risk = "A real-time thread that spins locks up its CPU; on a machine with one CPU, it locks up the machine.";
    Ok(draft.remedy(risk, LIMIT).reaching(Blast::Breaking))
}

/// Switches to full preemption, if the kernel allows that at run time.
pub(super) fn preempt(site: &Site<'_>) -> Found {
    let case = site.case;
    debug_files(case)?;
    let path = format!("{DEBUG}/preempt");
    if let Fact::Known(modes) = case.peek(&path) {
        if !modes.contains("full") {
            return Doubt::not_applicable(format!("{path} does not offer the mode 'full': '{modes}'"));
        }
    }
    let mut draft = Draft::default();
    let is_fixed = !draft.write_as(case, "preemption", &path, "full", Expected::same(Reading::Marked));
    Doubt::not_applicable_if(is_fixed, "this kernel does not choose its preemption at run time")?;
    Ok(draft.remedy("The kernel patches itself, which stops all CPUs for a moment.", &path))
}

/// Leaves scheduler features that only serve debugging to a person.
pub(super) fn features(site: &Site<'_>) -> Found {
    let case = site.case;
    debug_files(case)?;
    let path = format!("{DEBUG}/features");
    let missing = Missing::TellsNothing("the scheduler's features are not shown");
    let text = case.known(&path, case.peek(&path), missing)?;
    let wrong = case.harmful_features(&text);
    Doubt::not_applicable_if(wrong.is_empty(), "none of the harmful features is on")?;
    // No step is planned: the file takes one word at a time but shows all words, so reading it back would not prove a
    // single step.
    let words: Vec<String> = wrong.iter().map(|name| format!("NO_{name}")).collect();
    by_hand(&format!("as root, write these words one after the other to {path}: {}", words.join(", ")))
}
