//! Knobs about the CPUs that control groups, systemd and process 1 may use.

use crate::knobs::prelude::*;
use crate::knobs::seen::groups::SLICES;
use crate::knobs::seen::isolation;

/// Where control groups of version 2 are mounted.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const MOST_GROUPS: usize = 256;

const KNOB: Knob =
    Knob { severity: Weight::of(Medium, Medium, Info), blast: Blast::Disturbing, ..Knob::of(Family::Isolation) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "iso.cpuset",
        title: "CPU partitions are in force",
        severity: Weight::of(High, High, Info),
        check: Check::Probe(partitions),
        why: "A partition that became invalid (a CPU went away, another group claimed it, it clashes with isolcpus=) \
            isolates nothing, and only its file says so.",
        fix: Fix::prose(
            "Read the reason in GROUP/cpuset.cpus.partition, remove the reason, and write 'isolated' there again.",
        ),
        persist: &[
            Lasting::other(
                "A unit that makes the partition at boot, ordered before the application, and reads the file back.",
            ),
            Lasting::word("isolcpus=managed_irq,domain,<I apart>"),
        ],
        undo: Fix::command("echo member > GROUP/cpuset.cpus.partition"),
        cost: "Tasks outside the group cannot run on these CPUs.",
        sources: &[
            "kernel admin-guide/cgroup-v2.rst",
            "kernel 6.1, 6.12, 7.3 kernel/cgroup/cpuset.c",
            "kernel 7.3 admin-guide/cpu-isolation.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "sysd.affinity",
        title: "Process 1 keeps off the real-time CPUs",
        check: Check::Probe(first_process),
        why: "Every process inherits its CPUs from process 1; if process 1 may run on every CPU, so may all daemons \
            and logins.",
        fix: Fix::prose(
            "systemctl set-property --runtime system.slice AllowedCPUs=<H>; the same for user.slice and init.scope; \
            taskset -acp <H> 1",
        ),
        persist: &[Lasting::word("isolcpus=managed_irq,domain,<I apart>"), Lasting::Manager],
        undo: Fix::prose("systemctl revert each slice; taskset -acp with the former list; remove the line."),
        cost: "The real-time work's own unit must then say CPUAffinity=<I> or AllowedCPUs=<I>.",
        sources: &[
            "systemd-system.conf(5): CPUAffinity",
            "kernel 6.1, 6.12, 7.3 kernel/sched/core.c: sched_init_smp",
            "systemd#23748",
        ],
        ..KNOB
    },
    Knob {
        id: "sysd.slices",
        title: "Services and logins kept off the real-time CPUs",
        check: Check::Probe(slices),
        why: "A process in a slice may use the CPUs of the slice's cpuset; it can widen its own affinity, but never \
            beyond this cpuset.",
        fix: Fix::prose(
            "systemctl set-property --runtime system.slice AllowedCPUs=<H>; the same for user.slice, machine.slice \
            and init.scope; give the real-time unit a slice of its own with AllowedCPUs=<I>.",
        ),
        persist: &[Lasting::other(
            "systemctl set-property SLICE AllowedCPUs=<H> (without --runtime) for each of these slices.",
        )],
        undo: Fix::prose("systemctl revert each slice."),
        cost: "Running tasks are moved, and a real-time unit inside system.slice loses the real-time CPUs.",
        sources: &[
            "systemd.resource-control(5): AllowedCPUs",
            "kernel admin-guide/cgroup-v2.rst: cpuset.cpus.effective",
        ],
        ..KNOB
    },
];

/// The names of the groups below a folder. All other names there are files, which begin with the name of a controller
/// and a dot.
fn groups(case: &Case<'_>, folder: &str) -> Vec<String> {
    const FILES: [&str; 11] =
        ["cgroup", "cpu", "cpuset", "io", "memory", "pids", "hugetlb", "rdma", "misc", "irq", "dmem"];
    let is_group = |name: &&String| !FILES.contains(&name.split('.').next().unwrap_or_default());
    let names = case.list(folder);
    names
        .known()
        .map(|names| names.iter().filter(is_group).map(|name| format!("{folder}/{name}")).collect())
        .unwrap_or_default()
}

fn partitions(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.is(Kind::Audio), "a desktop session needs all CPUs")?;
    let Some(mount) = MOUNTS.iter().find(|mount| case.exists(&format!("{mount}/cgroup.controllers"))) else {
        let fact = Fact::<()>::Absent;
        return case.known(MOUNTS[0], fact, CannotBe("cgroup v2 is not mounted here")).map(|()| true);
    };
    let top = groups(case, mount);
    let below = top.iter().flat_map(|group| groups(case, group));
    let (mut found, mut is_good, mut seen) = (false, true, 0_usize);
    for group in top.iter().cloned().chain(below) {
        if seen == MOST_GROUPS {
            break;
        }
        seen += 1;
        let path = format!("{group}/cpuset.cpus.partition");
        let state = case.peek(&path);
        let Some(text) = state.known().filter(|text| !text.is_empty() && text.as_str() != "member") else { continue };
        case.cite(&path, &state);
        found = true;
        match text.split_whitespace().nth(1) {
            None if text == "root" || text == "isolated" => {}
            None => return Doubt::unknown(format!("{path} holds '{text}'")),
            Some(_) => is_good = false,
        }
    }
    match (found, seen) {
        (true, _) => Ok(is_good),
        (false, MOST_GROUPS) => Doubt::unknown("there are more control groups than were examined"),
        (false, _) => Doubt::not_applicable(
            "no control group is a partition; see iso.domain for how the real-time CPUs are isolated",
        ),
    }
}

fn first_process(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    Ok(isolation::first_process(case)?.intersection(case.rt()).is_empty())
}

fn slices(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let (mut seen, mut is_good) = (false, true);
    for (mount, slice) in MOUNTS.iter().flat_map(|mount| SLICES.map(|slice| (mount, slice))) {
        let path = format!("{mount}/{slice}/cpuset.cpus.effective");
        let Fact::Known(list) = case.peek(&path) else { continue };
        let cpus = case.cpu_list(&path, TellsNothing("the control group went away"))?;
        if list.trim().is_empty() {
            continue;
        }
        seen = true;
        is_good &= cpus.intersection(case.rt()).is_empty();
    }
    if seen {
        return Ok(is_good);
    }
    let nothing = CannotBe("no cpuset limits systemd's slices here; see sysd.affinity for the CPUs of process 1");
    case.known("/sys/fs/cgroup/system.slice", Fact::<()>::Absent, nothing).map(|()| true)
}
