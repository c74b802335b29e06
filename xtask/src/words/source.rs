//! Finds the places in C files where words of the command line are registered.
//!
//! A file is read as text: directives of the preprocessor become conditions, macros of the file that register
//! parameters are expanded, and files that it includes from its own folder are read in its place. Types and values are
//! not followed.

use super::expr::{self, Atoms, Expr, take, word};
use super::kbuild::joined;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// How a word is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// `early_param`, or boot code that searches the line: compared whole.
    Early,
    /// `__setup`: compared by its beginning.
    Setup,
    /// `core_param`: a parameter without a dot.
    Core,
    /// A parameter of a module.
    Module,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    pub how: How,
    pub name: String,
    /// The type of the value, as a letter of the tables.
    pub kind: char,
    pub condition: Expr,
    /// The part before the dot, if it is not the module's name; empty if there is none.
    pub prefix: Option<String>,
}

/// What one source file registers.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub all: Vec<Registered>,
    /// Whether more parameters are made by macros that were not understood.
    pub has_more: bool,
}

/// Parts of names without which a file is of no interest.
const SIGNS: [&str; 7] =
    ["module_param", "core_param", "early_param", "torture_param", "_param_cb", "__setup", "cmdline_find_option"];

/// Files of a kernel's sources, each looked at once for whether it can register words at all.
#[derive(Default)]
pub struct Looked(BTreeMap<String, bool>);

impl Looked {
    /// Whether this file, or a file that it includes from its own folder, can register words.
    fn can_register(&mut self, root: &Path, path: &str) -> bool {
        if let Some(known) = self.0.get(path) {
            return *known;
        }
        // Files can include each other.
        self.0.insert(path.to_owned(), false);
        let bytes = fs::read(root.join(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut can = SIGNS.iter().any(|sign| text.contains(sign));
        for line in text.lines().filter(|line| line.starts_with('#') && line.contains('"')) {
            let name =
                line.trim_start_matches(['#', ' ']).strip_prefix("include").and_then(|rest| rest.split('"').nth(1));
            let Some(name) = name.filter(|_| !can) else { continue };
            let path = joined(folder_of(path), name);
            can = !path.starts_with("include/") && root.join(&path).is_file() && self.can_register(root, &path);
        }
        self.0.insert(path.to_owned(), can);
        can
    }
}

/// Reads a file with what it includes from its own folder.
pub fn read(root: &Path, path: &str, looked: &mut Looked) -> Found {
    if !looked.can_register(root, path) {
        return Found::default();
    }
    let mut reader = Reader {
        root,
        home: folder_of(path).to_owned(),
        looked,
        macros: BTreeMap::new(),
        seen: BTreeSet::new(),
        found: Found::default(),
        prefix: None,
    };
    reader.file(path, &Expr::TRUE);
    reader.found
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A macro of a file, made by `#define NAME(FORMALS) BODY`.
#[derive(Clone, Debug)]
struct Macro {
    formals: Vec<String>,
    body: String,
}

struct Reader<'a> {
    root: &'a Path,
    home: String,
    looked: &'a mut Looked,
    macros: BTreeMap<String, Macro>,
    seen: BTreeSet<String>,
    found: Found,
    prefix: Option<String>,
}

/// A level of `#if`: the condition of its present branch, and that none of its branches so far was taken.
struct Level {
    now: Expr,
    none_yet: Expr,
}

impl Reader<'_> {
    fn file(&mut self, path: &str, around: &Expr) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        let Ok(bytes) = fs::read(self.root.join(path)) else { return };
        let text = String::from_utf8_lossy(&bytes);
        self.text(&without_comments(&text).replace("\\\n", " "), path, around);
    }

    fn text(&mut self, text: &str, path: &str, around: &Expr) {
        let mut levels: Vec<Level> = Vec::new();
        let mut chunk = String::new();
        for line in text.lines() {
            let Some(directive) = line.trim_start().strip_prefix('#') else {
                chunk.push_str(line);
                chunk.push('\n');
                continue;
            };
            let condition = levels.iter().map(|level| level.now.clone()).fold(around.clone(), Expr::and);
            // An invocation that begins before a directive may end behind it.
            let rest = self.invocations(&chunk, &condition, 0);
            chunk = rest.to_owned();
            let mut rest = directive;
            match word(&mut rest) {
                "if" => level(&mut levels, expr::parse(rest, &Preprocessor)),
                "ifdef" => level(&mut levels, defined(word(&mut rest))),
                "ifndef" => level(&mut levels, defined(word(&mut rest)).not()),
                "elif" => turn(&mut levels, &expr::parse(rest, &Preprocessor)),
                "else" => turn(&mut levels, &Expr::TRUE),
                "endif" => _ = levels.pop(),
                "define" => self.define(rest),
                "undef" if word(&mut rest) == "MODULE_PARAM_PREFIX" => self.prefix = None,
                "include" => self.include(rest.trim(), path, &condition),
                _ => {}
            }
        }
        self.invocations(&chunk, around, 0);
    }

