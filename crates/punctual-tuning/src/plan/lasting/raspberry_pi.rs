//! The Raspberry Pi, whose firmware reads the words for the kernel from one line of one file and can boot once with
//! `tryboot.txt` instead of `config.txt`.

use super::line::Settled;
use super::{
    Lasted, MADE_BY, Obstacle, Starts, Trial, Wanted, edit, first_there, grub, optional, own, required, tried,
};
use crate::plan::{Invocation, Step};
use punctual_facts::tree::Tree;

const LINES: [&str; 2] = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
/// The file with the kernel command line of a trial boot, which `tryboot.txt` refers to.
const TRIED: &str = "punctual-trial.txt";
/// The configuration that the firmware reads instead of `config.txt` at one boot.
const TRYBOOT: &str = "tryboot.txt";

fn place(tree: &dyn Tree) -> Result<(&'static str, &'static str), Obstacle> {
    let path = first_there(tree, &LINES).ok_or(Obstacle::Missing { path: LINES[0].to_owned() })?;
    Ok((path.strip_suffix("/cmdline.txt").unwrap_or(path), path))
}

fn settled(path: &str, text: &str, wanted: &Wanted) -> Result<Settled, Obstacle> {
    let line = text.trim_end();
    if line.contains('\n') {
        let why = "holds more than one line, and the firmware reads the first one only".to_owned();
        return Err(Obstacle::Strange { path: path.to_owned(), why });
    }
    Settled::of(line, wanted)
}

/// Plans a second configuration and command line, which the firmware reads at one boot.
pub(super) fn trial(tree: &dyn Tree, wanted: &Wanted) -> Result<Trial, Obstacle> {
    let (folder, path) = place(tree)?;
    let text = required(tree, path)?;
    if settled(path, &text, wanted)?.line == text.trim_end() {
        return Ok(Trial::not_needed());
    }
    let config = required(tree, &format!("{folder}/config.txt"))?;
    let names = |key: &str| config.lines().any(|line| line.trim_start().starts_with(key));
    if let Some(key) = ["os_prefix=", "cmdline="].into_iter().find(|key| names(key)) {
        let why = format!("{folder}/config.txt sets {key}, so the firmware reads its words elsewhere");
        return Err(Obstacle::NoTrial(why));
    }
    let tryboot = format!("{folder}/{TRYBOOT}");
    if optional(tree, &tryboot)?.is_some_and(|other| !other.starts_with(MADE_BY)) {
        let why = "is there already, and another tool's: it would start once in place of ours".to_owned();
        return Err(Obstacle::Conflict { path: tryboot, why });
    }
    let end = if config.ends_with('\n') { "" } else { "\n" };
    let steps = vec![
        own(&format!("{folder}/{TRIED}"), format!("{}\n", tried(text.trim_end(), wanted)?)),
        own(&tryboot, format!("{MADE_BY}{config}{end}[all]\ncmdline={TRIED}\n")),
    ];
    let mut limits = vec!["a plain reboot starts as before; only a reboot by this command starts the trial".to_owned()];
    if wanted.panic_seconds > 0 {
        limits.push(grub::only_panics(wanted.panic_seconds));
    }
    Ok(Trial { steps, limits, starts: Starts::Reboot(Invocation::new("reboot", ["0 tryboot"])) })
}

/// Writes the words into the command-line file. That file can hold no remark, so the remark goes into a separate file.
pub(super) fn adopt(tree: &dyn Tree, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let (folder, path) = place(tree)?;
    let seen = required(tree, path)?;
    let settled = settled(path, &seen, wanted)?;
    let mut steps = Vec::new();
    if settled.line != seen.trim_end() {
        let note = format!("{MADE_BY}# {path} was changed; it cannot hold a remark itself.\n");
        steps.push(own(&format!("{path}.punctual"), note));
        steps.push(edit(path, &seen, format!("{}\n", settled.line)));
    }
    for name in [TRYBOOT, TRIED] {
        let left = format!("{folder}/{name}");
        let is_ours = |text: &str| name == TRIED || text.starts_with(MADE_BY);
        if optional(tree, &left)?.is_some_and(|text| is_ours(&text)) {
            steps.push(Step::Remove { path: left });
        }
    }
    Ok(Lasted { steps, ..Lasted::default() })
}
