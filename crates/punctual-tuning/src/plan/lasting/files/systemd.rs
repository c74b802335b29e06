//! Files for systemd: the configuration of systemd itself, and our units.
//!
//! Our units are started by a drop-in of `basic.target`, and not by the link that `systemctl enable` creates. A drop-in
//! is an ordinary file: it needs no running systemd, and removing it leaves nothing behind. Both units finish before
//! `basic.target`, after which ordinary services start.

use super::super::{LAST, Lasted, MADE_BY, Obstacle, Wanted, doing, optional, own, undoing};
use super::lists;
use crate::plan::{Invocation, Step, SystemdOrder};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::tree::Tree;

const UNITS: &str = "/etc/systemd/system";
const TUNE: &str = "punctual-tune.service";
const LATENCY: &str = "punctual-latency.service";
const CAMPAIGN: &str = "punctual-campaign.service";
const WATCH: &str = "punctual-watch.service";
/// Kernel file systems that may be mounted only after tmpfiles has run, with the units that mount them.
const LATE: [(&str, &str); 2] =
    [("/sys/kernel/debug/", "sys-kernel-debug.mount"), ("/sys/kernel/tracing/", "sys-kernel-tracing.mount")];

/// Adds the values written at boot, and all files for systemd.
pub(super) fn steps(tree: &dyn Tree, wanted: &Wanted, lasted: &mut Lasted) -> Result<(), Obstacle> {
    if !wanted.writes.is_empty() {
        lasted.steps.extend(lists::tmpfiles(tree, &wanted.writes)?);
    }
    let mut files = units(wanted);
    // The drop-in must go on starting a unit that an earlier plan wrote, so its text is made anew.
    let drop_in = wanted_by(tree, wanted)?;
    files.retain(|file| !file.path.starts_with(&format!("{UNITS}/basic.target.d")));
    files.extend(drop_in);
    let mut changed = Vec::new();
    for UnitFile { path, text } in files {
        if optional(tree, &path)?.as_ref() != Some(&text) {
            changed.push(own(&path, text));
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let reload = || Invocation::systemd(SystemdOrder::DaemonReload, []);
    lasted.steps.push(undoing(reload()));
    lasted.steps.extend(changed);
    lasted.steps.push(doing(reload()));
    if wanted.hold_latency_us.is_some() {
        lasted.steps.push(Step::Run {
            doing: Some(Invocation::systemd(SystemdOrder::Restart, [LATENCY])),
            undoing: Some(Invocation::systemd(SystemdOrder::Stop, [LATENCY])),
        });
    }
    Ok(())
}

pub(in crate::plan::lasting) struct UnitFile {
    pub path: String,
    pub text: String,
}

/// The files for systemd that the wanted settings need.
pub(in crate::plan::lasting) fn units(wanted: &Wanted) -> Vec<UnitFile> {
    let mut files = Vec::new();
    let mut file = |path: String, text: String| files.push(UnitFile { path, text });
    if let Some(cpus) = &wanted.manager_cpus {
        file(format!("/etc/systemd/system.conf.d/{LAST}.conf"), manager(cpus));
    }
    let after: Vec<&str> = LATE
        .iter()
        .filter(|(below, _)| wanted.writes.iter().any(|write| write.place.starts_with(below)))
        .map(|(_, unit)| *unit)
        .collect();
    if !after.is_empty() {
        let path = format!("{UNITS}/systemd-tmpfiles-setup.service.d/punctual.conf");
        file(path, format!("{MADE_BY}[Unit]\nAfter={}\n", after.join(" ")));
    }
    let mut names = Vec::new();
    if wanted.boot_service {
        names.push(TUNE);
        file(format!("{UNITS}/{TUNE}"), tune(&wanted.exe));
    }
    if let Some(us) = wanted.hold_latency_us {
        names.push(LATENCY);
        file(format!("{UNITS}/{LATENCY}"), latency(&wanted.exe, us));
    }
    if !names.is_empty() {
        file(DROP_IN.to_owned(), wants(&names));
    }
    files
}

const DROP_IN: &str = "/etc/systemd/system/basic.target.d/punctual.conf";

fn wants(names: &[&str]) -> String {
    format!("{MADE_BY}[Unit]\nWants={}\n", names.join(" "))
}

/// The drop-in that starts our units, including the units that an earlier plan wrote.
fn wanted_by(tree: &dyn Tree, wanted: &Wanted) -> Result<Option<UnitFile>, Obstacle> {
    let seen = optional(tree, DROP_IN)?.unwrap_or_default();
    let is_wanted =
        |name: &str, is_new: bool| is_new || seen.lines().any(|line| line.starts_with("Wants=") && line.contains(name));
    let all = [(TUNE, wanted.boot_service), (LATENCY, wanted.hold_latency_us.is_some())];
    let names: Vec<&str> =
        all.into_iter().filter(|(name, is_new)| is_wanted(name, *is_new)).map(|(name, _)| name).collect();
    Ok((!names.is_empty()).then(|| UnitFile { path: DROP_IN.to_owned(), text: wants(&names) }))
}

/// The unit that continues a campaign across boots, and the drop-in that starts the unit. The unit starts last, so that
/// it measures the machine in normal operation.
pub(super) fn hook(exe: &str, verb: &str, folder: &str) -> Vec<Step> {
    let unit = format!(
        "{MADE_BY}\
         [Unit]\n\
         Description=Go on with a campaign of measurements across boots\n\
         RequiresMountsFor={exe} {folder} /var/lib\n\
         After=multi-user.target\n\
         \n\
         [Service]\n\
         ExecStart={exe} {verb} --resume {folder} --at-boot\n"
    );
    late_unit(CAMPAIGN, "punctual-campaign", unit)
}

/// The unit of a watch, which is started now and at every boot. `words` are the options of `punctual watch`, `store` is the
/// folder that it writes to.
pub(super) fn watch(exe: &str, store: &str, words: &[String]) -> Vec<Step> {
    // In a command, systemd replaces variables as well.
    let words: Vec<String> = words.iter().map(|word| quoted(word).replace('$', "$$")).collect();
    let store = quoted(store);
    let unit = format!(
        "{MADE_BY}\
         [Unit]\n\
         Description=Watch the latency of this machine\n\
         RequiresMountsFor={exe} {store}\n\
         After=multi-user.target\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         ExecStart={exe} watch {}\n\
         Restart=on-failure\n\
         RestartPreventExitStatus=2\n\
         RestartSec=10\n\
         TimeoutStopSec=30\n",
        words.join(" ")
    );
    let run = Step::Run {
        doing: Some(Invocation::systemd(SystemdOrder::Restart, [WATCH])),
        undoing: Some(Invocation::systemd(SystemdOrder::Stop, [WATCH])),
    };
    let mut steps = late_unit(WATCH, "punctual-watch", unit);
    steps.push(run);
    steps
}

/// The steps for a unit that starts last in a boot, with the drop-in that starts it.
fn late_unit(name: &str, drop_in: &str, text: String) -> Vec<Step> {
    let reload = || Invocation::systemd(SystemdOrder::DaemonReload, []);
    vec![
        undoing(reload()),
        own(&format!("{UNITS}/{name}"), text),
        own(&format!("{UNITS}/multi-user.target.d/{drop_in}.conf"), wants(&[name])),
        doing(reload()),
    ]
}

/// A word in a unit, within double quotes. systemd replaces what follows `%` there as well.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '%' => text.extend([c, c]),
            _ => text.push(c),
        }
    }
    text + "\""
}

