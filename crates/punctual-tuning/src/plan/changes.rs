//! Turns findings into changes, in the order in which they are made, and lists the findings that stay as they are.

use super::derive::{Derived, derive};
use super::policy::left_unasked;
use super::remedies::{KnobRemedy, Notes, REMEDIES, Site, remedy};
use super::wishes::Wishes;
use super::{Change, Keep, Lasts, Step, Takes};
use crate::knobs::{self, Blast, Case, Knob};
use punctual_facts::cmdline::same_dashes;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::lint::{Target, Testimony, WordVerdict, lint};
use serde::Serialize;
use std::collections::BTreeMap;

/// The id of the knob about reserved huge pages.
const HUGE_PAGES: &str = "mem.hugetlb";

/// A bad finding that the plan leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Left {
    pub id: String,
    pub title: String,
    pub severity: Severity,
    pub reason: Reason,
}

impl Left {
    pub(super) fn new(id: &str, title: &str, severity: Severity, reason: Reason) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), severity, reason }
    }
}

/// The reason why a bad finding is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", content = "because", rename_all = "kebab-case")]
pub enum Reason {
    /// The user excluded this finding from the plan.
    Excepted,
    /// The finding is changed only when the user names it, for this reason.
    Unasked(&'static str),
    /// The change has a larger blast radius than is allowed.
    Blast(Blast),
    /// A person has to make this change, as the text says.
    ByHand(String),
    /// The change cannot be made here, for this reason.
    NotHere(String),
    /// The change for the knob `by` decides the same setting.
    Decided { by: String },
}

/// The changes that a plan makes, and the bad findings that it leaves.
pub struct Decided {
    pub changes: Vec<Change>,
    pub left: Vec<Left>,
}

/// Decides about every finding: returns the changes, in order, and the findings that stay as they are.
pub fn changes(site: &Site<'_>, findings: &[Finding], wishes: &Wishes) -> Decided {
    let mut gathered = Gathered::default();
    // Huge pages are reserved because the user asks for them, whatever the finding says.
    let reserves = |id: &str| id == HUGE_PAGES && !wishes.preferences.huge_pages.is_empty();
    for finding in findings {
        let is_named = wishes.only.contains(&finding.id) || reserves(&finding.id);
        let Some(knob) = knobs::find(&finding.id).filter(|_| is_named || finding.state == State::Bad) else { continue };
        let considered = match &finding.state {
            State::Good if !reserves(&finding.id) => Err(Reason::NotHere("it is set as it should be".to_owned())),
            State::Good | State::Bad | State::Unknown(_) | State::Advice(_) | State::NotApplicable(_) => {
                gathered.consider(knob, finding, site, wishes, is_named)
            }
        };
        if let Err(reason) = considered {
            gathered.left.push(Left::new(&finding.id, &finding.title, finding.severity, reason));
        }
    }
    gathered.changes.sort_by_key(|change| (order(change), place(&change.id)));
    Decided { changes: gathered.changes, left: gathered.left }
}

/// Programs that would undo other changes are silenced first. Changes that take effect at the next boot come last.
fn order(change: &Change) -> u8 {
    let silences = change.steps.iter().any(|step| matches!(step, Step::Silence { .. }));
    match (silences, change.takes) {
        (true, _) => 0,
        (false, Takes::Now) => 1,
        (false, Takes::NextBoot) => 2,
    }
}

/// The position of a knob among the remedies, whose order is the best one to apply them in, and its position in the
/// catalogue. Knobs without a remedy come last.
fn place(id: &str) -> (usize, usize) {
    let remedy = REMEDIES.iter().position(|remedy| remedy.knob == id);
    let knob = knobs::ALL.iter().position(|knob| knob.id == id);
    (remedy.unwrap_or(usize::MAX), knob.unwrap_or(usize::MAX))
}

fn change(knob: &Knob, finding: &Finding, case: &Case<'_>, derived: Derived, notes: Notes) -> Change {
    let (takes, blast) = reach(knob, &derived, &notes);
    let proof: Vec<&str> = finding.evidence.iter().map(|evidence| evidence.source.as_str()).collect();
    let or = |told: String, otherwise: String| if told.is_empty() { otherwise } else { told };
    Change {
        id: finding.id.clone(),
        title: finding.title.clone(),
        before: or(notes.before, told(&derived.before)),
        after: or(notes.after, told(&derived.after)),
        why: finding.why.clone(),
        cost: finding.cost.clone(),
        risk: or(notes.risk, risk(blast, takes)),
        blast,
        lasts: if derived.keeps.is_empty() { Lasts::Reboot } else { Lasts::ForGood },
        takes,
        undo: knob.undo_here(case),
        proof: or(notes.proof, told(&proof)),
        steps: derived.steps,
        keeps: derived.keeps,
        also: Vec::new(),
        is_apart: notes.apart,
    }
}

/// When the change takes effect, and its blast radius.
fn reach(knob: &Knob, derived: &Derived, notes: &Notes) -> (Takes, Blast) {
    let blast = notes.blast.unwrap_or(knob.blast);
    match (derived.is_for_next_boot(), blast) {
        // No real-time work runs during a boot, so nothing is disturbed.
        (true, Blast::Disturbing) => (Takes::NextBoot, Blast::Harmless),
        (true, blast) => (Takes::NextBoot, blast),
        (false, blast) => (Takes::Now, blast),
    }
}

/// The change for a knob, from its remedy on this machine and from the catalogue.
fn done_about(knob: &Knob, site: &Site<'_>) -> Result<(Derived, Notes), Reason> {
    let derived = derive(knob, site.case, site.preferences.partition);
    let (mut derived, notes) = match (remedy(site, knob.id), derived) {
        (None, derived) => (derived.map_err(Reason::ByHand)?, Notes::default()),
        (Some(KnobRemedy::Steps(steps, notes)), derived) => {
            (derived.unwrap_or_default().with_steps(steps).with_rules(knob, site.case), notes)
        }
        (Some(KnobRemedy::Hold(limit, notes)), _) => (Derived::holding(limit), notes),
        // A change that cannot be made now may take effect at the next boot.
        (Some(KnobRemedy::NotHere(_) | KnobRemedy::ByHand(_)), Ok(derived)) if derived.is_for_next_boot() => {
            (derived, Notes::default())
        }
        (Some(KnobRemedy::NotHere(why)), _) => return Err(Reason::NotHere(why)),
        (Some(KnobRemedy::ByHand(how)), _) => return Err(Reason::ByHand(how)),
    };
    keep_known_words(&mut derived, site.case)?;
    Ok((derived, notes))
}

fn risk(blast: Blast, takes: Takes) -> String {
    match (blast, takes) {
        (_, Takes::NextBoot) => {
            "the next boot is a single trial, on a boot entry of its own if the boot loader has such entries"
        }
        (Blast::Harmless, Takes::Now) => "none known",
        (Blast::Disturbing, Takes::Now) => "running real-time work may be late once, while the change is made",
        (Blast::Breaking, Takes::Now) => "a service or function may be lost",
    }
    .to_owned()
}

/// The values as a list for the user. A value that occurs several times in a row is named once.
fn told<S: AsRef<str>>(values: &[S]) -> String {
    let mut rows: Vec<&str> =
        values.iter().map(|value| if value.as_ref().is_empty() { "(empty)" } else { value.as_ref() }).collect();
    rows.dedup();
    rows.join(", ")
}

/// Drops words of the command line that this kernel would refuse or take differently.
fn keep_known_words(derived: &mut Derived, case: &Case<'_>) -> Result<(), Reason> {
    let Some(target) = Target::of(case.machine) else { return Ok(()) };
    let refusal = |keep: &Keep| {
        let Keep::Word(word) = keep else { return None };
        let judged = lint(word.as_bytes(), &target, &Testimony::none()).pop()?;
        let is_dead = matches!(
            judged.verdict,
            WordVerdict::Harmful
                | WordVerdict::Unknown
                | WordVerdict::RejectedValue
                | WordVerdict::Inert
                | WordVerdict::ModuleNotLoaded
        );
        is_dead.then(|| format!("{word}: {}", judged.why))
    };
    let refused: Vec<Option<String>> = derived.keeps.iter().map(refusal).collect();
    let Some(first) = refused.iter().flatten().next().cloned() else { return Ok(()) };
    let mut refused = refused.iter().map(Option::is_some);
    derived.keeps.retain(|_| !refused.next().unwrap_or(false));
    if derived.keeps.is_empty() && derived.steps.is_empty() { Err(Reason::NotHere(first)) } else { Ok(()) }
}

/// The changes gathered so far. No two of them decide the same setting.
#[derive(Default)]
struct Gathered {
    changes: Vec<Change>,
    left: Vec<Left>,
    /// For each decided setting, its value and the index of the change that decides it.
    decided: BTreeMap<String, (String, usize)>,
}

impl Gathered {
    /// Adds the change for a finding. The error says why there is no change.
    fn consider(
        &mut self,
        knob: &Knob,
        finding: &Finding,
        site: &Site<'_>,
        wishes: &Wishes,
        is_named: bool,
    ) -> Result<(), Reason> {
        if wishes.except.contains(&finding.id) || (!wishes.only.is_empty() && !is_named) {
            return Err(Reason::Excepted);
        }
        if let Some(why) = left_unasked(finding, site.case.need.kind).filter(|_| !is_named) {
            return Err(Reason::Unasked(why));
        }
        let (mut derived, notes) = done_about(knob, site)?;
        let (_, blast) = reach(knob, &derived, &notes);
        if blast > wishes.blast {
            return Err(Reason::Blast(blast));
        }
        let place = self.changes.len();
        let new = self.leave_decided(&finding.id, &mut derived)?;
        if !derived.is_empty() {
            self.decided.extend(new.into_iter().map(|(what, value)| (what, (value, place))));
            self.changes.push(change(knob, finding, site.case, derived, notes));
        }
        Ok(())
    }

