//! Programs and configuration systems that set the same thing. The value of the program that runs last stays in force,
//! and the order of the programs changes from boot to boot.

use super::requests::matters;
use crate::knobs::prelude::*;
use punctual_facts::machine::Cmdline;
use std::collections::BTreeMap;

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Agreement) };
/// Fields shared by the knobs that are good if at most one program sets certain values.
const ONE_OWNER: Knob = Knob {
    severity: Weight::of(Medium, Medium, Info),
    fix: Fix::prose("systemctl disable --now all of them but one."),
    persist: &[Lasting::other("systemctl mask all of them but one.")],
    undo: Fix::command("systemctl unmask; systemctl enable --now"),
    cost: "The other functions of the stopped programs.",
    blast: Blast::Disturbing,
    ..KNOB
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.owners_power",
        title: "Only one program sets frequencies and power",
        check: Check::OneOwner,
        why: "Programs that control power write governors and limits when they start, when the power supply changes \
            or when somebody picks a power profile; which program writes last changes from boot to boot.",
        sources: &["tuned plugin_cpu", "tlp.8", "unverified: which of them undo each other on a given machine"],
        ..ONE_OWNER
    },
    Knob {
        id: "agree.owners_irq",
        title: "Only one program sets interrupt affinities",
        check: Check::OneOwner,
        why: "irqbalance rewrites affinities every ten seconds, and the other programs do it when they start: if two \
            of them run, affinities that were right after the boot may be different an hour later.",
        sources: &[
            "tuned plugin_irq, plugin_irqbalance, plugin_scheduler",
            "rt-conf: interrupts",
            "cluster-node-tuning-operator#396",
        ],
        ..ONE_OWNER
    },
    Knob {
        id: "agree.owners_priorities",
        title: "Only one program sets thread priorities",
        severity: Weight::of(Medium, Info, Medium),
        check: Check::OneOwner,
        why: "Several programs set the priorities of interrupt threads by the threads' names. If a real-time loop's \
            priority was chosen between those that one program sets, it may be above or below all of those that the \
            other sets.",
        sources: &["rtirq", "tuned plugin_scheduler", "stalld"],
        ..ONE_OWNER
    },
    Knob {
        id: "agree.owners_cmdline",
        title: "Each word on the command line is set in one place only",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(owners_cmdline),
        why: "If a word is given twice, the kernel takes the last one or refuses the second one, and the names of the \
            files decide which comes last. tuned also removes its words when it stops.",
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

/// The files that hold words for the kernel command line, each with its words.
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
    Doubt::unknown_if(
        sources.is_empty(),
        "the files of GRUB, tuned and Armbian set no kernel command line; other boot loaders are not examined",
    )?;
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, line) in &sources {
        for word in line.for_the_kernel().split_whitespace() {
            let name = word.split('=').next().unwrap_or(word);
            // A word that does not affect latency may be given more than once.
            if !matters(&name.replace('-', "_")) {
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
        case.note("set in two places", owners.join("; "));
    }
    if is_single {
        let mut paths: Vec<&str> = sources.iter().map(|(path, _)| path.as_str()).collect();
        paths.dedup();
        case.note(paths.join(", "), "no word twice");
    }
    Ok(is_single)
}
