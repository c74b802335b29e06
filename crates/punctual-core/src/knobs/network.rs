//! Work that packets make, and for whom.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::cpu_set::CpuSet;
use crate::finding::Confidence;
use crate::finding::Severity::{Info, Medium};
use crate::profile::Kind;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "net.rps",
        title: "No received packets steered to the real-time CPUs",
        family: Family::Network,
        severity: Weight::of(Medium, Medium, Info),
        probe: Probe::Effective(rps),
        why: "Packet steering spreads the work of received packets over the CPUs in its mask, by interrupting them.",
        fix: "echo <H mask> > /sys/class/net/DEVICE/queues/rx-N/rps_cpus",
        persist: &[Lasting::Other("A udev rule for the device; net.core.rps_default_mask where the kernel has it.")],
        undo: "Write back the mask that was there.",
        cost: "The other CPUs get the packets.",
        blast: Blast::Harmless,
        confidence: Confidence::High,
        sources: &["kernel networking/scaling.rst"],
    },
    Knob {
        id: "net.busy_poll",
        title: "Sockets poll where it pays, and only there",
        family: Family::Network,
        severity: Weight::all(Info),
        probe: Probe::Effective(busy_poll),
        why: "Busy polling trades a CPU for latency: right for a thread that polls anyway, wrong for one that has \
            to sleep.",
        fix: "sysctl net.core.busy_poll=0 net.core.busy_read=0 for periodic work; 50 for polling work.",
        persist: &[Lasting::Other("The same lines in /etc/sysctl.d/.")],
        undo: "sysctl with the values that were there.",
        cost: "With it: CPU time. Without it: an interrupt per batch.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/sysctl/net.rst: busy_poll, busy_read", "tuned profile network-latency"],
    },
];

fn rps(case: &Case<'_>) -> Judged {
    case.has_housekeeping()?;
    let folder = "/sys/class/net";
    let none = Missing::CannotBe("there is no network");
    let devices = case.known(folder, case.list(folder), none)?;
    let (mut queues, mut steered) = (0_usize, Vec::new());
    for device in &devices {
        let names = case.list(&format!("{folder}/{device}/queues"));
        for queue in names.known().into_iter().flatten().filter(|name| name.starts_with("rx-")) {
            let path = format!("{folder}/{device}/queues/{queue}/rps_cpus");
            let Some(text) = case.peek(&path).known().cloned() else { continue };
            queues += 1;
            match CpuSet::parse_mask(&text) {
                Ok(mask) if mask.intersection(&case.rt).is_empty() => {}
                Ok(mask) => steered.push(format!("{device} {queue} to {mask}")),
                Err(e) => return Doubt::unknown(format!("{path}: {e}")),
            }
        }
    }
    if queues == 0 {
        return Doubt::not_applicable("no network device here can steer packets");
    }
    case.note(
        format!("{folder}/*/queues/rx-*/rps_cpus"),
        if steered.is_empty() { format!("none of {queues} queues") } else { steered.join(", ") },
    );
    Ok(steered.is_empty())
}

fn busy_poll(case: &Case<'_>) -> Judged {
    let none = Missing::CannotBe("this kernel's sockets cannot poll");
    let poll_us = case.number("/proc/sys/net/core/busy_poll", none)?;
    let read_us = case.number("/proc/sys/net/core/busy_read", none)?;
    if case.is(Kind::Poll) { Ok(poll_us > 0 && read_us > 0) } else { Ok(poll_us == 0 && read_us == 0) }
}
