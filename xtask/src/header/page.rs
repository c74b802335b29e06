//! The page of the C interface, made from the generated header.

use super::{SOURCES, TOP as RULES, generate as header, path};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub const PAGE: &str = "book/src/c-api.md";

const TOP: &str = "\
# C API

Generated from the header of the C library; do not edit. [The library](punctual-rt.md) tells what it is for.
[punctual_rt.h](../../crates/punctual-capi/include/punctual_rt.h) is the header for C,
[punctual_rt.hpp](../../crates/punctual-capi/include/punctual_rt.hpp) the one for C++. The marks that a program sets for
`punctual inspect` are in [punctual_marks.h](../../crates/punctual-capi/include/punctual_marks.h).

";

/// A declaration of the header.
#[derive(Debug, PartialEq)]
struct Item {
    kind: Kind,
    name: String,
    /// The declaration as C.
    code: String,
    /// The comment, as Markdown.
    told: String,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Constant { value: String },
    Handle,
    Structure { members: Vec<Member> },
    Callback,
    Function,
}

#[derive(Debug, PartialEq)]
struct Member {
    code: String,
    told: String,
}

pub fn generate(root: &Path) -> Result<String> {
    let items = items(&header(root)?)?;
    let mut out = format!("{TOP}{}\n", rules());
    functions(&mut out, root, &items)?;
    types(&mut out, &items)?;
    constants(&mut out, &items)?;
    Ok(format!("{}\n", out.trim_end()))
}

/// The list at the beginning of the header, which holds for all functions.
fn rules() -> String {
    let lines = RULES.lines().filter_map(|line| line.strip_prefix(" * "));
    let list = lines
        .skip_while(|line| !line.starts_with("- "))
        .take_while(|line| line.starts_with("- ") || line.starts_with("  "));
    list.flat_map(|line| [line, "\n"]).collect()
}

/// All documented declarations, in the order of the header.
fn items(header: &str) -> Result<Vec<Item>> {
    header.split("\n\n").filter(|block| block.starts_with("///")).map(item).collect()
}

fn item(block: &str) -> Result<Item> {
    // The comments within a structure belong to its members.
    let code_at = block.lines().take_while(|line| line.starts_with("///")).count();
    let told = comment(block.lines().take(code_at)).join("\n");
    let code = block.lines().skip(code_at).collect::<Vec<_>>().join("\n");
    let words: Vec<&str> = code.split_whitespace().collect();
    let (kind, name) = match words.as_slice() {
        ["#define", name, value] => (Kind::Constant { value: (*value).to_owned() }, *name),
        ["typedef", "struct", name, "{", ..] => (Kind::Structure { members: members(&code) }, *name),
        ["typedef", "struct", _, name] => (Kind::Handle, name.trim_end_matches(';')),
        ["typedef", ..] => (Kind::Callback, name_before(&code, ")(")?),
        _ => (Kind::Function, name_before(&code, "(")?),
    };
    let name = name.to_owned();
    Ok(Item { kind, name, code, told })
}

fn comment<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<&'l str> {
    let bare = lines.filter_map(|line| line.trim_start().strip_prefix("///"));
    bare.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect()
}

/// The name that stands right before `end`.
fn name_before<'c>(code: &'c str, end: &str) -> Result<&'c str> {
    let (head, _) = code.split_once(end).with_context(|| format!("no `{end}` in `{code}`"))?;
    Ok(head.rsplit([' ', '*', '(']).next().unwrap_or(head))
}

fn members(code: &str) -> Vec<Member> {
    let (mut members, mut told) = (Vec::new(), Vec::new());
    for line in code.lines().filter(|line| line.starts_with(' ')) {
        match line.trim().strip_suffix(';').filter(|_| !line.trim_start().starts_with("///")) {
            Some(code) => members.push(Member { code: code.to_owned(), told: std::mem::take(&mut told).join(" ") }),
            None => told.extend(comment([line].into_iter())),
        }
    }
    members
}

