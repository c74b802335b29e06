//! Finds words about CPUs that the kernel accepts one by one, but that make no sense together.
//!
//! Of words that contradict each other, only the last is reported. The check is for lines without a running machine; on
//! a running machine, the audit compares the values in force. The caller passes a function that decides whether the
//! kernel refuses a word.

use super::Target;
use super::housekeeping::{self, Named};
use super::values::cpu_list;
use crate::cmdline::Token;
use crate::cpu_set::CpuSet;

/// An effect of a word that its author hardly meant, and what to write instead.
pub(super) struct Contradiction {
    pub(super) why: String,
    pub(super) instead: String,
    pub(super) source: &'static str,
}

/// The words about CPUs on one line. The kernel uses the last word of each name.
struct OnLine<'a> {
    isolated: Option<Named<'a>>,
    tickless: Option<Named<'a>>,
    interrupts: Option<Named<'a>>,
    callbacks: Option<Named<'a>>,
    boot: u32,
}

/// The contradiction between this word and earlier words of the line. A word that isolates the boot CPU is reported as
/// well.
pub(super) fn find(
    token: &Token,
    line: &[Token],
    target: &Target,
    is_refused: impl Fn(&Token) -> bool,
) -> Option<Contradiction> {
    if let Some(found) = pages_before_their_size(token, line).or_else(|| never_started(token, line, target)) {
        return Some(found);
    }
    let is_about_cpus = housekeeping::is_one(token) || matches!(token.name.as_str(), "irqaffinity" | "rcu_nocbs");
    if !is_about_cpus || token.is_for_init {
        return None;
    }
    let last = |name: &str| {
        let word = line.iter().rev().find(|word| word.name == name && !word.is_for_init)?;
        Some(Named { cpus: housekeeping::cpus(word.value.as_deref()?, target)?, word })
    };
    let [isolated, _, tickless] = housekeeping::kept(line, target, is_refused);
    let boot = target.possible.as_ref().and_then(CpuSet::first).unwrap_or(0);
    let words = OnLine { isolated, tickless, interrupts: last("irqaffinity"), callbacks: last("rcu_nocbs"), boot };
    let rules = [OnLine::boot_cpu, OnLine::tick_without_isolation, OnLine::interrupts, OnLine::callbacks];
    rules.iter().find_map(|rule| rule(&words, token))
}

/// Checks that `hugepages=` follows the size that it is meant for. `hugepages=` sets the number of pages of the size
/// before it or, without one, of the default size.
fn pages_before_their_size(token: &Token, line: &[Token]) -> Option<Contradiction> {
    let for_kernel = || line.iter().filter(|word| !word.is_for_init);
    let sizes = || for_kernel().filter(|word| word.name == "hugepagesz");
    if token.name != "hugepages" || token.is_for_init || sizes().any(|size| size.end < token.end) {
        return None;
    }
    let size = sizes().next()?;
    // A later `hugepages=` sets the number of pages of this size.
    if for_kernel().any(|word| word.name == "hugepages" && word.end > size.end) {
        return None;
    }
    let why = format!(
        "it sets the number of pages for the page size written before it; no size is written before it, so these pages \
        have the default size, and {} gets no pages",
        raw(size)
    );
    let instead = format!("{} {}", raw(size), raw(token));
    Some(Contradiction { why, instead, source: "kernel mm/hugetlb.c: hugepages_setup" })
}

/// Finds CPUs in a list that the kernel never starts because of `maxcpus=` or `nr_cpus=`.
fn never_started(token: &Token, line: &[Token], target: &Target) -> Option<Contradiction> {
    if !housekeeping::is_one(token) && !matches!(token.name.as_str(), "irqaffinity" | "rcu_nocbs") {
        return None;
    }
    let limits = line.iter().filter(|word| !word.is_for_init && matches!(word.name.as_str(), "maxcpus" | "nr_cpus"));
    let limit = limits.rev().find_map(|word| Some((word, word.value.as_deref()?.parse::<u32>().ok()?)));
    let (word, most) = limit.filter(|(_, most)| *most > 0)?;
    let named = housekeeping::cpus(token.value.as_deref()?, target)?;
    let missing: CpuSet = named.iter().filter(|cpu| *cpu >= most).collect();
    if missing.is_empty() {
        return None;
    }
    let why = format!("{} starts only {most} CPUs at boot, and CPU {missing} is not one of them", raw(word));
    let rest = named.difference(&missing);
    let instead = or_hint(&format!("{}=", token.name), &rest, &format!("without {}", raw(word)));
    Some(Contradiction { why, instead, source: "kernel kernel/cpu.c: maxcpus, kernel/smp.c: nrcpus" })
}

/// Whether the word is the last one of `words`. A contradiction is reported at the last word.
fn is_last(token: &Token, words: &[&Token]) -> bool {
    words.iter().map(|word| word.end).max() == Some(token.end)
}

fn raw(word: &Token) -> String {
    crate::fact::printable(&word.raw, 80)
}

fn joined(words: &[&Token]) -> String {
    words.iter().map(|word| raw(word)).collect::<Vec<_>>().join(" and ")
}