    fn include(&mut self, what: &str, path: &str, condition: &Expr) {
        let Some(name) = what.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { return };
        let beside = joined(folder_of(path), name);
        let home = joined(&self.home, name);
        let path = if self.root.join(&beside).is_file() { beside } else { home };
        // Headers of other folders declare, they do not register.
        if !path.starts_with("include/") && self.looked.can_register(self.root, &path) {
            self.file(&path, condition);
        }
    }

    fn define(&mut self, rest: &str) {
        let mut rest = rest;
        let name = word(&mut rest).to_owned();
        if name == "MODULE_PARAM_PREFIX" {
            self.prefix = prefix(rest.trim());
            return;
        }
        if !rest.starts_with('(') {
            return;
        }
        let Some((formals, body)) = arguments(rest) else { return };
        let registers = |name: &str| is_registering(name) || self.macros.contains_key(name);
        if identifiers(body).any(|(_, name)| registers(name)) {
            self.macros.insert(name, Macro { formals, body: body.to_owned() });
        }
    }

    /// Notes every registration in a text without directives. Returns the end of the text, if an invocation is open
    /// there.
    fn invocations<'t>(&mut self, text: &'t str, condition: &Expr, depth: u8) -> &'t str {
        let mut from = 0;
        for (at, name) in identifiers(text) {
            let is_own = self.macros.contains_key(name);
            if at < from || !(is_own || is_registering(name)) {
                continue;
            }
            let after = &text[at + name.len()..];
            if !after.trim_start().starts_with('(') {
                continue;
            }
            let Some((arguments, rest)) = arguments(after.trim_start()) else {
                return if depth == 0 { &text[at..] } else { "" };
            };
            from = text.len() - rest.len();
            if is_own {
                self.expand(name, &arguments, condition, depth);
            } else {
                self.register(name, &arguments, condition);
            }
        }
        ""
    }

    fn expand(&mut self, name: &str, given: &[String], condition: &Expr, depth: u8) {
        let Some(found) = self.macros.get(name).cloned() else { return };
        if depth > 4 {
            return;
        }
        let body = found.with(given);
        self.invocations(&body, condition, depth + 1);
    }

    fn register(&mut self, by: &str, given: &[String], condition: &Expr) {
        let Some(registered) = registered(by, given) else { return };
        for (how, name, kind) in registered {
            let name = name.replace('-', "_");
            if !is_name(&name) {
                self.found.has_more |= how == How::Module;
                continue;
            }
            let prefix = self.prefix.clone().filter(|_| how == How::Module);
            self.found.all.push(Registered { how, name, kind, condition: condition.clone(), prefix });
        }
    }
}

impl Macro {
    /// The body with the arguments in the places of the formal ones.
    fn with(&self, given: &[String]) -> String {
        let mut out = String::new();
        let mut last = 0;
        for (at, name) in identifiers(&self.body) {
            let Some(place) = self.formals.iter().position(|formal| formal == name) else { continue };
            out.push_str(&self.body[last..at]);
            let value = given.get(place).map_or("", String::as_str);
            if out.trim_end().ends_with('#') && !out.trim_end().ends_with("##") {
                out.truncate(out.trim_end().len() - 1);
                out.extend(["\"", value, "\""]);
            } else {
                out.push_str(value);
            }
            last = at + name.len();
        }
        out.push_str(&self.body[last..]);
        // `a ## b` is one name.
        let parts: Vec<&str> = out.split("##").collect();
        parts
            .iter()
            .enumerate()
            .map(|(n, part)| match n {
                0 => part.trim_end(),
                _ if n + 1 == parts.len() => part.trim_start(),
                _ => part.trim(),
            })
            .collect()
    }
}

