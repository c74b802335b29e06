//! Compares the CPUs that user space gives to work (by systemd, irqbalance, co-kernels, containers) with the CPUs that
//! this machine keeps free of other work.

use super::set_apart;
use crate::knobs::prelude::*;
use crate::knobs::seen::isolation;
use punctual_facts::machine::{BOOT_CPU, SecondKernel};

const KNOB: Knob = Knob {
    cost: "None.",
    severity: Weight::of(Medium, Medium, Info),
    confidence: Confidence::Medium,
    blast: Blast::Disturbing,
    ..Knob::of(Family::Agreement)
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.systemd",
        title: "systemd starts nothing on the CPUs set apart",
        check: Check::Probe(systemd),
        why: "Everything that systemd starts inherits the CPUs of systemd itself, or those of its slice: a slice that \
            names isolated CPUs lets services run there.",
        fix: Fix::prose(
            "systemctl set-property --runtime SLICE AllowedCPUs=<H> for each slice that names them; taskset -p <H mask> 1",
        ),
        persist: &[Lasting::other(
            "CPUAffinity=<H> in /etc/systemd/system.conf.d/99-zz-punctual.conf, and AllowedCPUs=<H> for system.slice, \
            user.slice and machine.slice.",
        )],
        undo: Fix::prose("systemctl revert SLICE; remove the file and boot again."),
        cost: "Services share fewer CPUs.",
        sources: &[
            "systemd.resource-control(5): AllowedCPUs",
            "systemd-system.conf(5): CPUAffinity",
            "systemd#23748, #31151",
        ],
        ..KNOB
    },
    Knob {
        id: "agree.systemd_conf",
        title: "systemd runs where its configuration says",
        check: Check::Probe(systemd_conf),
        why: "CPUAffinity= takes effect when process 1 starts, and cpuset changes were seen to reset it on kernels \
            before 6.2; the CPUs that services inherit may therefore differ from those in the file.",
        fix: Fix::command("systemctl daemon-reexec"),
        persist: &[
            Lasting::word("systemd.cpu_affinity=<H>"),
            Lasting::other("A kernel from 6.2 on, which keeps the affinity when a cpuset changes."),
        ],
        undo: Fix::prose("Remove CPUAffinity= or the word systemd.cpu_affinity=, and boot again."),
        sources: &[
            "systemd-system.conf(5): CPUAffinity",
            "kernel-command-line(7): systemd.cpu_affinity",
            "systemd#23748",
        ],
        ..KNOB
    },
    Knob {
        id: "agree.irqbalance",
        title: "irqbalance leaves out the CPUs set apart",
        // If `irq.irqbalance` is bad, it reports the same state with its own severity.
        severity: Weight::of(Medium, High, Info).at_most(Info, |case| isolation::irqbalance(case) == Ok(false)),
        check: Check::Probe(irqbalance),
        why: "By default irqbalance leaves out isolated and tick-free CPUs, but a list of banned CPUs replaces this \
            default, and irqbalance does not know cpuset partitions.",
        fix: Fix::prose(
            "Set IRQBALANCE_BANNED_CPULIST=<I> in irqbalance's file, or take the line out; systemctl restart \
                irqbalance",
        ),
        persist: &[Lasting::other(
            "The same line in /etc/default/irqbalance (Debian) or /etc/sysconfig/irqbalance (Fedora).",
        )],
        undo: Fix::prose("Restore the former line; systemctl restart irqbalance"),
        cost: "A restart redistributes all interrupts for about a second.",
        sources: &["irqbalance(1): IRQBALANCE_BANNED_CPULIST", "irqbalance#19", "cluster-node-tuning-operator#953"],
        ..KNOB
    },
    Knob {
        id: "agree.cokernel",
        title: "The second kernel serves the real-time CPUs",
        severity: Weight::all(Fatal),
        check: Check::Probe(cokernel),
        why: "Cobalt and EVL work only on the CPUs of their mask. Cobalt without CPU 0 disables itself; EVL takes all \
            CPUs when the word for its mask is misspelt.",
        persist: &[Lasting::boot(
            "Kernel command line: xenomai.supported_cpus=MASK for Cobalt (bits, CPU 0 always among them), evl.oobcpus=<I> \
            for EVL.",
        )],
        blast: Blast::Harmless,
        sources: &["Xenomai 3.3 kernel/cobalt/init.c", "EVL 6.5, 6.10 patches: evl.oobcpus"],
        ..KNOB
    },
    Knob {
        id: "agree.container",
        title: "This container may use the real-time CPUs",
        severity: Weight::all(High),
        check: Check::Probe(container),
        why: "Container engines do not look at isolcpus=: a container may use the CPUs of its cpuset, and pinning a \
            thread to any other CPU fails.",
        fix: Fix::prose(
            "Outside of the container: docker update --cpuset-cpus <I> CONTAINER, or the equivalent command of another \
            container engine.",
        ),
        persist: &[Lasting::other(
            "cpuset-cpus=<I> where the container is defined (Kubernetes: static CPU manager policy).",
        )],
        confidence: Confidence::High,
        sources: &["kernel admin-guide/cgroup-v2.rst: cpuset.cpus.effective", "moby#31086", "cri-o#2213"],
        ..KNOB
    },
];

fn needs_systemd(case: &Case<'_>) -> Result<(), Doubt> {
    match &case.machine.boot.init {
        _ if case.container().is_some() => Doubt::unknown("process 1 in this container is not the machine's process 1"),
        Some(init) if case.machine.boot.is_systemd() => {
            case.note("init", format!("{} ({})", init.what.name(), init.seen));
            Ok(())
        }
        Some(init) => Doubt::not_applicable(format!("{} runs this machine, not systemd", init.what.name())),
        None => Doubt::unknown("which init runs this machine is not known"),
    }
}

