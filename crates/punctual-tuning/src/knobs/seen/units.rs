//! Finds the systemd units that are active, and the programs that run or start at boot.

use crate::knobs::case::Missing::TellsNothing;
use crate::knobs::case::{Case, Doubt, Judged};
use crate::programs::{self, Program, Silencing};
use punctual_facts::fact::Fact;

/// The folder in which systemd keeps a link for each active unit.
const UNITS: &str = "/run/systemd/units";

/// The beginning of the name of a link in [`UNITS`]; the unit's name follows.
const ACTIVE: &str = "invocation:";

/// Folders with links of the units that are enabled, below `/etc/systemd/system`.
const WANTED: [&str; 5] = [
    "multi-user.target.wants",
    "graphical.target.wants",
    "basic.target.wants",
    "sysinit.target.wants",
    "timers.target.wants",
];

pub(crate) struct AtWork {
    /// The systemd unit; `None` if only the process is known.
    pub(crate) unit: Option<&'static str>,
    /// The evidence: the program's running process, its active unit, or the target that starts the unit.
    pub(crate) how: String,
}

impl Case<'_> {
    /// Good if none of the systemd units is active that the table of programs lists as bad for this knob.
    pub(crate) fn no_unit_of(&self, knob: &str) -> Judged {
        let is_inside = self.virtualisation().is_some_and(|v| v.container.is_some());
        Doubt::unknown_if(is_inside, "only the services in this container can be seen")?;
        let init = self.peek("/proc/1/comm");
        if init.known().is_some_and(|name| name != "systemd") {
            self.cite("/proc/1/comm", &init);
            return Doubt::not_applicable("systemd does not run here");
        }
        let because = "which units are active is not shown";
        let units = self.names(UNITS, TellsNothing(because))?;
        let mut found: Vec<&str> = units.iter().filter_map(|unit| unit.strip_prefix(ACTIVE)).collect();
        Doubt::unknown_if(found.is_empty(), because)?;
        let wanted: Vec<&str> = programs::bad_for(knob).flat_map(|program| program.units).copied().collect();
        found.retain(|unit| wanted.contains(unit));
        self.none_found(UNITS, found.join(", "), format!("none of {}", wanted.join(", ")))
    }

    /// The names of the units that a systemd target starts.
    fn enabled(&self, target: &str) -> Fact<Vec<String>> {
        self.list(&format!("/etc/systemd/system/{target}"))
    }

    /// Whether at least one folder with links of enabled units can be listed.
    fn sees_enabled_units(&self) -> bool {
        WANTED.iter().any(|target| self.enabled(target).known().is_some())
    }

    /// Good if at most one of the programs runs, or starts at boot, that the table of programs lists as owners of this
    /// knob's settings.
    pub(crate) fn one_owner(&self, knob: &str) -> Judged {
        // This fails if the list of tasks cannot prove that a program does not run.
        self.tasks(|task| programs::owners(knob).any(|owner| owner.processes.contains(&task.name.as_str())))?;
        let mut found = 0;
        for owner in programs::owners(knob) {
            if let Some(at_work) = self.at_work(owner).pop() {
                self.note(owner.name, at_work.how);
                found += 1;
            }
        }
        let is_unseen = found <= 1 && self.machine.boot.is_systemd() && !self.sees_enabled_units();
        Doubt::unknown_if(
            is_unseen,
            "which units systemd starts cannot be seen, and units that end once their work is done do not show as \
            processes",
        )?;
        if found == 0 {
            let names: Vec<&str> = programs::owners(knob).map(|owner| owner.name).collect();
            self.note("tasks and enabled units", format!("none of {}", names.join(", ")));
        }
        Ok(found <= 1)
    }

    /// How to silence the programs that disturb the knob's setting. Only programs that run or start at boot are
    /// included, unless there are none.
    pub(crate) fn silencing(&self, knob: &str) -> Silencing {
        let mut found = Silencing::default();
        for program in programs::ended_for(knob) {
            for at_work in self.aside(|case| case.at_work(program)) {
                found.add(program, at_work.unit.as_slice());
            }
        }
        if found.is_empty() { Silencing::of(knob) } else { found }
    }

    /// The units of a program that are at work: the program's process runs, the unit is active, or a target starts the
    /// unit at boot.
    pub(crate) fn at_work(&self, program: &Program) -> Vec<AtWork> {
        let running = self.tasks(|task| !task.is_kernel && program.processes.contains(&task.name.as_str()));
        let running = running.ok().and_then(|mut tasks| tasks.pop()).map(|task| format!("runs ({})", task.name));
        let is_in =
            |names: Fact<Vec<String>>, name: &str| names.known().is_some_and(|all| all.iter().any(|n| n == name));
        let placed = |unit: &str| {
            if is_in(self.list(UNITS), &format!("{ACTIVE}{unit}")) {
                return Some("active".to_owned());
            }
            let target = WANTED.iter().find(|target| is_in(self.enabled(target), unit))?;
            Some(format!("started with {target}"))
        };
        let how = |how: String| running.clone().unwrap_or(how);
        let mut found: Vec<AtWork> = program
            .units
            .iter()
            .filter_map(|unit| Some(AtWork { unit: Some(unit), how: how(placed(unit)?) }))
            .collect();
        if let (true, Some(how)) = (found.is_empty(), running) {
            found.push(AtWork { unit: program.units.first().copied(), how });
        }
        found
    }
}
