//! The differences between two machines that were judged for the same kind of work: the machines, their command lines,
//! the configurations of their kernels, and the findings.
//!
//! This module compares values and writes no text for users. Two equal machines give an empty [`AuditDifference`].

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::{Fact, printable};
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::machine::Machine;
use punctual_facts::tree::without_private_values;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the fingerprint's line that holds the command line, which is compared word by word.
const COMMAND_LINE: &str = "command line";
/// The length, in characters, to which the value of a kernel option is cut.
const VALUE_CHARS: usize = 300;

/// One of the two machines that are compared.
#[derive(Clone, Copy, Debug)]
pub struct AuditSide<'a> {
    /// The machine after its audit, which decides which options of the kernel matter.
    pub machine: &'a Machine,
    /// CPUs for which the machine was judged.
    pub cpus: &'a CpuSet,
    pub findings: &'a [Finding],
}

/// The differences from the first machine to the second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditDifference {
    /// Lines of the machines' fingerprints that differ between the machines.
    #[serde(rename = "machine")]
    pub facts: Vec<Changed>,
    /// Words of the command line that only the first machine has, in its order.
    pub words_removed: Vec<String>,
    /// Words of the command line that only the second machine has, in its order.
    pub words_added: Vec<String>,
    /// Options of the kernel's configuration that differ. Only options that some knob read are compared.
    #[serde(rename = "kernel_config")]
    pub options: Vec<Changed>,
    /// Knobs whose findings differ: first the knobs that became worse, with the worst first.
    #[serde(rename = "findings")]
    pub knobs: Vec<Turn>,
}

/// A named value that differs between the two machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changed {
    pub name: String,
    /// The value on the first machine.
    pub from: String,
    /// The value on the second machine.
    pub to: String,
}

/// A knob whose finding differs between the two machines. At most one of the two findings is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    pub id: String,
    pub trend: Trend,
    /// The finding on the first machine.
    pub from: Option<Finding>,
    /// The finding on the second machine.
    pub to: Option<Finding>,
}

/// What a changed finding means for the real-time work. The variants stand in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// The knob is bad on the second machine, and was good or less severe on the first.
    Worse,
    /// The knob is bad on the first machine, and is good or less severe on the second.
    Better,
    /// The verdicts differ, but neither of the two is worse than the other.
    Otherwise,
    /// The verdict is the same, but its reason or its evidence differs.
    SameVerdict,
}

impl Trend {
    pub const ALL: [Self; 4] = [Self::Worse, Self::Better, Self::Otherwise, Self::SameVerdict];
}

impl Turn {
    fn new(id: &str, from: Option<Finding>, to: Option<Finding>) -> Self {
        Self { id: id.to_owned(), trend: trend(from.as_ref(), to.as_ref()), from, to }
    }
}

fn trend(from: Option<&Finding>, to: Option<&Finding>) -> Trend {
    match harm(to).cmp(&harm(from)) {
        std::cmp::Ordering::Greater => Trend::Worse,
        std::cmp::Ordering::Less => Trend::Better,
        std::cmp::Ordering::Equal if kind(from) == kind(to) => Trend::SameVerdict,
        std::cmp::Ordering::Equal => Trend::Otherwise,
    }
}

