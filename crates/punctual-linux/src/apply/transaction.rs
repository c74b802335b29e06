//! Carries out the changes of a plan, each completely or not at all. The journal announces each step before it is done.

use super::act::act;
use super::error::EngineError;
use super::look::{Look, look};
use super::machine::{now, this_process};
use super::revert::{Work, boot, lock};
use crate::hand::{Hand, Lock};
use crate::journal::{
    Begun, Intent, Journal, JournalError, JournalRecord, Purpose, SessionStage, StepOutcome, TuningRequest, Was, store,
};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::{Before, Change, Step};
use serde::Serialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes in the journal for all records of one step, without the step's own content.
const ROOM_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub struct Request {
    pub kind: Purpose,
    pub asked: TuningRequest,
    /// Time after which everything is undone, unless it is confirmed.
    pub confirm_within: Option<Duration>,
}

/// A transaction that has begun. No other process changes the machine while this value lives.
pub struct Transaction<'a> {
    hand: &'a dyn Hand,
    journal: Journal<'a>,
    boot: String,
    number: u32,
    next_step: u32,
    _lock: Lock,
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("number", &self.number)
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}

/// The result of applying a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Applied {
    pub transaction: u32,
    /// The changes, in order.
    pub changes: Vec<Tried>,
    /// Whether any change is left in place, so that there is something to revert.
    pub stands: bool,
}

/// The result of one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    pub id: String,
    /// Whether the change was made, and if not, why.
    #[serde(flatten)]
    pub fate: Fate,
    /// Results of the steps that were tried. A step without a result found its value already set.
    pub steps: Vec<Option<StepOutcome>>,
}

/// Whether a change was made, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "fate", rename_all = "kebab-case")]
pub enum Fate {
    /// The change was made and is in force.
    Done,
    /// The machine already had the wanted settings.
    Already,
    /// The subject of the change has gone, or does not exist here.
    Gone,
    /// The change was made, and a part of it takes effect only later.
    Waits,
    /// Nothing of the change can be done now. It takes effect at the next boot, if the boot loader is configured for
    /// it.
    NextBoot,
    /// The change was not made, because its blast radius is larger than allowed.
    TooBroad {
        /// The blast radius of the change.
        blast: Blast,
    },
    /// Some steps, which are independent of each other, were refused. The others are in force.
    Partly {
        /// Number of refused steps.
        refused: usize,
        of: usize,
        /// Reason of the first refused step.
        why: String,
    },
    /// A step failed, and the steps before it were undone.
    TakenBack {
        /// Reason of the failed step.
        why: String,
    },
    /// A step failed, and not all of the steps before it could be undone.
    Stuck {
        /// Reason of the failed step.
        why: String,
        /// Steps that could not be undone, each with its reason.
        left: Vec<String>,
    },
}

