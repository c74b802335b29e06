//! Reads which words the next boot will give to the kernel, from the files of the boot loader.
//!
//! The files are interpreted as the programs that own them would do, as far as that is possible without running these
//! programs. A shell fragment that does more than assign variables is reported as unreadable.

use super::loader::ESPS;
use super::{Boot, Loader};
use crate::cmdline::same_dashes;
use crate::fact::Fact;
use crate::tree::{Tree, text};
use std::collections::BTreeMap;

/// Marks around the lines of shell code in which punctual removes words from variables. The removed words follow the
/// first mark.
pub const WITHOUT: &str = "# punctual { without: ";
pub const WITHOUT_END: &str = "# } without";

/// The words for the kernel in one place of the boot loader's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    pub place: String,
    /// The files that the words were read from, in order.
    pub files: Vec<String>,
    pub line: Fact<String>,
}

/// Every place in which this machine's boot loader keeps words for the running kernel. If several kernels have entries,
/// `release` selects the entry.
pub fn configured(tree: &dyn Tree, boot: &Boot, release: Option<&str>) -> Vec<Configured> {
    let mut found: Vec<Configured> = Vec::new();
    for loader in &boot.loaders {
        match loader.what {
            Loader::UpdateGrub | Loader::Grub => found.extend(grub(tree)),
            Loader::Bls => found.extend(entry(tree, &["/boot"], release).or_else(|| grub(tree))),
            Loader::Ostree | Loader::MachineConfig => found.extend(entry(tree, &["/boot"], release)),
            Loader::SystemdBoot => {
                found.extend(entry(tree, &ESPS, release));
                found.extend(line(tree, "/etc/kernel/cmdline"));
            }
            Loader::Uki => found.extend(line(tree, "/etc/kernel/cmdline")),
            Loader::Kernelstub => found.extend(kernelstub(tree)),
            Loader::Extlinux => found.extend(extlinux(tree)),
            Loader::UBootMenu => {
                found.extend(extlinux(tree));
                found.extend(u_boot_menu(tree));
            }
            Loader::Armbian => found.extend(armbian(tree)),
            Loader::RaspberryPi => {
                let place = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
                found.extend(place.into_iter().find_map(|path| line(tree, path)));
            }
            Loader::UBootEnv | Loader::UbuntuCore | Loader::NixOs | Loader::Talos | Loader::Yocto => {}
        }
    }
    found
}

impl Configured {
    fn one(path: &str, line: Fact<String>) -> Self {
        Self { place: path.to_owned(), files: vec![path.to_owned()], line }
    }

    /// The words in one file; `None` if the file does not exist.
    fn read(tree: &dyn Tree, path: &str, words: impl FnOnce(String) -> Fact<String>) -> Option<Self> {
        let content = text(tree, path);
        (content != Fact::Absent).then(|| Self::one(path, content.and_then(words)))
    }
}

/// Reads a file that contains only the words.
fn line(tree: &dyn Tree, path: &str) -> Option<Configured> {
    Configured::read(tree, path, |content| Fact::Known(content.replace('\n', " ")))
}

/// The files of a folder whose names end in `ending`, in the order of their names.
fn fragments(tree: &dyn Tree, folder: &str, ending: &str) -> Vec<String> {
    let names = tree.list(folder).known().cloned().unwrap_or_default();
    names.iter().filter(|name| name.ends_with(ending)).map(|name| format!("{folder}/{name}")).collect()
}

fn grub(tree: &dyn Tree) -> Option<Configured> {
    let mut files = vec!["/etc/default/grub".to_owned()];
    files.extend(fragments(tree, "/etc/default/grub.d", ".cfg"));
    shell_words(tree, "/etc/default/grub, grub.d", files, &["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"])
}

fn u_boot_menu(tree: &dyn Tree) -> Option<Configured> {
    let mut files = vec!["/etc/default/u-boot".to_owned()];
    for folder in ["/usr/share/u-boot-menu/conf.d", "/etc/u-boot-menu/conf.d"] {
        files.extend(fragments(tree, folder, ".conf"));
    }
    shell_words(tree, "/etc/default/u-boot, u-boot-menu/conf.d", files, &["U_BOOT_PARAMETERS"])
}

