//! Holds every knob of the catalogue against one machine and one need.
//!
//! The catalogue decides what is good; this module only asks, collects the evidence and sorts.

use crate::knobs::{self, Case, Doubt, Family, Knob, Lasting, Probe};
use punctual_facts::fact::printable;
use punctual_facts::finding::{Evidence, Finding, Severity, State};
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;

/// How the catalogue says that only a boot changes a knob; then the way to do that is the fix.
const NOT_NOW: &str = "None at run time";
/// Longest reason; a file that is all of it has said enough.
const REASON_CHARS: usize = 300;

/// Every knob, judged; worst first.
pub fn audit(tree: &dyn Tree, machine: &Machine, need: &Need) -> Vec<Finding> {
    judged(&begun(tree, machine, need))
}

/// Every knob, judged in this case; worst first.
pub(crate) fn judged(case: &Case<'_>) -> Vec<Finding> {
    // Those that look at interrupts a second time come last, so that the time between is spent on the others.
    let looks_twice = |(_, knob): &(usize, &Knob)| matches!(knob.family, Family::Interrupts | Family::Agreement);
    let (last, first): (Vec<_>, Vec<_>) = knobs::ALL.iter().enumerate().partition(looks_twice);
    let judged = first.into_iter().chain(last).map(|(place, knob)| (place, examine(knob, case)));
    let mut findings: Vec<(usize, Finding)> = judged.collect();
    findings.sort_by_key(|(place, finding)| (rank(&finding.state), std::cmp::Reverse(finding.severity), *place));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// The worst severity among what is bad; `None` when nothing is.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().filter(|f| f.state == State::Bad).map(|f| f.severity).max()
}

/// A case that has looked at what will be looked at again.
pub(crate) fn begun<'a>(tree: &'a dyn Tree, machine: &'a Machine, need: &'a Need) -> Case<'a> {
    let case = Case::new(tree, machine, need);
    case.begin();
    case.forget();
    case
}

/// One knob, judged.
pub(crate) fn examine(knob: &Knob, case: &Case<'_>) -> Finding {
    let judged = match knob.probe {
        Probe::Effective(probe) => probe(case).map(|is_good| if is_good { State::Good } else { State::Bad }),
        Probe::Advice { look, applies } => applies(case).map(|()| State::Advice(case.fill(look))),
    };
    let judged = case.settled(judged);
    let evidence = case.take_evidence();
    let severity = (knob.severity.here)(case, knob.severity.for_kind(case.need.kind));
    let fix = if knob.fix.starts_with(NOT_NOW) { lasting(knob, case) } else { case.fill(knob.fix) };
    // What was looked at for these belongs to no judgement.
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

/// How to make a change last on this machine.
pub fn lasting(knob: &Knob, case: &Case<'_>) -> String {
    // What names other CPUs says nothing where there are none, if there is another way.
    let is_for_others = |place: &&Lasting| place.anywhere().contains("<H");
    let only_others = knob.persist.iter().all(|place| is_for_others(&place));
    let makes_sense = |place: &&Lasting| only_others || !case.has_no_others() || !is_for_others(place);
    let places: Vec<String> = knob.persist.iter().filter(makes_sense).map(|place| place.here(case)).collect();
    places.join("; ")
}

/// How to take that back on this machine; `None` where the knob's own words on undoing have to do.
pub fn undoing(knob: &Knob, case: &Case<'_>) -> Option<String> {
    let places: Vec<String> = knob.persist.iter().filter_map(|place: &Lasting| place.undo_here(case)).collect();
    (!places.is_empty()).then(|| places.join("; "))
}

/// Nothing is good or bad without evidence, whatever the probe says.
fn state(judged: Result<State, Doubt>, evidence: &[Evidence]) -> State {
    match judged {
        Ok(State::Good | State::Bad) if evidence.is_empty() => {
            State::Unknown("the probe looked at nothing; please report this".to_owned())
        }
        Ok(state) => state,
        Err(Doubt::Unknown(because)) => State::Unknown(printable(&because, REASON_CHARS)),
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
