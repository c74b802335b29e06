//! Undoes transactions step by step in reverse order, repeatedly if necessary, until nothing is left. Then all our
//! files are removed.

use super::error::EngineError;
use super::machine::{is_alive, now};
use super::undo::{Since, Stuck, ends_with_the_boot, undo};
use crate::hand::{Hand, Lock, LockAnswer};
use crate::journal::format::Damage;
use crate::journal::{
    Begun, Contents, Intent, Journal, JournalRecord, KeptSetting, Session, SessionStage, Undone, store,
};
use punctual_tuning::plan::{Before, Step};
use serde::Serialize;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    All,
    /// Undo every transaction after the one with this number.
    DownTo(u32),
    /// Undo only the transaction with this number. A step that later transactions build upon is undone when those
    /// transactions are undone.
    Only(u32),
}

impl Extent {
    fn holds(self, transaction: u32) -> bool {
        match self {
            Self::All => true,
            Self::DownTo(kept) => transaction > kept,
            Self::Only(one) => transaction == one,
        }
    }
}

/// The result of undoing transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reverted {
    /// The undone steps, in the order in which they were undone.
    pub undone: Vec<UndoneStep>,
    /// Steps that could not be undone, each with its reason.
    pub trouble: Vec<Trouble>,
    /// Numbers of the transactions of which nothing is left.
    pub transactions: Vec<u32>,
    /// Lines of the journal that could not be read. Their steps were not undone.
    pub damage: Vec<Damage>,
    /// Whether the last line was cut off. The step that it announced had not been done.
    pub torn: bool,
    /// Whether nothing is left on this machine, and the journal is removed.
    pub closed: bool,
    /// Why the journal could not be written; `None` if it could. The steps in `undone` are undone in either case.
    pub unwritten: Option<String>,
}

/// A step that is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoneStep {
    #[serde(flatten)]
    pub intent: Intent,
    #[serde(flatten)]
    pub how: Undone,
}

/// A step that is not undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    #[serde(flatten)]
    pub intent: Intent,
    pub why: String,
    /// Whether another program or person has changed the setting since. Then a decision is needed, and trying again
    /// does not help.
    pub conflict: bool,
}

/// Takes the lock. Creates its folder if it does not exist.
pub(super) fn lock(hand: &dyn Hand) -> Result<Lock, EngineError> {
    for _ in 0..10 {
        store::folder(hand)?;
        match hand.lock(store::LOCK) {
            Ok(LockAnswer::Taken(lock)) => return Ok(lock),
            Ok(LockAnswer::Held { by }) => return Err(EngineError::Locked { by }),
            // The previous holder has just removed the empty folder, so this is tried again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(EngineError::Lock { reason: error }),
        }
    }
    Err(EngineError::Locked { by: None })
}

pub(super) fn boot(hand: &dyn Hand) -> Result<String, EngineError> {
    hand.boot_id().map_err(|reason| EngineError::Unknown { what: "the number of this run of the machine", reason })
}

/// Undoes transactions. With `leave_conflicts`, steps whose settings someone else changed since are left as they are
/// and forgotten. An error means that nothing was undone (the lock is taken, or the journal cannot be used), or that
/// everything was undone and only the journal could not be removed.
pub fn revert(hand: &dyn Hand, extent: Extent, leave_conflicts: bool) -> Result<Reverted, EngineError> {
    let wanted = |_: &Contents| Some(extent);
    Ok(revert_if(hand, &wanted, leave_conflicts)?.unwrap_or(Reverted { closed: true, ..Reverted::default() }))
}

/// Undoes the transaction that began with `begun` without a request from the user. `None` if it was confirmed or undone
/// in the meantime.
pub fn revert_pending(hand: &dyn Hand, begun: &Begun) -> Result<Option<Reverted>, EngineError> {
    let present = now(hand).map_err(|reason| EngineError::Unknown { what: "the time since the start", reason })?;
    let wanted = |contents: &Contents| {
        let mut pending = contents.pending(&present, &is_alive);
        pending.any(|(session, _)| is_of(session, begun)).then_some(Extent::Only(begun.transaction))
    };
    revert_if(hand, &wanted, false)
}

/// Undoes as [`revert_pending`] does, for a transaction whose process is known to have ended.
pub(super) fn revert_orphan(hand: &dyn Hand, begun: &Begun) -> Result<Option<Reverted>, EngineError> {
    let wanted = |contents: &Contents| {
        let mut standing = contents.standing();
        standing.any(|session| is_of(session, begun)).then_some(Extent::Only(begun.transaction))
    };
    revert_if(hand, &wanted, false)
}

