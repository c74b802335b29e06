//! Judges every knob of the catalogue on one machine for one need.
//!
//! The entries of the catalogue decide what is good. This module calls their checks, collects the evidence and sorts
//! the findings.

use crate::knobs::{self, Case, Doubt, Family, Knob, Lasting};
use punctual_facts::fact::printable;
use punctual_facts::finding::{Evidence, Finding, Severity, State, WhyUnknown};
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;

/// The length, in characters, to which the reason of a state is cut. A reason may quote a whole file.
const REASON_CHARS: usize = 300;

/// Judges every knob of the catalogue on one machine, and returns the findings with the worst first.
pub fn audit(tree: &dyn Tree, machine: &Machine, need: &Need) -> Vec<Finding> {
    judged(&begun(tree, machine, need))
}

/// Judges every knob in this case, and returns the findings with the worst first.
pub(crate) fn judged(case: &Case<'_>) -> Vec<Finding> {
    // Knobs that read the interrupts a second time come last, so that judging the others fills the time between the two
    // readings.
    let looks_twice = |(_, knob): &(usize, &Knob)| matches!(knob.family, Family::Interrupts | Family::Agreement);
    let (last, first): (Vec<_>, Vec<_>) = knobs::ALL.iter().enumerate().partition(looks_twice);
    let judged = first.into_iter().chain(last).map(|(place, knob)| (place, examine(knob, case)));
    let mut findings: Vec<(usize, Finding)> = judged.collect();
    findings.sort_by_key(|(place, finding)| (rank(&finding.state), std::cmp::Reverse(finding.severity), *place));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// The worst severity of all bad findings; `None` if none is bad.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().filter(|f| f.state == State::Bad).map(|f| f.severity).max()
}

/// Whether the findings say nothing about the machine, as where `/proc` and `/sys` are not mounted: of the conditions
/// that can be checked at all, no more than one in twenty was.
pub fn is_blind(findings: &[Finding]) -> bool {
    let checked = findings.iter().filter(|f| matches!(f.state, State::Good | State::Bad)).count();
    let unknown = findings.iter().filter(|f| matches!(f.state, State::Unknown(_))).count();
    unknown > 19 * checked
}

/// Creates the case of an audit and makes the first of its two readings of the interrupt counts.
pub(crate) fn begun<'a>(tree: &'a dyn Tree, machine: &'a Machine, need: &'a Need) -> Case<'a> {
    let case = Case::new(tree, machine, need);
    case.begin();
    case.forget();
    case
}

pub(crate) fn examine(knob: &Knob, case: &Case<'_>) -> Finding {
    let judged = case.judge(knob);
    let evidence = case.take_evidence();
    let severity = knob.severity.here(case, knob.severity.for_kind(case.need.kind));
    let severity = if case.need.weighs_more.contains(&knob.id) { severity.raised() } else { severity };
    let fix = if knob.is_for_boot_only() { lasting(knob, case) } else { knob.fix_here(case) };
    // The files read for the severity and the fix of this knob are not evidence for the next knob.
    case.forget();
    Finding {
        id: knob.id.to_owned(),
        title: knob.title.to_owned(),
        severity,
        state: state(judged, &evidence),
        evidence,
        why: knob.why.to_owned(),
        fix,
        cost: knob.cost.to_owned(),
        confidence: knob.confidence,
    }
}

/// The text of a finding that says how to make the change last on this machine.
pub fn lasting(knob: &Knob, case: &Case<'_>) -> String {
    // If no housekeeping CPUs remain, the places that name housekeeping CPUs are left out, unless there are no other
    // places.
    let places = knob.places();
    let only_others = places.iter().all(Lasting::names_housekeeping);
    let makes_sense = |place: &&Lasting| only_others || !case.has_no_others() || !place.names_housekeeping();
    let here: Vec<String> = places.iter().filter(makes_sense).map(|place| place.here(case)).collect();
    here.join("; ")
}

/// How to undo the lasting change on this machine; `None` if no place says it, so that the knob's own text has to.
pub fn undoing(knob: &Knob, case: &Case<'_>) -> Option<String> {
    let places: Vec<String> = knob.places().iter().filter_map(|place| place.undo_here(case)).collect();
    (!places.is_empty()).then(|| places.join("; "))
}

/// The state of a finding. A verdict of good or bad without evidence becomes unknown.
fn state(judged: Result<State, Doubt>, evidence: &[Evidence]) -> State {
    match judged {
        Ok(State::Good | State::Bad) if evidence.is_empty() => {
            State::Unknown("the check read no file; please report this".into())
        }
        Ok(state) => state,
        Err(Doubt::Unknown(why)) => {
            State::Unknown(WhyUnknown { because: printable(&why.because, REASON_CHARS), ..why })
        }
        Err(Doubt::NotApplicable(because)) => State::NotApplicable(printable(&because, REASON_CHARS)),
    }
}

fn rank(state: &State) -> u8 {
    match state {
        State::Bad => 0,
        State::Unknown(_) => 1,
        State::Advice(_) => 2,
        State::Good => 3,
        State::NotApplicable(_) => 4,
    }
}