impl AuditDifference {
    pub fn between(a: &AuditSide<'_>, b: &AuditSide<'_>) -> Self {
        let (words_removed, words_added) = words(a.machine, b.machine);
        let is_told_by_word = !(words_removed.is_empty() && words_added.is_empty());
        Self {
            facts: facts(a, b, is_told_by_word),
            words_removed,
            words_added,
            options: options(a.machine, b.machine),
            knobs: knobs(a.findings, b.findings),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The worst severity among the findings that are worse on the second machine; `None` if there are none.
    pub fn worst(&self) -> Option<Severity> {
        self.with(Trend::Worse).filter_map(|turn| harm(turn.to.as_ref())).max()
    }

    pub fn with(&self, trend: Trend) -> impl Iterator<Item = &Turn> {
        self.knobs.iter().filter(move |turn| turn.trend == trend)
    }
}

/// The severity of a bad finding; `None` for a finding in any other state, or for no finding.
fn harm(finding: Option<&Finding>) -> Option<Severity> {
    finding.filter(|finding| finding.state == State::Bad).map(|finding| finding.severity)
}

fn kind(finding: Option<&Finding>) -> Option<std::mem::Discriminant<State>> {
    finding.map(|finding| std::mem::discriminant(&finding.state))
}

fn facts(a: &AuditSide<'_>, b: &AuditSide<'_>, is_told_by_word: bool) -> Vec<Changed> {
    let lines = |side: &AuditSide<'_>| {
        let mut lines = side.machine.fingerprint();
        lines.push(("judged for CPUs", side.cpus.to_string()).into());
        lines
    };
    let differing = lines(a).into_iter().zip(lines(b)).filter(|(from, to)| from.value != to.value);
    differing
        .filter(|(from, _)| !(is_told_by_word && from.name == COMMAND_LINE))
        .map(|(from, to)| Changed { name: from.name, from: from.value, to: to.value })
        .collect()
}

/// The words that only the first line has, and those that only the second has; a word that occurs twice counts twice.
/// Both are empty if a command line is not known, since the fingerprint then shows the difference.
fn words(a: &Machine, b: &Machine) -> (Vec<String>, Vec<String>) {
    let (Fact::Known(a), Fact::Known(b)) = (&a.cmdline, &b.cmdline) else { return Default::default() };
    (only_in(a.words(), b.words()), only_in(b.words(), a.words()))
}

fn only_in<'a>(words: impl Iterator<Item = &'a str>, others: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for word in others {
        *left.entry(word).or_default() += 1;
    }
    let mut is_matched = |word: &&str| match left.get_mut(*word) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    words.filter(|word| !is_matched(word)).map(|word| printable(&without_private_values(word), VALUE_CHARS)).collect()
}

fn options(a: &Machine, b: &Machine) -> Vec<Changed> {
    let changed = |name: &str, from: &Fact<String>, to: &Fact<String>| {
        let shown = |fact: &Fact<String>| match fact {
            Fact::Known(value) => printable(value, VALUE_CHARS),
            other => format!("unknown ({})", other.trouble().unwrap_or_default()),
        };
        let (from, to) = (shown(from), shown(to));
        (from != to).then(|| Changed { name: name.to_owned(), from, to })
    };
    let known = |machine: &Machine| machine.config.state().map(|()| "known".to_owned());
    if a.config.state().known().is_none() || b.config.state().known().is_none() {
        return changed("configuration", &known(a), &known(b)).into_iter().collect();
    }
    let asked: BTreeSet<String> = a.config.asked().union(&b.config.asked()).cloned().collect();
    asked
        .iter()
        .filter_map(|option| changed(&format!("CONFIG_{option}"), &a.config.value(option), &b.config.value(option)))
        .collect()
}

fn knobs(a: &[Finding], b: &[Finding]) -> Vec<Turn> {
    let by_id = |findings: &[Finding]| -> BTreeMap<String, Finding> {
        findings.iter().map(|finding| (finding.id.clone(), finding.clone())).collect()
    };
    let (mut before, after) = (by_id(a), by_id(b));
    let mut turns: Vec<Turn> = after.into_iter().map(|(id, to)| Turn::new(&id, before.remove(&id), Some(to))).collect();
    turns.extend(before.into_iter().map(|(id, from)| Turn::new(&id, Some(from), None)));
    turns.retain(|turn| differs(turn.from.as_ref(), turn.to.as_ref()));
    let weight = |turn: &Turn| harm(turn.from.as_ref()).max(harm(turn.to.as_ref()));
    turns.sort_by_key(|turn| (turn.trend, std::cmp::Reverse(weight(turn))));
    turns
}