fn level(levels: &mut Vec<Level>, condition: Expr) {
    levels.push(Level { none_yet: condition.clone().not(), now: condition });
}

fn turn(levels: &mut [Level], condition: &Expr) {
    if let Some(level) = levels.last_mut() {
        level.now = level.none_yet.clone().and(condition.clone());
        level.none_yet = level.none_yet.clone().and(condition.clone().not());
    }
}

/// Names of macros that the compiler or the architecture's makefile defines, with the option that stands for them.
const DEFINED: [(&str, &str); 8] = [
    ("__x86_64__", "X86_64"),
    ("__i386__", "X86_32"),
    ("__aarch64__", "ARM64"),
    ("__arm__", "ARM"),
    ("__riscv", "RISCV"),
    ("__powerpc__", "PPC"),
    ("__powerpc64__", "PPC64"),
    ("__s390__", "S390"),
];

fn defined(name: &str) -> Expr {
    if let Some(option) = name.strip_prefix("CONFIG_") {
        return Expr::option(option.strip_suffix("_MODULE").unwrap_or(option));
    }
    DEFINED.iter().find(|(known, _)| *known == name).map_or(Expr::Either, |(_, option)| Expr::option(option))
}

/// What stands in `#if`.
struct Preprocessor;

impl Atoms for Preprocessor {
    fn atom(&self, text: &mut &str) -> Expr {
        let name = word(text);
        let is_asked = matches!(name, "defined" | "IS_ENABLED" | "IS_BUILTIN" | "IS_MODULE" | "IS_REACHABLE");
        let value = match name {
            _ if is_asked => {
                let is_open = take(text, "(");
                let asked = defined(word(text));
                if is_open && !take(text, ")") {
                    return Expr::Either;
                }
                asked
            }
            "0" => Expr::FALSE,
            "1" => Expr::TRUE,
            name if name.starts_with("CONFIG_") => defined(name),
            _ => {
                if text.trim_start().starts_with('(') {
                    *text = arguments(text.trim_start()).map_or("", |(_, rest)| rest);
                }
                Expr::Either
            }
        };
        // A comparison can be anything.
        let rest = text.trim_start();
        if rest.starts_with(['<', '>', '=', '+', '-', '*', '/', '%']) || rest.starts_with("!=") {
            let end = rest.find("&&").into_iter().chain(rest.find("||")).chain(rest.find(')')).min();
            *text = end.map_or("", |end| &rest[end..]);
            return Expr::Either;
        }
        value
    }
}

/// Macros that register parameters whose handlers run at a stage of the boot.
const LEVELS: [&str; 8] = [
    "__core_param_cb",
    "postcore_param_cb",
    "arch_param_cb",
    "subsys_param_cb",
    "fs_param_cb",
    "device_param_cb",
    "late_param_cb",
    "core_param_cb",
];

fn is_registering(name: &str) -> bool {
    let is_param = name.starts_with("module_param") || name.starts_with("core_param") || LEVELS.contains(&name);
    is_param
        || matches!(name, "__setup" | "__setup_param" | "early_param" | "early_param_on_off" | "torture_param")
        || name.starts_with("cmdline_find_option")
}

/// What one invocation registers: for each word how, its name and the letter of its type.
fn registered(by: &str, given: &[String]) -> Option<Vec<(How, String, char)>> {
    let at = |n: usize| given.get(n).map(|text| text.trim().to_owned());
    let literal = |n: usize| at(n).and_then(|text| unquoted(&text));
    let kind = |n: usize| at(n).map_or('x', |text| letter(&text));
    Some(match by {
        "__setup_param" if at(3)? != "0" => vec![(How::Early, literal(0)?, '-')],
        "__setup" | "__setup_param" => vec![(How::Setup, literal(0)?, '-')],
        "early_param" => vec![(How::Early, literal(0)?, '-')],
        "__core_param_cb" => vec![(How::Core, at(0)?, 'x')],
        "early_param_on_off" => vec![(How::Early, literal(0)?, '-'), (How::Early, literal(1)?, '-')],
        // Boot code before the kernel has only one line and does not name it.
        "cmdline_find_option_bool" => vec![(How::Early, literal(0).or_else(|| literal(1))?, '-')],
        "cmdline_find_option" => vec![(How::Early, format!("{}=", literal(0).or_else(|| literal(1))?), '-')],
        "torture_param" => vec![(How::Module, at(1)?, kind(0))],
        "core_param" | "core_param_unsafe" => vec![(How::Core, at(0)?, kind(2))],
        "module_param" | "module_param_unsafe" | "module_param_hw" => vec![(How::Module, at(0)?, kind(1))],
        "module_param_named" | "module_param_named_unsafe" | "module_param_hw_named" => {
            vec![(How::Module, at(0)?, kind(2))]
        }
        "module_param_string" => vec![(How::Module, at(0)?, 's')],
        name if name.starts_with("module_param") && name.contains("array") => vec![(How::Module, at(0)?, 'a')],
        name if name.starts_with("module_param") || LEVELS.contains(&name) => vec![(How::Module, at(0)?, 'x')],
        _ => return None,
    })
}

