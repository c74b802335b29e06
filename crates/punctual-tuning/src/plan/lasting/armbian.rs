//! Armbian, whose boot script reads one file of settings and has a single command line.

use super::line::Settled;
use super::{Lasted, Obstacle, Wanted, block, edit, required};

const ENV: &str = "/boot/armbianEnv.txt";
const NAME: &str = "extraargs=";

/// Replaces the extra words of the command line in that file. U-Boot skips lines that begin with a hash, and of several
/// lines with the same name it uses the last.
pub(super) fn adopt(tree: &dyn punctual_facts::tree::Tree, wanted: &Wanted) -> Result<Lasted, Obstacle> {
    let seen = required(tree, ENV)?;
    let base = block::base(&seen);
    let current = seen.lines().filter_map(|line| line.strip_prefix(NAME)).next_back().unwrap_or("");
    let settled = Settled::of(current, wanted)?;
    if settled.line == current {
        return Ok(Lasted::default());
    }
    let content = block::appended(&base, &format!("{NAME}{}\n", settled.line));
    let mut limits = vec![
        "Armbian cannot boot a command line just once: a kernel that does not come up has to be put right at the console, \
         or by taking the marked lines out of /boot/armbianEnv.txt with the card in another machine"
            .to_owned(),
    ];
    if !wanted.no_words.is_empty() {
        limits.push("this does not remove words that /boot/boot.cmd itself puts on the command line".to_owned());
    }
    Ok(Lasted { steps: vec![edit(ENV, &seen, content)], limits, lost: Vec::new() })
}
