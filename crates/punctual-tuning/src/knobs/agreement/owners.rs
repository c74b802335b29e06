//! Programs and configuration systems that set the same thing: the last one to run wins, and at the next boot another.

use super::requests::WORDS;
use crate::knobs::{Blast, Case, Check, Doubt, Family, Fix, Judged, Knob, Lasting, Weight};
use punctual_facts::finding::Confidence;
use punctual_facts::finding::Severity::{Info, Medium};
use punctual_facts::machine::Cmdline;
use std::collections::BTreeMap;

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Agreement) };

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.owners_power",
        title: "One owner of frequencies and power",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(|case| one_owner(case, POWER)),
        why: "Each of them writes governors and limits at its own start, at a plug or a key press; which of them wins \
            changes from boot to boot.",
        fix: Fix::prose("systemctl disable --now all of them but one."),
        persist: &[Lasting::other("systemctl mask all of them but one.")],
        undo: Fix::command("systemctl unmask; systemctl enable --now"),
        cost: "What the others did besides.",
        blast: Blast::Disturbing,
        sources: &["tuned plugin_cpu", "tlp.8", "unverified: which of them undo each other on a given machine"],
        ..KNOB
    },
    Knob {
        id: "agree.owners_irq",
        title: "One owner of interrupt affinities",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(|case| one_owner(case, INTERRUPTS)),
        why: "irqbalance rewrites affinities every ten seconds, the others when they start: with two of them, what was \
            verified after the boot is not what holds an hour later.",
        fix: Fix::prose("systemctl disable --now all of them but one."),
        persist: &[Lasting::other("systemctl mask all of them but one.")],
        undo: Fix::command("systemctl unmask; systemctl enable --now"),
        cost: "What the others did besides.",
        blast: Blast::Disturbing,
        sources: &[
            "tuned plugin_irq, plugin_irqbalance, plugin_scheduler",
            "rt-conf: interrupts",
            "cluster-node-tuning-operator#396",
        ],
        ..KNOB
    },
    Knob {
        id: "agree.owners_priorities",
        title: "One owner of thread priorities",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::Probe(|case| one_owner(case, PRIORITIES)),
        why: "Both set the priorities of interrupt threads by their names; a real-time loop that was placed between them \
            for one owner is above or below all of them for the other.",
        fix: Fix::prose("systemctl disable --now all of them but one."),
        persist: &[Lasting::other("systemctl mask all of them but one.")],
        undo: Fix::command("systemctl unmask; systemctl enable --now"),
        cost: "What the others did besides.",
        blast: Blast::Disturbing,
        sources: &["rtirq", "tuned plugin_scheduler", "stalld"],
        ..KNOB
    },
    Knob {
        id: "agree.owners_cmdline",
        title: "One owner of each word on the command line",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(owners_cmdline),
        why: "The kernel takes the last of two words of a kind, or refuses the second, and which file comes last depends on \
            their names; tuned also takes its words away when it stops.",
        persist: &[Lasting::other(
            "Leave each word to one file, take it out of the others, and generate the boot menu anew.",
        )],
        cost: "None.",
        sources: &[
            "tuned plugin_bootloader: /etc/tuned/bootcmdline",
            "rt-conf: 60_rt-conf.cfg",
            "cloud-init: 50-cloudimg-settings.cfg",
        ],
        ..KNOB
    },
];

/// A program that sets things, and how it is told that it does so here.
struct Owner {
    name: &'static str,
    /// Names of its processes, cut to 15 bytes as the kernel does.
    tasks: &'static [&'static str],
    /// Starts of its unit's name, for those that do their work and end.
    units: &'static [&'static str],
}

const TUNED: Owner = Owner { name: "tuned", tasks: &["tuned"], units: &["tuned.service"] };
const RT_CONF: Owner = Owner { name: "rt-conf", tasks: &["rt-conf"], units: &["snap.rt-conf.", "rt-conf"] };

const POWER: &[Owner] = &[
    TUNED,
    RT_CONF,
    Owner { name: "tlp", tasks: &["tlp"], units: &["tlp.service"] },
    Owner { name: "power-profiles-daemon", tasks: &["power-profiles-"], units: &["power-profiles-daemon."] },
    Owner { name: "auto-cpufreq", tasks: &["auto-cpufreq"], units: &["auto-cpufreq."] },
    Owner { name: "cpufrequtils", tasks: &["cpufreqd"], units: &["cpufrequtils.", "cpufreqd.", "loadcpufreq."] },
    Owner { name: "cpupower", tasks: &[], units: &["cpupower."] },
    Owner { name: "thermald", tasks: &["thermald"], units: &["thermald."] },
    Owner {
        name: "system76-power",
        tasks: &["system76-power"],
        units: &["com.system76.PowerDaemon.", "system76-power."],
    },
    Owner { name: "laptop-mode-tools", tasks: &["laptop_mode"], units: &["laptop-mode."] },
];
const INTERRUPTS: &[Owner] = &[
    TUNED,
    RT_CONF,
    Owner { name: "irqbalance", tasks: &["irqbalance"], units: &["irqbalance."] },
    Owner { name: "irqd", tasks: &["irqd"], units: &["irqd."] },
];
const PRIORITIES: &[Owner] = &[
    TUNED,
    Owner { name: "rtirq", tasks: &[], units: &["rtirq."] },
    Owner { name: "stalld", tasks: &["stalld"], units: &["stalld."] },
];

