//! The combined records of one transaction: what it did, and which of its changes are still in place.
//!
//! This module only combines records. It does not access files or the machine.

use super::format::Damage;
use super::record::{Begun, Intent, JournalRecord, KeptSetting, Owner, Purpose, StepOutcome, Undone, Was};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub transaction: u32,
    /// The begin record; `None` if it is damaged.
    pub begun: Option<Begun>,
    pub entries: Vec<Entry>,
    pub was: Vec<Was>,
    pub stage: SessionStage,
    pub confirmed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionStage {
    #[default]
    Applying,
    Applied,
    Leaving,
    Reverted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub intent: Intent,
    /// The result of the step; `None` if the program ended before the step did.
    pub outcome: Option<StepOutcome>,
    pub undone: Option<Undone>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub sessions: Vec<Session>,
    pub damage: Vec<Damage>,
    /// Whether the last line was cut off while it was written. The step that it announced was not done.
    pub torn: bool,
}

/// The boot and the time with which deadlines in the journal are compared.
#[derive(Clone, Debug)]
pub struct Now {
    pub boot: String,
    /// `CLOCK_BOOTTIME` in nanoseconds: time since boot, including suspension.
    pub boottime_ns: u64,
}

/// Why the next program that reads the journal should undo a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The program ended while it applied the transaction.
    HalfApplied,
    HalfReverted,
    /// The command for which the transaction was made has ended, and the transaction was not undone.
    OwnerGone,
    NotConfirmed,
}

impl Contents {
    pub fn take(&mut self, record: JournalRecord) {
        match record {
            JournalRecord::Begun(begun) => {
                let session = self.session(begun.transaction);
                session.begun = Some(begun);
            }
            JournalRecord::Intent(intent) => {
                let session = self.session(intent.transaction);
                session.entries.push(Entry { intent, outcome: None, undone: None });
            }
            JournalRecord::Was(was) => self.session(was.transaction).was.push(was),
            JournalRecord::Outcome { transaction, number, outcome } => {
                if let Some(entry) = self.session(transaction).entry(number) {
                    entry.outcome = Some(outcome);
                }
            }
            JournalRecord::Applied { transaction } => self.session(transaction).stage = SessionStage::Applied,
            JournalRecord::Confirmed { transaction } => self.session(transaction).confirmed = true,
            JournalRecord::Leaving { transaction } => self.session(transaction).stage = SessionStage::Leaving,
            JournalRecord::Undone { transaction, number, how } => {
                if let Some(entry) = self.session(transaction).entry(number) {
                    entry.undone = Some(how);
                }
            }
            JournalRecord::Reverted { transaction } => self.session(transaction).stage = SessionStage::Reverted,
        }
    }

    /// The session of a transaction; an empty one is added if there is none.
    fn session(&mut self, transaction: u32) -> &mut Session {
        let at = self.sessions.partition_point(|session| session.transaction < transaction);
        if self.sessions.get(at).is_none_or(|session| session.transaction != transaction) {
            self.sessions.insert(at, Session { transaction, ..Session::default() });
        }
        &mut self.sessions[at]
    }

    /// Sessions with changes that are still in place.
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = &Session> {
        self.sessions.iter().filter(|session| session.stage != SessionStage::Reverted)
    }

    /// Sessions to be undone without a request from the user. `alive` returns whether a process of this boot still
    /// runs.
    pub fn pending<'a>(
        &'a self,
        now: &'a Now,
        alive: &'a dyn Fn(Owner) -> bool,
    ) -> impl Iterator<Item = (&'a Session, Pending)> + 'a {
        self.standing().filter_map(move |session| Some((session, session.pending(now, alive)?)))
    }

    pub fn next_transaction(&self) -> u32 {
        self.sessions.last().map_or(1, |session| session.transaction.saturating_add(1))
    }
}

impl Session {
    /// The settings that are kept across boots. There are none unless the transaction tuned the machine.
    pub fn keeps(&self) -> impl Iterator<Item = &KeptSetting> {
        let begun = self.begun.iter().filter(|begun| begun.kind == Purpose::Tuned);
        begun.flat_map(|begun| &begun.asked.keeps)
    }

    fn entry(&mut self, number: u32) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.intent.number == number)
    }

    /// Steps that still have to be undone, the last one first.
    pub fn outstanding(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev().filter(|entry| entry.undone.is_none())
    }

    fn pending(&self, now: &Now, alive: &dyn Fn(Owner) -> bool) -> Option<Pending> {
        let begun = self.begun.as_ref()?;
        let same_boot = begun.boot == now.boot;
        let owned = same_boot && alive(begun.owner);
        match self.stage {
            SessionStage::Reverted => return None,
            SessionStage::Leaving => return (!owned).then_some(Pending::HalfReverted),
            SessionStage::Applying => return (!owned).then_some(Pending::HalfApplied),
            SessionStage::Applied => {}
        }
        if matches!(begun.kind, Purpose::ForCommand { .. }) && !owned {
            return Some(Pending::OwnerGone);
        }
        let late = begun.confirm_by_ns.is_some_and(|deadline| !same_boot || now.boottime_ns >= deadline);
        (late && !self.confirmed).then_some(Pending::NotConfirmed)
    }
}
