//! The menu in `grub.cfg`: finds the entry of the running kernel and copies it with other words for the kernel.

use super::super::{ENTRY, TITLE};
use punctual_facts::machine::{Cmdline, Machine};

/// The GRUB commands that load a kernel. Their line holds the words for the kernel.
const LINUX: &[&str] = &["linux", "linuxefi", "linux16"];
/// GRUB commands that make GRUB remember an entry, as the default or as one that may have failed.
const REMEMBERS: &[&str] = &["savedefault", "recordfail"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MenuEntry<'a> {
    head: &'a str,
    body: Vec<&'a str>,
    /// Index, in the entry's body, of the line that loads the kernel.
    linux: usize,
    /// The path of the kernel, as GRUB names it.
    pub(super) image: &'a str,
    args: &'a str,
}

impl<'a> MenuEntry<'a> {
    /// The entry of the running kernel. If several entries match, the entry with the words of this boot's command line.
    pub(super) fn running(config: &'a str, machine: &Machine) -> Option<Self> {
        let booted = machine.cmdline.known();
        let release = machine.kernel.release.known();
        let image = booted.and_then(|line| line.value("BOOT_IMAGE")).map(without_disk);
        let root = booted.and_then(|line| line.value("root"));
        let is_it = |entry: &Self| {
            let line = Cmdline::parse(entry.args);
            let same_kernel = match (image, release) {
                (Some(image), _) => without_disk(entry.image) == image,
                (None, Some(release)) => entry.image.ends_with(&format!("-{release}")),
                (None, None) => false,
            };
            let same_root = root.is_none_or(|root| line.value("root") == Some(root));
            let is_rescue = ["single", "recovery", "rescue", "emergency"].iter().any(|word| line.value(word).is_some());
            same_kernel && same_root && !is_rescue
        };
        let found: Vec<Self> = entries(config).into_iter().filter(is_it).collect();
        let as_booted = |entry: &&Self| {
            booted.is_some_and(|line| {
                Cmdline::parse(entry.args).words().eq(line.words().filter(|word| !word.starts_with("BOOT_IMAGE=")))
            })
        };
        found.iter().find(as_booted).or_else(|| found.first()).cloned()
    }

    pub(super) fn first(config: &'a str) -> Option<Self> {
        entries(config).into_iter().next()
    }

    /// The words for the kernel. Fails if GRUB would interpret a character in them.
    pub(super) fn args(&self) -> Result<&'a str, String> {
        match self.args.chars().find(|c| matches!(c, '\'' | '\\' | '`' | ';' | '{' | '}') || c.is_control()) {
            Some(odd) => Err(format!("the line of the kernel holds {odd:?}, which GRUB reads in its own way")),
            None => Ok(self.args),
        }
    }

    /// The text of a copy of the entry, with our title, our id and these words.
    pub(super) fn with(&self, args: &str) -> String {
        let indent = |line: &str| line.chars().take_while(|c| c.is_whitespace()).count();
        let least = self.body.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
        let command = self.body[self.linux].split_whitespace().next().unwrap_or("linux");
        let linux = format!("{command} {} {args}", self.image);
        let lines = self.body.iter().enumerate().filter_map(|(at, line)| {
            if at == self.linux {
                return Some(format!("    {linux}\n"));
            }
            let is_kept = !REMEMBERS.contains(&line.trim()) && !line.trim().is_empty();
            is_kept.then(|| format!("    {}\n", line.get(least..).unwrap_or_default()))
        });
        format!("{}{}}}\n", self.head_of_ours(), lines.collect::<String>())
    }

    /// The first line of the copy, with our title and id. The other options of the line stay, for example who may boot
    /// the entry.
    fn head_of_ours(&self) -> String {
        let words = shell_words(self.head.trim().trim_end_matches('{'));
        let mut rest = words.iter().skip(2);
        let mut kept = String::new();
        let mut option = "--id";
        while let Some(word) = rest.next() {
            match *word {
                "--id" | "$menuentry_id_option" | "${menuentry_id_option}" => {
                    option = word;
                    rest.next();
                }
                other if other.starts_with("--id=") => {}
                other => {
                    kept.push_str(other);
                    kept.push(' ');
                }
            }
        }
        format!("menuentry '{TITLE}' {kept}{option} '{ENTRY}' {{\n")
    }
}

/// A path without the disk in front of it: `/vmlinuz` for `(hd0,gpt2)/vmlinuz`.
fn without_disk(image: &str) -> &str {
    image.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(image, |(_, path)| path)
}

/// All entries of Linux kernels in the order of the file, including entries of submenus.
fn entries(config: &str) -> Vec<MenuEntry<'_>> {
    let mut found = Vec::new();
    let mut lines = config.lines();
    while let Some(head) = lines.next() {
        let code = head.trim();
        if !code.starts_with("menuentry ") || !code.ends_with('{') {
            continue;
        }
        let mut depth = 1;
        let mut body = Vec::new();
        for line in lines.by_ref() {
            let code = line.trim();
            depth += usize::from(code.ends_with('{'));
            depth -= usize::from(code == "}");
            if depth == 0 {
                break;
            }
            body.push(line);
        }
        found.extend(entry(head, body));
    }
    found
}

fn entry<'a>(head: &'a str, body: Vec<&'a str>) -> Option<MenuEntry<'a>> {
    let is_linux = |line: &&str| line.split_whitespace().next().is_some_and(|word| LINUX.contains(&word));
    let linux = body.iter().position(is_linux)?;
    let (_, rest) = body[linux].trim().split_once(char::is_whitespace)?;
    let rest = rest.trim();
    let (image, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some(MenuEntry { head, linux, image, args: args.trim(), body })
}

/// The words of a line as a shell splits it, with their quotes.
fn shell_words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut is_escaped) = (None, None, false);
    for (at, c) in line.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match (quote, c) {
            (None, c) if c.is_whitespace() => {
                words.extend(start.take().map(|from: usize| &line[from..at]));
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some('"'), '\\') => is_escaped = true,
            _ => {}
        }
        start = start.or(Some(at));
    }
    words.extend(start.map(|from| &line[from..]));
    words
}