/// Whether the session began with `begun`. Comparing the number is not enough, because a new journal starts at 1 again.
fn is_of(session: &Session, begun: &Begun) -> bool {
    session.begun.as_ref() == Some(begun)
}

/// Takes the lock, then undoes the extent that `wanted` returns. `None` if there is no journal, or if `wanted` returns
/// nothing.
fn revert_if(
    hand: &dyn Hand,
    wanted: &dyn Fn(&Contents) -> Option<Extent>,
    leave_conflicts: bool,
) -> Result<Option<Reverted>, EngineError> {
    let folder = hand.stat(store::FOLDER).map_err(|reason| EngineError::Lock { reason })?;
    if folder.is_none() {
        return Ok(None);
    }
    let _lock = lock(hand)?;
    let Some(mut journal) = Journal::open(hand)? else {
        store::sweep_folder(hand)?;
        return Ok(None);
    };
    let Some(extent) = wanted(journal.contents()) else { return Ok(None) };
    let mut work = Work::new(hand, boot(hand)?, leave_conflicts);
    work.done.damage.clone_from(&journal.contents().damage);
    work.done.torn = journal.contents().torn;
    let chosen: Vec<u32> =
        journal.contents().standing().map(|s| s.transaction).filter(|number| extent.holds(*number)).collect();
    for transaction in &chosen {
        work.note(&mut journal, JournalRecord::Leaving { transaction: *transaction });
    }
    // Earlier reverts may have left steps on which steps of the chosen transactions were built.
    let leaving = journal.contents().standing().filter(|session| session.stage == SessionStage::Leaving);
    let chosen: Vec<u32> = leaving.map(|session| session.transaction).collect();
    work.undo(&mut journal, |intent| chosen.contains(&intent.transaction));
    work.finish(journal, &chosen).map(Some)
}

pub(super) struct Work<'a> {
    pub hand: &'a dyn Hand,
    pub boot: String,
    pub leave_conflicts: bool,
    pub done: Reverted,
    /// Steps that were undone although the journal could not be written.
    remembered: Vec<Intent>,
}

impl<'a> Work<'a> {
    pub fn new(hand: &'a dyn Hand, boot: String, leave_conflicts: bool) -> Self {
        Self { hand, boot, leave_conflicts, done: Reverted::default(), remembered: Vec::new() }
    }

    /// Undoes the chosen steps that are not undone yet, the last one first.
    pub fn undo(&mut self, journal: &mut Journal<'_>, chosen: impl Fn(&Intent) -> bool) {
        let sessions = journal.contents().standing().rev();
        let entries = sessions.flat_map(|session| session.outstanding().map(|entry| entry.intent.clone()));
        let intents: Vec<Intent> = entries.filter(|intent| chosen(intent)).collect();
        for intent in intents {
            let since = self.since(journal.contents(), &intent);
            let ended = since == Since::Restarted && ends_with_the_boot(&intent);
            let result = match self.in_the_way(journal.contents(), &intent, ended) {
                Some(why) => Err(Stuck::Failed(why)),
                None => undo(self.hand, &intent, since),
            };
            let how = match result {
                Err(Stuck::Conflict(what)) if self.leave_conflicts => Ok(Undone::Left { what }),
                result => result,
            };
            match how {
                Ok(how) => {
                    let (transaction, number) = (intent.transaction, intent.number);
                    if !self.note(journal, JournalRecord::Undone { transaction, number, how: how.clone() }) {
                        self.remembered.push(intent.clone());
                    }
                    self.done.undone.push(UndoneStep { intent, how });
                }
                Err(Stuck::Conflict(why)) => self.done.trouble.push(Trouble { intent, why, conflict: true }),
                Err(Stuck::Failed(why)) => self.done.trouble.push(Trouble { intent, why, conflict: false }),
            }
        }
    }

    /// Whether the machine was restarted since the step was done. If the begin record cannot be read, the answer is no:
    /// writing an old value once more does less harm than leaving a new one.
    fn since(&self, contents: &Contents, intent: &Intent) -> Since {
        let session = contents.sessions.iter().find(|session| session.transaction == intent.transaction);
        match session.and_then(|session| session.begun.as_ref()) {
            None => Since::Running,
            Some(begun) if begun.boot == self.boot => Since::Running,
            Some(begun) if is_kept(&begun.asked.keeps, &intent.step) => Since::SetAgain,
            Some(_) => Since::Restarted,
        }
    }

    /// Writes a record if the journal can be written; undoing continues on a full disk. Returns whether the record is
    /// on the disk.
    fn note(&mut self, journal: &mut Journal<'_>, record: JournalRecord) -> bool {
        if self.done.unwritten.is_none() {
            match journal.append(record.clone()) {
                Ok(()) => return true,
                Err(error) => self.done.unwritten = Some(error.to_string()),
            }
        }
        journal.remember(record);
        false
    }