/// Whether two findings differ. Different reasons matter only if the knob applies to one of the machines and software
/// can see its state on one of them. Different severities matter only if the knob is bad or may be bad.
fn differs(from: Option<&Finding>, to: Option<&Finding>) -> bool {
    let (Some(from), Some(to)) = (from, to) else { return true };
    match (&from.state, &to.state) {
        (State::NotApplicable(_), State::NotApplicable(_)) | (State::Advice(_), State::Advice(_)) => false,
        (State::Good, State::Good) => from.evidence != to.evidence,
        _ => from.state != to.state || from.severity != to.severity || from.evidence != to.evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_facts::finding::{Confidence, Evidence};
    use punctual_facts::machine::Machine;
    use punctual_facts::tree::MemTree;

    fn finding(id: &str, severity: Severity, state: State, value: &str) -> Finding {
        let evidence = vec![Evidence { source: "/x".to_owned(), value: value.to_owned() }];
        let [title, why, fix, cost] = [const { String::new() }; 4];
        Finding { id: id.to_owned(), severity, state, evidence, title, why, fix, cost, confidence: Confidence::High }
    }

    fn trends(a: &[Finding], b: &[Finding]) -> Vec<(String, Trend)> {
        knobs(a, b).iter().map(|turn| (turn.id.clone(), turn.trend)).collect()
    }

    #[test]
    fn a_verdict_gets_worse_better_or_only_other() {
        let unknown = || State::Unknown("no file".into());
        let not_here = |why: &str| State::NotApplicable(why.to_owned());
        let a = [
            finding("fixed", Severity::High, State::Bad, "1"),
            finding("broken", Severity::High, State::Good, "0"),
            finding("fatal", Severity::Medium, State::Bad, "1"),
            finding("seen", Severity::High, unknown(), "0"),
            finding("same", Severity::High, State::Bad, "1"),
            finding("value", Severity::High, State::Good, "1"),
            finding("nowhere", Severity::High, not_here("a guest"), "1"),
            finding("gone", Severity::High, State::Good, "1"),
        ];
        let b = [
            finding("fixed", Severity::High, State::Good, "0"),
            finding("broken", Severity::High, State::Bad, "1"),
            finding("fatal", Severity::Fatal, State::Bad, "1"),
            finding("seen", Severity::High, State::Good, "0"),
            finding("same", Severity::High, State::Bad, "1"),
            finding("value", Severity::Medium, State::Good, "2"),
            finding("nowhere", Severity::High, not_here("one CPU"), "2"),
        ];
        let expected = [
            ("fatal", Trend::Worse),
            ("broken", Trend::Worse),
            ("fixed", Trend::Better),
            ("seen", Trend::Otherwise),
            ("gone", Trend::Otherwise),
            ("value", Trend::SameVerdict),
        ];
        assert_eq!(trends(&a, &b), expected.map(|(id, trend)| (id.to_owned(), trend)));
        assert_eq!(trends(&a, &a), []);
        let back = trends(&b, &a);
        assert!(
            back.contains(&("fatal".to_owned(), Trend::Better)) && back.contains(&("fixed".to_owned(), Trend::Worse))
        );
    }

    fn machine(snapshot: &str) -> Machine {
        Machine::read(&MemTree::parse(&format!("punctual-machine 1\n{snapshot}")).unwrap())
    }

    fn between(a: &Machine, b: &Machine) -> AuditDifference {
        let cpus = CpuSet::new();
        let side = |machine| AuditSide { machine, cpus: &cpus, findings: &[] };
        AuditDifference::between(&side(a), &side(b))
    }

    #[test]
    fn words_count_as_often_as_they_stand_there() {
        let a = machine("/proc/cmdline = ro quiet isolcpus=1 isolcpus=1 -- secret=1\n");
        let b = machine("/proc/cmdline = isolcpus=1 ro nohz_full=1 -- secret=2\n");
        let difference = between(&a, &b);
        assert_eq!(difference.words_removed, ["quiet", "isolcpus=1"]);
        assert_eq!(difference.words_added, ["nohz_full=1"]);
        assert_eq!(difference.facts, [], "the line is told word by word, and what is for init not at all");
        let reordered = machine("/proc/cmdline = isolcpus=1 quiet ro isolcpus=1\n");
        let facts = between(&a, &reordered).facts;
        assert_eq!(facts.iter().map(|fact| fact.name.as_str()).collect::<Vec<_>>(), [COMMAND_LINE], "order may matter");
    }

    #[test]
    fn options_that_some_knob_asked_for_are_compared() {
        let with = |options: &str| machine(&format!("punctual:/kernel/config =\n{options}    CONFIG_OTHER=y\n"));
        let a = with("    CONFIG_PREEMPT_RT=y\n");
        let b = with("    CONFIG_OTHERS=y\n");
        assert_eq!(between(&a, &b).options, [], "nobody asked");
        a.config.value("PREEMPT_RT");
        b.config.value("HZ");
        let expected = Changed { name: "CONFIG_PREEMPT_RT".to_owned(), from: "y".to_owned(), to: "n".to_owned() };
        assert_eq!(between(&a, &b).options, [expected]);
        let unknown = between(&a, &machine("/proc/version = x\n"));
        assert_eq!(unknown.options.len(), 1, "one line says that it is not known, not one for each option");
    }
}
