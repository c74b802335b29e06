//! Writes files that are lists of settings: sysctl.d, tmpfiles.d, udev rules, modprobe.d, limits.d.

use super::super::{KeptValue, Lasted, MADE_BY, Obstacle, Wanted, optional, own};
use crate::own_files;
use crate::plan::Step;
use punctual_facts::machine::Init;
use punctual_facts::tree::Tree;

/// Steps for the files that do not depend on the init: udev rules, options of modules, limits for log-ins.
pub(super) fn steps(tree: &dyn Tree, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let mut lasted = Lasted::default();
    lasted.steps.extend(list(tree, own_files::UDEV, &wanted.udev, str::to_owned)?);
    let options = wanted.module_options.iter().map(|options| format!("options {options}"));
    let blocked = wanted.no_modules.iter().map(|name| format!("blacklist {name}"));
    let modules: Vec<String> = options.chain(blocked).collect();
    if !modules.is_empty() {
        lasted.limits.push(
            "modules that the initramfs loads only see /etc/modprobe.d after the initramfs is rebuilt \
            (update-initramfs -u, dracut --force, mkinitcpio -P), which punctual does not do; a module that is named \
            on the command line (module_blacklist=, MODULE.OPTION=) does not need this"
                .to_owned(),
        );
    }
    lasted.steps.extend(list(tree, own_files::MODPROBE, &modules, str::to_owned)?);
    let who = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    lasted.steps.extend(list(tree, own_files::LIMITS, &wanted.limits, who)?);
    if !wanted.limits.is_empty() {
        let limit = "limits take effect at the next log-in, for members of the group that they name, and not for services: the limits of a service are set by Limit...= in its unit";
        lasted.limits.push(limit.to_owned());
    }
    Ok(lasted)
}

/// The step that writes a list of ours. It holds the lines of the present file that no new line replaces, then the new
/// lines.
fn list(tree: &dyn Tree, path: &str, lines: &[String], key: impl Fn(&str) -> String) -> Result<Option<Step>, Obstacle> {
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

/// The name of a sysctl, written with slashes. The first separator in `name` decides whether `name` has dots or
/// slashes.
pub(super) fn sysctl_name(name: &str) -> String {
    let name = name.trim().trim_start_matches('-');
    match name.find(['.', '/']) {
        Some(at) if name.as_bytes()[at] == b'.' => {
            let swapped = |c| match c {
                '.' => '/',
                '/' => '.',
                other => other,
            };
            name.chars().map(swapped).collect()
        }
        _ => name.to_owned(),
    }
}

fn sysctl_key(line: &str) -> String {
    sysctl_name(line.split('=').next().unwrap_or(line))
}

pub(in crate::plan::lasting) fn sysctl_text(sysctls: &[KeptValue]) -> String {
    sysctls.iter().fold(MADE_BY.to_owned(), |text, kept| text + &kept.place + " = " + &kept.value + "\n")
}

/// Whether the init reads the folder of sysctl files. If not, a start script writes the values.
pub(super) fn reads_sysctl(init: Option<Init>) -> bool {
    !matches!(init, Some(Init::Busybox | Init::S6 | Init::Dinit) | None)
}

/// The step that writes the sysctls, if the init reads the folder of sysctl files.
pub(super) fn sysctls(tree: &dyn Tree, init: Option<Init>, wanted: &Wanted) -> Result<Option<Step>, Obstacle> {
    let sysctls = wanted.sysctls.iter().filter(|_| reads_sysctl(init));
    let lines: Vec<String> = sysctls.map(|kept| format!("{} = {}", kept.place, kept.value)).collect();
    list(tree, own_files::SYSCTL, &lines, sysctl_key)
}

/// A line of tmpfiles that writes a value to an existing file. A percent sign in the value is doubled, because a single
/// one would start a specifier.
pub(super) fn tmpfiles_line(write: &KeptValue) -> String {
    format!("w {} - - - - {}", write.place, write.value.replace('%', "%%"))
}

pub(in crate::plan::lasting) fn tmpfiles_text(writes: &[KeptValue]) -> String {
    let lines: String = writes.iter().map(|write| tmpfiles_line(write) + "\n").collect();
    format!("{MADE_BY}{lines}")
}

pub(super) fn tmpfiles_path(line: &str) -> String {
    line.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// The step for the values that systemd-tmpfiles writes at boot.
pub(super) fn tmpfiles(tree: &dyn Tree, writes: &[KeptValue]) -> Result<Option<Step>, Obstacle> {
    let lines: Vec<String> = writes.iter().map(tmpfiles_line).collect();
    list(tree, own_files::TMPFILES, &lines, tmpfiles_path)
}
