//! Knobs about what the scheduler does besides choosing tasks: balancing, accounting, boosting and debugging.

use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::domain;

const NO_DEBUGFS: &str = "the scheduler's debug files are not there: debugfs is not mounted, is forbidden by lockdown, or is not built into the kernel";

const KNOB: Knob = Knob { severity: Weight::of(Medium, High, Info), ..Knob::of(Family::Scheduler) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "sched.domains",
        title: "No balancing between real-time and other CPUs",
        check: Check::Probe(domains),
        why: "Within a scheduling domain, the scheduler moves ordinary tasks to whichever CPU looks idle, and the \
            balancing itself runs on these CPUs in soft interrupts.",
        fix: Fix::prose("Make the real-time CPUs an isolated cpuset partition, see iso.domain."),
        persist: &[Lasting::word("isolcpus=managed_irq,domain,<I apart>")],
        undo: Fix::prose("echo member > GROUP/cpuset.cpus.partition; remove the word and boot again."),
        cost: "Tasks must be placed on these CPUs by hand.",
        blast: Blast::Disturbing,
        sources: &["kernel scheduler/sched-stats.rst", "kernel 6.1, 6.12, 7.3 kernel/sched/stats.c, topology.c"],
        ..KNOB
    },
    Knob {
        id: "sched.ext_server",
        title: "No reservation for a BPF scheduler's tasks",
        applies: has_ext_server,
        check: Check::seen(
            "/sys/kernel/debug/sched/ext_server/cpu<I>/runtime",
            Want::ZERO,
            CannotBe("this kernel reserves nothing for a BPF scheduler's tasks (7.3 does, 6.12 does not)"),
        ),
        why: "Beside the fair server, 7.3 reserves 50 ms of each second for tasks of a loaded BPF scheduler, ahead of \
            any FIFO priority.",
        fix: Fix::prose(
            "Stop the program that loaded the BPF scheduler (see sched.ext), or echo 0 > \
            /sys/kernel/debug/sched/ext_server/cpuN/runtime for N in <I>.",
        ),
        persist: &[Lasting::write("/sys/kernel/debug/sched/ext_server/cpu<I>/runtime", "0")],
        cost: "Tasks of the loaded BPF scheduler can starve on these CPUs for good.",
        blast: Blast::Breaking,
        sources: &["kernel 7.3 kernel/sched/debug.c, ext.c"],
        ..KNOB
    },
    Knob {
        id: "sched.uclamp_rt",
        title: "Real-time threads ask for full speed",
        severity: Weight::all(Medium),
        check: Check::sysctl(
            "kernel.sched_util_clamp_min_rt_default",
            Want::Is(1024),
            CannotBe("this kernel does not clamp utilisation"),
        ),
        why: "With a lower value, the schedutil governor runs real-time threads below the highest frequency, and on \
            chips with big and little cores they may land on little ones.",
        cost: "Power. 1024 is the kernel's default.",
        sources: &["kernel admin-guide/sysctl/kernel.rst: sched_util_clamp_min_rt_default"],
        ..KNOB
    },
    Knob {
        id: "sched.features",
        title: "Scheduler features at their defaults",
        severity: Weight::all(Medium),
        check: Check::Probe(features),
        why: "Some features for debugging the scheduler print warnings with locks held; RT_RUNTIME_SHARE lets one \
            CPU's real-time threads use up another's share and starve it; TTWU_QUEUE is off on PREEMPT_RT because \
            queued wake-ups run in hard interrupt context.",
        fix: Fix::prose(
            "echo NO_NAME > /sys/kernel/debug/sched/features, with NAME each feature that this finding names.",
        ),
        persist: &[Lasting::other(
            "Nothing to do: the defaults come back at boot. Look for a unit that writes the features.",
        )],
        cost: "None: these are the defaults.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/sched/features.h", "meta-seapath#140"],
        ..KNOB
    },
    Knob {
        id: "sched.psi",
        title: "No pressure accounting at every wake-up",
        severity: Weight::all(Info),
        check: Check::Probe(psi),
        why: "Pressure stall information adds work to every wake-up and sleep, and a timer for each program that polls \
            it.",
        fix: Fix::NotAtRunTime("for a single group: echo 0 > GROUP/cgroup.pressure"),
        persist: &[Lasting::word("psi=0")],
        cost: "systemd-oomd and monitors of pressure stop working.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 init/Kconfig: PSI_DEFAULT_DISABLED",
            "kernel accounting/psi.rst",
            "unverified: size of the effect",
        ],
        ..KNOB
    },
];

