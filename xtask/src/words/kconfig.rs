//! Reads the Kconfig files of a kernel and finds which options one architecture can have, and which it cannot be without.
//!
//! Options are taken to be independent: what two options exclude together is not seen. Answers of the compiler (`$(...)`)
//! can be anything.

use super::expr::{self, Atoms, Can, Expr};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// One `config` block. An option can have several.
#[derive(Clone, Debug)]
struct Block<N = String> {
    depends: Expr<N>,
    /// When the option can be chosen by hand; `FALSE` if never.
    prompt: Expr<N>,
    /// Values with their conditions, in order: the first that applies counts.
    defaults: Vec<(Expr<N>, Expr<N>)>,
}

#[derive(Clone, Debug)]
struct Symbol<N = String> {
    blocks: Vec<Block<N>>,
    /// Conditions under which others switch it on.
    selected: Vec<Expr<N>>,
    is_tristate: bool,
}

impl Default for Symbol {
    fn default() -> Self {
        Self { blocks: Vec::new(), selected: Vec::new(), is_tristate: false }
    }
}

/// The options of one architecture. Conditions name an option by its place.
#[derive(Debug)]
pub struct Kconfig {
    places: BTreeMap<String, usize>,
    symbols: Vec<Symbol<usize>>,
}

/// Which options can be on, and which have to be.
pub struct Options<'a> {
    config: &'a Kconfig,
    possible: Vec<bool>,
    forced: Vec<bool>,
}

/// Names of an architecture: `ARCH` and `SRCARCH` of the kernel's makefiles.
#[derive(Clone, Copy)]
pub struct ArchNames {
    pub arch: &'static str,
    pub source: &'static str,
}

impl Kconfig {
    pub fn read(root: &Path, names: ArchNames) -> Result<Self> {
        let mut reader = Reader::new(root, names);
        reader.file("Kconfig")?;
        ensure!(reader.symbols.len() > 5000, "{}: only {} options", root.display(), reader.symbols.len());
        Ok(Self::of(&reader.symbols))
    }

    fn of(named: &BTreeMap<String, Symbol>) -> Self {
        let places: BTreeMap<String, usize> = named.keys().cloned().zip(0..).collect();
        // An option that no file declares cannot be on; its place is behind all others.
        let mut place = |name: &String| places.get(name).copied().unwrap_or(usize::MAX);
        let symbols = named.values().map(|symbol| symbol.renamed(&mut place)).collect();
        Self { places, symbols }
    }

    /// The options of a kernel of which these are fixed.
    pub fn solve(&self, fixed: &BTreeMap<&str, bool>) -> Options<'_> {
        let mut is_fixed = vec![None; self.symbols.len()];
        for (name, on) in fixed {
            if let Some(place) = self.places.get(*name) {
                is_fixed[*place] = Some(*on);
            }
        }
        let (mut possible, mut forced) = (vec![true; self.symbols.len()], vec![false; self.symbols.len()]);
        loop {
            let must = self.grow(&is_fixed, |symbol, on| symbol.is_forced(on, &possible));
            let can = self.grow(&is_fixed, |symbol, on| symbol.is_possible(on, &must));
            let is_done = can == possible && must == forced;
            (possible, forced) = (can, must);
            if is_done {
                return Options { config: self, possible, forced };
            }
        }
    }

    /// The smallest set of options that contains each option for which `joins` holds.
    fn grow(&self, fixed: &[Option<bool>], joins: impl Fn(&Symbol<usize>, &[bool]) -> bool) -> Vec<bool> {
        let mut on: Vec<bool> = fixed.iter().map(|fixed| fixed.unwrap_or(false)).collect();
        loop {
            let mut has_grown = false;
            for (place, symbol) in self.symbols.iter().enumerate() {
                if !on[place] && fixed[place].is_none() && joins(symbol, &on) {
                    (on[place], has_grown) = (true, true);
                }
            }
            if !has_grown {
                return on;
            }
        }
    }
}

impl Symbol {
    fn renamed(&self, place: &mut impl FnMut(&String) -> usize) -> Symbol<usize> {
        let mut block = |block: &Block| Block {
            depends: block.depends.renamed(place),
            prompt: block.prompt.renamed(place),
            defaults: block.defaults.iter().map(|(value, when)| (value.renamed(place), when.renamed(place))).collect(),
        };
        let blocks = self.blocks.iter().map(&mut block).collect();
        let selected = self.selected.iter().map(|when| when.renamed(place)).collect();
        Symbol { blocks, selected, is_tristate: self.is_tristate }
    }
}