impl<'a> Transaction<'a> {
    /// Takes the lock and writes the begin record. From then on, every step can be recorded.
    pub fn begin(hand: &'a dyn Hand, request: &Request) -> Result<Self, EngineError> {
        let boot = boot(hand)?;
        let owner = this_process().map_err(|reason| EngineError::Unknown { what: "this process", reason })?;
        let present = now(hand).map_err(|reason| EngineError::Unknown { what: "the time since the start", reason })?;
        let lock = lock(hand)?;
        let begun = || {
            let mut journal = Journal::open_or_create(hand)?;
            let lines = journal.contents().damage.len();
            if lines > 0 {
                return Err(EngineError::Damaged { lines });
            }
            let number = journal.contents().next_transaction();
            journal.forget_reverted()?;
            let deadline = |within: Duration| {
                present.boottime_ns.saturating_add(u64::try_from(within.as_nanos()).unwrap_or(u64::MAX))
            };
            journal.append(JournalRecord::Begun(Begun {
                transaction: number,
                at_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
                boot: boot.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                asked: request.asked.clone(),
                kind: request.kind.clone(),
                owner,
                confirm_by_ns: request.confirm_within.map(deadline),
            }))?;
            Ok((journal, number))
        };
        match begun() {
            Ok((journal, number)) => Ok(Self { hand, journal, boot, number, next_step: 1, _lock: lock }),
            Err(error) => {
                abandon(hand);
                Err(error)
            }
        }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// Makes the changes in order. If a change fails, this is part of the result, and the next ones are still made. An
    /// error means that the journal could not be written, and that everything was undone.
    pub fn apply(mut self, changes: &[Change], allowed: Blast) -> Result<Applied, EngineError> {
        if let Err(cause) = self.journal.reserve(room(changes)) {
            return Err(self.roll_back(cause));
        }
        let mut tried = Vec::new();
        for change in changes {
            match self.change(change, allowed) {
                Ok(result) => tried.push(result),
                Err(cause) => return Err(self.roll_back(cause)),
            }
        }
        if let Err(cause) = self.journal.append(JournalRecord::Applied { transaction: self.number }) {
            return Err(self.roll_back(cause));
        }
        let transaction = self.number;
        let stands = self.close_if_nothing_stands()?;
        Ok(Applied { transaction, changes: tried, stands })
    }

    pub fn cancel(self) -> Result<(), EngineError> {
        self.close_if_nothing_stands().map(drop)
    }
}

/// Removes the journal after a failed begin, unless it contains older transactions.
fn abandon(hand: &dyn Hand) {
    let empty =
        Journal::open(hand).ok().flatten().filter(|journal| *journal.contents() == crate::journal::Contents::default());
    // If removing the journal fails, an empty folder may stay; the next revert removes it.
    if let Some(journal) = empty {
        let _ = journal.close();
    }
    let _ = store::sweep_folder(hand);
}

/// Upper bound for the number of bytes that these changes write into the journal.
fn room(changes: &[Change]) -> u64 {
    let content = |step: &Step| match step {
        Step::Own { content, .. } => content.len(),
        Step::Edit { seen, content, also_ours, .. } => {
            seen.len() + content.len() + also_ours.iter().map(Vec::len).sum::<usize>()
        }
        Step::Write { value, .. } => value.len(),
        _ => 0,
    };
    let steps = changes.iter().flat_map(|change| &change.steps);
    // JSON may need six bytes for one byte of content.
    steps.map(|step| ROOM_BYTES + 6 * content(step) as u64).sum::<u64>() + ROOM_BYTES
}

impl Transaction<'_> {
    fn change(&mut self, change: &Change, allowed: Blast) -> Result<Tried, JournalError> {
        let id = change.id.clone();
        if change.blast > allowed {
            return Ok(Tried { id, fate: Fate::TooBroad { blast: change.blast }, steps: Vec::new() });
        }
        let first = self.next_step;
        let (mut steps, mut refused) = (Vec::new(), Vec::new());
        for step in &change.steps {
            let this = self.next_step;
            let outcome = self.step(change, step)?;
            let why = match &outcome {
                Some(StepOutcome::Refused { why }) => Some(why.clone()),
                Some(StepOutcome::Differs { seen }) => Some(format!("after it was done, it reads '{seen}'")),
                _ => None,
            };
            steps.push(outcome);
            if let Some(why) = why {
                let left = self.take_back(|number| number >= if change.is_apart { this } else { first });
                if !left.is_empty() {
                    return Ok(Tried { id, fate: Fate::Stuck { why, left }, steps });
                }
                if !change.is_apart {
                    return Ok(Tried { id, fate: Fate::TakenBack { why }, steps });
                }
                refused.push(why);
            }
        }
        let fate = match refused.first() {
            None if change.steps.is_empty() && !change.keeps.is_empty() => Fate::NextBoot,
            None => fate(&steps),
            Some(why) if refused.len() == steps.len() => Fate::TakenBack { why: why.clone() },
            Some(why) => Fate::Partly { refused: refused.len(), of: steps.len(), why: why.clone() },
        };
        Ok(Tried { id, fate, steps })
    }

    /// Does one step; `None` if the machine already had the value.
    fn step(&mut self, change: &Change, step: &Step) -> Result<Option<StepOutcome>, JournalError> {
        let transaction = self.number;
        let (mut before, bytes) = match look(self.hand, step) {
            Err(why) => return Ok(Some(StepOutcome::Refused { why })),
            Ok(Look::Gone(what)) => return Ok(Some(StepOutcome::Gone { what })),
            Ok(Look::Already) => {
                let was = Was { transaction, change: change.id.clone(), step: step.clone() };
                self.journal.append(JournalRecord::Was(was))?;
                return Ok(None);
            }
            Ok(Look::Ready { before, bytes }) => (before, bytes),
        };
        let number = self.next_step;
        if let (Before::File { copy, .. }, Some(bytes)) = (&mut before, bytes) {
            *copy = format!("{transaction}-{number}");
            if let Err(error) = self.journal.save(copy, &bytes) {
                return Ok(Some(StepOutcome::Refused { why: error.to_string() }));
            }
        }
        self.next_step += 1;
        self.journal.append(JournalRecord::Intent(Intent {
            transaction,
            number,
            change: change.id.clone(),
            lasts: change.lasts,
            step: step.clone(),
            before: before.clone(),
        }))?;
        let outcome = act(self.hand, step, &before);
        self.journal.append(JournalRecord::Outcome { transaction, number, outcome: outcome.clone() })?;
        Ok(Some(outcome))
    }