/// For each CPU in `/proc/schedstat`, the set of all CPUs that the scheduler balances it with. The set is empty for a
/// CPU without a scheduling domain. `None` if a line cannot be parsed.
fn widest(schedstat: &str) -> Option<Vec<(u32, CpuSet)>> {
    let mut found: Vec<(u32, CpuSet)> = Vec::new();
    for line in schedstat.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if let Some(cpu) = first.strip_prefix("cpu") {
            found.push((cpu.parse().ok()?, CpuSet::new()));
        } else if first.starts_with("domain") {
            // From version 17 of the format on, the domain's name (SMT, MC, PKG, NUMA) stands before the mask.
            let second = words.next()?;
            let is_mask = second.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b','));
            let span = CpuSet::parse_mask(if is_mask { second } else { words.next()? }).ok()?;
            let (_, widest) = found.last_mut()?;
            *widest = widest.union(&span);
        }
    }
    Some(found)
}

fn domains(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.is(Kind::Audio), "a desktop session needs all CPUs")?;
    case.has_housekeeping()?;
    let path = "/proc/schedstat";
    let missing = TellsNothing("this kernel does not show its scheduling domains (no CONFIG_SCHEDSTATS)");
    let text = case.content(path, missing)?;
    let Some(all) = widest(&text) else {
        return Doubt::unknown(format!("{path} has a format that this program does not know"));
    };
    let ours: Vec<(u32, CpuSet)> = all.into_iter().filter(|(cpu, _)| case.rt().contains(*cpu)).collect();
    Doubt::unknown_if(ours.len() != case.rt().len(), format!("{path} does not show all of CPUs {}", case.rt()))?;
    let is_balanced = domain(case) == Ok(false);
    Doubt::not_applicable_if(is_balanced, "these CPUs are not isolated, as iso.domain reports already")?;
    let mixed: Vec<String> = ours
        .iter()
        .filter(|(_, span)| !span.is_subset(case.rt()))
        .take(8)
        .map(|(cpu, span)| format!("CPU {cpu} is balanced with CPUs {span}"))
        .collect();
    case.none_found(path, mixed.join(", "), format!("no domain reaches beyond CPUs {}", case.rt()))
}

fn has_ext_server(case: &Case<'_>) -> Result<(), Doubt> {
    let state = case.text("/sys/kernel/sched_ext/state", CannotBe("this kernel cannot load a scheduler"))?;
    let is_unused = state.trim() == "disabled";
    Doubt::not_applicable_if(is_unused, "no BPF scheduler is loaded, so no time is reserved for its tasks")?;
    Doubt::unknown_if(!case.exists("/sys/kernel/debug/sched/features"), NO_DEBUGFS)?;
    Ok(())
}

fn features(case: &Case<'_>) -> Judged {
    let path = "/sys/kernel/debug/sched/features";
    let text = case.content(path, TellsNothing(NO_DEBUGFS))?;
    if !text.split_whitespace().any(|name| name.trim_start_matches("NO_") == "RT_RUNTIME_SHARE") {
        return Doubt::unknown(format!("{path} names none of the features that this program knows"));
    }
    case.none_found(path, case.harmful_features(&text).join(", "), "none of the harmful features")
}

impl Case<'_> {
    /// The scheduler features in this list that do harm: features that only serve the scheduler's debugging, and
    /// features that the running kernel has off by default.
    pub(crate) fn harmful_features<'t>(&self, features: &'t str) -> Vec<&'t str> {
        const HARMFUL: [&str; 4] = ["RT_RUNTIME_SHARE", "WARN_DOUBLE_CLOCK", "LATENCY_WARN", "DOUBLE_TICK"];
        let is_rt = self.is_rt();
        let is_wrong = |name: &&str| HARMFUL.contains(name) || is_rt && *name == "TTWU_QUEUE";
        features.split_whitespace().filter(is_wrong).collect()
    }
}

fn psi(case: &Case<'_>) -> Judged {
    let folder = "/proc/pressure";
    let names = or_absent(case.names(folder, CannotBe("")), Vec::new())?;
    case.none_found(folder, names.join(", "), "not there")
}

#[cfg(test)]
mod tests {
    use super::widest;

    #[test]
    fn reads_old_and_new_scheduler_statistics() {
        let text = "version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 1 2 3\ndomain0 3 1 2 3\ndomain1 f 1 2 3\ncpu1 0 0\n";
        let shown = |text| widest(text).unwrap().iter().map(|(cpu, span)| format!("{cpu}:{span}")).collect::<Vec<_>>();
        assert_eq!(shown(text), ["0:0-3", "1:"]);
        assert_eq!(shown("version 17\ncpu2 0\ndomain0 SMT 00000000,0000000c 1\ndomain1 MC f 1\n"), ["2:0-3"]);
        for odd in ["domain0 f\n", "cpux\n", "cpu0 1\ndomain0 (null) MC 3\n", "cpu0 1\ndomain0\n"] {
            assert_eq!(widest(odd), None, "{odd}");
        }
    }
}