/// The values of the wanted variables after a shell sourced the files in order; `None` if none of the files exists.
fn shell_words(tree: &dyn Tree, place: &str, mut files: Vec<String>, wanted: &[&str]) -> Option<Configured> {
    files.retain(|path| tree.read(path) != Fact::Absent);
    if files.is_empty() {
        return None;
    }
    let mut values = BTreeMap::new();
    let sourced = files.iter().try_for_each(|path| match text(tree, path) {
        Fact::Known(content) => {
            source(&content, &mut values, wanted).map_err(|why| Fact::Garbled(format!("{path}: {why}")))
        }
        Fact::Garbled(why) => Err(Fact::Garbled(format!("{path}: {why}"))),
        refused => Err(refused),
    });
    let words: Vec<String> = wanted.iter().filter_map(|name| values.remove(*name)).collect();
    let line = sourced.map_or_else(|trouble| trouble, |()| Fact::Known(words.join(" ")));
    Some(Configured { place: place.to_owned(), files, line })
}

/// Interprets assignments, one in each line. Fails on a line that may set a wanted variable in any other way.
fn source(content: &str, values: &mut BTreeMap<String, String>, wanted: &[&str]) -> Result<(), String> {
    let joined = content.replace("\\\n", "");
    let mut lines = joined.lines();
    while let Some(line) = lines.next() {
        let code = line.trim();
        if let Some(gone) = line.strip_prefix(WITHOUT) {
            take_out(gone, values, wanted);
            lines.by_ref().find(|line| *line == WITHOUT_END);
            continue;
        }
        let code = code.strip_prefix("export ").unwrap_or(code);
        if code.is_empty() || code.starts_with('#') {
            continue;
        }
        let name_end = code.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(code.len());
        let (name, rest) = code.split_at(name_end);
        let is_wanted = wanted.contains(&name);
        let (adds, value) = match (rest.strip_prefix("+="), rest.strip_prefix('=')) {
            (Some(value), _) => (true, value),
            (None, Some(value)) => (false, value),
            // A line that is no assignment matters only if it could set a wanted variable.
            (None, None) if wanted.iter().any(|name| code.contains(&format!("{name}="))) => {
                return Err(format!("sets {} in a way that cannot be followed", wanted.join(" or ")));
            }
            (None, None) => continue,
        };
        match expand(value, values) {
            Ok(value) if adds => values.entry(name.to_owned()).or_default().push_str(&value),
            Ok(value) => {
                values.insert(name.to_owned(), value);
            }
            Err(why) if is_wanted => return Err(why),
            Err(_) => {
                values.remove(name);
            }
        }
    }
    Ok(())
}

/// Removes words from the variables, with the effect that punctual's lines have when a shell runs them.
fn take_out(gone: &str, values: &mut BTreeMap<String, String>, wanted: &[&str]) {
    let gone: Vec<&str> = gone.split_whitespace().collect();
    let is_gone = |word: &str| {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let name = same_dashes(name);
        gone.iter().any(|gone| match gone.split_once('=') {
            Some((gone, exactly)) => name == gone && value == Some(exactly),
            None => name == *gone,
        })
    };
    for name in wanted {
        if let Some(line) = values.get_mut(*name) {
            *line = line.split_whitespace().filter(|word| !is_gone(word)).collect::<Vec<_>>().join(" ");
        }
    }
}

/// The value of one assignment up to the first blank outside quotes, with quotes, backslashes and variables resolved.
fn expand(value: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = value.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (Some('\''), c) => out.push(c),
            (_, '`') => return Err("runs a program".to_owned()),
            (_, '\\') => out.extend(chars.next()),
            (_, '$') => {
                let is_braced = chars.next_if_eq(&'{').is_some();
                let mut name = String::new();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                if name.is_empty() || (is_braced && chars.next_if_eq(&'}').is_none()) {
                    return Err("holds an expression that cannot be followed".to_owned());
                }
                out.push_str(values.get(&name).map_or("", String::as_str));
            }
            (None, c) if c.is_whitespace() || c == ';' || c == '#' => break,
            (_, c) => out.push(c),
        }
    }
    if quote.is_some() { Err("holds a quote that is not closed on its line".to_owned()) } else { Ok(out) }
}

