//! Finds configuration files, other than ours, that set the same values at boot as the plan. Files of one kind are read
//! in the order of their names, whatever their folder. A file in `/etc` hides files of the same name in other folders.

use super::{Conflict, Resolution, Touched, is_same};
use crate::knobs::Case;
use crate::own_files;
use crate::pattern::fits;
use std::collections::BTreeMap;

/// A kind of configuration file. A file in the first folder hides files of the same name in the others.
struct Family {
    folders: &'static [&'static str],
    /// The path of our own file of this kind.
    own: &'static str,
    /// Whether the first line about a setting takes effect, instead of the last.
    first_wins: bool,
}

const SYSCTL: Family = Family { folders: own_files::SYSCTL_FOLDERS, own: own_files::SYSCTL, first_wins: false };
const TMPFILES: Family = Family { folders: own_files::TMPFILES_FOLDERS, own: own_files::TMPFILES, first_wins: true };
const RULES: Family = Family { folders: own_files::UDEV_FOLDERS, own: own_files::UDEV, first_wins: false };
const MODPROBE: Family = Family { folders: own_files::MODPROBE_FOLDERS, own: own_files::MODPROBE, first_wins: false };
/// The size in bytes above which a file is not read, because it is no configuration.
const MOST_BYTES: usize = 1 << 20;

/// A line that takes effect, in a file that is not ours.
struct ForeignLine {
    path: String,
    text: String,
    /// Whether the line overrides our file, by the order of names.
    wins: bool,
}

/// The lines of all files of a kind except ours. Comments are left out.
fn lines(case: &Case<'_>, kind: &Family) -> Vec<ForeignLine> {
    let own = own_files::name(kind.own);
    let ending = own.rfind('.').map_or("", |dot| &own[dot..]);
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for folder in kind.folders {
        let names = case.list(folder);
        for name in names.known().into_iter().flatten().filter(|name| name.ends_with(ending)) {
            files.entry(name.clone()).or_insert_with(|| format!("{folder}/{name}"));
        }
    }
    let mut found = Vec::new();
    for (name, path) in files.into_iter().filter(|(name, _)| name != own) {
        let content = case.peek(&path);
        let Some(content) = content.known().filter(|text| text.len() <= MOST_BYTES) else { continue };
        let joined = content.replace("\\\n", " ");
        let wins = (name.as_str() < own) == kind.first_wins;
        for text in joined.lines().map(str::trim).filter(|text| !text.is_empty() && !text.starts_with(['#', ';'])) {
            found.push(ForeignLine { path: path.clone(), text: text.to_owned(), wins });
        }
    }
    found
}

fn conflict(line: &ForeignLine, what: String) -> Conflict {
    let resolved = if line.wins {
        Resolution::LeftAlone(
            "this file overrides punctual's own at the next boot, because of its name: take the line out".to_owned(),
        )
    } else {
        Resolution::Overridden
    };
    Conflict { what, evidence: line.path.clone(), resolved }
}

/// The value with single blanks between its words.
fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The conflicts of a plan with configuration files that are not ours.
pub(super) fn conflicts(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    type Clashes = fn(&str, &Touched) -> Vec<String>;
    let kinds: [(&Family, bool, Clashes); 4] = [
        (&SYSCTL, !touched.sysctls.is_empty(), sysctl),
        (&TMPFILES, !touched.files.is_empty(), tmpfile),
        (&RULES, touched.writes("/sys/"), rule),
        (&MODPROBE, !touched.modules.is_empty(), module),
    ];
    let mut found = Vec::new();
    for (kind, _, clashes) in kinds.into_iter().filter(|(_, is_touched, _)| *is_touched) {
        let mut all = lines(case, kind);
        if kind.own == SYSCTL.own && !case.machine.boot.is_systemd() {
            all.extend(sysctl_conf(case));
        }
        found.extend(all.iter().flat_map(|line| {
            clashes(&line.text, touched).into_iter().map(move |what| conflict(line, what)).collect::<Vec<_>>()
        }));
    }
    found
}

/// The lines of `/etc/sysctl.conf`, which inits other than systemd read last.
fn sysctl_conf(case: &Case<'_>) -> Vec<ForeignLine> {
    let path = "/etc/sysctl.conf";
    let text = case.peek(path);
    let text = text.known().map(String::as_str).unwrap_or_default();
    let line = |text: &str| ForeignLine { path: path.to_owned(), text: text.trim().to_owned(), wins: true };
    text.lines().filter(|text| !text.trim_start().starts_with(['#', ';'])).map(line).collect()
}

/// The sysctl in this line, if the plan sets it to another value.
fn sysctl(line: &str, touched: &Touched) -> Vec<String> {
    let Some((name, value)) = line.split_once('=') else { return Vec::new() };
    let (name, value) = (name.trim().trim_start_matches('-').replace('/', "."), plain(value));
    let differs = touched.sysctls.iter().any(|(known, wanted)| *known == name && plain(wanted) != value);
    differs.then(|| format!("{name} = {value}")).into_iter().collect()
}

/// Whether two paths may match the same file. In both paths, `*` stands for any text within one part.
fn meet(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| fits(a, b) || fits(b, a))
}

/// The kernel file in a line `type path mode user group age argument` of tmpfiles, if the plan writes another value to
/// it.
fn tmpfile(line: &str, touched: &Touched) -> Vec<String> {
    let mut words = line.split_whitespace();
    let (Some(kind), Some(path)) = (words.next(), words.next()) else { return Vec::new() };
    let value = words.skip(4).collect::<Vec<_>>().join(" ");
    let differs = |(known, wanted): &(String, String)| meet(known, path) && plain(wanted) != plain(&value);
    let is_conflict = kind.starts_with('w') && touched.files.iter().any(differs);
    is_conflict.then(|| format!("writes {value} to {path}")).into_iter().collect()
}

/// The attributes that a udev rule sets, with their values: `ATTR{name}="value"`. A rule with `==` only compares.
fn assigned(rule: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = rule;
    while let Some((before, after)) = rest.split_once("ATTR{") {
        rest = after;
        let Some((name, value)) = after.split_once("}=\"") else { continue };
        // `ATTRS`, `SYSCTL` and names with a quote do not set an attribute of the device itself.
        let is_own = before.is_empty() || before.ends_with([' ', ',', '\t']);
        let Some((value, _)) = value.split_once('"').filter(|_| is_own && !name.contains(['"', '}'])) else { continue };
        found.push((name.to_owned(), value.to_owned()));
    }
    found
}

/// The device attributes that a udev rule sets, if the plan sets them to other values.
fn rule(line: &str, touched: &Touched) -> Vec<String> {
    let differs = |(name, value): &(String, String)| {
        let ending = format!("/{name}");
        touched.files.iter().any(|(path, wanted)| path.ends_with(&ending) && wanted != value)
    };
    let clashing = assigned(line).into_iter().filter(differs);
    clashing.map(|(name, value)| format!("a rule of udev sets {name} to {value}")).collect()
}

/// The module parameters in this line, if the plan sets them to other values.
fn module(line: &str, touched: &Touched) -> Vec<String> {
    let mut words = line.split_whitespace();
    let (Some("options"), Some(module)) = (words.next(), words.next()) else { return Vec::new() };
    let differs = |setting: &&str| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        touched.modules.iter().any(|(known, wanted)| {
            let (theirs, ours) = wanted.split_once('=').unwrap_or((wanted, ""));
            is_same(known, module) && is_same(theirs, name) && ours != value
        })
    };
    words.filter(differs).map(|setting| format!("options {module} {setting}")).collect()
}