/// The functions of each source, under the name of the source.
fn functions(out: &mut String, root: &Path, items: &[Item]) -> Result<()> {
    let (mut told, all) = (0, items.iter().filter(|item| item.kind == Kind::Function).count());
    writeln!(out, "## Functions\n")?;
    for source in SOURCES {
        let names = names(root, source)?;
        let of_source: Vec<&Item> =
            items.iter().filter(|item| item.kind == Kind::Function && names.contains(&item.name)).collect();
        if !of_source.is_empty() {
            writeln!(out, "### {}\n", heading(source))?;
        }
        for Item { name, code, told, .. } in &of_source {
            writeln!(out, "#### `{name}`\n\n```c\n{code}\n```\n\n{told}\n")?;
        }
        told += of_source.len();
    }
    ensure!(told == all, "{told} of {all} functions of the header were found in the sources");
    Ok(())
}

/// The functions that a source exports to C.
fn names(root: &Path, source: &str) -> Result<Vec<String>> {
    let path = path(root, source);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.split("extern \"C\" fn ").skip(1).filter_map(|rest| rest.split('(').next()).map(str::to_owned).collect())
}

/// Text for one cell of a table in Markdown.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', r"\|")
}

/// `core_thread` as `Core thread`.
fn heading(source: &str) -> String {
    let words = source.replace('_', " ");
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}

fn types(out: &mut String, items: &[Item]) -> Result<()> {
    writeln!(out, "## Handles\n\n| type | what it is |\n|---|---|")?;
    for Item { name, told, .. } in items.iter().filter(|item| item.kind == Kind::Handle) {
        writeln!(out, "| `{name}` | {} |", cell(told))?;
    }
    writeln!(out, "\n## Structures\n")?;
    for Item { kind, name, told, .. } in items {
        let Kind::Structure { members } = kind else { continue };
        writeln!(out, "### `{name}`\n\n{told}\n\n| member | meaning |\n|---|---|")?;
        members.iter().try_for_each(|Member { code, told }| writeln!(out, "| `{code}` | {} |", cell(told)))?;
        writeln!(out)?;
    }
    writeln!(out, "## Functions of the program that the library calls\n")?;
    for Item { name, code, told, .. } in items.iter().filter(|item| item.kind == Kind::Callback) {
        writeln!(out, "### `{name}`\n\n```c\n{code}\n```\n\n{told}\n")?;
    }
    Ok(())
}

fn constants(out: &mut String, items: &[Item]) -> Result<()> {
    writeln!(out, "## Constants\n\n| constant | value | meaning |\n|---|---|---|")?;
    for Item { kind, name, told, .. } in items {
        if let Kind::Constant { value } = kind {
            writeln!(out, "| `{name}` | {value} | {} |", cell(told))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_each_kind_are_told_apart() {
        // The sign @ stands for the slashes of a comment, which would be comments of this file.
        let header = "#include <a.h>\n\n@ One.\n#define A_B -1\n\n@ Opaque.\ntypedef struct a_t a_t;\n\n@ Has\n@ two.\n\
                      typedef struct a_s {\n    @ The\n    @ size.\n    uint32_t size;\n    const char *name;\n} a_s;\n\n\
                      @ Called.\ntypedef int (*a_body)(void *user);\n\n@ Copies.\n@\n@ Slow.\nconst char *a_copy(int x);\n\n}";
        let items = items(&header.replace('@', "///")).unwrap();
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["A_B", "a_t", "a_s", "a_body", "a_copy"]);
        let [constant, handle, structure, callback, function] = items.as_slice() else { panic!("{items:?}") };
        assert_eq!(constant.kind, Kind::Constant { value: "-1".to_owned() });
        let kinds = [&handle.kind, &callback.kind, &function.kind];
        assert_eq!(kinds, [&Kind::Handle, &Kind::Callback, &Kind::Function]);
        let member = |code: &str, told: &str| Member { code: code.to_owned(), told: told.to_owned() };
        let members = vec![member("uint32_t size", "The size."), member("const char *name", "")];
        assert_eq!((&structure.kind, structure.told.as_str()), (&Kind::Structure { members }, "Has\ntwo."));
        assert_eq!(
            (function.told.as_str(), function.code.as_str()),
            ("Copies.\n\nSlow.", "const char *a_copy(int x);")
        );
    }

    #[test]
    fn a_source_is_a_heading() {
        assert_eq!(heading("core_thread"), "Core thread");
    }
}
