//! Files of others that set the same values at boot. Each kind is read in the order of the files' names, whatever their
//! folder; a name in `/etc` hides the same name elsewhere.

use super::{Conflict, Resolution, Touched, is_same};
use crate::knobs::Case;
use crate::own_files;
use crate::plan::pattern::fits;
use std::collections::BTreeMap;

/// A kind of file: its folders, the first hiding the others', and where ours stands among them.
struct Kind {
    folders: &'static [&'static str],
    /// Our file.
    own: &'static str,
    /// Whether the first to name a thing decides it, and not the last.
    first_wins: bool,
}

const SYSCTL: Kind = Kind { folders: own_files::SYSCTL_FOLDERS, own: own_files::SYSCTL, first_wins: false };
const TMPFILES: Kind = Kind { folders: own_files::TMPFILES_FOLDERS, own: own_files::TMPFILES, first_wins: true };
const RULES: Kind = Kind { folders: own_files::UDEV_FOLDERS, own: own_files::UDEV, first_wins: false };
const MODPROBE: Kind = Kind { folders: own_files::MODPROBE_FOLDERS, own: own_files::MODPROBE, first_wins: false };
/// A line that is longer, or a file with more lines, is no file of this kind.
const MOST_BYTES: usize = 1 << 20;

/// A line of a file that is in force.
struct Line {
    path: String,
    text: String,
    /// Whether it counts more than ours, by the order of names.
    wins: bool,
}

/// The lines of all files of a kind, but for ours, comments left out.
fn lines(case: &Case<'_>, kind: &Kind) -> Vec<Line> {
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
            found.push(Line { path: path.clone(), text: text.to_owned(), wins });
        }
    }
    found
}

fn conflict(line: &Line, what: String) -> Conflict {
    let resolved = if line.wins {
        Resolution::LeftAlone("it counts more than ours at the next boot, by its name: take the line out".to_owned())
    } else {
        Resolution::Overridden
    };
    Conflict { what, evidence: line.path.clone(), resolved }
}

/// Words of a value with single blanks between them.
fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sysctls that others set to something else.
pub(super) fn sysctls(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    if touched.sysctls.is_empty() {
        return Vec::new();
    }
    let mut all = lines(case, &SYSCTL);
    if !case.machine.boot.is_systemd() {
        let path = "/etc/sysctl.conf";
        let text = case.peek(path);
        let text = text.known().map(String::as_str).unwrap_or_default();
        // The other inits read it last.
        let line = |text: &str| Line { path: path.to_owned(), text: text.trim().to_owned(), wins: true };
        all.extend(text.lines().filter(|text| !text.trim_start().starts_with(['#', ';'])).map(line));
    }
    let mut found = Vec::new();
    for line in &all {
        let Some((name, value)) = line.text.split_once('=') else { continue };
        let (name, value) = (name.trim().trim_start_matches('-').replace('/', "."), plain(value));
        if touched.sysctls.iter().any(|(known, wanted)| *known == name && plain(wanted) != value) {
            found.push(conflict(line, format!("{name} = {value}")));
        }
    }
    found
}

/// Whether two paths may mean the same file: each may hold `*`, which stands for anything within one part.
fn meet(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| fits(a, b) || fits(b, a))
}

/// Files of the kernel that others write at boot.
pub(super) fn tmpfiles(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    if touched.files.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in lines(case, &TMPFILES) {
        // type path mode user group age argument
        let mut words = line.text.split_whitespace();
        let (Some(kind), Some(path)) = (words.next(), words.next()) else { continue };
        let value = words.skip(4).collect::<Vec<_>>().join(" ");
        let differs = |(known, wanted): &(String, String)| meet(known, path) && plain(wanted) != plain(&value);
        if kind.starts_with('w') && touched.files.iter().any(differs) {
            found.push(conflict(&line, format!("{value} written to {path}")));
        }
    }
    found
}

/// The attributes that a rule of udev sets: what stands between `ATTR{...}` and `="..."`; `==` only asks.
fn assigned(rule: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = rule;
    while let Some((before, after)) = rest.split_once("ATTR{") {
        rest = after;
        let Some((name, value)) = after.split_once("}=\"") else { continue };
        // ATTRS, SYSCTL and a name with a quote in it are something else.
        let is_own = before.is_empty() || before.ends_with([' ', ',', '\t']);
        let Some((value, _)) = value.split_once('"').filter(|_| is_own && !name.contains(['"', '}'])) else { continue };
        found.push((name.to_owned(), value.to_owned()));
    }
    found
}

/// Rules of udev that set the same attribute.
pub(super) fn rules(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    if !touched.writes("/sys/") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in lines(case, &RULES) {
        for (name, value) in assigned(&line.text) {
            let ending = format!("/{name}");
            let differs = |(path, wanted): &(String, String)| path.ends_with(&ending) && *wanted != value;
            if touched.files.iter().any(differs) {
                found.push(conflict(&line, format!("a rule of udev sets {name} to {value}")));
            }
        }
    }
    found
}

/// Parameters of modules that others set.
pub(super) fn modules(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    if touched.modules.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in lines(case, &MODPROBE) {
        let mut words = line.text.split_whitespace();
        let (Some("options"), Some(module)) = (words.next(), words.next()) else { continue };
        for setting in words {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            let differs = |(known, wanted): &(String, String)| {
                let (theirs, ours) = wanted.split_once('=').unwrap_or((wanted, ""));
                is_same(known, module) && is_same(theirs, name) && ours != value
            };
            if touched.modules.iter().any(differs) {
                found.push(conflict(&line, format!("options {module} {setting}")));
            }
        }
    }
    found
}