/// The text `prefix` followed by the CPUs. If the set is empty, the text `hint`.
fn or_hint(prefix: &str, cpus: &CpuSet, hint: &str) -> String {
    if cpus.is_empty() { hint.to_owned() } else { format!("{prefix}{cpus}") }
}

impl OnLine<'_> {
    fn apart(&self) -> impl Iterator<Item = &Named<'_>> {
        self.isolated.iter().chain(&self.tickless)
    }

    fn cpus_apart(&self) -> CpuSet {
        self.apart().fold(CpuSet::new(), |all, named| all.union(&named.cpus))
    }

    fn boot_cpu(&self, token: &Token) -> Option<Contradiction> {
        let boot = self.boot;
        let Named { cpus, word } =
            self.apart().find(|named| named.word.end == token.end && named.cpus.contains(boot))?;
        let rest = cpus.iter().filter(|cpu| *cpu != boot).collect();
        let value = word.value.as_deref().unwrap_or_default();
        let flags = value.strip_suffix(cpu_list(value).cpus).unwrap_or_default();
        let why = format!(
            "it contains CPU {boot}; if that is the boot CPU, the kernel keeps time there at first, and irqaffinity= \
            always includes it"
        );
        let instead = or_hint(&format!("{}={flags}", word.name), &rest, &format!("{} with other CPUs", word.name));
        Some(Contradiction { why, instead, source: "kernel 6.12 kernel/time/tick-common.c, kernel/irq/irqdesc.c" })
    }

    fn tick_without_isolation(&self, token: &Token) -> Option<Contradiction> {
        let (isolated, tickless) = (self.isolated.as_ref()?, self.tickless.as_ref()?);
        let only = tickless.cpus.difference(&isolated.cpus);
        if only.is_empty() || !is_last(token, &[isolated.word, tickless.word]) {
            return None;
        }
        let why = format!(
            "{} stops the tick of CPU {only}, which {} does not isolate: the scheduler still moves tasks there, and if \
            there is more than one task, the tick continues",
            raw(tickless.word),
            raw(isolated.word)
        );
        let source = "kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c, kernel/sched/core.c: sched_can_stop_tick";
        Some(Contradiction { why, instead: format!("nohz_full={}", isolated.cpus), source })
    }

    fn interrupts(&self, token: &Token) -> Option<Contradiction> {
        let wanted = self.interrupts.as_ref()?;
        let both = wanted.cpus.intersection(&self.cpus_apart());
        let concerned = self.apart().filter(|named| !named.cpus.intersection(&both).is_empty());
        let setting_apart: Vec<&Token> = concerned.map(|named| named.word).collect();
        if both.is_empty() || !is_last(token, &[&setting_apart[..], &[wanted.word]].concat()) {
            return None;
        }
        let rest = wanted.cpus.difference(&both);
        let by = joined(&setting_apart);
        let why = format!("{} lets interrupts go to CPU {both}, which is isolated by {by}", raw(wanted.word));
        let instead = or_hint("irqaffinity=", &rest, "irqaffinity= with CPUs that are not isolated");
        Some(Contradiction { why, instead, source: "kernel 6.1, 6.12, 7.3 kernel/irq/irqdesc.c: irq_affinity_setup" })
    }

    fn callbacks(&self, token: &Token) -> Option<Contradiction> {
        let Named { cpus: offloaded, word } = self.callbacks.as_ref()?;
        let apart = self.cpus_apart();
        let setting_apart: Vec<&Token> = self.apart().map(|named| named.word).collect();
        // If the word offloads all CPUs, its author certainly means all CPUs.
        let is_all = word.value.as_deref().is_some_and(|v| matches!(v, "all" | "0-N"));
        let is_last = is_last(token, &[&setting_apart[..], &[*word]].concat());
        if is_all || setting_apart.is_empty() || *offloaded == apart || !is_last {
            return None;
        }
        let (missing, more) = (apart.difference(offloaded), offloaded.difference(&apart));
        let (word, by) = (raw(word), joined(&setting_apart));
        let why = if missing.is_empty() {
            format!("{word} also names CPU {more}, which is not isolated by {by}")
        } else if self.tickless.as_ref().is_some_and(|tickless| missing.is_subset(&tickless.cpus)) {
            format!("{word} lacks CPU {missing}, which nohz_full= offloads anyway")
        } else {
            format!("{word} lacks CPU {missing}, which is isolated by {by}: RCU callbacks still run there")
        };
        let instead = format!("rcu_nocbs={apart}");
        Some(Contradiction { why, instead, source: "kernel 6.1, 6.12, 7.3 kernel/rcu/tree_nocb.h: rcu_init_nohz" })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Testimony, lint};
    use super::*;
    use crate::machine::Flavour;

    #[test]
    fn how_many_cpus_there_are_has_to_be_known() {
        let traps = |line: &str, possible: Option<CpuSet>| {
            let target = Target { possible, ..Target::x86(6, 12, Flavour::Rt) };
            lint(line.as_bytes(), &target, &Testimony::none()).into_iter().filter(|word| word.is_trap).count()
        };
        assert_eq!((traps("isolcpus=2-N irqaffinity=0-3", None), traps("isolcpus=2-5 irqaffinity=0-3", None)), (0, 1));
    }
}