/// The configuration of systemd itself. systemd adds up the lists of several files, so an empty value clears the
/// earlier lists first.
fn manager(cpus: &CpuSet) -> String {
    let cpus = cpus.to_string().replace(',', " ");
    format!("{MADE_BY}[Manager]\nCPUAffinity=\nCPUAffinity={cpus}\n")
}

/// Time-out in seconds of the unit that tunes at boot. After an unconfirmed change, this unit may generate the boot
/// loader's configuration twice, and each of these programs may run for five minutes on a slow board.
const TUNE_SECONDS: u32 = 900;

/// The unit that tunes at boot: after modules, sysctls and devices, and before ordinary services.
fn tune(exe: &str) -> String {
    format!(
        "{MADE_BY}\
         [Unit]\n\
         Description=Tune this machine for punctuality\n\
         DefaultDependencies=no\n\
         RequiresMountsFor={exe} /var/lib\n\
         After=sysinit.target local-fs.target systemd-modules-load.service systemd-sysctl.service\n\
         After=systemd-tmpfiles-setup.service systemd-udev-trigger.service sys-kernel-debug.mount\n\
         Before=basic.target shutdown.target\n\
         Conflicts=shutdown.target\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStartPre=-/bin/udevadm settle --timeout=20\n\
         ExecStart={exe} __boot\n\
         TimeoutStartSec={TUNE_SECONDS}\n"
    )
}

