//! Makes the whole plan: chooses CPUs, plans changes of the bad findings, and makes the changes last in the places of
//! this machine.

use super::boot::{ENTRY, FILES, lasting_change};
use super::changes::{Decided, Left, Reason, changes};
use super::choice::{Choice, ChoiceRefusal, choose};
use super::conflicts::{Conflict, conflicts};
use super::lasting::{self, Lasted, Lost, Obstacle, Starts, Wanted};
use super::remedies::Site;
use super::wanted::wanted;
use super::wishes::Wishes;
use super::{Change, Keep, Lasts, Step, Takes};
use crate::audit;
use crate::knobs::Blast;
use punctual_facts::finding::{Finding, Severity};
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    pub choice: Choice,
    pub changes: Vec<Change>,
    /// Bad findings that the plan leaves as they are.
    pub left: Vec<Left>,
    /// Programs and files that set the same values as the plan.
    pub conflicts: Vec<Conflict>,
    /// The settings that are to hold after the next boot.
    #[serde(skip)]
    pub wanted: Wanted,
    /// How the new command line is booted.
    pub starts: Starts,
    /// Restrictions that the user must know, one sentence each.
    pub limits: Vec<String>,
}

/// Makes a plan for a machine. If something cannot be made to last, the plan says so and does the rest.
pub fn plan(tree: &dyn Tree, machine: &Machine, wishes: &Wishes) -> Result<Plan, ChoiceRefusal> {
    let choice = choose(tree, machine, &wishes.need)?;
    let need = Need { cpus: choice.cpus.clone(), ..wishes.need.clone() };
    let siblings = siblings(&choice, wishes);
    let mut case = audit::begun(tree, machine, &need);
    if siblings.is_some() {
        // Siblings that are taken offline must not receive work from the other CPUs.
        case = case.keeping_house(choice.housekeeping.clone());
    }
    let findings = audit::judged(&case);
    let site = Site::new(&case, &wishes.preferences);
    let Decided { mut changes, mut left } = changes(&site, &findings, wishes);
    changes.extend(siblings);
    if !wishes.lasting {
        left.extend(until_reboot(&mut changes, wishes.holds));
    }
    let keeps = wishes.standing.iter().chain(changes.iter().flat_map(|change| &change.keeps));
    let wanted = wanted(keeps, wishes.exe.as_deref().unwrap_or_default());
    let conflicts = conflicts(&case, &changes);
    let mut plan = Plan { choice, changes, left, conflicts, wanted, starts: Starts::NotNeeded, limits: Vec::new() };
    if wishes.lasting {
        if let Err(why) = &wishes.exe {
            plan.do_without_program(why, &findings);
        }
        plan.last(tree, machine, &findings);
    }
    Ok(plan)
}

impl Plan {
    /// Leaves out settings that only this program could set again at each boot.
    fn do_without_program(&mut self, why: &str, findings: &[Finding]) {
        let is_ours = |keep: &Keep| matches!(keep, Keep::Anew | Keep::Hold(_));
        if !self.changes.iter().any(|change| change.keeps.iter().any(is_ours)) {
            return;
        }
        self.wanted.boot_service = false;
        self.wanted.hold_latency_us = None;
        self.limits.push(format!("Settings that need this program at each boot only last until the next boot: {why}"));
        self.forgo(is_ours, "a service that runs this program at each boot would have to set it", findings);
    }

    fn last(&mut self, tree: &dyn Tree, machine: &Machine, findings: &[Finding]) {
        match lasting::files(tree, machine, &self.wanted) {
            Ok(Lasted { steps, limits, lost }) => {
                for Lost { what, why } in lost {
                    self.forgo(|keep| value_kept(keep) == Some(what.as_str()), &why, findings);
                }
                self.add(FILES, "Values and settings are kept for the boots to come", Takes::Now, steps, limits);
            }
            Err(why) => {
                self.limits.push(format!("Values are not kept for the boots to come: {why}"));
                if !matches!(why, Obstacle::Denied { .. }) {
                    self.forgo(
                        |keep| !is_word(keep),
                        "nothing on this machine keeps the value for the boots to come",
                        findings,
                    );
                }
            }
        }
        match lasting::trial(tree, machine, &self.wanted) {
            Ok(trial) => {
                self.starts = trial.starts;
                let title = "The new command line has a boot entry of its own, booted once";
                self.add(ENTRY, title, Takes::NextBoot, trial.steps, trial.limits);
            }
            Err(why) => {
                self.limits.push(format!("The command line stays as it is: {why}"));
                // A line that cannot be tried can still be adopted. If a file was refused, a plan that root makes may
                // succeed. In both cases the changes stay in the plan.
                if !matches!(why, Obstacle::NoTrial(_) | Obstacle::Denied { .. }) {
                    self.forgo(is_word, "the command line stays as it is", findings);
                }
            }
        }
    }

