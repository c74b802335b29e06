//! `isolcpus=` and `nohz_full=` together: the kernel keeps the CPUs of the first and refuses what does not agree with
//! them.
//!
//! Follows `housekeeping_setup` over the words in their order. Knows nothing of words whose own value is refused: those
//! are handed over as refused.

use super::Target;
use super::values::{Wrong, cpu_list};
use crate::cmdline::Token;
use crate::cpu_set::CpuSet;
use crate::machine::Version;

const SOURCE: &str = "kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c: housekeeping_setup";

/// What CPUs can be kept from, as far as the words are compared by it; in the order of 7.3.
const DOMAIN: usize = 0;
const MANAGED_IRQ: usize = 1;
const NOISE: usize = 2;

/// Whether a word is one of the two.
pub(super) fn is_one(token: &Token) -> bool {
    matches!(token.name.as_str(), "isolcpus" | "nohz_full") && !token.is_for_init
}

/// What is wrong with a word because of those in front of it.
pub(super) fn check(
    token: &Token,
    line: &[Token],
    target: &Target,
    is_refused: impl Fn(&Token) -> bool,
) -> Option<Wrong> {
    if !is_one(token) {
        return None;
    }
    if is_refused(token) {
        return None;
    }
    let place = line.iter().position(|word| word.end == token.end)?;
    let (kinds, apart) = read(token, target)?;
    let why = refusal(&kinds, &apart, &kept(&line[..place], target, is_refused), target)?;
    Some(Wrong::rejected(why, SOURCE))
}

