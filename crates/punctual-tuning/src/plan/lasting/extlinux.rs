//! `extlinux.conf`, as U-Boot and extlinux read it; and Debian's u-boot-menu, which writes that file.
//!
//! U-Boot cannot boot a label just once: a person picks the trial's label at the console, and the default stays the same
//! until the words are adopted.

use super::line::Settled;
use super::{
    ENTRY, LAST, Lasted, Obstacle, Starts, TITLE, Trial, Wanted, block, doing, edit, optional, required, shell, tried,
    undoing,
};
use crate::plan::Invocation;
use punctual_facts::fact::Fact;
use punctual_facts::machine::{Machine, configured};
use punctual_facts::tree::Tree;

const CONF: &str = "/boot/extlinux/extlinux.conf";
const MENU_FRAGMENTS: &str = "/etc/u-boot-menu/conf.d";
const MENU_DEFAULTS: &str = "/etc/default/u-boot";
const PARAMETERS: &str = "U_BOOT_PARAMETERS";

struct Label<'a> {
    lines: Vec<&'a str>,
    /// Index of the label's first line in the file.
    first: usize,
    /// Index, among `lines`, of the line that has the words for the kernel.
    append: usize,
    words: &'a str,
}

fn split(line: &str) -> (String, &str) {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word.to_ascii_lowercase(), rest.trim())
}

impl<'a> Label<'a> {
    fn default_of(text: &'a str) -> Result<Self, Obstacle> {
        let mut default = None;
        let mut labels: Vec<(&str, usize, Vec<&str>)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            match (split(line), labels.last_mut()) {
                ((word, rest), _) if word == "default" => default = Some(rest),
                ((word, rest), _) if word == "label" => labels.push((rest, number, vec![line])),
                (_, Some((_, _, lines))) => lines.push(line),
                _ => {}
            }
        }
        let at = labels.iter().position(|(name, ..)| Some(*name) == default).unwrap_or(0);
        let strange = |why: &str| Obstacle::Strange { path: CONF.to_owned(), why: why.to_owned() };
        let (_, first, lines) = labels.into_iter().nth(at).ok_or_else(|| strange("has no label"))?;
        let append = lines.iter().position(|line| split(line).0 == "append");
        let append = append.ok_or_else(|| strange("its default label has no APPEND"))?;
        Ok(Self { words: split(lines[append]).1, append, first, lines })
    }

    /// The label's line with the words for the kernel, with `words` instead.
    fn line_with(&self, words: &str) -> String {
        let old = self.lines[self.append];
        let start = old.find(self.words).filter(|_| !self.words.is_empty());
        format!("{}{words}\n", start.map_or_else(|| format!("{old} "), |start| old[..start].to_owned()))
    }

    /// A copy of the label under our own name, with `words` for the kernel.
    fn ours(&self, words: &str) -> String {
        let mut text = format!("LABEL {ENTRY}\n    MENU LABEL {TITLE}\n");
        for (at, line) in self.lines.iter().enumerate().skip(1) {
            if at == self.append {
                text.push_str(&self.line_with(words));
            } else if split(line).0 != "menu" && !line.trim().is_empty() && !line.trim().starts_with('#') {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }
}

fn without_trial(text: &str) -> String {
    block::without_one(text, &format!("LABEL {ENTRY}\n")).unwrap_or_else(|| text.to_owned())
}

/// Plans a separate label that a person picks at the console.
pub(super) fn trial(tree: &dyn Tree, wanted: &Wanted) -> Result<Trial, Obstacle> {
    let seen = required(tree, CONF)?;
    let base = without_trial(&seen);
    let label = Label::default_of(&base)?;
    if Settled::of(label.words, wanted)?.line == label.words {
        return Ok(Trial::not_needed());
    }
    let ours = label.ours(&tried(label.words, wanted)?);
    let limits = vec![
        format!(
            "U-Boot cannot boot an entry just once: the old one stays the default, and '{TITLE}' has to be picked at the \
             console"
        ),
        "U-Boot boots no label whose words are longer than its own buffer, often 512 to 2048 bytes".to_owned(),
    ];
    let steps = vec![edit(CONF, &seen, block::appended(&base, &ours))];
    Ok(Trial { steps, limits, starts: Starts::Menu(TITLE.to_owned()) })
}

/// Writes the words into the default label, between marks.
pub(super) fn adopt(tree: &dyn Tree, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let seen = required(tree, CONF)?;
    let base = without_trial(&seen);
    let label = Label::default_of(&base)?;
    let settled = Settled::of(label.words, wanted)?;
    let content = if settled.line == label.words { base.clone() } else { replaced(&base, &label, &settled.line) };
    if content == seen {
        return Ok(Lasted::default());
    }
    let limit = "a kernel that does not come up has to be put right at the console, or with the disk in another machine: \
        U-Boot has no entry to fall back to by itself";
    Ok(Lasted { steps: vec![edit(CONF, &seen, content)], limits: vec![limit.to_owned()], lost: Vec::new() })
}

/// The text of the file with `words` in place of the words of this label.
fn replaced(text: &str, label: &Label<'_>, words: &str) -> String {
    let line = label.line_with(words);
    let at = label.first + label.append;
    let mut is_marked = false;
    let lines = text.split_inclusive('\n').enumerate().map(|(number, old)| {
        let new = if number != at {
            old.to_owned()
        } else if is_marked {
            line.clone()
        } else {
            block::marked(&line)
        };
        is_marked = old == block::OPEN;
        new
    });
    lines.collect()
}

/// Writes the words into a fragment of our own for u-boot-menu. If u-boot-menu reads no fragments, they go between
/// marks to the end of its file.
pub(super) fn adopt_menu(tree: &dyn Tree, machine: &Machine, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let has_fragments = [MENU_FRAGMENTS, "/etc/u-boot-menu", "/usr/share/u-boot-menu"]
        .iter()
        .any(|folder| tree.list(folder) != Fact::Absent);
    let file = if has_fragments {
        shell::File::of_our_own(tree, &format!("{MENU_FRAGMENTS}/{LAST}.conf"))?
    } else {
        shell::File::of_others(MENU_DEFAULTS, optional(tree, MENU_DEFAULTS)?.unwrap_or_default())
    };
    let all = shell::with_earlier(file.earlier(), &[PARAMETERS], wanted);
    let places = configured(tree, &machine.boot, machine.kernel.release.known().map(String::as_str));
    let line = places.iter().find(|place| place.place != CONF).and_then(|place| place.line.known().cloned());
    let line = line.unwrap_or_default();
    if Settled::of(&line, wanted)?.line == line && !line.is_empty() {
        return Ok(Lasted::default());
    }
    let settled = Settled::of(&line, &all)?.stripping_only(&line, &shell::stripped(file.earlier()));
    if has_fragments {
        shell::refuse_later(tree, MENU_FRAGMENTS, ".conf", |text| text.contains(PARAMETERS))?;
    }
    // If the variable is empty, it first gets the value that u-boot-update uses by default.
    let text = format!(": \"${{{PARAMETERS}:=ro quiet}}\"\n{}", shell::fragment(PARAMETERS, &[], &settled));
    let update = Invocation::new("u-boot-update", []);
    Ok(Lasted { steps: vec![undoing(update.clone()), file.with(&text), doing(update)], ..Lasted::default() })
}
