//! Files that are lists of settings: sysctl.d, tmpfiles.d, udev rules, modprobe.d, limits.d.

use super::super::{LAST, Lasted, MADE_BY, Wanted, Why, ending, optional, own};
use crate::machine::Init;
use crate::plan::Step;
use crate::tree::Tree;

/// Of several files, tmpfiles takes what the first one says.
const TMPFILES: &str = "/etc/tmpfiles.d/00-punctual.conf";
const UDEV: &str = "/etc/udev/rules.d/99-zz-punctual.rules";
const MODPROBE: &str = "/etc/modprobe.d/punctual.conf";
const LIMITS: &str = "/etc/security/limits.d/99-zz-punctual.conf";

/// Where sysctl and tmpfiles look for files, in the order in which one hides another of the same name.
fn folders(kind: &str) -> [String; 5] {
    ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map(|place| format!("{place}/{kind}"))
}

/// What any init has: rules for udev, options of modules, limits of log-ins.
pub(super) fn steps(tree: &dyn Tree, wanted: &Wanted) -> Result<Lasted, Why> {
    let mut lasted = Lasted::default();
    lasted.steps.extend(list(tree, UDEV, &wanted.udev, str::to_owned)?);
    let options = wanted.module_options.iter().map(|options| format!("options {options}"));
    let blocked = wanted.no_modules.iter().map(|name| format!("blacklist {name}"));
    let modules: Vec<String> = options.chain(blocked).collect();
    if !modules.is_empty() {
        lasted.limits.push(
            "modules that the first file system loads see /etc/modprobe.d only once that is built anew \
             (update-initramfs -u, dracut --force, mkinitcpio -P), which this does not do; a module named on the command \
             line (module_blacklist=, MODULE.OPTION=) needs no such thing"
                .to_owned(),
        );
    }
    lasted.steps.extend(list(tree, MODPROBE, &modules, str::to_owned)?);
    let who = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    lasted.steps.extend(list(tree, LIMITS, &wanted.limits, who)?);
    if !wanted.limits.is_empty() {
        lasted.limits.push(
            "limits count from the next log-in on, and not for services: those have Limit...= of their unit".to_owned(),
        );
    }
    Ok(lasted)
}

/// A list of ours: what stood there, without what the new lines set anew, and the new lines.
fn list(tree: &dyn Tree, path: &str, lines: &[String], key: impl Fn(&str) -> String) -> Result<Option<Step>, Why> {
    if lines.is_empty() {
        return Ok(None);
    }
    let earlier = optional(tree, path)?.unwrap_or_default();
    let is_set_anew = |old: &str| lines.iter().any(|line| key(line) == key(old));
    let kept = earlier.lines().filter(|line| !line.starts_with('#') && !line.is_empty() && !is_set_anew(line));
    let all: Vec<&str> = kept.chain(lines.iter().map(String::as_str)).collect();
    let content = format!("{MADE_BY}{}\n", all.join("\n"));
    Ok((content != earlier).then(|| own(path, content)))
}

/// The name of a sysctl as one of its two spellings: the first separator decides.
fn sysctl_name(name: &str) -> String {
    let name = name.trim().trim_start_matches('-');
    match name.find(['.', '/']) {
        Some(at) if name.as_bytes()[at] == b'.' => name
            .chars()
            .map(|c| {
                if c == '.' {
                    '/'
                } else if c == '/' {
                    '.'
                } else {
                    c
                }
            })
            .collect(),
        _ => name.to_owned(),
    }
}

fn sysctl_key(line: &str) -> String {
    sysctl_name(line.split('=').next().unwrap_or(line))
}

/// The settings as a file of sysctl.
pub(in crate::plan::lasting) fn sysctl_text(sysctls: &[(String, String)]) -> String {
    sysctls.iter().fold(MADE_BY.to_owned(), |text, (name, value)| text + name + " = " + value + "\n")
}

