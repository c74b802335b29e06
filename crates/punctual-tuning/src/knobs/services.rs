//! Knobs about programs that change the machine's settings, or load the machine at times of their own.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Services) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.daemons",
        title: "No daemon that sets frequencies and power",
        severity: Weight::all(Medium),
        check: Check::Service,
        why: "These daemons overwrite governors, limits and preferences, even minutes after you have set them.",
        cost: "Battery life and automatic cooling; make sure that the machine stays cool.",
        blast: Blast::Disturbing,
        confidence: Confidence::Low,
        sources: &["unverified: usual advice", "thermald(8)", "tlp.8"],
        ..KNOB
    },
    Knob {
        id: "svc.timers",
        title: "No unattended updates",
        severity: Weight::all(Medium),
        check: Check::Service,
        why: "Updates unpack, compress and restart at any time.",
        cost: "Security updates no longer come by themselves; they need a plan.",
        sources: &["cluster-node-tuning-operator#1591", "unverified: which of them matter on a given machine"],
        ..KNOB
    },
    Knob {
        id: "svc.agents",
        title: "No monitoring agents",
        check: Check::Service,
        why: "Monitoring agents regularly read per-CPU files, some of which interrupt every CPU, and keep threads on \
            all CPUs.",
        fix: Fix::prose(
            "systemctl stop each agent, or keep it on CPUs <H>: systemctl set-property --runtime UNIT AllowedCPUs=<H>",
        ),
        persist: &[Lasting::other("or keep the agents on other CPUs: systemctl set-property UNIT AllowedCPUs=<H>")],
        undo: Fix::command("systemctl start; systemctl revert UNIT"),
        cost: "Observability.",
        confidence: Confidence::Low,
        sources: &["netdata#6741", "unverified: the effect of each agent"],
        ..KNOB
    },
    Knob {
        id: "svc.update_timers",
        title: "No timers that start updates",
        severity: Weight::all(Medium),
        check: Check::Units,
        why: "A timer starts downloads, unpacking and restarts at its set time, whatever runs then.",
        cost: "Security updates no longer come by themselves; they need a plan.",
        sources: &[
            "systemd.timer(5)",
            "cluster-node-tuning-operator#1591",
            "unverified: that every systemd since 237 shows active units in /run/systemd/units",
        ],
        ..KNOB
    },
    Knob {
        id: "svc.maintenance",
        title: "No timers that start jobs over whole disks",
        check: Check::Units,
        why: "Trimming, scrubbing and indexing go through whole disks, usually at midnight or on Sundays.",
        cost: "Disks get slower, or errors on them go unnoticed, unless this maintenance is run by hand.",
        sources: &["systemd.timer(5)", "fstrim(8)", "unverified: which of them matter on a given machine"],
        ..KNOB
    },
    Knob {
        id: "svc.scanners",
        title: "No security scanner delays opening files and starting programs",
        severity: Weight::all(Medium),
        check: Check::Service,
        why: "Security scanners delay every opening of a file until they have scanned it, and hook into programs and \
            packets.",
        fix: Fix::prose("systemctl stop the scanner, or exclude the real-time programs and files from scans."),
        persist: &[Lasting::other("In the scanner's own configuration")],
        cost: "Protection by the scanner.",
        confidence: Confidence::Low,
        sources: &["fanotify(7): permission events", "unverified: the effect of each scanner"],
        ..KNOB
    },
    Knob {
        id: "svc.indexers",
        title: "No indexing of files",
        check: Check::Service,
        why: "Indexers read and parse every file that changes.",
        undo: Fix::command("systemctl --user unmask"),
        cost: "Desktop search.",
        confidence: Confidence::Low,
        sources: &["unverified: usual advice"],
        ..KNOB
    },
    Knob {
        id: "svc.rtkit",
        title: "No daemon that takes real-time priorities away from threads",
        applies: |case| case.not_for(Kind::Audio, "desktop audio needs rtkit"),
        check: Check::Service,
        why: "rtkit hands out low real-time priorities with a time limit, and demotes all real-time threads that it \
            knows if it does not get CPU time itself.",
        cost: "Desktop audio gets no real-time priority, unless lim.rtprio grants it the right.",
        sources: &["rtkit README: canary, RLIMIT_RTTIME", "unverified: on the version installed"],
        ..KNOB
    },
    Knob {
        id: "svc.priority",
        title: "No daemon that sets thread priorities",
        check: Check::Service,
        why: "These daemons renice, move and re-schedule the threads of other programs by rules of their own.",
        fix: Fix::prose("systemctl stop each daemon, or name the real-time programs in their exceptions."),
        cost: "What these daemons do for interactive programs.",
        confidence: Confidence::Low,
        sources: &["unverified: usual advice"],
        ..KNOB
    },
    Knob {
        id: "svc.oomd",
        title: "No daemon that kills programs when memory is short",
        check: Check::Service,
        why: "Out-of-memory daemons watch memory pressure and kill a process before the kernel would; they choose a \
            large process, and a program that locks its memory is large.",
        fix: Fix::prose(
            "systemctl stop the daemon, or exclude the unit of the real-time work: ManagedOOMPreference=omit",
        ),
        persist: &[Lasting::unit("ManagedOOMPreference=omit")],
        cost: "When memory runs out, the kernel kills a process, later than the daemon would.",
        sources: &["systemd-oomd(8)", "earlyoom(1)"],
        ..KNOB
    },
    Knob {
        id: "svc.containers",
        title: "Containers keep off the real-time CPUs",
        severity: Weight::of(Medium, Medium, Info),
        applies: |case| case.has_housekeeping(),
        check: Check::All(&[
            containers("/sys/fs/cgroup/system.slice/docker-*/cpuset.cpus.effective"),
            containers("/sys/fs/cgroup/machine.slice/libpod-*/cpuset.cpus.effective"),
            containers("/sys/fs/cgroup/machine.slice/systemd-nspawn@*/cpuset.cpus.effective"),
            containers("/sys/fs/cgroup/docker/*/cpuset.cpus.effective"),
            containers("/sys/fs/cgroup/kubepods*/cpuset.cpus.effective"),
            containers("/sys/fs/cgroup/lxc.payload.*/cpuset.cpus.effective"),
        ]),
        why: "Container runtimes do not look at isolated CPUs: without a cpuset, their programs may use every CPU.",
        fix: Fix::prose("docker update --cpuset-cpus=<H> CONTAINER; podman update --cpuset-cpus=<H> CONTAINER"),
        persist: &[Lasting::other(
            "cpuset in the definition of each container, or AllowedCPUs=<H> for the slice they run in",
        )],
        undo: Fix::command("docker update --cpuset-cpus= CONTAINER"),
        cost: "Containers share the housekeeping CPUs.",
        blast: Blast::Disturbing,
        sources: &["moby#31086", "cri-o#2213", "kernel admin-guide/cgroup-v2.rst: cpuset.cpus.effective"],
        ..KNOB
    },
    Knob {
        id: "svc.kubelet",
        title: "The kubelet gives containers whole CPUs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(kubelet),
        why: "Without the static policy all pods share all CPUs, and a quota stops them in the middle of a period.",
        fix: Fix::prose(
            "cpuManagerPolicy: static and reservedSystemCPUs: <H> in the kubelet's configuration; remove \
            cpu_manager_state; restart the kubelet.",
        ),
        persist: &[Lasting::other("The same lines in the kubelet's configuration")],
        undo: Fix::prose("cpuManagerPolicy: none"),
        cost: "CPUs that are given to one pod are no longer in the pool that all pods share.",
        blast: Blast::Breaking,
        sources: &["Kubernetes documentation: control CPU management policies", "unverified: on a cluster"],
        ..KNOB
    },
];

const NO_CONTAINER: Missing = CannotBe("no containers are seen here");

const fn containers(cpus: &'static str) -> Check {
    Check::seen(cpus, Want::ListWithoutRt, NO_CONTAINER)
}

fn kubelet(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.running("svc.kubelet")?.is_empty(), "no kubelet runs here")?;
    let path = "/var/lib/kubelet/cpu_manager_state";
    let state = case.content(path, TellsNothing("the kubelet's choice is not shown"))?;
    let policy = state.split_once("\"policyName\":").and_then(|(_, rest)| rest.split('"').nth(1));
    match policy {
        Some(policy) => {
            case.note(path, format!("policyName {policy}"));
            Ok(policy == "static")
        }
        None => Doubt::unknown(format!("{path} names no policy")),
    }
}
