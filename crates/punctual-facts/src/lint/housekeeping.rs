//! Checks `isolcpus=` and `nohz_full=` on one line: the kernel keeps the CPUs of the first word, and refuses a later
//! word that does not agree with them.
//!
//! This module does the same as the kernel's `housekeeping_setup` for the words in their order. The caller passes a
//! function that decides whether a word is refused for its own value.

use super::Target;
use super::choices::Wrong;
use super::values::{FlagsAndCpus, cpu_list};
use crate::cmdline::Token;
use crate::cpu_set::CpuSet;
use crate::machine::Version;

const SOURCE: &str = "kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c: housekeeping_setup";

/// Indices into [`Kept`]: the kinds of isolation for which the kernel compares the words, in the order of 7.3.
const DOMAIN: usize = 0;
const MANAGED_IRQ: usize = 1;
const NOISE: usize = 2;

/// CPUs, and the word of the line that names them.
pub(super) struct Named<'a> {
    pub(super) cpus: CpuSet,
    pub(super) word: &'a Token,
}

/// For each kind of isolation, the first accepted word that asks for it.
type Kept<'a> = [Option<Named<'a>>; 3];

/// Whether a word is `isolcpus=` or `nohz_full=`.
pub(super) fn is_one(token: &Token) -> bool {
    matches!(token.name.as_str(), "isolcpus" | "nohz_full") && !token.is_for_init
}

/// The reason why the kernel refuses a word because of earlier words; `None` if it accepts the word.
pub(super) fn check(
    token: &Token,
    line: &[Token],
    target: &Target,
    is_refused: impl Fn(&Token) -> bool,
) -> Option<Wrong> {
    if !is_one(token) || is_refused(token) {
        return None;
    }
    let place = line.iter().position(|word| word.end == token.end)?;
    let (kinds, apart) = read(token, target)?;
    let why = refusal(&kinds, &apart, &kept(&line[..place], target, is_refused), target)?;
    Some(Wrong::rejected(why, SOURCE))
}

/// For each kind of isolation, the word of the line that the kernel keeps.
pub(super) fn kept<'a>(line: &'a [Token], target: &Target, is_refused: impl Fn(&Token) -> bool) -> Kept<'a> {
    let mut kept: Kept<'a> = [None, None, None];
    for word in line.iter().filter(|word| is_one(word) && !is_refused(word)) {
        let Some((kinds, apart)) = read(word, target) else { continue };
        if refusal(&kinds, &apart, &kept, target).is_none() {
            for kind in kinds {
                kept[kind].get_or_insert_with(|| Named { cpus: apart.clone(), word });
            }
        }
    }
    kept
}

fn refusal(kinds: &[usize], apart: &CpuSet, kept: &Kept<'_>, target: &Target) -> Option<String> {
    disagrees(kinds, apart, kept).or_else(|| leaves_none(kinds, apart, kept, target))
}

/// The CPUs in a list. `None` if the list uses `N` or `all` and the machine's CPUs are not known.
pub(super) fn cpus(list: &str, target: &Target) -> Option<CpuSet> {
    let needs_machine = list.contains('N') || list.contains("all");
    if needs_machine && target.possible.is_none() {
        return None;
    }
    CpuSet::parse_kernel(list, target.cpus().unwrap_or(u32::MAX)).ok()
}

/// The kinds of isolation that a word asks for, and its CPUs. `None` if the CPUs depend on a machine that is not known.
fn read(word: &Token, target: &Target) -> Option<(Vec<usize>, CpuSet)> {
    let value = word.value.as_deref()?;
    let is_tick = word.name == "nohz_full";
    let FlagsAndCpus { flags, cpus: list } =
        if is_tick { FlagsAndCpus { flags: vec!["nohz"], cpus: value } } else { cpu_list(value) };
    let kind = |flag: &&str| ["domain", "managed_irq", "nohz"].iter().position(|known| known == flag);
    let mut kinds: Vec<usize> = flags.iter().filter_map(kind).collect();
    if kinds.is_empty() {
        kinds.push(DOMAIN);
    }
    let apart = cpus(list, target)?;
    let Some(possible) = &target.possible else { return Some((kinds, apart)) };
    // If the list names every possible CPU, the kernel takes the boot CPU out of it again.
    let apart = apart.intersection(possible);
    let boot = possible.iter().next();
    Some((kinds, if apart == *possible { apart.iter().filter(|cpu| Some(*cpu) != boot).collect() } else { apart }))
}

fn disagrees(kinds: &[usize], apart: &CpuSet, kept: &Kept<'_>) -> Option<String> {
    let first = kinds.iter().filter_map(|kind| kept[*kind].as_ref()).find(|first| first.cpus != *apart)?;
    Some(format!(
        "{} comes before it with other CPUs; the kernel keeps the first word and drops this one",
        crate::fact::printable(&first.word.raw, 80)
    ))
}

/// The text for a later word that is dropped: if `isolcpus=` and `nohz_full=` together leave no CPU for other work,
/// kernels from 7.0 on drop the later word. A word that isolates from managed interrupts only is never dropped for this
/// reason.
fn leaves_none(kinds: &[usize], apart: &CpuSet, kept: &Kept<'_>, target: &Target) -> Option<String> {
    let possible = target.possible.as_ref().filter(|_| target.version >= Version::new(7, 0))?;
    if kinds.iter().all(|kind| *kind == MANAGED_IRQ) {
        return None;
    }
    let first = [DOMAIN, NOISE].iter().find_map(|kind| kept[*kind].as_ref())?;
    let is_left = possible.iter().any(|cpu| !apart.contains(cpu) && !first.cpus.contains(cpu));
    (!is_left).then(|| {
        format!(
            "together with {} before it, it names every CPU; from 7.x on, the kernel then drops this word",
            crate::fact::printable(&first.word.raw, 80)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmdline::words;
    use crate::machine::Flavour;

    #[test]
    fn what_a_list_means_is_not_guessed() {
        let target = Target { possible: None, ..Target::x86(6, 12, Flavour::Stock) };
        let refused = |line: &str| {
            let line = words(line.as_bytes());
            line.last().is_some_and(|word| check(word, &line, &target, |_| false).is_some())
        };
        assert!(!refused("isolcpus=2-3 isolcpus=2-N"));
        assert!(refused("isolcpus=2-3 isolcpus=3"));
    }
}