/// What the words of a line come to, and which word it was.
pub(super) fn kept<'a>(
    line: &'a [Token],
    target: &Target,
    is_refused: impl Fn(&Token) -> bool,
) -> [Option<(CpuSet, &'a Token)>; 3] {
    let mut kept: [Option<(CpuSet, &Token)>; 3] = [None, None, None];
    for word in line.iter().filter(|word| is_one(word) && !is_refused(word)) {
        let Some((kinds, apart)) = read(word, target) else { continue };
        if refusal(&kinds, &apart, &kept, target).is_none() {
            for kind in kinds {
                kept[kind].get_or_insert_with(|| (apart.clone(), word));
            }
        }
    }
    kept
}

fn refusal(kinds: &[usize], apart: &CpuSet, kept: &[Option<(CpuSet, &Token)>; 3], target: &Target) -> Option<String> {
    disagrees(kinds, apart, kept).or_else(|| leaves_none(kinds, apart, kept, target))
}

/// The CPUs of a list; `None` where they are not known without the machine.
pub(super) fn cpus(list: &str, target: &Target) -> Option<CpuSet> {
    let needs_machine = list.contains('N') || list.contains("all");
    if needs_machine && target.possible.is_none() {
        return None;
    }
    CpuSet::parse_kernel(list, target.cpus().unwrap_or(u32::MAX)).ok()
}

/// What a word keeps from its CPUs, and which these are; `None` where that is not known without the machine.
fn read(word: &Token, target: &Target) -> Option<(Vec<usize>, CpuSet)> {
    let value = word.value.as_deref()?;
    let (flags, list) = if word.name == "nohz_full" { (Vec::new(), value) } else { cpu_list(value) };
    let mut kinds: Vec<usize> = flags
        .iter()
        .filter_map(|flag| match *flag {
            "domain" => Some(DOMAIN),
            "managed_irq" => Some(MANAGED_IRQ),
            "nohz" => Some(NOISE),
            _ => None,
        })
        .collect();
    if word.name == "nohz_full" {
        kinds.push(NOISE);
    } else if kinds.is_empty() {
        kinds.push(DOMAIN);
    }
    let apart = cpus(list, target)?;
    let Some(possible) = &target.possible else { return Some((kinds, apart)) };
    // Where no CPU would be left, the boot CPU is taken out again.
    let apart = apart.intersection(possible);
    let boot = possible.iter().next();
    Some((kinds, if apart == *possible { apart.iter().filter(|cpu| Some(*cpu) != boot).collect() } else { apart }))
}

fn disagrees(kinds: &[usize], apart: &CpuSet, kept: &[Option<(CpuSet, &Token)>; 3]) -> Option<String> {
    let (_, first) = kinds.iter().filter_map(|kind| kept[*kind].as_ref()).find(|(before, _)| before != apart)?;
    Some(format!(
        "{} stands in front of it with other CPUs; the kernel keeps the first and drops this word",
        crate::fact::printable(&first.raw, 80)
    ))
}

/// From 7.x on a CPU must be left that is in neither.
fn leaves_none(
    kinds: &[usize],
    apart: &CpuSet,
    kept: &[Option<(CpuSet, &Token)>; 3],
    target: &Target,
) -> Option<String> {
    let matters = |kind: &usize| matches!(*kind, DOMAIN | NOISE);
    let possible = target.possible.as_ref().filter(|_| target.version >= Version::new(7, 0))?;
    if !kinds.iter().any(matters) {
        return None;
    }
    let (before, first) = [DOMAIN, NOISE].iter().find_map(|kind| kept[*kind].as_ref())?;
    let is_left = possible.iter().any(|cpu| !apart.contains(cpu) && !before.contains(cpu));
    (!is_left).then(|| {
        format!(
            "with {} in front of it no CPU is left that is in neither; from 7.x the kernel then drops this word",
            crate::fact::printable(&first.raw, 80)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmdline::words;
    use crate::machine::{Arch, Flavour};

    /// Which words are refused, one letter each.
    fn fates(line: &str, major: u32, minor: u32) -> String {
        let target = Target {
            version: Version::new(major, minor),
            flavour: Flavour::Dynamic,
            arch: Arch::X86,
            possible: CpuSet::parse_list("0-3").ok(),
        };
        let line = words(line.as_bytes());
        line.iter().map(|w| if check(w, &line, &target, |_| false).is_some() { 'R' } else { 'a' }).collect()
    }

    #[test]
    fn the_first_counts_as_in_the_kernel() {
        for (line, old, new) in [
            ("nohz_full=2 nohz_full=3", "aR", "aR"),
            ("nohz_full=2 nohz_full=3 nohz_full=2", "aRa", "aRa"),
            ("isolcpus=2 isolcpus=3", "aR", "aR"),
            ("isolcpus=2-3 isolcpus=2-N", "aa", "aa"),
            ("isolcpus=managed_irq,2 isolcpus=domain,3", "aa", "aa"),
            ("isolcpus=nohz,2 nohz_full=3", "aR", "aR"),
            ("isolcpus=managed_irq,domain,2-3 nohz_full=3", "aa", "aa"),
            ("nohz_full=0-1 isolcpus=2-3", "aa", "aR"),
            ("isolcpus=managed_irq,0-1 nohz_full=2-3", "aa", "aa"),
            ("isolcpus=0-1 isolcpus=managed_irq,2-3 nohz_full=2-3", "aaa", "aaR"),
            ("isolcpus=0-3 isolcpus=1-3", "aa", "aa"),
            ("nohz_full=1 -- nohz_full=2", "aaa", "aaa"),
        ] {
            assert_eq!(fates(line, 6, 12), old, "{line} on 6.12");
            assert_eq!(fates(line, 6, 1), old, "{line} on 6.1");
            assert_eq!(fates(line, 7, 3), new, "{line} on 7.3");
        }
    }

    #[test]
    fn what_a_list_means_is_not_guessed() {
        let target = Target { version: Version::new(6, 12), flavour: Flavour::Stock, arch: Arch::X86, possible: None };
        let refused = |line: &str| {
            let line = words(line.as_bytes());
            line.last().is_some_and(|word| check(word, &line, &target, |_| false).is_some())
        };
        assert!(!refused("isolcpus=2-3 isolcpus=2-N"));
        assert!(refused("isolcpus=2-3 isolcpus=3"));
    }
}