/// The unit that holds a latency limit, which is in force while its process keeps a file open.
fn latency(exe: &str, us: u32) -> String {
    format!(
        "{MADE_BY}\
         [Unit]\n\
         Description=Keep CPUs from idling deeply, for punctuality\n\
         DefaultDependencies=no\n\
         RequiresMountsFor={exe}\n\
         After=sysinit.target\n\
         Before=shutdown.target\n\
         Conflicts=shutdown.target\n\
         \n\
         [Service]\n\
         ExecStart={exe} __hold-latency {us}\n\
         Restart=always\n\
         RestartSec=1\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unknown keys, values that do not parse, and programs that do not exist. For the first two the check only warns.
    fn complaints(units: &[std::path::PathBuf]) -> String {
        let mut check = std::process::Command::new("systemd-analyze");
        let said = check.args(["verify", "--man=no", "--recursive-errors=no"]).args(units).output().unwrap();
        let text = String::from_utf8(said.stderr).unwrap();
        let is_good = said.status.success() && !text.contains("punctual-");
        if is_good { String::new() } else { format!("{}: {text}", said.status) }
    }

    #[test]
    #[ignore = "needs systemd-analyze"]
    fn systemd_finds_nothing_wrong_with_our_units() {
        let exe = std::env::current_exe().unwrap();
        let exe = exe.to_str().unwrap();
        let words = ["loop", "--on-late", "echo \"$PUNCTUAL_THREAD\" 100%", "--store", "/srv/a b"].map(str::to_owned);
        let wanted = Wanted { exe: exe.to_owned(), boot_service: true, hold_latency_us: Some(0), ..Wanted::default() };
        let owned = [watch(exe, "/srv/a b", &words), hook(exe, "campaign", "/srv/campaign")].concat();
        let owned = owned.into_iter().filter_map(|step| match step {
            Step::Own { path, content, .. } => Some((path, content)),
            _ => None,
        });
        let files = units(&wanted).into_iter().map(|file| (file.path, file.text)).chain(owned);
        let folder = std::env::temp_dir().join(format!("punctual-units-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut units = Vec::new();
        for (path, text) in files.filter(|(path, _)| path.ends_with(".service")) {
            let unit = folder.join(path.rsplit('/').next().unwrap());
            std::fs::write(&unit, text).unwrap();
            units.push(unit);
        }
        let bad = folder.join("bad.service");
        std::fs::write(&bad, format!("[Service]\nExecStart={exe}\nRestart=sometimes\n")).unwrap();
        for entry in std::fs::read_dir(fixtures::repository("packaging/systemd")).unwrap() {
            let from = entry.unwrap().path();
            let text = std::fs::read_to_string(&from).unwrap();
            assert!(text.contains("=/usr/bin/punctual "), "{text}");
            // `watch --install` writes a unit of the same name.
            let unit = folder.join(format!("packaged-{}", from.file_name().unwrap().to_str().unwrap()));
            std::fs::write(&unit, text.replace("/usr/bin/punctual ", &format!("{exe} "))).unwrap();
            units.push(unit);
        }
        let (ours, planted) = (complaints(&units), complaints(&[bad]));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((units.len(), ours.as_str()), (6, ""));
        assert!(planted.contains("sometimes"), "a mistake is found: {planted}");
    }
}