    /// Undoes the chosen steps of this transaction, the last one first. Returns the reasons why steps could not be
    /// undone.
    fn take_back(&mut self, chosen: impl Fn(u32) -> bool) -> Vec<String> {
        let mut work = Work::new(self.hand, self.boot.clone(), false);
        let transaction = self.number;
        work.undo(&mut self.journal, |intent| intent.transaction == transaction && chosen(intent.number));
        work.done.trouble.into_iter().map(|trouble| trouble.why).collect()
    }

    /// Undoes everything because the journal cannot be written. A change that the journal does not contain must not
    /// stay.
    fn roll_back(mut self, cause: JournalError) -> EngineError {
        let left = self.take_back(|_| true);
        if left.is_empty() {
            // If the journal cannot be removed now, the next revert does it, because all its steps are undone.
            let _ = self.close_if_nothing_stands();
        }
        EngineError::RolledBack { cause, left }
    }

    /// Removes a transaction that changed nothing. Returns whether any change is left in place.
    fn close_if_nothing_stands(mut self) -> Result<bool, EngineError> {
        let transaction = self.number;
        let session = self.journal.contents().sessions.iter().find(|session| session.transaction == transaction);
        if session.is_some_and(|session| session.outstanding().next().is_some()) {
            return Ok(true);
        }
        let others = self.journal.contents().standing().any(|session| session.transaction != transaction);
        if others {
            self.journal.append(JournalRecord::Reverted { transaction })?;
            return Ok(false);
        }
        self.journal.close()?;
        store::sweep_folder(self.hand)?;
        Ok(false)
    }
}

fn fate(steps: &[Option<StepOutcome>]) -> Fate {
    let some = |wanted: fn(&StepOutcome) -> bool| steps.iter().flatten().any(wanted);
    if some(|outcome| matches!(outcome, StepOutcome::Waits { .. })) {
        Fate::Waits
    } else if some(|outcome| matches!(outcome, StepOutcome::Effective)) {
        Fate::Done
    } else if some(|outcome| matches!(outcome, StepOutcome::Gone { .. })) {
        Fate::Gone
    } else {
        Fate::Already
    }
}

/// Confirms the transaction with this number, or else the last one that waits for confirmation. Returns its number.
pub fn confirm(hand: &dyn Hand, transaction: Option<u32>) -> Result<u32, EngineError> {
    if hand.stat(store::FOLDER).map_err(|reason| EngineError::Lock { reason })?.is_none() {
        return Err(EngineError::NothingToConfirm("nothing is applied"));
    }
    let _lock = lock(hand)?;
    let present = now(hand).map_err(|reason| EngineError::Unknown { what: "the time since the start", reason })?;
    let Some(mut journal) = Journal::open(hand)? else {
        store::sweep_folder(hand)?;
        return Err(EngineError::NothingToConfirm("nothing is applied"));
    };
    let waits = journal.contents().standing().rev().find_map(|session| {
        let begun = session.begun.as_ref()?;
        let asked = transaction.is_none_or(|number| number == session.transaction);
        (asked && !session.confirmed && begun.confirm_by_ns.is_some()).then_some((session, begun))
    });
    let Some((session, begun)) = waits else {
        return Err(EngineError::NothingToConfirm(
            "no transaction was made with a time to confirm, or it is confirmed",
        ));
    };
    let late = begun.boot != present.boot || begun.confirm_by_ns.is_some_and(|by| present.boottime_ns >= by);
    if late || session.stage == SessionStage::Leaving {
        return Err(EngineError::NothingToConfirm("the time is up, and everything goes back"));
    }
    let transaction = session.transaction;
    journal.append(JournalRecord::Confirmed { transaction })?;
    Ok(transaction)
}