/// The letter of a parameter's type.
fn letter(text: &str) -> char {
    match text {
        "bool" => 'b',
        "bint" => 'd',
        "invbool" => 'n',
        "int" => 'i',
        "uint" | "hexint" => 'u',
        "long" => 'l',
        "ulong" => 'L',
        "short" => 'h',
        "ushort" => 'H',
        "byte" => 'y',
        "ullong" => 'q',
        "charp" => 's',
        _ => 'x',
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.=:,/".contains(&b))
}

/// The text of adjacent string literals; `None` if there is anything else.
fn unquoted(text: &str) -> Option<String> {
    let mut rest = text.trim();
    let mut out = String::new();
    while !rest.is_empty() {
        let (literal, after) = rest.strip_prefix('"')?.split_once('"')?;
        out.push_str(literal);
        rest = after.trim_start();
    }
    (!out.is_empty()).then_some(out)
}

/// The part before the dot that `#define MODULE_PARAM_PREFIX` sets; `None` for the module's own name.
fn prefix(text: &str) -> Option<String> {
    if text.contains("KBUILD_MODNAME") {
        return None;
    }
    let literal = unquoted(text)?;
    Some(literal.trim_end_matches('.').replace('-', "_"))
}

/// The words of a text with their places, without those inside of string literals.
fn identifiers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let is_start = |b: u8| b.is_ascii_alphabetic() || b == b'_';
            if let Some(end) = literal(bytes, at) {
                at = end;
            } else if is_start(bytes[at]) {
                let start = at;
                while at < bytes.len() && (is_start(bytes[at]) || bytes[at].is_ascii_digit()) {
                    at += 1;
                }
                return Some((start, &text[start..at]));
            } else if bytes[at].is_ascii_digit() {
                while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                    at += 1;
                }
            } else {
                at += 1;
            }
        }
        None
    })
}

/// The place behind the literal that begins here, if one does. An apostrophe in the text of an `#error` begins none.
fn literal(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    if quote == b'\'' {
        let is_escape = bytes.get(start + 1) == Some(&b'\\');
        let end = start + if is_escape { 3 } else { 2 };
        return (bytes.get(end) == Some(&quote)).then_some(end + 1);
    }
    if quote != b'"' {
        return None;
    }
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some((at + 1).min(bytes.len()))
}