/// Reads the `options` in the boot loader entry of the kernel with this release.
fn entry(tree: &dyn Tree, places: &[&str], release: Option<&str>) -> Option<Configured> {
    let release = release?;
    for place in places {
        let folder = format!("{place}/loader/entries");
        let names = match tree.list(&folder) {
            Fact::Known(names) => names,
            Fact::Denied => return Some(Configured::one(&folder, Fact::Denied)),
            _ => continue,
        };
        // If a kernel has several entries, the newest one has the highest name.
        for name in names.iter().rev().filter(|name| name.strip_suffix(".conf").is_some()) {
            let path = format!("{folder}/{name}");
            let content = text(tree, &path);
            let Fact::Known(entry) = &content else {
                return Some(Configured::one(&path, content));
            };
            if name.contains("rescue") || !entry.contains(release) {
                continue;
            }
            let options = entry.lines().filter_map(|line| line.trim().strip_prefix("options")).map(str::trim);
            let options = options.collect::<Vec<_>>().join(" ");
            let line = if options.contains('$') { with_grubenv(tree, &options) } else { Fact::Known(options) };
            return Some(Configured::one(&path, line));
        }
    }
    None
}

/// Fills in the variables that GRUB keeps in a separate file. Entries of Fedora and related distributions may contain
/// them.
fn with_grubenv(tree: &dyn Tree, options: &str) -> Fact<String> {
    let environment = text(tree, "/boot/grub2/grubenv").or_else(|| text(tree, "/boot/grub/grubenv"));
    environment.and_then(|environment| {
        let lines = environment.lines().filter(|line| !line.starts_with('#'));
        let values = lines.filter_map(|l| l.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned()));
        expand(&format!("\"{options}\""), &values.collect()).map_or_else(Fact::Garbled, Fact::Known)
    })
}

fn kernelstub(tree: &dyn Tree) -> Option<Configured> {
    Configured::read(tree, "/etc/kernelstub/configuration", |content| {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(&content);
        let options = parsed.ok().and_then(|all| {
            let options = all.get("user")?.get("kernel_options")?.as_array()?.clone();
            Some(options.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" "))
        });
        options.map_or_else(|| Fact::Garbled("names no kernel_options of the user".to_owned()), Fact::Known)
    })
}

fn extlinux(tree: &dyn Tree) -> Option<Configured> {
    let words = |content: String| append_of(&content).map_or(Fact::Garbled("has no APPEND".to_owned()), Fact::Known);
    Configured::read(tree, "/boot/extlinux/extlinux.conf", words)
}

/// The words of the default label or, if there is no default, of the first label.
fn append_of(content: &str) -> Option<String> {
    let mut default = None;
    let mut labels: Vec<(String, Option<String>)> = Vec::new();
    for line in content.lines() {
        let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match (word.to_ascii_lowercase().as_str(), labels.last_mut()) {
            ("default", _) => default = Some(rest.trim().to_owned()),
            ("label", _) => labels.push((rest.trim().to_owned(), None)),
            ("append", Some((_, append))) => *append = Some(rest.trim().to_owned()),
            _ => {}
        }
    }
    let chosen = labels.iter().find(|(label, _)| Some(label) == default.as_ref()).or(labels.first())?;
    chosen.1.clone()
}

fn armbian(tree: &dyn Tree) -> Option<Configured> {
    let path = "/boot/armbianEnv.txt";
    let found = Configured::read(tree, path, |content| {
        let extra = content.lines().filter_map(|line| line.trim().strip_prefix("extraargs="));
        Fact::Known(extra.fold("", |_, last| last).to_owned())
    })?;
    Some(Configured { place: format!("{path} extraargs"), ..found })
}
