//! The journal as a file: checked for safety, read, appended to, and removed when nothing is left to undo.
//!
//! All access goes through a [`Hand`], so that tests can end the program at any point. This module does not know what
//! the steps do.

use super::format::{self, Unusable};
use super::record::JournalRecord;
use super::session::Contents;
use crate::hand::{FileKind, Hand, Meta};
use std::io;

/// The folder with all our files: journal, saved copies and lock.
pub const FOLDER: &str = "/var/lib/punctual";
pub const FILE: &str = "/var/lib/punctual/journal";
/// Folder for copies of files as they were before we changed them.
pub const SAVED: &str = "/var/lib/punctual/saved";
/// The process that changes the machine holds a lock on this file.
pub const LOCK: &str = "/var/lib/punctual/lock";
const NEW: &str = "/var/lib/punctual/journal.new";
/// Ending of the names under which a journal with damaged lines and its copies are kept, after all readable steps were
/// undone.
const ASIDE: &str = ".damaged";

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{path}: {operation}: {reason}. {}", remedy(reason))]
    Io { path: String, operation: &'static str, reason: io::Error },
    /// Another user could have written the journal.
    #[error(
        "{path}: read journal: {why}, so what it says cannot be trusted. Find out who wrote it; only a file and a folder of the superuser's that nobody else may write to are used"
    )]
    Unsafe { path: String, why: String },
    /// A later version of the program wrote the journal.
    #[error(
        "{FILE}: read journal: it is of version {version}, and this program reads up to {}. Use the punctual that wrote it, or a later one",
        format::VERSION
    )]
    Newer { version: u32 },
    #[error(
        "{FILE}: read journal: it is no journal of punctual's. Nothing was undone; saved copies, if there are any, are in {SAVED}. Move the file away to go on"
    )]
    NotAJournal,
    /// The journal contains a record of a kind that only later versions know.
    #[error(
        "{FILE}: read journal: line {line} is of the unknown kind '{kind}'. Nothing was undone; use the punctual that wrote it"
    )]
    UnknownRecord { line: usize, kind: String },
    #[error("{FILE}: write journal: {0}. This is a mistake in punctual: please report it")]
    Unwritable(serde_json::Error),
}

fn remedy(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "Only the superuser may: run it with sudo",
        io::ErrorKind::ReadOnlyFilesystem => {
            "Changes are only made where they can be written down first: make /var writable (mount -o remount,rw)"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Changes are only made where they can be written down first: make room on that disk"
        }
        io::ErrorKind::NotFound => {
            "Make the folder above it; changes are only made where they can be written down first"
        }
        _ => "Changes are only made where they can be written down first",
    }
}

fn failed(path: &str, operation: &'static str) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.to_owned();
    move |reason| JournalError::Io { path, operation, reason }
}

pub fn read(hand: &dyn Hand) -> Result<Option<Contents>, JournalError> {
    Ok(load(hand)?.map(|(contents, ..)| contents))
}

/// Reads the contents, the length of all whole lines, and the length of the file.
fn load(hand: &dyn Hand) -> Result<Option<(Contents, u64, u64)>, JournalError> {
    if safe(hand, FOLDER, FileKind::Folder)?.is_none() || safe(hand, FILE, FileKind::Regular)?.is_none() {
        return Ok(None);
    }
    let bytes = hand.read(FILE).map_err(failed(FILE, "read journal"))?;
    let parsed = format::parse(&bytes).map_err(|unusable| match unusable {
        Unusable::Newer(version) => JournalError::Newer { version },
        Unusable::NotAJournal => JournalError::NotAJournal,
        Unusable::UnknownRecord { line, kind } => JournalError::UnknownRecord { line, kind },
    })?;
    let mut contents = Contents { damage: parsed.damage, torn: parsed.good_bytes < bytes.len(), ..Contents::default() };
    parsed.records.into_iter().for_each(|record| contents.take(record));
    Ok(Some((contents, parsed.good_bytes as u64, bytes.len() as u64)))
}