impl Symbol<usize> {
    fn is_possible(&self, possible: &[bool], forced: &[bool]) -> bool {
        let can = |expr: &Expr<usize>| expr.can(&|place| values(*place, possible, forced)).be_true;
        self.selected.iter().any(can)
            || self.blocks.iter().any(|block| {
                let default = || block.defaults.iter().any(|(value, when)| can(value) && can(when));
                can(&block.depends) && (can(&block.prompt) || default())
            })
    }

    fn is_forced(&self, forced: &[bool], possible: &[bool]) -> bool {
        let can = |expr: &Expr<usize>| expr.can(&|place| values(*place, possible, forced));
        let must = |expr: &Expr<usize>| !can(expr).be_false;
        if self.selected.iter().any(must) {
            return true;
        }
        let is_asked = |block: &Block<usize>| can(&block.prompt).be_true && can(&block.depends).be_true;
        if self.blocks.iter().any(is_asked) {
            return false;
        }
        let blocks = self.blocks.iter().filter(|block| can(&block.depends).be_true);
        let mut defaults = blocks.flat_map(|block| block.defaults.iter().map(move |default| (block, default)));
        let first = defaults.find(|(_, (_, when))| can(when).be_true);
        first.is_some_and(|(block, (value, when))| must(&block.depends) && must(when) && must(value))
    }
}

fn values(place: usize, possible: &[bool], forced: &[bool]) -> Can {
    let has = |set: &[bool]| set.get(place).copied().unwrap_or(false);
    Can { be_true: has(possible), be_false: !has(forced) }
}

impl Options<'_> {
    pub fn can(&self, name: &str) -> Can {
        self.config.places.get(name).map_or(Can::FALSE, |place| values(*place, &self.possible, &self.forced))
    }

    pub fn is_tristate(&self, name: &str) -> bool {
        self.config.places.get(name).is_some_and(|place| self.config.symbols[*place].is_tristate)
    }
}

struct Reader<'a> {
    root: &'a Path,
    names: ArchNames,
    symbols: BTreeMap<String, Symbol>,
    /// The files that were read, with the conditions around them.
    files: BTreeSet<String>,
    /// Conditions of the blocks around: of `if`, `menu` and `choice`.
    outer: Vec<Expr>,
    /// Whether the block that was opened last, a menu or a choice, still takes `depends on`.
    is_block_open: bool,
    current: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Path, names: ArchNames) -> Self {
        let (symbols, files) = (BTreeMap::new(), BTreeSet::new());
        Self { root, names, symbols, files, outer: Vec::new(), is_block_open: false, current: None }
    }
}

