//! What is in the way of a program as SARIF: kinds are rules, and the place is the line of the source where it is known.

use super::words;
use crate::render::clean::ascii;
use crate::render::sarif::{self, Checked, Level, Place, Region, ResultKind, Rule};
use punctual_numbers::inspect::{Code, FailOn, Gate, InTheWay, Inspection, Intruder, judged};
use std::path::Path;

const LATE: &str = "inspect.late";

/// Results are errors if `fail_on` names their kind, and warnings otherwise. Paths of sources are told from `root`.
pub fn sarif(inspection: &Inspection, fail_on: &[FailOn], root: &Path) -> String {
    let paced = inspection.threads.iter().filter_map(|thread| Some((thread, thread.cycles.as_ref()?)));
    let rows: Vec<_> =
        paced.flat_map(|(thread, cycles)| cycles.in_the_way.iter().map(move |row| (thread, row))).collect();
    let mut kinds: Vec<Intruder> = rows.iter().map(|(_, row)| row.intruder).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut rules: Vec<Rule> = kinds.into_iter().map(rule).collect();
    let found = rows.iter().map(|(thread, row)| {
        let is_error = fail_on.iter().any(|kind| kind.fits(row));
        Checked {
            rule: id(row.intruder),
            kind: ResultKind::Fail(if is_error { Level::Error } else { Level::Warning }),
            message: ascii(&format!("{} of {}", words::in_the_way(row), thread.name)),
            places: places(row, inspection, root),
        }
    });
    let mut results: Vec<Checked> = found.collect();
    for one in judged(inspection, fail_on).iter().filter(|one| one.gate == Gate::Failed) {
        if let (FailOn::Late(_), Some(thread)) = (one.kind, one.thread) {
            results.push(Checked {
                rule: LATE.to_owned(),
                kind: ResultKind::Fail(Level::Error),
                message: ascii(&format!("{}: {}", thread.name, words::failing(one.kind, thread))),
                places: vec![program(inspection)],
            });
        }
    }
    if results.iter().any(|result| result.rule == LATE) {
        rules.push(late());
    }
    sarif::document(&rules, &results, &words::facts(inspection))
}

fn id(intruder: Intruder) -> String {
    format!("inspect.{}", words::intruder_kind(intruder).replace(' ', "-"))
}

fn rule(intruder: Intruder) -> Rule {
    let kind = words::intruder_kind(intruder);
    Rule {
        id: id(intruder),
        short: format!("No {kind} in a cycle"),
        full: format!("A cycle of a real-time thread should hold nothing that can take long at times: here {kind}."),
        help: words::remedy(intruder).to_owned(),
        level: Level::Warning,
        tags: vec!["real-time".to_owned()],
    }
}

fn late() -> Rule {
    Rule {
        id: LATE.to_owned(),
        short: "No latency above the limit".to_owned(),
        full: "The thread returned from its wait later than its limit allows.".to_owned(),
        help: "See what is in its slowest cycles, and how the machine is set up: punctual audit.".to_owned(),
        level: Level::Error,
        tags: vec!["real-time".to_owned()],
    }
}

/// The line of the source, of the function or of its nearest caller with a line; else the program.
fn places(row: &InTheWay, inspection: &Inspection, root: &Path) -> Vec<Place> {
    let codes = || row.code.iter().chain(&row.callers);
    let mut all = vec![codes().find_map(|code| line(code, root)).unwrap_or_else(|| program(inspection))];
    all.extend(codes().map(|code| Place::Named(words::code(code))));
    all
}

fn line(code: &Code, root: &Path) -> Option<Place> {
    let path = Path::new(code.file.as_ref()?);
    let line = usize::try_from(code.line?).ok()?;
    let path = path.strip_prefix(root).unwrap_or(path).to_owned();
    Some(Place::File { path, region: Some(Region { line, columns: None }) })
}

fn program(inspection: &Inspection) -> Place {
    Place::File { path: inspection.program.name.clone().into(), region: None }
}
