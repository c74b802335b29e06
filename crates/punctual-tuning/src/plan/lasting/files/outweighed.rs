//! Leaves out values that a file of another owner overrides, and reports them.

use super::super::{KeptValue, Lost, Obstacle, Wanted, ending, optional};
use super::lists::{reads_sysctl, sysctl_name, tmpfiles_path};
use crate::own_files;
use crate::pattern::fits;
use punctual_facts::fact::printable;
use punctual_facts::machine::Init;
use punctual_facts::tree::Tree;

/// The wanted values that will take effect, and those that another file overrides.
pub(super) fn without(tree: &dyn Tree, init: Option<Init>, wanted: &Wanted) -> Result<(Wanted, Vec<Lost>), Obstacle> {
    let (mut kept, mut lost) = (wanted.clone(), Vec::new());
    if !wanted.sysctls.is_empty() && reads_sysctl(init) {
        sysctls(tree, init, &mut kept, &mut lost)?;
    }
    if !wanted.writes.is_empty() && init == Some(Init::Systemd) {
        writes(tree, &mut kept, &mut lost)?;
    }
    Ok((kept, lost))
}

fn sysctls(tree: &dyn Tree, init: Option<Init>, kept: &mut Wanted, lost: &mut Vec<Lost>) -> Result<(), Obstacle> {
    let mut later = Vec::new();
    let ours = own_files::name(own_files::SYSCTL);
    for folder in own_files::SYSCTL_FOLDERS {
        let names = ending(tree, folder, ".conf")?;
        later.extend(names.iter().filter(|name| name.as_str() > ours).map(|name| format!("{folder}/{name}")));
    }
    if init != Some(Init::Systemd) {
        later.push("/etc/sysctl.conf".to_owned());
    }
    for path in later {
        let text = optional(tree, &path)?.unwrap_or_default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            let Some((name, value)) = line.split_once('=') else { continue };
            kept.sysctls.retain(|KeptValue { place: ours, value: wanted }| {
                let counts = sysctl_name(ours) != sysctl_name(name) || wanted == value.trim();
                if !counts {
                    lost.push(Lost::new(ours, &path, line));
                }
                counts
            });
        }
    }
    Ok(())
}

fn writes(tree: &dyn Tree, kept: &mut Wanted, lost: &mut Vec<Lost>) -> Result<(), Obstacle> {
    let ours = own_files::name(own_files::TMPFILES);
    for folder in own_files::TMPFILES_FOLDERS {
        for name in ending(tree, folder, ".conf")?.iter().filter(|name| *name != ours) {
            let path = format!("{folder}/{name}");
            let text = optional(tree, &path)?.unwrap_or_default();
            for line in text.lines().filter(|line| line.starts_with(['w', 'f', 'F'])) {
                let theirs = tmpfiles_path(line);
                // The first line about a path takes effect, and a line that names a file takes effect before a pattern
                // of ours.
                let is_first = name.as_str() < ours;
                kept.writes.retain(|KeptValue { place: ours, .. }| {
                    let is_same = *ours == theirs;
                    let counts = !(is_same && is_first || !is_same && fits(ours, &theirs));
                    if !counts {
                        lost.push(Lost::new(ours, &path, line));
                    }
                    counts
                });
            }
        }
    }
    Ok(())
}

impl Lost {
    fn new(what: &str, path: &str, line: &str) -> Self {
        let why = format!(
            "{path} overrides the file that this program writes, and says {}; take that line out",
            printable(line, 80)
        );
        Self { what: what.to_owned(), why }
    }
}