impl Reader<'_> {
    fn file(&mut self, name: &str) -> Result<()> {
        let path = self.root.join(name);
        let Ok(text) = fs::read(&path) else { return Ok(()) };
        // Some files are meant for several places; each place reads them with its own conditions around them.
        let is_new = self.files.insert(format!("{name} {:?}", self.outer));
        if !is_new {
            return Ok(());
        }
        self.text(&String::from_utf8_lossy(&text)).with_context(|| path.display().to_string())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let text = text.replace("\\\n", " ");
        let mut help: Option<usize> = None;
        for line in text.lines() {
            let indent = indent(line);
            let line = without_comment(line).trim();
            if let Some(least) = &mut help {
                // A help text ends at the first line that is less indented than its first one.
                if line.is_empty() || indent > 0 && (*least == 0 || indent >= *least) {
                    *least = if *least == 0 && !line.is_empty() { indent } else { *least };
                    continue;
                }
                help = None;
            }
            if matches!(line, "help" | "---help---") {
                help = Some(0);
                continue;
            }
            self.line(line).with_context(|| line.to_owned())?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let (keyword, rest) = line
            .split_once([' ', '\t', '"'])
            .map_or((line, ""), |(keyword, _)| (keyword, line[keyword.len()..].trim_start()));
        match keyword {
            "config" | "menuconfig" => self.begin(rest.trim()),
            "source" => {
                let name = rest.trim().trim_matches('"');
                let name = name.replace("$(SRCARCH)", self.names.source).replace("$SRCARCH", self.names.source);
                (self.current, self.is_block_open) = (None, false);
                self.file(&name)?;
            }
            "if" => {
                let condition = self.expr(rest);
                self.open(condition);
                self.is_block_open = false;
            }
            "menu" | "choice" => self.open(Expr::TRUE),
            "endif" | "endmenu" | "endchoice" => {
                self.outer.pop();
                (self.current, self.is_block_open) = (None, false);
            }
            "comment" | "mainmenu" => (self.current, self.is_block_open) = (None, false),
            _ => self.attribute(keyword, rest),
        }
        Ok(())
    }

    fn open(&mut self, condition: Expr) {
        self.outer.push(condition);
        (self.current, self.is_block_open) = (None, true);
    }

    fn begin(&mut self, name: &str) {
        let depends = self.outer.iter().cloned().fold(Expr::TRUE, Expr::and);
        let symbol = self.symbols.entry(name.to_owned()).or_default();
        symbol.blocks.push(Block { depends, prompt: Expr::FALSE, defaults: Vec::new() });
        (self.current, self.is_block_open) = (Some(name.to_owned()), false);
    }

    fn attribute(&mut self, keyword: &str, rest: &str) {
        if keyword == "depends" {
            let condition = self.expr(rest.strip_prefix("on").unwrap_or(rest));
            match (&self.current, self.is_block_open) {
                (Some(_), _) => self.change(|block| block.depends = block.depends.clone().and(condition)),
                (None, true) => {
                    let outer = self.outer.pop().unwrap_or(Expr::TRUE);
                    self.outer.push(outer.and(condition));
                }
                (None, false) => {}
            }
            return;
        }
        let Some(name) = self.current.clone() else { return };
        let (value, when) = conditional(rest);
        let when = when.map_or(Expr::TRUE, |when| self.expr(when));
        match keyword {
            "tristate" | "bool" | "boolean" | "prompt" | "int" | "hex" | "string" => {
                if let Some(symbol) = self.symbols.get_mut(&name) {
                    symbol.is_tristate |= keyword == "tristate";
                }
                if !value.is_empty() {
                    self.change(|block| block.prompt = block.prompt.clone().or(when));
                }
            }
            "default" | "def_bool" | "def_tristate" => {
                let value = self.expr(value);
                if let Some(symbol) = self.symbols.get_mut(&name) {
                    symbol.is_tristate |= keyword == "def_tristate";
                }
                self.change(|block| block.defaults.push((value, when)));
            }
            "select" | "imply" => {
                let by = Expr::option(&name).and(when);
                let selected = &mut self.symbols.entry(value.trim().to_owned()).or_default().selected;
                // What is only implied can be on, but need not be.
                selected.push(if keyword == "imply" { by.and(Expr::Either) } else { by });
            }
            _ => {}
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Block)) {
        let Some(symbol) = self.current.as_ref().and_then(|name| self.symbols.get_mut(name)) else { return };
        if let Some(block) = symbol.blocks.last_mut() {
            change(block);
        }
    }

    fn expr(&self, text: &str) -> Expr {
        expr::parse(text, self)
    }
}

/// An operand of a Kconfig condition, with its value filled in.
enum Operand<'a> {
    Text(&'a str),
    Option(&'a str),
    Macro,
}

impl Reader<'_> {
    fn operand<'a>(&self, text: &mut &'a str) -> Operand<'a> {
        let rest = text.trim_start();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let inner = &rest[1..];
            let end = inner.find(quote).unwrap_or(inner.len());
            *text = inner.get(end + 1..).unwrap_or("");
            return match &inner[..end] {
                "$(ARCH)" | "$ARCH" => Operand::Text(self.names.arch),
                "$(SRCARCH)" => Operand::Text(self.names.source),
                text if text.contains('$') => Operand::Macro,
                text => Operand::Text(text),
            };
        }
        if rest.starts_with("$(") {
            let mut depth = 0;
            let end = rest.find(|c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                c == ')' && depth == 0
            });
            *text = end.map_or("", |end| &rest[end + 1..]);
            return Operand::Macro;
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        *text = &rest[end..];
        Operand::Option(&rest[..end])
    }
}

