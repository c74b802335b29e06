//! Words about several findings: which of them to show, how many there are, and what they have in common.

use super::state;
use crate::render::lang::{said, tr};
use punctual_facts::finding::{Finding, State};
use punctual_numbers::report::Report;
use punctual_tuning::knobs::{Blast, Family, Resort};
use std::borrow::Cow;
use std::cmp::Reverse;

pub fn resort(resort: Resort) -> &'static str {
    match resort {
        Resort::ChooseCpus => tr!("to judge other CPUs, and leave some for other work: punctual audit --cpus LIST"),
        Resort::LimitSleep => {
            tr!("to see the effect of a limit on idle states: punctual measure --dma-latency MICROSECONDS")
        }
    }
}

/// The findings to show, worst first: the bad ones, then those that could not be judged.
pub fn standing_in_the_way(report: &Report) -> Vec<&Finding> {
    let mut shown: Vec<&Finding> =
        report.findings.iter().filter(|f| matches!(f.state, State::Bad | State::Unknown(_))).collect();
    shown.sort_by_key(|f| (f.state != State::Bad, Reverse(f.severity)));
    shown
}

/// The number of findings in each state: `2 bad, 1 unknown, 30 good`.
pub fn findings_counted(findings: &[Finding]) -> String {
    let words = [tr!("bad"), tr!("unknown"), tr!("advice"), tr!("good"), tr!("not applicable")];
    let number = |word: &str| findings.iter().filter(|f| state(&f.state) == word).count();
    let counted: Vec<String> =
        words.iter().map(|w| (number(w), w)).filter(|(n, _)| *n > 0).map(|(n, w)| format!("{n} {w}")).collect();
    if counted.is_empty() { tr!("nothing was audited").to_owned() } else { counted.join(", ") }
}

/// The number of findings of each family: `kernel 4, idle 2`. Findings of knobs that this program does not know, made
/// by a newer one, are counted last as "others".
pub fn by_family(findings: &[&Finding]) -> String {
    let family = |finding: &&&Finding| super::knob(&finding.id).map(|knob| knob.family);
    let number = |wanted: Option<Family>| findings.iter().filter(|finding| family(finding) == wanted).count();
    let families = Family::ALL.iter().map(|family| (number(Some(*family)), said(family.name())));
    let counted = families.chain([(number(None), Cow::Borrowed(tr!("others")))]).filter(|(count, _)| *count > 0);
    counted.map(|(count, name)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// Findings that share a property, which `what` names.
pub struct Alike<'a> {
    pub what: &'a str,
    pub findings: Vec<&'a Finding>,
}

impl Alike<'_> {
    pub fn ids(&self) -> Vec<&str> {
        self.findings.iter().map(|finding| finding.id.as_str()).collect()
    }
}

/// The findings of unknown state, grouped by the reason. Groups are ordered by their most severe finding.
pub fn by_reason(findings: &[Finding]) -> Vec<Alike<'_>> {
    let mut unknown: Vec<&Finding> = findings.iter().filter(|f| matches!(f.state, State::Unknown(_))).collect();
    unknown.sort_by_key(|finding| Reverse(finding.severity));
    let mut reasons: Vec<Alike> = Vec::new();
    for finding in unknown {
        let what = finding.state.because().unwrap_or_default();
        match reasons.iter_mut().find(|known| known.what == what) {
            Some(known) => known.findings.push(finding),
            None => reasons.push(Alike { what, findings: vec![finding] }),
        }
    }
    reasons
}

/// Groups of findings that are only counted: advice, good, not applicable. Empty groups are left out.
pub fn otherwise(findings: &[Finding]) -> Vec<Alike<'_>> {
    type IsOne = fn(&State) -> bool;
    let groups: [(&'static str, IsOne); 3] = [
        (tr!("Advice on what software cannot see (punctual audit)"), |state| matches!(state, State::Advice(_))),
        (tr!("Good"), |state| *state == State::Good),
        (tr!("Not applicable"), |state| matches!(state, State::NotApplicable(_))),
    ];
    let of = |is_one: IsOne| findings.iter().filter(|finding| is_one(&finding.state)).collect();
    let groups = groups.map(|(what, is_one)| Alike { what, findings: of(is_one) });
    groups.into_iter().filter(|group| !group.findings.is_empty()).collect()
}

pub fn blast_meaning(blast: Blast) -> &'static str {
    match blast {
        Blast::Harmless => tr!("the change does not disturb a running machine"),
        Blast::Disturbing => tr!("the change disturbs running real-time work for a moment"),
        Blast::Breaking => tr!("the change can break a service or lose a function"),
    }
}