/// Inspects one of our paths, and refuses it if another user could have written it.
fn safe(hand: &dyn Hand, path: &str, kind: FileKind) -> Result<Option<Meta>, JournalError> {
    let Some(meta) = hand.stat(path).map_err(failed(path, "look at"))? else { return Ok(None) };
    let uid = hand.ours(0).uid;
    let unsafe_because = |why: String| Err(JournalError::Unsafe { path: path.to_owned(), why });
    match meta {
        Meta { kind: found, .. } if found != kind => unsafe_because(format!("it is a {}", found.name())),
        Meta { uid: found, .. } if found != uid && found != 0 => unsafe_because(format!("it belongs to user {found}")),
        Meta { mode, .. } if mode & 0o022 != 0 => unsafe_because(format!("others may write to it (mode {mode:o})")),
        meta => Ok(Some(meta)),
    }
}

/// The journal, open for writing. Its owner holds the lock.
pub struct Journal<'a> {
    hand: &'a dyn Hand,
    contents: Contents,
    good_bytes: u64,
    file_bytes: u64,
}

impl std::fmt::Debug for Journal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("contents", &self.contents).finish_non_exhaustive()
    }
}

impl<'a> Journal<'a> {
    pub fn open(hand: &'a dyn Hand) -> Result<Option<Self>, JournalError> {
        let loaded = load(hand)?;
        Ok(loaded.map(|(contents, good_bytes, file_bytes)| Self { hand, contents, good_bytes, file_bytes }))
    }

    pub fn open_or_create(hand: &'a dyn Hand) -> Result<Self, JournalError> {
        if let Some(journal) = Self::open(hand)? {
            return Ok(journal);
        }
        // There are copies without a journal. Someone has moved the journal away, and our copies would overwrite these.
        if hand.stat(SAVED).map_err(failed(SAVED, "look at"))?.is_some() {
            put_aside(hand, &[SAVED])?;
        }
        let first = format::first_line();
        sweep(hand, NEW)?;
        hand.create(NEW, first.as_bytes(), hand.ours(0o600)).map_err(failed(NEW, "create journal"))?;
        hand.rename(NEW, FILE).map_err(failed(FILE, "create journal"))?;
        let bytes = first.len() as u64;
        Ok(Self { hand, contents: Contents::default(), good_bytes: bytes, file_bytes: bytes })
    }

    /// Removes the records of transactions that are completely undone, so that the journal stays short on a machine
    /// that sets values again at each boot. A journal with damage is kept as it is.
    pub fn forget_reverted(&mut self) -> Result<(), JournalError> {
        let is_left = |number: u32| self.contents.standing().any(|session| session.transaction == number);
        let is_sound = self.contents.damage.is_empty() && !self.contents.torn;
        if !is_sound || self.contents.sessions.iter().all(|session| is_left(session.transaction)) {
            return Ok(());
        }
        let bytes = self.hand.read(FILE).map_err(failed(FILE, "read journal"))?;
        let Ok(parsed) = format::parse(&bytes) else { return Ok(()) };
        let mut text = format::first_line();
        let mut contents = Contents::default();
        for record in parsed.records.into_iter().filter(|record| is_left(record.transaction())) {
            text.push_str(&format::line(&record).map_err(JournalError::Unwritable)?);
            contents.take(record);
        }
        sweep(self.hand, NEW)?;
        self.hand.create(NEW, text.as_bytes(), self.hand.ours(0o600)).map_err(failed(NEW, "create journal"))?;
        self.hand.rename(NEW, FILE).map_err(failed(FILE, "create journal"))?;
        self.good_bytes = text.len() as u64;
        self.file_bytes = self.good_bytes;
        self.contents = contents;
        Ok(())
    }

    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Appends a record. It is on the disk when this returns.
    pub fn append(&mut self, record: JournalRecord) -> Result<(), JournalError> {
        let line = format::line(&record).map_err(JournalError::Unwritable)?;
        if self.file_bytes > self.good_bytes {
            self.hand.truncate(FILE, self.good_bytes).map_err(failed(FILE, "cut off half a line"))?;
            self.file_bytes = self.good_bytes;
        }
        if let Err(reason) = self.hand.append(FILE, line.as_bytes()) {
            // A part of the line may have been written. This value makes the next append remove that part first.
            self.file_bytes = u64::MAX;
            return Err(failed(FILE, "write journal")(reason));
        }
        self.good_bytes += line.len() as u64;
        self.file_bytes = self.good_bytes;
        self.contents.take(record);
        Ok(())
    }

    /// Adds a record that cannot be written to the contents in memory only, because undoing continues on a full disk.
    pub(crate) fn remember(&mut self, record: JournalRecord) {
        self.contents.take(record);
    }

