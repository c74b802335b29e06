//! Walks the makefiles of a kernel and finds the source files of each object, with the condition under which it is built.
//!
//! Of the language of makefiles, only what kbuild's lists use is understood: assignments, `ifdef` and `ifeq` on options,
//! and variables that hold lists.

use super::expr::Expr;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file as part of a module, or of the kernel itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The path below the kernel's root.
    pub source: String,
    /// The module's name, which is the first part of the names of its parameters.
    pub module: String,
    pub condition: Expr,
    /// The option that decides whether this becomes a module; `None` if it is always part of the kernel.
    pub by: Option<String>,
}

/// The folders that hold parts of every kernel.
const FOLDERS: [&str; 15] = [
    "init", "usr", "kernel", "certs", "mm", "fs", "ipc", "security", "crypto", "block", "io_uring", "drivers", "sound",
    "net", "lib",
];
const FURTHER_FOLDERS: [&str; 2] = ["samples", "virt"];

/// Every part of a kernel for the architecture whose folder below `arch` is given.
pub fn parts(root: &Path, arch: &str) -> Vec<Part> {
    let mut walk = Walk { root, parts: Vec::new(), seen: BTreeSet::new() };
    for folder in FOLDERS.iter().chain(&FURTHER_FOLDERS) {
        walk.folder(folder, &Expr::TRUE);
    }
    let arch = format!("arch/{arch}");
    walk.architecture(&arch);
    walk.parts
}

struct Walk<'a> {
    root: &'a Path,
    parts: Vec<Part>,
    seen: BTreeSet<String>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &str, condition: &Expr) {
        let Some(makefile) = Makefile::read(self.root, folder) else { return };
        if !self.seen.insert(format!("{folder} {condition:?}")) {
            return;
        }
        for entry in makefile.lists.iter().filter(|entry| matches!(entry.list.as_str(), "obj" | "lib")) {
            let condition = condition.clone().and(entry.condition.clone());
            for item in makefile.expand(&entry.item) {
                let condition = condition.clone().and(item.condition);
                self.item(folder, &item.item, &condition, entry.by.as_deref(), &makefile);
            }
        }
    }

    fn item(&mut self, folder: &str, item: &str, condition: &Expr, by: Option<&str>, makefile: &Makefile) {
        if let Some(below) = item.strip_suffix('/') {
            let below = below.trim_start_matches("./");
            self.folder(&joined(folder, below), condition);
        } else if let Some(name) = item.strip_suffix(".o") {
            self.object(folder, name, condition, by, makefile);
        }
    }

    fn object(&mut self, folder: &str, name: &str, condition: &Expr, by: Option<&str>, makefile: &Makefile) {
        let module = name.rsplit('/').next().unwrap_or(name).replace('-', "_");
        let members = makefile.members(name);
        let alone = [Entry { list: String::new(), condition: Expr::TRUE, by: None, item: format!("{name}.o") }];
        for member in if members.is_empty() { alone.to_vec() } else { members } {
            let Some(source) = member.item.strip_suffix(".o") else { continue };
            // Members of an object that lies in another folder are named from that folder.
            let source = joined(folder, &format!("{source}.c"));
            if self.root.join(&source).is_file() {
                let condition = condition.clone().and(member.condition);
                self.parts.push(Part { source, module: module.clone(), condition, by: by.map(str::to_owned) });
            }
        }
    }

    /// The folders of one architecture: those of its `Kbuild`, and those that its `Makefile` adds to the kernel.
    fn architecture(&mut self, folder: &str) {
        if self.root.join(folder).join("Kbuild").is_file() {
            self.folder(folder, &Expr::TRUE);
        }
        let Some(makefile) = Makefile::parse_file(&self.root.join(folder).join("Makefile")) else { return };
        for entry in &makefile.lists {
            match entry.list.as_str() {
                "core" | "drivers" | "libs" | "obj" | "net" | "virt" => {
                    for item in makefile.expand(&entry.item) {
                        let below = item.item.trim_end_matches('/').to_owned();
                        self.folder(&below, &entry.condition.clone().and(item.condition));
                    }
                }
                "machine" | "plat" => {
                    let kind = if entry.list == "plat" { "plat" } else { "mach" };
                    self.folder(&format!("{folder}/{kind}-{}", entry.item), &entry.condition);
                }
                _ => {}
            }
        }
    }
}

