//! Knobs about work queues, which run work that the kernel puts off, and about the CPUs that the work may run on.

use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::{QUEUES, WORKQUEUES, common_mask};

/// The most work queues that are read. A machine with many storage devices has some dozens.
const MOST_QUEUES: usize = 256;

const KNOB: Knob = Knob::of(Family::Isolation);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "wq.unbound",
        title: "Unbound kernel work off the real-time CPUs",
        severity: Weight::of(Medium, Medium, Info),
        applies: |case| case.has_housekeeping(),
        check: Check::seen(
            WORKQUEUES,
            Want::MaskWithoutRt,
            TellsNothing("this kernel does not show where unbound work may run"),
        ),
        why: "Otherwise, work that the kernel may run on any CPU also runs on the real-time CPUs, whenever another CPU \
            requests it.",
        persist: &[
            Lasting::write(WORKQUEUES, "<H mask>"),
            Lasting::word("workqueue.unbound_cpus=<H>"),
            Lasting::other("6.12 knows the word, 6.1 does not."),
        ],
        cost: "The work shares fewer CPUs; rewriting the mask on a busy machine has been seen to stall the network.",
        blast: Blast::Disturbing,
        sources: &["kernel 6.1, 6.12, 7.3 kernel/workqueue.c", "seapath/ansible#985"],
        ..KNOB
    },
    Knob {
        id: "wq.isolated",
        title: "Work queues know which CPUs are isolated",
        check: Check::Probe(|case| {
            case.has_housekeeping()?;
            let missing = CannotBe(
                "this kernel does not show which CPUs its work queues take as isolated (6.12 does, 6.1 does not)",
            );
            let isolated = case.cpu_mask("/sys/devices/virtual/workqueue/cpumask_isolated", missing)?;
            Ok(case.rt().is_subset(&isolated))
        }),
        why: "If the work queues know that a CPU is isolated, they leave it out even if a program writes it into the \
            mask; otherwise the next program that sets the mask brings the work back.",
        fix: Fix::prose("Isolate the CPUs by isolcpus=domain or an isolated partition, see iso.domain."),
        persist: &[Lasting::word("isolcpus=managed_irq,domain,<I apart>")],
        undo: Fix::prose("Remove the word and boot again; echo member > GROUP/cpuset.cpus.partition"),
        cost: "None beyond the isolation itself.",
        blast: Blast::Disturbing,
        sources: &["kernel 6.12, 7.3 kernel/workqueue.c: cpumask_isolated"],
        ..KNOB
    },
    Knob {
        id: "wq.named",
        title: "No work queue with a CPU mask of its own uses the real-time CPUs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(named),
        why: "A work queue with a mask of its own (writeback, calls into EFI firmware, storage) runs its work on the \
            CPUs that are in both its own mask and the common mask.",
        fix: Fix::prose(
            "echo <H mask> > /sys/devices/virtual/workqueue/cpumask, or to the cpumask of each queue named here.",
        ),
        persist: &[
            Lasting::write("/sys/devices/virtual/workqueue/*/cpumask", "<H mask>"),
            Lasting::Udev(Rule::add("workqueue", &[attribute("cpumask", "<H mask>")])),
        ],
        cost: "The work shares fewer CPUs.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 kernel/workqueue.c",
            "kernel core-api/workqueue.rst",
            "tuned realtime profile",
        ],
        ..KNOB
    },
    Knob {
        id: "wq.power_efficient",
        title: "Work that can run elsewhere leaves the real-time CPUs",
        applies: |case| case.has_housekeeping(),
        check: Check::parameter(
            "workqueue",
            "power_efficient",
            Want::YES,
            TellsNothing("this kernel does not show its switch power_efficient"),
        ),
        why: "Some queues run their work on the CPU that requested it, though any CPU would do; with \
            workqueue.power_efficient, any CPU can run it.",
        fix: Fix::NotAtRunTime(""),
        persist: &[Lasting::word("workqueue.power_efficient=1")],
        cost: "That work finds colder caches.",
        sources: &[
            "kernel-parameters.txt: workqueue.power_efficient",
            "kernel 6.12, 7.3 kernel/workqueue.c (set by itself with nohz_full=)",
        ],
        ..KNOB
    },
    Knob {
        id: "wq.affinity_scope",
        title: "Unbound work stays near the CPU that requested it",
        applies: |case| case.has_housekeeping(),
        check: Check::parameter(
            "workqueue",
            "default_affinity_scope",
            Want::Word { good: &["cache", "cpu", "smt", "cache_shard"], bad: &["numa", "system"] },
            CannotBe("this kernel's work queues have no affinity scopes (6.12 has them, 6.1 does not)"),
        ),
        why: "With an affinity scope as wide as a NUMA node or the machine, work that housekeeping CPUs request also \
            runs on CPUs next to the real-time CPUs, and replaces data in the cache that they share.",
        persist: &[Lasting::NoWord("workqueue.default_affinity_scope")],
        cost: "None: it is the default.",
        confidence: Confidence::Low,
        sources: &[
            "kernel-parameters.txt (6.12, 7.3): workqueue.default_affinity_scope",
            "unverified: size of the effect",
        ],
        ..KNOB
    },
    Knob {
        id: "wq.cpu_intensive",
        title: "Long-running kernel work is noticed",
        check: Check::parameter(
            "workqueue",
            "cpu_intensive_thresh_us",
            Want::Not { bad: 0, write: 10_000 },
            CannotBe("this kernel has no threshold for long-running kernel work (6.12 has one, 6.1 does not)"),
        ),
        why: "If a work item runs for longer than the threshold cpu_intensive_thresh_us, it no longer holds up other \
            work on its CPU, and the kernel reports it. Without a threshold, a driver can hold up other work \
            unnoticed.",
        persist: &[Lasting::NoWord("workqueue.cpu_intensive_thresh_us")],
        cost: "None: it is the default.",
        confidence: Confidence::Medium,
        sources: &["kernel-parameters.txt (6.12, 7.3): workqueue.cpu_intensive_thresh_us"],
        ..KNOB
    },
];

fn named(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let common = common_mask(case)?;
    let names = case.names(QUEUES, TellsNothing("the work queues are not shown"))?;
    let (mut seen, mut intruders) = (0_usize, Vec::new());
    for name in names.iter().take(MOST_QUEUES) {
        let path = format!("{QUEUES}/{name}/cpumask");
        let Fact::Known(mask) = case.peek(&path) else { continue };
        let Ok(own) = CpuSet::parse_mask(&mask) else { return Doubt::unknown(format!("{path} holds '{mask}'")) };
        seen += 1;
        // If a queue's own mask has no CPU in common with the mask of all unbound work, the kernel uses the mask of all
        // unbound work.
        let both = own.intersection(&common);
        let in_force = if both.is_empty() { &common } else { &both };
        if !in_force.intersection(case.rt()).is_empty() {
            intruders.push(format!("{name} on {in_force}"));
        }
    }
    let shown = if intruders.is_empty() {
        format!("none of {seen} work queues may use CPUs {}", case.rt())
    } else {
        intruders.join("; ")
    };
    case.note(format!("{QUEUES}/*/cpumask"), shown);
    let is_cut_off = names.len() > MOST_QUEUES && intruders.is_empty();
    Doubt::unknown_if(is_cut_off, "there are more work queues than were examined")?;
    Ok(intruders.is_empty())
}