    pub fn reserve(&self, bytes: u64) -> Result<(), JournalError> {
        self.hand.reserve(FILE, self.good_bytes, bytes).map_err(failed(FILE, "reserve room"))
    }

    pub fn save(&self, name: &str, bytes: &[u8]) -> Result<(), JournalError> {
        if self.hand.stat(SAVED).map_err(failed(SAVED, "look at"))?.is_none() {
            self.hand.make_folder(SAVED, 0o700).map_err(failed(SAVED, "make folder"))?;
        }
        let path = copy_path(name);
        // A copy with this name was saved for a step that the journal never announced, so nothing needs it.
        sweep(self.hand, &path)?;
        self.hand.create(&path, bytes, self.hand.ours(0o600)).map_err(failed(&path, "save copy"))
    }

    /// Removes all our files when nothing is left to undo. A journal with damaged lines may contain unknown steps, so
    /// it is put aside together with the saved copies.
    pub fn close(self) -> Result<(), JournalError> {
        if !self.contents.damage.is_empty() {
            // The journal is renamed last. If the program ends before that, the next revert finds the journal and
            // renames again.
            return put_aside(self.hand, &[SAVED, FILE]);
        }
        if self.hand.stat(SAVED).map_err(failed(SAVED, "look at"))?.is_some() {
            for name in self.hand.list(SAVED).map_err(failed(SAVED, "list"))? {
                let path = copy_path(&name);
                self.hand.remove(&path).map_err(failed(&path, "remove"))?;
            }
            self.hand.remove_folder(SAVED).map_err(failed(SAVED, "remove"))?;
        }
        self.hand.remove(FILE).map_err(failed(FILE, "remove"))
    }
}

/// Adds one ending to the names of all these paths, chosen so that none of the new names is taken.
fn put_aside(hand: &dyn Hand, paths: &[&str]) -> Result<(), JournalError> {
    let is_there = |path: &str| Ok(hand.stat(path).map_err(failed(path, "look at"))?.is_some());
    let mut there = Vec::new();
    for path in paths {
        if is_there(path)? {
            there.push(*path);
        }
    }
    let endings = std::iter::once(ASIDE.to_owned()).chain((2_u32..).map(|number| format!("{ASIDE}-{number}")));
    for ending in endings {
        let mut free = true;
        for path in &there {
            free &= !is_there(&format!("{path}{ending}"))?;
        }
        if free {
            return there
                .iter()
                .try_for_each(|path| hand.rename(path, &format!("{path}{ending}")).map_err(failed(path, "put aside")));
        }
    }
    Ok(())
}

pub fn copy_path(name: &str) -> String {
    format!("{SAVED}/{name}")
}

fn sweep(hand: &dyn Hand, path: &str) -> Result<(), JournalError> {
    match hand.stat(path).map_err(failed(path, "look at"))? {
        Some(_) => hand.remove(path).map_err(failed(path, "remove")),
        None => Ok(()),
    }
}

pub(crate) fn folder(hand: &dyn Hand) -> Result<(), JournalError> {
    if safe(hand, FOLDER, FileKind::Folder)?.is_some() {
        return Ok(());
    }
    match hand.make_folder(FOLDER, 0o700) {
        Err(reason) if reason.kind() != io::ErrorKind::AlreadyExists => Err(failed(FOLDER, "make folder")(reason)),
        _ => Ok(()),
    }
}

/// Removes what an interrupted program left in a folder without a journal. Saved copies stay, because they may be the
/// only ones.
pub(crate) fn sweep_folder(hand: &dyn Hand) -> Result<(), JournalError> {
    if hand.stat(FILE).map_err(failed(FILE, "look at"))?.is_some() {
        return Ok(());
    }
    sweep(hand, NEW)?;
    if hand.stat(SAVED).map_err(failed(SAVED, "look at"))?.is_some() {
        match hand.remove_folder(SAVED) {
            Err(reason) if reason.kind() != io::ErrorKind::DirectoryNotEmpty => {
                return Err(failed(SAVED, "remove")(reason));
            }
            _ => {}
        }
    }
    sweep(hand, LOCK)?;
    // The folder stays where others have put something into it, and where somebody has mounted a file system on it.
    let may_stay = [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotFound, io::ErrorKind::ResourceBusy];
    match hand.remove_folder(FOLDER) {
        Err(reason) if !may_stay.contains(&reason.kind()) => Err(failed(FOLDER, "remove")(reason)),
        _ => Ok(()),
    }
}