    /// Drops settings that cannot be kept for later boots. If a change loses all of its settings, it holds until the
    /// next boot, or is left out if it has no steps.
    fn forgo(&mut self, is_lost: impl Fn(&Keep) -> bool, why: &str, findings: &[Finding]) {
        let mut kept = Vec::new();
        for mut change in std::mem::take(&mut self.changes) {
            let asked_for = change.keeps.len();
            change.keeps.retain(|keep| !is_lost(keep));
            let is_bare = change.keeps.is_empty() && asked_for > 0;
            if !(is_bare && change.steps.is_empty()) {
                change.lasts = if is_bare { Lasts::Reboot } else { change.lasts };
                kept.push(change);
                continue;
            }
            let severity = severity(findings, &change.id);
            self.left.push(Left::new(&change.id, &change.title, severity, Reason::NotHere(why.to_owned())));
        }
        self.changes = kept;
    }

    fn add(&mut self, id: &str, title: &str, takes: Takes, steps: Vec<Step>, limits: Vec<String>) {
        self.limits.extend(limits);
        if !steps.is_empty() {
            self.changes.push(lasting_change(id, title, takes, steps));
        }
    }
}

/// The place of a kept value: the name of a sysctl, or the path of a kernel file; `None` for other settings.
fn value_kept(keep: &Keep) -> Option<&str> {
    match keep {
        Keep::Sysctl { name, .. } => Some(name),
        Keep::Write { path, .. } => Some(path),
        Keep::Word(_)
        | Keep::NoWord(_)
        | Keep::ModuleOptions(_)
        | Keep::NoModule(_)
        | Keep::Udev(_)
        | Keep::Limit(_)
        | Keep::Manager(_)
        | Keep::Hold(_)
        | Keep::Anew => None,
    }
}

fn is_word(keep: &Keep) -> bool {
    matches!(keep, Keep::Word(_) | Keep::NoWord(_))
}

fn severity(findings: &[Finding], id: &str) -> Severity {
    findings.iter().find(|finding| finding.id == id).map_or(Severity::Medium, |finding| finding.severity)
}

/// The change that takes siblings of the chosen CPUs offline, if the user wants and allows it.
fn siblings(choice: &Choice, wishes: &Wishes) -> Option<Change> {
    let id = "agree.siblings";
    let is_wanted = wishes.only.is_empty() || wishes.only.iter().any(|only| only == id);
    let is_excluded = wishes.except.iter().any(|except| except == id) || wishes.blast < Blast::Disturbing;
    if choice.offline.is_empty() || !is_wanted || is_excluded {
        return None;
    }
    let write = |cpu| Step::Write {
        path: format!("/sys/devices/system/cpu/cpu{cpu}/online"),
        value: "0".to_owned(),
        expected: super::Expected::same(super::Reading::Plain),
    };
    Some(Change {
        id: id.to_owned(),
        title: "No other work shares a core with real-time work".to_owned(),
        before: format!("CPUs {} are online", choice.offline),
        after: format!("CPUs {} are offline", choice.offline),
        why: "A thread on the sibling CPU can take caches and execution units of the core away at any time.".to_owned(),
        cost: "the computing power of these CPUs".to_owned(),
        risk: "taking a CPU offline stops all other CPUs for a moment".to_owned(),
        blast: Blast::Disturbing,
        lasts: Lasts::ForGood,
        takes: Takes::Now,
        undo: "They are brought online again.".to_owned(),
        proof: "/sys/devices/system/cpu/online".to_owned(),
        steps: choice.offline.iter().map(write).collect(),
        keeps: vec![Keep::Anew],
        also: Vec::new(),
        is_apart: false,
    })
}

/// Drops all settings for later boots, and changes that consist of such settings only. If no process can hold a limit,
/// changes that need one are dropped as well.
fn until_reboot(changes: &mut Vec<Change>, holds: bool) -> Vec<Left> {
    let is_held = |keep: &Keep| matches!(keep, Keep::Hold(_));
    let mut left = Vec::new();
    changes.retain_mut(|change| {
        change.keeps.retain(is_held);
        change.lasts = if change.keeps.is_empty() { Lasts::Reboot } else { Lasts::Process };
        if !holds && !change.keeps.is_empty() {
            let why = "a process has to keep a file open for the limit; punctual tune without --until-reboot installs \
                a service that does so";
            left.push(Left::new(&change.id, &change.title, Severity::Medium, Reason::NotHere(why.to_owned())));
            return false;
        }
        !change.steps.is_empty() || !change.keeps.is_empty()
    });
    left
}