    /// Why a step cannot be undone yet. Later steps that changed the same thing have to be undone first. If this step
    /// runs a program, all later steps of the same change have to be undone first, because the program's results depend
    /// on them. The step also stays while another transaction relies on it, or if a later step was undone and the
    /// journal could not record this, because the next revert would take the later step as still applied.
    fn in_the_way(&self, contents: &Contents, intent: &Intent, ended: bool) -> Option<String> {
        let at = |intent: &Intent| (intent.transaction, intent.number);
        let runs = |other: &Intent| {
            matches!(intent.step, Step::Run { .. })
                && (other.transaction, &other.change) == (intent.transaction, &intent.change)
        };
        if self.remembered.iter().any(|other| overlap(intent, other)) {
            return Some("that what lay above it is undone could not be written down".to_owned());
        }
        if let Some(number) = relied_on(contents, intent).filter(|_| !ended) {
            return Some(format!("transaction {number} relies on it, and it goes back with that"));
        }
        let entries = contents.standing().flat_map(|session| session.entries.iter());
        let mut later = entries.filter(|entry| entry.undone.is_none()).map(|entry| &entry.intent);
        let other = later.find(|other| at(other) > at(intent) && (overlap(intent, other) || runs(other)))?;
        Some(if other.transaction == intent.transaction {
            "what was done after it has to be undone first".to_owned()
        } else {
            format!("it lies beneath transaction {} and goes back with it", other.transaction)
        })
    }

    /// Records which transactions are completely undone, and removes all our files when all are.
    pub fn finish(mut self, mut journal: Journal<'_>, chosen: &[u32]) -> Result<Reverted, EngineError> {
        for transaction in chosen {
            let session = journal.contents().sessions.iter().find(|session| session.transaction == *transaction);
            if session.is_some_and(|session| session.outstanding().next().is_none()) {
                self.note(&mut journal, JournalRecord::Reverted { transaction: *transaction });
                self.done.transactions.push(*transaction);
            }
        }
        if journal.contents().standing().next().is_none() {
            journal.close()?;
            store::sweep_folder(self.hand)?;
            self.done.closed = true;
        }
        Ok(self.done)
    }
}

/// The later transaction that relies on this step, because it found the value of this step already set; `None` if there
/// is none. A transaction that is being undone relies on nothing.
fn relied_on(contents: &Contents, intent: &Intent) -> Option<u32> {
    let stays = |session: &&Session| session.transaction > intent.transaction && session.stage != SessionStage::Leaving;
    let relies = |session: &Session| session.was.iter().any(|was| is_same_place(&intent.step, &was.step));
    contents.standing().filter(stays).find(|session| relies(session)).map(|session| session.transaction)
}

fn overlap(one: &Intent, other: &Intent) -> bool {
    let within_made = |path: &str| {
        matches!(&one.before, Before::Nothing { folders_made }
            if folders_made.iter().any(|folder| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))))
    };
    let is_below = |(folder, path): (&str, &str)| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    is_same_place(&one.step, &other.step)
        || place(&other.step).is_some_and(within_made)
        || (matches!(one.step, Step::Folder { .. }) && place(&one.step).zip(place(&other.step)).is_some_and(is_below))
}

fn is_same_place(one: &Step, other: &Step) -> bool {
    match (one, other) {
        (Step::Affinity { task, .. }, Step::Affinity { task: other, .. })
        | (Step::Policy { task, .. }, Step::Policy { task: other, .. }) => {
            (task.pid, task.started) == (other.pid, other.started)
        }
        (Step::Nic { device, .. }, Step::Nic { device: other, .. }) => device == other,
        (Step::Silence { unit, .. }, Step::Silence { unit: other, .. }) => unit == other,
        _ => place(one).is_some_and(|path| place(other) == Some(path)),
    }
}

/// Whether our files write the same value again at each boot.
fn is_kept(keeps: &[KeptSetting], step: &Step) -> bool {
    let Step::Write { path: written, .. } = step else { return false };
    keeps.iter().any(|kept| kept.keep.writes(written))
}

fn place(step: &Step) -> Option<&str> {
    match step {
        Step::Write { path, .. }
        | Step::Own { path, .. }
        | Step::Edit { path, .. }
        | Step::Remove { path }
        | Step::Folder { path } => Some(path),
        Step::Affinity { .. } | Step::Policy { .. } | Step::Nic { .. } | Step::Silence { .. } | Step::Run { .. } => {
            None
        }
    }
}
