//! Holds every knob of the catalogue against one machine and one need.
//!
//! The catalogue decides what is good; this module only asks, collects the evidence and sorts.

use crate::fact::printable;
use crate::finding::{Evidence, Finding, Severity, State};
use crate::knobs::{self, Case, Doubt, Knob, Lasting, Probe};
use crate::machine::Machine;
use crate::profile::Need;
use crate::tree::Tree;

/// How the catalogue says that only a boot changes a knob; then the way to do that is the fix.
const NOT_NOW: &str = "None at run time";
/// Longest reason; a file that is all of it has said enough.
const REASON_CHARS: usize = 300;

/// Every knob, judged; worst first.
pub fn audit(tree: &dyn Tree, machine: &Machine, need: &Need) -> Vec<Finding> {
    let case = Case::new(tree, machine, need);
    case.begin();
    let mut findings: Vec<Finding> = knobs::ALL.iter().map(|knob| examine(knob, &case)).collect();
    findings.sort_by_key(|finding| (rank(&finding.state), std::cmp::Reverse(finding.severity)));
    findings
}

/// The worst severity among what is bad; `None` when nothing is.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().filter(|f| f.state == State::Bad).map(|f| f.severity).max()
}

fn examine(knob: &Knob, case: &Case<'_>) -> Finding {
    let judged = match knob.probe {
        Probe::Effective(probe) => probe(case).map(|is_good| if is_good { State::Good } else { State::Bad }),
        Probe::Advice { look, applies } => applies(case).map(|()| State::Advice(case.fill(look))),
    };
    let evidence = case.take_evidence();
    let severity = (knob.severity.here)(case, knob.severity.for_kind(case.need.kind));
    case.take_evidence();
    Finding {
        id: knob.id.to_owned(),
        title: knob.title.to_owned(),
        severity,
        state: state(judged, &evidence),
        evidence,
        why: knob.why.to_owned(),
        fix: if knob.fix.starts_with(NOT_NOW) { lasting(knob, case) } else { case.fill(knob.fix) },
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