/// An item of a list: `LIST-$(CONFIG_X) += ITEM`.
#[derive(Clone, Debug)]
struct Entry {
    list: String,
    condition: Expr,
    /// The option in the name of the list.
    by: Option<String>,
    item: String,
}

#[derive(Debug, Default)]
struct Makefile {
    lists: Vec<Entry>,
    by_list: BTreeMap<String, Vec<usize>>,
}

impl Makefile {
    fn read(root: &Path, folder: &str) -> Option<Self> {
        let folder = root.join(folder);
        Self::parse_file(&folder.join("Kbuild")).or_else(|| Self::parse_file(&folder.join("Makefile")))
    }

    fn parse_file(path: &PathBuf) -> Option<Self> {
        let text = fs::read(path).ok()?;
        Some(Self::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Self {
        let text = text.replace("\\\n", " ");
        let mut file = Self::default();
        let mut conditions: Vec<Expr> = Vec::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("");
            if line.starts_with('\t') && !line.contains("+=") {
                continue;
            }
            let line = line.trim();
            if !directive(line, &mut conditions)
                && let Some((name, value)) = assignment(line)
            {
                let around = conditions.iter().cloned().fold(Expr::TRUE, Expr::and);
                file.assign(name, value, &around);
            }
        }
        for (at, entry) in file.lists.iter().enumerate() {
            file.by_list.entry(entry.list.clone()).or_default().push(at);
        }
        file
    }

    fn assign(&mut self, name: &str, value: &str, around: &Expr) {
        let options = options(name);
        let is_any = name.contains("$(or ");
        let combine = |a: Expr, b: Expr| if is_any { a.or(b) } else { a.and(b) };
        let of_name = options.iter().map(|name| Expr::option(name)).reduce(combine).unwrap_or(Expr::TRUE);
        let is_loadable = !name.contains("subst") && !name.contains(":m=y");
        let by = options.first().filter(|_| is_loadable).cloned();
        let list = match name.find("-$") {
            Some(at) => &name[..at],
            None => ["-y", "-m", "-objs"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name),
        };
        let by = if name.ends_with("-m") { Some(String::new()) } else { by };
        for item in value_items(value) {
            // A file for each width of words: `init_$(BITS).o`.
            let is_wide = || Expr::option("64BIT");
            let items = if item.contains("$(BITS)") {
                vec![(item.replace("$(BITS)", "32"), is_wide().not()), (item.replace("$(BITS)", "64"), is_wide())]
            } else {
                vec![(item, Expr::TRUE)]
            };
            for (item, width) in items {
                let condition = around.clone().and(of_name.clone()).and(width);
                self.lists.push(Entry { list: list.to_owned(), condition, by: by.clone(), item });
            }
        }
    }

    /// The objects that this object is made of.
    fn members(&self, name: &str) -> Vec<Entry> {
        let places = self.by_list.get(name).map(Vec::as_slice).unwrap_or_default();
        let entries = places.iter().filter_map(|at| self.lists.get(*at));
        entries.flat_map(|entry| self.expand_entry(entry, 0)).collect()
    }

    fn expand(&self, item: &str) -> Vec<Entry> {
        let entry = Entry { list: String::new(), condition: Expr::TRUE, by: None, item: item.to_owned() };
        self.expand_entry(&entry, 0)
    }

    /// The entry itself or, if it is a variable, the items of that list.
    fn expand_entry(&self, entry: &Entry, depth: u8) -> Vec<Entry> {
        let Some(name) = entry.item.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) else {
            return vec![entry.clone()];
        };
        if depth > 4 {
            return Vec::new();
        }
        let base = ["-y", "-m", "-objs"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let places = self.by_list.get(base).map(Vec::as_slice).unwrap_or_default();
        let inner = places.iter().filter_map(|at| self.lists.get(*at));
        let inner = inner.flat_map(|inner| self.expand_entry(inner, depth + 1));
        inner.map(|inner| Entry { condition: entry.condition.clone().and(inner.condition.clone()), ..inner }).collect()
    }
}

/// Whether the line opens, turns or closes a condition, which is then noted.
fn directive(line: &str, conditions: &mut Vec<Expr>) -> bool {
    let (keyword, rest) = line.split_once([' ', '\t', '(']).unwrap_or((line, ""));
    match keyword {
        "ifdef" | "ifndef" | "ifeq" | "ifneq" => {
            conditions.push(asked(keyword, rest));
            true
        }
        "else" => {
            let turned = conditions.pop().unwrap_or(Expr::TRUE).not();
            let (keyword, rest) = rest.trim().split_once([' ', '\t', '(']).unwrap_or((rest, ""));
            let further = if keyword.starts_with("if") { asked(keyword, rest) } else { Expr::TRUE };
            conditions.push(turned.and(further));
            true
        }
        "endif" => {
            conditions.pop();
            true
        }
        _ => false,
    }
}

/// The condition of `ifdef CONFIG_X`, `ifeq ($(CONFIG_X),y)` and the like.
fn asked(keyword: &str, rest: &str) -> Expr {
    let options = options(rest);
    let [option] = options.as_slice() else { return Expr::Either };
    let option = Expr::option(option);
    let last = rest.trim_end_matches([')', ' ']).rsplit(',').next().unwrap_or("").trim().trim_matches('"');
    let is_on = match keyword {
        "ifdef" | "ifndef" => option,
        _ if matches!(last, "y" | "m") => option,
        _ if last.is_empty() || last == "n" => option.not(),
        _ => return Expr::Either,
    };
    if keyword.starts_with("ifn") { is_on.not() } else { is_on }
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let at = line.find('=')?;
    let name = line[..at].trim_end_matches(['+', ':', '?']).trim();
    let is_name = !name.is_empty() && !name.contains(':') || name.contains(":m=y");
    is_name.then(|| (name, line[at + 1..].trim()))
}

/// The items of a list. A call of a function gives the items among its arguments.
fn value_items(value: &str) -> Vec<String> {
    value.split_whitespace().map(|item| item.trim_matches(',').to_owned()).filter(|item| !item.is_empty()).collect()
}

/// The options named in a text as `CONFIG_NAME`.
fn options(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in text.split("CONFIG_").skip(1) {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(part.len());
        found.push(part[..end].to_owned());
    }
    found
}

/// A path below a folder, without `..`.
pub fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in name.split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, name: &str) -> Vec<(String, Expr)> {
        let file = Makefile::parse(text);
        file.members(name).into_iter().map(|entry| (entry.item, entry.condition)).collect()
    }

    #[test]
    fn lists_are_followed_through_variables_and_conditions() {
        let text = "a-y := b.o \\\n  $(more-y)\nmore-$(CONFIG_C) += c.o\nifeq ($(CONFIG_D),y)\na-objs += d.o\nelse\n\
            a-$(CONFIG_E) += e.o\nendif\n";
        let (c, d, e) = (Expr::option("C"), Expr::option("D"), Expr::option("E"));
        let expected = [("b.o", Expr::TRUE), ("c.o", c), ("d.o", d.clone()), ("e.o", d.not().and(e))];
        assert_eq!(shown(text, "a"), expected.map(|(item, condition)| (item.to_owned(), condition)));
    }

    #[test]
    fn each_width_of_words_has_its_file() {
        let wide = Expr::option("64BIT");
        let expected = [("init_32.o".to_owned(), wide.clone().not()), ("init_64.o".to_owned(), wide)];
        assert_eq!(shown("a-y := init_$(BITS).o\n", "a"), expected);
    }

    #[test]
    fn paths_have_no_way_up() {
        assert_eq!(joined("kernel/sched", "../trace/x.c"), "kernel/trace/x.c");
        assert_eq!(joined("lib", "./a//b.c"), "lib/a/b.c");
    }
}