/// The arguments between the parentheses with which the text begins, and what follows; `None` if they are not closed.
fn arguments(text: &str) -> Option<(Vec<String>, &str)> {
    let bytes = text.as_bytes();
    let (mut depth, mut at, mut from) = (0_u32, 0, 1);
    let mut found = Vec::new();
    while at < bytes.len() {
        if let Some(end) = literal(bytes, at) {
            at = end;
            continue;
        }
        match bytes[at] {
            b'(' | b'{' | b'[' => depth += 1,
            b',' if depth == 1 => {
                found.push(text.get(from..at)?.trim().to_owned());
                from = at + 1;
            }
            b')' | b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    found.push(text.get(from..at)?.trim().to_owned());
                    return Some((found, &text[at + 1..]));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The text with a blank in the place of each comment. Line ends inside of comments stay.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut from) = (0, 0);
    while at < bytes.len() {
        if let Some(end) = literal(bytes, at) {
            at = end;
            continue;
        }
        let end = match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => text[at + 2..].find("*/").map_or(text.len(), |end| at + 2 + end + 2),
            b"//" => text[at..].find('\n').map_or(text.len(), |end| at + end),
            _ => {
                at += 1;
                continue;
            }
        };
        out.push_str(&text[from..at]);
        out.push(' ');
        out.extend(text[at..end].chars().filter(|c| *c == '\n'));
        (at, from) = (end, end);
    }
    out.push_str(text.get(from..).unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, char, Expr)> {
        let mut reader = Reader {
            root: Path::new("/nowhere"),
            home: String::new(),
            looked: &mut Looked::default(),
            macros: BTreeMap::new(),
            seen: BTreeSet::new(),
            found: Found::default(),
            prefix: None,
        };
        reader.text(&without_comments(text).replace("\\\n", " "), "x.c", &Expr::TRUE);
        let name = |one: Registered| match one.prefix {
            Some(prefix) => format!("{prefix}.{}", one.name),
            None => one.name,
        };
        reader.found.all.into_iter().map(|one| (name(one.clone()), one.kind, one.condition)).collect()
    }

    #[track_caller]
    fn finds(text: &str, expected: &[(&str, char)]) {
        let found = found(text);
        let found: Vec<(&str, char)> = found.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn every_way_to_register_is_known() {
        finds("__setup(\"a=\", f);", &[("a=", '-')]);
        finds("early_param(\"no\" \"smt\", f);", &[("nosmt", '-')]);
        finds("core_param(panic, panic_timeout, int, 0644);", &[("panic", 'i')]);
        finds("module_param_named(a-b, x.y,\n bool, 0);", &[("a_b", 'b')]);
        finds("module_param_array(io, int, NULL, 0);", &[("io", 'a')]);
        finds("module_param_hw_named(p, q, uint, other, 0);", &[("p", 'u')]);
        finds("torture_param(int, shutdown, 0, \"text\");", &[("shutdown", 'i')]);
        finds("if (cmdline_find_option_bool(boot_command_line, \"nopti\")) {}", &[("nopti", '-')]);
        finds("cmdline_find_option(\"edd\", v, sizeof(v));", &[("edd=", '-')]);
        finds("#define MODULE_PARAM_PREFIX \"rcu.\"\nmodule_param(x, ulong, 0);", &[("rcu.x", 'L')]);
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        finds("/* __setup(\"a=\", f); */ // early_param(\"b\", f)\nchar c = '\"'; s = \"early_param(x)\";", &[]);
        finds("__setup_param(\"a\", b, f, 1); __setup_param(\"c=\", d, f, 0);", &[("a", '-'), ("c=", '-')]);
        finds("__core_param_cb(a, &ops, &b, 0);", &[("a", 'x')]);
        finds("int my_param_cb(char *param, char *val);", &[]);
        finds("early_param(NAME, f); my_early_param(\"x\", f);", &[]);
        finds("#if 0\n__setup(\"a\", f);\n#endif\n", &[("a", '-')]);
        assert_eq!(found("#if 0\n__setup(\"a\", f);\n#endif\n")[0].2, Expr::FALSE);
    }

    #[test]
    fn macros_of_the_file_are_expanded() {
        let text = "#define wrap(name, T) \\\n  module_param_named(name, all.name, T, 0)\nwrap(enable_dc, int);\n\
            #define made(n) module_param(is_##n, bool, 0)\nmade(here);\n";
        finds(text, &[("enable_dc", 'i'), ("is_here", 'b')]);
    }

    #[test]
    fn conditions_are_those_of_the_preprocessor() {
        let text = "#ifdef CONFIG_A\n#if defined(CONFIG_B) && CONFIG_HZ > 100\n__setup(\"x\", f);\n#else\n\
            __setup(\"y\", f);\n#endif\n#endif\n__setup(\"z\", f);\n";
        let needs = |expr: &Expr| expr.needs(&|_| expr::Can::EITHER).shown();
        let found: Vec<(String, String)> =
            found(text).into_iter().map(|(name, _, when)| (name, needs(&when))).collect();
        let expected = [("x", "A&B"), ("y", "A"), ("z", "-")];
        assert_eq!(found, expected.map(|(name, needs)| (name.to_owned(), needs.to_owned())));
    }

    #[test]
    fn nothing_in_a_file_makes_it_panic() {
        for text in [
            "#",
            "#if (",
            "#define",
            "__setup(",
            "__setup(\"",
            "'",
            "/*",
            "#define a(",
            "module_param(\u{e9}, int)",
            "#elif\n#else\n#endif",
        ] {
            let _ = found(text);
        }
    }
}
