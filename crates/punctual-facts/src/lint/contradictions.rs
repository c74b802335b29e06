//! Words about CPUs that the kernel takes one by one, and that do not make sense together.
//!
//! Only the later word of those that do not fit is told of. For lines without a machine: on one that runs, what is in
//! force is compared by the audit. Knows nothing of words that the kernel drops: those are handed over as refused.

use super::Target;
use super::housekeeping;
use super::values::cpu_list;
use crate::cmdline::Token;
use crate::cpu_set::CpuSet;

/// What a word does that is hardly meant, and what to write instead.
pub(super) struct Contradiction {
    pub(super) why: String,
    pub(super) instead: String,
    pub(super) source: &'static str,
}

/// CPUs, and the word that names them.
type Named<'a> = (CpuSet, &'a Token);

/// What the words of a line come to.
struct OnLine<'a> {
    isolated: Option<Named<'a>>,
    tickless: Option<Named<'a>>,
    interrupts: Option<Named<'a>>,
    callbacks: Option<Named<'a>>,
    boot: u32,
}

/// What is wrong between this word and those in front of it; of a word that sets CPU 0 apart, by itself.
pub(super) fn find(
    token: &Token,
    line: &[Token],
    target: &Target,
    is_refused: impl Fn(&Token) -> bool,
) -> Option<Contradiction> {
    let is_one = housekeeping::is_one(token) || matches!(token.name.as_str(), "irqaffinity" | "rcu_nocbs");
    if !is_one || token.is_for_init {
        return None;
    }
    let [isolated, _, tickless] = housekeeping::kept(line, target, is_refused);
    let asked = OnLine {
        isolated,
        tickless,
        interrupts: last(line, "irqaffinity", target),
        callbacks: last(line, "rcu_nocbs", target),
        boot: target.possible.as_ref().and_then(CpuSet::first).unwrap_or(0),
    };
    asked
        .boot_cpu(token)
        .or_else(|| asked.tick_without_isolation(token))
        .or_else(|| asked.interrupts_where_none_should_be(token))
        .or_else(|| asked.callbacks_elsewhere(token))
}

/// Of these words the last one counts.
fn last<'a>(line: &'a [Token], name: &str, target: &Target) -> Option<Named<'a>> {
    let word = line.iter().rev().find(|word| word.name == name && !word.is_for_init)?;
    Some((housekeeping::cpus(word.value.as_deref()?, target)?, word))
}

/// Whether the word is the last of these.
fn is_last(token: &Token, words: &[&Token]) -> bool {
    words.iter().map(|word| word.end).max() == Some(token.end)
}

fn raw(word: &Token) -> String {
    crate::fact::printable(&word.raw, 80)
}

impl OnLine<'_> {
    /// CPUs that are set apart by either word, and the words.
    fn apart(&self) -> (CpuSet, Vec<&Token>) {
        let named = || self.isolated.iter().chain(&self.tickless);
        let cpus = named().fold(CpuSet::new(), |all, (cpus, _)| all.union(cpus));
        (cpus, named().map(|(_, word)| *word).collect())
    }

    fn boot_cpu(&self, token: &Token) -> Option<Contradiction> {
        let mut named = self.isolated.iter().chain(&self.tickless);
        let (cpus, word) = named.find(|(cpus, word)| word.end == token.end && cpus.contains(self.boot))?;
        let rest: CpuSet = cpus.iter().filter(|cpu| *cpu != self.boot).collect();
        let value = word.value.as_deref().unwrap_or_default();
        let flags = value.strip_suffix(cpu_list(value).1).unwrap_or_default();
        let instead = if rest.is_empty() {
            format!("{} with other CPUs", word.name)
        } else {
            format!("{}={flags}{rest}", word.name)
        };
        let why = format!(
            "CPU {0} is in it; where that is the boot CPU, the kernel keeps time there at first, and irqaffinity= always \
             includes it",
            self.boot
        );
        Some(Contradiction { why, instead, source: "kernel 6.12 kernel/time/tick-common.c, kernel/irq/irqdesc.c" })
    }

    fn tick_without_isolation(&self, token: &Token) -> Option<Contradiction> {
        let ((isolated, isolating), (tickless, stopping)) = (self.isolated.as_ref()?, self.tickless.as_ref()?);
        let only = tickless.difference(isolated);
        if only.is_empty() || !is_last(token, &[*isolating, *stopping]) {
            return None;
        }
        let why = format!(
            "{} stops the tick of CPU {only}, which {} leaves to the scheduler: tasks are still moved there, and with \
             more than one the tick goes on",
            raw(stopping),
            raw(isolating)
        );
        Some(Contradiction {
            why,
            instead: format!("nohz_full={isolated}"),
            source: "kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c, kernel/sched/core.c: sched_can_stop_tick",
        })
    }

    fn interrupts_where_none_should_be(&self, token: &Token) -> Option<Contradiction> {
        let (wanted, word) = self.interrupts.as_ref()?;
        let (apart, mut words) = self.apart();
        let both = wanted.intersection(&apart);
        words.retain(|word| [&self.isolated, &self.tickless].iter().any(|named| has(named.as_ref(), word, &both)));
        words.push(*word);
        if both.is_empty() || !is_last(token, &words) {
            return None;
        }
        let rest = wanted.difference(&apart);
        let instead = if rest.is_empty() {
            "irqaffinity= with CPUs that are not set apart".to_owned()
        } else {
            format!("irqaffinity={rest}")
        };
        let why = format!("{} lets interrupts go to CPU {both}, which is set apart by {}", raw(word), by(&words));
        Some(Contradiction { why, instead, source: "kernel 6.1, 6.12, 7.3 kernel/irq/irqdesc.c: irq_affinity_setup" })
    }

    fn callbacks_elsewhere(&self, token: &Token) -> Option<Contradiction> {
        let (offloaded, word) = self.callbacks.as_ref()?;
        let (apart, mut words) = self.apart();
        // All of them is no mistake in a list.
        let is_all = word.value.as_deref().is_some_and(|v| matches!(v, "all" | "0-N"));
        words.push(*word);
        if is_all || words.len() == 1 || *offloaded == apart || !is_last(token, &words) {
            return None;
        }
        let (missing, more) = (apart.difference(offloaded), offloaded.difference(&apart));
        let by = by(&words);
        let why = if missing.is_empty() {
            format!("{} also names CPU {more}, which is not set apart by {by}", raw(word))
        } else if self.tickless.as_ref().is_some_and(|(tickless, _)| missing.is_subset(tickless)) {
            format!("{} lacks CPU {missing}, which nohz_full= offloads all the same", raw(word))
        } else {
            format!(
                "{} lacks CPU {missing}, which is set apart by {by}: the callbacks of RCU still run there",
                raw(word)
            )
        };
        let instead = format!("rcu_nocbs={apart}");
        Some(Contradiction { why, instead, source: "kernel 6.1, 6.12, 7.3 kernel/rcu/tree_nocb.h: rcu_init_nohz" })
    }
}