/// Where links of enabled units stand.
const WANTED: [&str; 4] =
    ["multi-user.target.wants", "graphical.target.wants", "basic.target.wants", "sysinit.target.wants"];

fn one_owner(case: &Case<'_>, owners: &[Owner]) -> Judged {
    let running =
        case.tasks(|task| !task.is_kernel && owners.iter().any(|owner| owner.tasks.contains(&task.name.as_str())))?;
    let mut enabled: Vec<(String, String)> = Vec::new();
    let mut sees_units = !case.machine.boot.is_systemd();
    for target in WANTED {
        let folder = format!("/etc/systemd/system/{target}");
        let names = case.list(&folder);
        sees_units |= names.known().is_some();
        enabled.extend(names.known().into_iter().flatten().map(|name| (format!("{folder}/{name}"), name.clone())));
    }
    let mut found = Vec::new();
    for owner in owners {
        let task = running.iter().find(|task| owner.tasks.contains(&task.name.as_str()));
        let unit = enabled.iter().find(|(_, name)| owner.units.iter().any(|start| name.starts_with(start)));
        match (task, unit) {
            (Some(task), _) => case.note(owner.name, format!("runs ({})", task.name)),
            (None, Some((path, _))) => case.note(owner.name, format!("is enabled ({path})")),
            (None, None) => continue,
        }
        found.push(owner.name);
    }
    if found.len() <= 1 && !sees_units {
        return Doubt::unknown("which units systemd starts cannot be seen, and some do their work and end");
    }
    if found.is_empty() {
        let names: Vec<&str> = owners.iter().map(|owner| owner.name).collect();
        case.note("tasks and enabled units", format!("none of {}", names.join(", ")));
    }
    Ok(found.len() <= 1)
}

/// Files that name words for the kernel, each with the words; those that stand in several stages of one owner count
/// once.
fn sources(case: &Case<'_>) -> Vec<(String, Cmdline)> {
    let mut sources = Vec::new();
    let mut add = |path: String, names: &[&str]| {
        let text = case.peek(&path);
        for line in text.known().map(String::as_str).unwrap_or_default().lines() {
            let line = line.trim();
            let value = names.iter().find_map(|name| {
                let rest = line.strip_prefix(name)?;
                rest.strip_prefix("+=").or_else(|| rest.strip_prefix('='))
            });
            if let Some(value) = value {
                sources.push((path.clone(), Cmdline::parse(value.trim().trim_matches(['"', '\'']))));
            }
        }
    };
    let grub = ["GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_CMDLINE_LINUX"];
    add("/etc/default/grub".to_owned(), &grub);
    for name in case.list("/etc/default/grub.d").known().into_iter().flatten() {
        if name.strip_suffix(".cfg").is_some() {
            add(format!("/etc/default/grub.d/{name}"), &grub);
        }
    }
    add("/etc/tuned/bootcmdline".to_owned(), &["TUNED_BOOT_CMDLINE"]);
    add("/boot/armbianEnv.txt".to_owned(), &["extraargs"]);
    sources
}

fn owners_cmdline(case: &Case<'_>) -> Judged {
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!("in a container ({container}) there is no boot loader to ask"));
    }
    let sources = sources(case);
    if sources.is_empty() {
        return Doubt::unknown("no file that names words for the kernel can be read from here");
    }
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, line) in &sources {
        for word in line.for_the_kernel().split_whitespace() {
            let name = word.split('=').next().unwrap_or(word);
            // Of other words, several may be wanted, or one more does no harm.
            if !WORDS.contains(&name.replace('-', "_").as_str()) {
                continue;
            }
            let owners = owners.entry(name.replace('-', "_")).or_default();
            if !owners.iter().any(|owner| owner.starts_with(&format!("{path}: "))) {
                owners.push(format!("{path}: {word}"));
            }
        }
    }
    let mut is_single = true;
    for owners in owners.values().filter(|owners| owners.len() > 1) {
        is_single = false;
        case.note("two owners", owners.join("; "));
    }
    if is_single {
        let mut paths: Vec<&str> = sources.iter().map(|(path, _)| path.as_str()).collect();
        paths.dedup();
        case.note(paths.join(", "), "no word twice");
    }
    Ok(is_single)
}