fn systemd(case: &Case<'_>) -> Judged {
    let apart = set_apart(case)?.all();
    needs_systemd(case)?;
    let mut agrees = isolation::first_process(case)?.intersection(&apart).is_empty();
    for slice in ["init.scope", "system.slice", "user.slice", "machine.slice"] {
        let path = format!("/sys/fs/cgroup/{slice}/cpuset.cpus");
        // An empty list means that the slice uses the CPUs of its parent group.
        if case.peek(&path).known().is_some_and(|list| !list.trim().is_empty()) {
            let named = case.cpu_list(&path, TellsNothing("not there"))?;
            agrees &= named.intersection(&apart).is_empty();
        }
    }
    Ok(agrees)
}

fn systemd_conf(case: &Case<'_>) -> Judged {
    needs_systemd(case)?;
    let mut files = vec!["/etc/systemd/system.conf".to_owned()];
    let mut fragments: Vec<(String, String)> = Vec::new();
    for folder in ["/usr/lib/systemd/system.conf.d", "/run/systemd/system.conf.d", "/etc/systemd/system.conf.d"] {
        for name in case.list(folder).known().into_iter().flatten().filter(|name| name.strip_suffix(".conf").is_some())
        {
            fragments.retain(|(known, _)| known != name);
            fragments.push((name.clone(), format!("{folder}/{name}")));
        }
    }
    fragments.sort();
    files.extend(fragments.into_iter().map(|(_, path)| path));
    let mut wanted = CpuSet::new();
    for path in &files {
        let text = case.peek(path);
        let lines = text.known().map(String::as_str).unwrap_or_default().lines();
        for value in lines.filter_map(|line| line.trim().strip_prefix("CPUAffinity=")) {
            case.note(format!("{path} CPUAffinity"), value);
            let list = value.split_whitespace().collect::<Vec<_>>().join(",");
            match CpuSet::parse_list(&list) {
                // systemd adds up the values of several lines; an empty value discards the earlier values.
                Ok(cpus) if cpus.is_empty() => wanted = cpus,
                Ok(cpus) => wanted = wanted.union(&cpus),
                Err(_) => return Doubt::unknown(format!("{path} says CPUAffinity={value}, which is no list of CPUs")),
            }
        }
    }
    Doubt::not_applicable_if(wanted.is_empty(), "no CPUAffinity= is configured for systemd")?;
    let online = case.online().cloned().unwrap_or_else(|| wanted.clone());
    Ok(isolation::first_process(case)? == wanted.intersection(&online))
}

fn irqbalance(case: &Case<'_>) -> Judged {
    let apart = set_apart(case)?.all();
    Doubt::not_applicable_if(case.running("agree.irqbalance")?.is_empty(), "irqbalance does not run")?;
    for path in ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance", "/etc/irqbalance.env"] {
        let text = case.peek(path);
        for line in text.known().map(String::as_str).unwrap_or_default().lines() {
            let line = line.trim().trim_start_matches("export ");
            let (is_mask, value) = match line.split_once('=') {
                Some(("IRQBALANCE_BANNED_CPULIST", value)) => (false, value),
                Some(("IRQBALANCE_BANNED_CPUS", value)) => (true, value),
                _ => continue,
            };
            let value = value.trim_matches(['"', '\'']);
            if value.is_empty() {
                continue;
            }
            case.note(path, line);
            let banned = if is_mask { CpuSet::parse_mask(value) } else { CpuSet::parse_list(value) };
            return match banned {
                Ok(banned) => Ok(apart.is_subset(&banned)),
                Err(e) => Doubt::unknown(format!("{path}: {e}; irqbalance may read it otherwise")),
            };
        }
    }
    let left_out = case.cpu_list_if_there(ISOLATED)?.union(&case.cpu_list_if_there(NOHZ_FULL)?);
    Ok(apart.is_subset(&left_out))
}

fn cokernel(case: &Case<'_>) -> Judged {
    let core = case.second_kernel()?;
    let path = match core {
        SecondKernel::Cobalt(_) => "/sys/module/xenomai/parameters/supported_cpus",
        SecondKernel::Evl(_) => "/sys/devices/virtual/evl/control/cpus",
    };
    let served =
        case.known(path, core.cpus().clone(), TellsNothing("the real-time core does not show which CPUs it uses"))?;
    case.note(format!("CPUs of {path}"), served.to_string());
    let holds_rt = case.rt().is_subset(&served);
    match core {
        SecondKernel::Cobalt(_) => Ok(served.contains(BOOT_CPU) && holds_rt),
        SecondKernel::Evl(_) => {
            case.note(
                "command line evl.oobcpus",
                if case.requested("evl.oobcpus") { "the word is given" } else { "the word is not given" },
            );
            // For a misspelt word, the kernel gives no error and lets the core serve all CPUs.
            Ok(holds_rt && !case.requested("evl.oob_cpus"))
        }
    }
}

fn container(case: &Case<'_>) -> Judged {
    let Some(name) = case.container() else {
        return Doubt::not_applicable("this is not a container");
    };
    case.note("container", name.as_str());
    case.known_rt()?;
    let places = ["/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset/cpuset.effective_cpus"];
    let Some(path) = places.into_iter().find(|path| case.peek(path).known().is_some()) else {
        return Doubt::unknown("the cpuset of this container is not shown");
    };
    Ok(case.rt().is_subset(&case.cpu_list(path, TellsNothing("not there"))?))
}
