//! Finds programs that write the same values as a plan, at boot or later.

use super::{Conflict, Resolution, Touched};
use crate::knobs::Case;
use crate::programs::{PROGRAMS, Program, Written};

impl Touched {
    fn overlaps(&self, program: &Program) -> bool {
        program.writes.iter().copied().flatten().any(|written| match written {
            Written::File(part) => self.writes(part),
            Written::Sysctl(name) => self.sysctls.iter().any(|(known, _)| known == name),
            Written::AnySysctl => !self.sysctls.is_empty(),
            Written::AnyWord => !self.words.is_empty(),
            Written::Thread(start) => self.threads.iter().any(|name| name.starts_with(start)),
        })
    }
}

pub(super) fn conflicts(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    let mut found = Vec::new();
    for program in PROGRAMS.iter().filter(|program| touched.overlaps(program)) {
        let Some(at_work) = case.at_work(program).into_iter().next() else { continue };
        let resolved = if program.units.iter().any(|unit| touched.silenced.iter().any(|silenced| silenced == unit)) {
            Resolution::Silenced
        } else {
            let knob = program.knobs().next().unwrap_or_default();
            Resolution::LeftAlone(format!(
                "the plan leaves {knob} out, so the program keeps running and may undo what the plan sets"
            ))
        };
        let what = format!("{} sets {}", program.name, program.sets);
        let evidence = format!("{} {}", at_work.unit.unwrap_or(program.name), at_work.how);
        found.push(Conflict { what, evidence, resolved });
    }
    found
}
