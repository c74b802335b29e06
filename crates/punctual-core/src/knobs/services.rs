//! Programs that change the machine behind one's back, or load it at times of their own choosing.

use super::{Blast, Case, Family, Judged, Knob, Lasting, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{Info, Medium};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.daemons",
        title: "Nobody else sets frequencies and power",
        family: Family::Services,
        severity: Weight::all(Medium),
        probe: Probe::Effective(power),
        why: "These daemons write governors, limits and preferences again, minutes after one has set them.",
        fix: "systemctl stop each of them.",
        persist: &[Lasting::Other("systemctl mask each of them, so that one owner remains.")],
        undo: "systemctl unmask; systemctl start",
        cost: "Battery life and automatic cooling measures; see that the machine stays cool.",
        blast: Blast::Disturbing,
        confidence: Confidence::Low,
        sources: &["unverified: usual advice", "thermald(8)", "tlp.8"],
    },
    Knob {
        id: "svc.tuned",
        title: "tuned does not rewrite settings",
        family: Family::Services,
        severity: Weight::all(Info),
        probe: Probe::Effective(tuned),
        why: "tuned sets a profile when it starts, removes it when it stops, and may watch threads all the time: \
            two owners of one setting undo each other.",
        fix: "Leave everything to tuned, or systemctl stop tuned (which takes its settings back).",
        persist: &[Lasting::Other("systemctl disable tuned")],
        undo: "systemctl enable --now tuned",
        cost: "Its profile.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["tuned plugin_scheduler, plugin_bootloader", "cluster-node-tuning-operator#280"],
    },
    Knob {
        id: "svc.timers",
        title: "No unattended updates",
        family: Family::Services,
        severity: Weight::all(Medium),
        probe: Probe::Effective(updates),
        why: "Updates unpack, compress and restart at times of their own choosing; firmware updaters can make the \
            firmware stop all CPUs.",
        fix: "systemctl stop each of them, and apt-daily.timer, apt-daily-upgrade.timer, fwupd-refresh.timer.",
        persist: &[Lasting::Other("systemctl mask them, and plan a maintenance window.")],
        undo: "systemctl unmask; systemctl start",
        cost: "Security updates need a plan.",
        blast: Blast::Harmless,
        confidence: Confidence::Medium,
        sources: &["cluster-node-tuning-operator#1591", "unverified: which of them matter on a given machine"],
    },
    Knob {
        id: "svc.agents",
        title: "No monitoring agents",
        family: Family::Services,
        severity: Weight::all(Info),
        probe: Probe::Effective(agents),
        why: "Agents read per-CPU files at a steady beat, some of which interrupt every CPU, and keep threads on \
            all of them.",
        fix: "systemctl stop each of them, or keep it on CPUs <H>: systemctl set-property --runtime UNIT \
            AllowedCPUs=<H>",
        persist: &[Lasting::Other("The same without --runtime.")],
        undo: "systemctl start; systemctl revert UNIT",
        cost: "Observability.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["netdata#6741", "unverified: the effect of each agent"],
    },
];

// Names as the kernel cuts them to 15 bytes.

fn power(case: &Case<'_>) -> Judged {
    let names = ["thermald", "tlp", "power-profiles-", "auto-cpufreq", "cpufreqd", "laptop_mode", "system76-power"];
    Ok(case.daemons(&names)?.is_empty())
}

fn tuned(case: &Case<'_>) -> Judged {
    Ok(case.daemons(&["tuned"])?.is_empty())
}

fn updates(case: &Case<'_>) -> Judged {
    let names = ["unattended-upgr", "packagekitd", "snapd", "fwupd", "dnf-automatic", "apt.systemd.dai", "rpm-ostreed"];
    Ok(case.daemons(&names)?.is_empty())
}

fn agents(case: &Case<'_>) -> Judged {
    let names = [
        "node_exporter",
        "prometheus-node",
        "netdata",
        "collectd",
        "telegraf",
        "rasdaemon",
        "sadc",
        "zabbix_agentd",
        "tracker-miner-f",
    ];
    Ok(case.daemons(&names)?.is_empty())
}
