//! Remedies that silence programs which would undo changes, or which work at times of their own.

use super::super::Step;
use super::draft::Draft;
use super::{Found, Site, by_hand};
use crate::knobs::{self, Blast, Doubt};
use crate::programs::{self, Program};

/// Silences those of `programs` that are at work on this machine.
fn silenced(site: &Site<'_>, programs: impl Iterator<Item = &'static Program>, risk: &str) -> Found {
    let case = site.case;
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!(
            "the services of a container ({container}) are not those of the machine"
        ));
    }
    if !case.machine.boot.is_systemd() {
        return by_hand("this machine is not run by systemd: stop the services with its own init");
    }
    let mut draft = Draft::default();
    let mut others = Vec::new();
    for program in programs {
        for at_work in case.at_work(program) {
            let Some(unit) = at_work.unit.filter(|_| program.by_hand.is_none()) else {
                others.push(program.by_hand.unwrap_or(program.name));
                continue;
            };
            let step = Step::Silence { unit: unit.to_owned(), lasting: site.preferences.for_good };
            draft.step(unit, &at_work.how, "silent", step);
        }
    }
    others.dedup();
    match (draft.is_empty(), others.is_empty()) {
        (true, true) => Doubt::not_applicable("no unit of these services is active here"),
        (true, false) => by_hand(&others.join("; ")),
        (false, true) => Ok(draft.apart(risk, "systemctl is-active says inactive")),
        (false, false) => {
            let risk = format!("{risk} By hand: {}", others.join("; "));
            Ok(draft.apart(&risk, "systemctl is-active says inactive"))
        }
    }
}

/// Silences the programs that spoil the good state of a knob.
pub(super) fn bad(site: &Site<'_>, knob: &str) -> Found {
    silenced(site, programs::bad_for(knob), knobs::find(knob).map_or("", |knob| knob.cost))
}

/// Silences programs that own the same settings as another program. Programs that another knob silences are left out.
pub(super) fn owners(site: &Site<'_>, knob: &str) -> Found {
    let risk = "Other settings of these services end with them: when tuned stops, it restores the values that it \
        changed, and removes its words from the command line.";
    let others = programs::owners(knob).filter(|program| program.bad_for.is_empty());
    Ok(silenced(site, others, risk)?.reaching(Blast::Breaking))
}