/// Settings of sysctl, where something reads that folder.
pub(super) fn sysctls(tree: &dyn Tree, init: Option<Init>, wanted: &Wanted, lasted: &mut Lasted) -> Result<(), Why> {
    if wanted.sysctls.is_empty() || matches!(init, Some(Init::Busybox | Init::S6 | Init::Dinit) | None) {
        // A start script writes them there.
        return Ok(());
    }
    let ours = format!("{LAST}.conf");
    for folder in folders("sysctl.d") {
        for name in ending(tree, &folder, ".conf")?.iter().filter(|name| **name > ours) {
            refuse(tree, &format!("{folder}/{name}"), &wanted.sysctls, "is read after ours")?;
        }
    }
    if init != Some(Init::Systemd) {
        refuse(tree, "/etc/sysctl.conf", &wanted.sysctls, "is read last")?;
    }
    let lines: Vec<String> = wanted.sysctls.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    lasted.steps.extend(list(tree, &format!("/etc/sysctl.d/{ours}"), &lines, sysctl_key)?);
    Ok(())
}

/// A file that sets one of these to something else, and counts more than ours.
fn refuse(tree: &dyn Tree, path: &str, sysctls: &[(String, String)], when: &str) -> Result<(), Why> {
    let text = optional(tree, path)?.unwrap_or_default();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let ours = sysctls.iter().find(|(ours, _)| sysctl_name(ours) == sysctl_name(name));
        if ours.is_some_and(|(_, ours)| ours != value.trim()) {
            let why = format!("{when} and sets {}", crate::fact::printable(line, 80));
            return Err(Why::Conflict { path: path.to_owned(), why });
        }
    }
    Ok(())
}

/// A line of tmpfiles that writes a value to what is there. A per cent sign starts a specifier.
pub(super) fn tmpfiles_line(path: &str, value: &str) -> String {
    format!("w {path} - - - - {}", value.replace('%', "%%"))
}

/// The writes as a file of tmpfiles.
pub(in crate::plan::lasting) fn tmpfiles_text(writes: &[(String, String)]) -> String {
    let lines: String = writes.iter().map(|(path, value)| tmpfiles_line(path, value) + "\n").collect();
    format!("{MADE_BY}{lines}")
}

fn tmpfiles_path(line: &str) -> String {
    line.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// Values written at boot by systemd-tmpfiles.
pub(super) fn tmpfiles(tree: &dyn Tree, writes: &[(String, String)]) -> Result<Option<Step>, Why> {
    for folder in folders("tmpfiles.d") {
        for name in ending(tree, &folder, ".conf")? {
            let path = format!("{folder}/{name}");
            if path != TMPFILES {
                let text = optional(tree, &path)?.unwrap_or_default();
                refuse_write(&path, name.as_str() < "00-punctual.conf", &text, writes)?;
            }
        }
    }
    let lines: Vec<String> = writes.iter().map(|(path, value)| tmpfiles_line(path, value)).collect();
    list(tree, TMPFILES, &lines, tmpfiles_path)
}

/// A line that counts more than ours: for the same path, the first one; and any that names a file which ours matches.
fn refuse_write(path: &str, is_first: bool, text: &str, writes: &[(String, String)]) -> Result<(), Why> {
    for line in text.lines().filter(|line| line.starts_with(['w', 'f', 'F'])) {
        let theirs = tmpfiles_path(line);
        let counts_more = |ours: &str| (is_first && theirs == ours) || (theirs != ours && is_match(ours, &theirs));
        if writes.iter().any(|(ours, _)| counts_more(ours)) {
            let why = format!("counts more than a line of ours: {}", crate::fact::printable(line, 80));
            return Err(Why::Conflict { path: path.to_owned(), why });
        }
    }
    Ok(())
}

/// Whether a path matches a pattern whose stars stand for part of a name.
fn is_match(pattern: &str, path: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == path };
    let Some(rest) = path.strip_prefix(head) else { return false };
    let name_end = rest.find('/').unwrap_or(rest.len());
    (0..=name_end).any(|at| rest.get(at..).is_some_and(|rest| is_match(tail, rest)))
}