/// Whether that word names some of the CPUs.
fn has(named: Option<&Named<'_>>, word: &Token, cpus: &CpuSet) -> bool {
    named.is_some_and(|(own, by)| by.end == word.end && !own.intersection(cpus).is_empty())
}

/// The words that set CPUs apart: all but the last, which is compared with them.
fn by(words: &[&Token]) -> String {
    let apart = words.split_last().map(|(_, apart)| apart).unwrap_or_default();
    apart.iter().map(|word| raw(word)).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::super::{Testimony, lint};
    use super::*;
    use crate::machine::{Arch, Flavour, Version};

    /// The words that are told of, with what to write instead.
    fn told(line: &str, possible: Option<&str>) -> Vec<(String, String, String)> {
        let possible = possible.and_then(|list| CpuSet::parse_list(list).ok());
        let target = Target { version: Version::new(6, 12), flavour: Flavour::Rt, arch: Arch::X86, possible };
        let words = lint(line.as_bytes(), &target, &Testimony::none()).into_iter().filter(|word| word.is_trap);
        words.map(|word| (word.word, word.why, word.instead.unwrap_or_default())).collect()
    }

    #[test]
    fn the_later_word_is_told_of() {
        for (line, word, part, instead) in [
            (
                "isolcpus=2-3 irqaffinity=0-2",
                "irqaffinity=0-2",
                "to CPU 2, which is set apart by isolcpus=2-3",
                "irqaffinity=0-1",
            ),
            ("irqaffinity=0-2 isolcpus=2-3", "isolcpus=2-3", "to CPU 2", "irqaffinity=0-1"),
            ("nohz_full=2-3 irqaffinity=2-3", "irqaffinity=2-3", "nohz_full=2-3", "irqaffinity= with CPUs"),
            ("isolcpus=managed_irq,domain,2 nohz_full=2-3", "nohz_full=2-3", "tick of CPU 3", "nohz_full=2"),
            ("nohz_full=1-3 isolcpus=2-3", "isolcpus=2-3", "tick of CPU 1", "nohz_full=2-3"),
            (
                "isolcpus=managed_irq,domain,0-1",
                "isolcpus=managed_irq,domain,0-1",
                "CPU 0 is in it",
                "isolcpus=managed_irq,domain,1",
            ),
            ("isolcpus=0", "isolcpus=0", "CPU 0 is in it", "isolcpus with other CPUs"),
            ("isolcpus=2-3 rcu_nocbs=3", "rcu_nocbs=3", "lacks CPU 2, which is set apart", "rcu_nocbs=2-3"),
            ("isolcpus=2-3 nohz_full=2-3 rcu_nocbs=3", "rcu_nocbs=3", "offloads all the same", "rcu_nocbs=2-3"),
            ("rcu_nocbs=1-3 nohz_full=2-3", "nohz_full=2-3", "also names CPU 1", "rcu_nocbs=2-3"),
        ] {
            let found = told(line, Some("0-3"));
            let [(found_word, why, found_instead)] = found.as_slice() else { panic!("{line}: {found:?}") };
            assert_eq!(found_word, word, "{line}");
            assert!(why.contains(part) && found_instead.contains(instead), "{line}: {why} -> {found_instead}");
        }
    }

    #[test]
    fn words_that_agree_are_left_alone() {
        for line in [
            "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1",
            "isolcpus=2-3 nohz_full=3 rcu_nocbs=2-3",
            "isolcpus=2-3 rcu_nocbs=all",
            "isolcpus=2-3 rcu_nocbs",
            "rcu_nocbs=1",
            "irqaffinity=0-3",
            "isolcpus=2-3 -- irqaffinity=2",
            "irqaffinity=0-3 isolcpus=2-3 irqaffinity=0-1",
            "isolcpus=2-9 irqaffinity=2",
        ] {
            let found = told(line, Some("0-3"));
            assert!(found.is_empty(), "{line}: {found:?}");
        }
        assert!(told("isolcpus=2-N irqaffinity=0-3", None).is_empty(), "how many CPUs there are is not known");
        assert_eq!(told("isolcpus=2-5 irqaffinity=0-3", None).len(), 1);
    }
}
