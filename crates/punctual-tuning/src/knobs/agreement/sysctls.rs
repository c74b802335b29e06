//! Whether configuration files for sysctls agree with each other and with the values in force.

use crate::knobs::prelude::*;
use crate::knobs::{File, Setting};
use crate::own_files::SYSCTL_FOLDERS;
use std::collections::{BTreeMap, BTreeSet};

const KNOB: Knob = Knob { cost: "None.", severity: Weight::of(Medium, Medium, Info), ..Knob::of(Family::Agreement) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.sysctl_effect",
        title: "Configured sysctls are in force",
        check: Check::Probe(effect),
        why: "A value that differs from its file was written by another program after the boot, was refused, or \
            belongs to a module that was loaded later; after the next boot the value may be different.",
        fix: Fix::prose("sysctl --system; then find the program that wrote the other value."),
        persist: &[Lasting::other(
            "Set each value in one place only; set the values of modules by a udev rule, or by a unit that starts \
            after the module is loaded.",
        )],
        undo: Fix::command("sysctl NAME=OLD"),
        sources: &["sysctl.d(5)", "sysctl(8)"],
        ..KNOB
    },
    Knob {
        id: "agree.sysctl_twice",
        title: "No sysctl is configured twice with two values",
        check: Check::Probe(twice),
        why: "The file whose name sorts last wins, whatever its folder: a package's file can undo what the administrator \
            wrote, at the next boot.",
        fix: Fix::prose("Take the value out of all files but one."),
        persist: &[Lasting::other(
            "In /etc/sysctl.d, a file of the same name replaces a package's; one that sorts later overrides it.",
        )],
        sources: &["sysctl.d(5): configuration directories and precedence"],
        ..KNOB
    },
];

/// Sysctls that are compared in addition to the sysctls that fixes and lasting changes of the catalogue write.
const NAMES: &str = "kernel.hung_task_timeout_secs kernel.nmi_watchdog kernel.perf_event_max_sample_rate \
    kernel.sched_rr_timeslice_ms kernel.sched_rt_period_us kernel.soft_watchdog kernel.watchdog \
    net.core.netdev_budget net.core.netdev_budget_usecs vm.dirty_background_ratio vm.dirty_ratio \
    vm.dirty_writeback_centisecs vm.min_free_kbytes vm.nr_hugepages";

/// For each sysctl, the files and values in the order in which they are applied.
type Settings = BTreeMap<String, Vec<(String, String)>>;

fn interesting() -> BTreeSet<String> {
    let places = crate::knobs::ALL.iter().flat_map(Knob::places);
    let lasting = places.filter_map(|place| match place.usual() {
        Lasting::Set(Setting { file: File::Sysctl(name), .. }) => Some(*name),
        _ => None,
    });
    lasting.chain(NAMES.split(' ')).map(str::to_owned).collect()
}

fn settings(case: &Case<'_>) -> Result<Settings, Doubt> {
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!("sysctl files in a container ({container}) do not change the machine"));
    }
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut is_seen = false;
    for folder in SYSCTL_FOLDERS {
        let names = case.list(folder);
        is_seen |= names.known().is_some();
        for name in names.known().into_iter().flatten().filter(|name| name.strip_suffix(".conf").is_some()) {
            files.entry(name.clone()).or_insert_with(|| format!("{folder}/{name}"));
        }
    }
    let mut paths: Vec<String> = files.into_values().collect();
    // systemd reads `/etc/sysctl.conf` only if a link in its folders names it; other inits read that file last.
    if !case.machine.boot.is_systemd() {
        paths.push("/etc/sysctl.conf".to_owned());
    }
    let wanted = interesting();
    let mut settings = Settings::new();
    for path in paths {
        let text = match case.peek(&path) {
            Fact::Known(text) => text,
            Fact::Absent => continue,
            other => return Doubt::unknown(format!("{path}: {}", other.trouble().unwrap_or_default())),
        };
        is_seen = true;
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            let Some((name, value)) = line.split_once('=') else { continue };
            let name = name.trim().trim_start_matches('-').replace('/', ".");
            if wanted.contains(&name) {
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                settings.entry(name).or_default().push((path.clone(), value));
            }
        }
    }
    Doubt::unknown_if(!is_seen, "no folder of sysctl files can be seen from here")?;
    Doubt::not_applicable_if(settings.is_empty(), "no file sets a sysctl that matters here")?;
    Ok(settings)
}

fn effect(case: &Case<'_>) -> Judged {
    let (mut in_force, mut is_good) = (Vec::new(), true);
    for (name, values) in settings(case)? {
        let Some((file, wanted)) = values.last() else { continue };
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        // A sysctl that this kernel does not have is no disagreement.
        let Fact::Known(text) = case.peek(&path) else { continue };
        let effective = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if effective == *wanted {
            in_force.push(name);
        } else {
            is_good = false;
            case.note(file.as_str(), format!("{name} = {wanted}"));
            case.note(path, effective);
        }
    }
    Doubt::unknown_if(is_good && in_force.is_empty(), "none of the configured sysctls can be read back")?;
    if is_good {
        case.note("configured sysctls, read back from /proc/sys", in_force.join(", "));
    }
    Ok(is_good)
}

fn twice(case: &Case<'_>) -> Judged {
    let settings = settings(case)?;
    let mut is_good = true;
    for (name, values) in &settings {
        if values.iter().any(|(_, value)| *value != values[0].1) {
            is_good = false;
            let each: Vec<String> = values.iter().map(|(file, value)| format!("{file}: {value}")).collect();
            case.note(name.as_str(), each.join("; "));
        }
    }
    if is_good {
        let names: Vec<&str> = settings.keys().map(String::as_str).collect();
        case.note("files of sysctl.d", format!("one value each for {}", names.join(", ")));
    }
    Ok(is_good)
}