impl Atoms for Reader<'_> {
    fn atom(&self, text: &mut &str) -> Expr {
        let left = self.operand(text);
        let operator = ["!=", "<=", ">=", "=", "<", ">"].into_iter().find(|operator| expr::take(text, operator));
        let Some(operator) = operator else {
            return match left {
                Operand::Text("y" | "m") | Operand::Option("y" | "m") => Expr::TRUE,
                Operand::Text(_) | Operand::Option("n" | "") => Expr::FALSE,
                // A number is no condition, but the name of an option can begin with one.
                Operand::Option(name)
                    if name.starts_with("0x") || name.bytes().all(|b| b.is_ascii_digit() || b == b'-') =>
                {
                    Expr::FALSE
                }
                Operand::Option(name) => Expr::option(name),
                Operand::Macro => Expr::Either,
            };
        };
        let right = self.operand(text);
        let is_equal = match (left, right) {
            (Operand::Text(a), Operand::Text(b)) => Expr::Const(a == b),
            (Operand::Option(name), Operand::Option("y" | "m") | Operand::Text("y" | "m")) => Expr::option(name),
            (Operand::Option(name), Operand::Option("n") | Operand::Text("n")) => Expr::option(name).not(),
            _ => Expr::Either,
        };
        match operator {
            "=" => is_equal,
            "!=" => is_equal.not(),
            _ => Expr::Either,
        }
    }
}

/// The value and the condition of `VALUE if CONDITION`.
fn conditional(text: &str) -> (&str, Option<&str>) {
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        is_quoted ^= c == '"';
        let is_if = !is_quoted && text[at..].starts_with("if ") || text[at..].starts_with("if(");
        if is_if && (at == 0 || text[..at].ends_with([' ', '\t', '"', ')'])) {
            return (text[..at].trim(), Some(&text[at + 2..]));
        }
    }
    (text.trim(), None)
}

fn without_comment(line: &str) -> &str {
    let mut is_quoted = false;
    let hash = line.char_indices().find(|(_, c)| {
        is_quoted ^= *c == '"';
        *c == '#' && !is_quoted
    });
    hash.map_or(line, |(at, _)| &line[..at])
}

/// The column in which the line begins, with a tab stop every eight columns.
fn indent(line: &str) -> usize {
    line.chars()
        .take_while(|c| c.is_whitespace())
        .fold(0, |column, c| if c == '\t' { (column / 8 + 1) * 8 } else { column + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(text: &str, fixed: &[(&'static str, bool)], expected: &[(&str, Can)]) {
        let names = ArchNames { arch: "x86_64", source: "x86" };
        let mut reader = Reader::new(Path::new("/nowhere"), names);
        reader.text(text).unwrap();
        let config = Kconfig::of(&reader.symbols);
        let options = config.solve(&fixed.iter().copied().collect());
        for (name, can) in expected {
            assert_eq!(options.can(name), *can, "{name}");
        }
    }

    #[test]
    fn an_option_can_be_what_its_prompts_defaults_and_selectors_allow() {
        let text = "config A\n\tbool \"a\"\n\thelp\n\t  config NOT_ONE\n\nconfig B\n\tbool\n\tdefault y if A\n\
            config C\n\tdef_bool y\nconfig D\n\tbool\nconfig E\n\ttristate \"e\" if C\n\tdepends on !C\n\
            config F\n\tbool\nconfig G\n\tdef_bool y\n\tselect F\n";
        let (either, yes, no) = (Can::EITHER, Can::TRUE, Can::FALSE);
        let expected =
            [("A", either), ("B", either), ("C", yes), ("D", no), ("E", no), ("F", yes), ("G", yes), ("NOT_ONE", no)];
        finds(text, &[], &expected);
    }

    #[test]
    fn blocks_pass_their_conditions_on() {
        let text = "config 64BIT\n\tbool \"64\" if \"$(ARCH)\" = \"x86\"\n\tdefault \"$(ARCH)\" != \"i386\"\nif !64BIT\nconfig A\n\
            \tbool \"a\"\nendif\nmenu \"m\"\n\tdepends on RT\nconfig B\n\tbool \"b\"\nendmenu\nconfig C\n\tbool \"c\"\n\
            config RT\n\tbool \"rt\"\nconfig D\n\tdef_bool $(cc-option,-x)\n";
        let expected = [("64BIT", Can::TRUE), ("A", Can::FALSE), ("C", Can::EITHER), ("D", Can::EITHER)];
        finds(text, &[], &expected);
        finds(text, &[("RT", true)], &[("B", Can::EITHER), ("RT", Can::TRUE)]);
        finds(text, &[("RT", false)], &[("B", Can::FALSE)]);
    }

    #[test]
    fn options_that_only_need_each_other_cannot_be() {
        finds(
            "config A\n\tbool \"a\"\n\tdepends on B\nconfig B\n\tbool \"b\"\n\tdepends on A\n",
            &[],
            &[("A", Can::FALSE)],
        );
    }
}