    /// Removes the parts that earlier changes decide in the same way. Fails if an earlier change decides one of the
    /// parts differently. Returns the settings that only this change decides.
    fn leave_decided(&mut self, id: &str, derived: &mut Derived) -> Result<Vec<(String, String)>, Reason> {
        let all = derived.decisions();
        let known = |(what, value): &(String, String)| self.decided.get(what).map(|(v, by)| (*by, v == value));
        let found: Vec<(usize, bool)> = all.iter().filter_map(known).collect();
        if let Some((by, _)) = found.iter().find(|(_, agrees)| !agrees) {
            return Err(Reason::Decided { by: self.changes[*by].id.clone() });
        }
        if let Some((by, _)) = found.first() {
            self.changes[*by].also.push(id.to_owned());
            derived.leave(|what| self.decided.contains_key(what));
        }
        Ok(all.into_iter().filter(|(what, _)| !self.decided.contains_key(what)).collect())
    }
}

impl Derived {
    fn decisions(&self) -> Vec<(String, String)> {
        self.steps.iter().filter_map(decision).chain(self.keeps.iter().filter_map(kept)).collect()
    }

    fn leave(&mut self, is_decided: impl Fn(&str) -> bool) {
        let is_new = |what: Option<(String, String)>| what.is_none_or(|(what, _)| !is_decided(&what));
        // If the change came from the catalogue alone, each kept setting has one value in `before` and one in `after`.
        if self.keeps.len() == self.after.len() {
            let mut news = self.keeps.iter().map(|keep| is_new(kept(keep)));
            let mut told = self.before.drain(..).zip(self.after.drain(..)).collect::<Vec<_>>();
            told.retain(|_| news.next().unwrap_or(true));
            (self.before, self.after) = told.into_iter().unzip();
        }
        self.steps.retain(|step| is_new(decision(step)));
        self.keeps.retain(|keep| is_new(kept(keep)));
    }
}

/// The setting that a step decides, and its value.
fn decision(step: &Step) -> Option<(String, String)> {
    match step {
        Step::Write { path, value, .. } => Some((path.clone(), value.clone())),
        Step::Affinity { task, cpus } => Some((format!("affinity of {}", task.pid), cpus.to_string())),
        Step::Policy { task, policy } => Some((format!("policy of {}", task.pid), format!("{policy:?}"))),
        Step::Silence { unit, .. } => Some((unit.clone(), "silent".to_owned())),
        Step::Own { .. }
        | Step::Edit { .. }
        | Step::Remove { .. }
        | Step::Folder { .. }
        | Step::Nic { .. }
        | Step::Run { .. } => None,
    }
}

/// The setting that is decided for later boots, and its value; `None` if a step decides it already.
fn kept(keep: &Keep) -> Option<(String, String)> {
    match keep {
        Keep::Word(word) => {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            Some((format!("word {}", same_dashes(name)), value.to_owned()))
        }
        Keep::NoWord(name) => Some((format!("word {}", same_dashes(name)), "(none)".to_owned())),
        Keep::ModuleOptions(line) => Some((format!("options {line}"), String::new())),
        Keep::NoModule(name) => Some((format!("module {name}"), "(none)".to_owned())),
        Keep::Udev(rule) => Some((format!("rule {rule}"), String::new())),
        Keep::Limit(line) => {
            let (who, value) = line.rsplit_once(' ').unwrap_or((line, ""));
            Some((format!("limit {who}"), value.to_owned()))
        }
        Keep::Manager(cpus) => Some(("CPUs of systemd".to_owned(), cpus.to_string())),
        Keep::Hold(limit) => Some(("latency limit".to_owned(), limit.to_string())),
        Keep::Sysctl { .. } | Keep::Write { .. } | Keep::Anew => None,
    }
}
