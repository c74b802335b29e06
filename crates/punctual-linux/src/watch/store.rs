//! The store of a watch: a folder with one recording after another, bounded in size.
//!
//! Only the newest segment grows. When it has ended, it is written anew in less detail, under a name that says how much, and
//! then the original is removed. So a crash at any moment leaves at least one readable file of each segment. Nothing here
//! reads a clock: times are those in the frames.

use crate::recording::{RecordingError, RecordingWriter, check_header, read_file, read_frames};
use punctual_numbers::recording::{Frame, Growing, Recording, Unreadable};
use punctual_numbers::watch::{Detail, Segment, condensed};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Smallest size that is accepted: one day in full detail, of some CPUs.
pub const BYTES_MIN: u64 = 4 << 20;
/// The part of the store that the growing segment may take before the next one is begun.
const GROWING_PART: u64 = 8;
const LOCK: &str = "watch.lock";
const PREFIX: &str = "watch-";
const ENDING: &str = ".punctual";
/// Ending of a file that is being written and has no content yet that counts.
const NEW: &str = ".new";
/// The words in file names for [`Detail::LEVELS`].
const LEVELS: [&str; 3] = ["5m", "1h", "1d"];

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: {what}: {reason}. {}", path.display(), remedy(reason))]
    Io { path: PathBuf, what: &'static str, reason: io::Error },
    #[error(
        "{}: another watch writes to this store{}: name another one with --store, or end that watch", path.display(),
        pid.as_ref().map_or_else(String::new, |pid| format!(" (process {pid})"))
    )]
    Held { path: PathBuf, pid: Option<String> },
    #[error("{}: no watch has written to this folder: it has no file {PREFIX}NUMBER{ENDING}", path.display())]
    NoStore { path: PathBuf },
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

fn remedy(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "Name a folder that you may write to with --store, or use sudo",
        io::ErrorKind::ReadOnlyFilesystem => "Name a folder on a file system that can be written to with --store",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "Make room on that disk",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "Name a folder with --store",
        _ => "Name another folder with --store",
    }
}

/// One file of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    pub number: u64,
    /// The level of detail to which it was condensed; `None` for a segment as it was recorded.
    pub level: Option<usize>,
    pub path: PathBuf,
    pub bytes: u64,
}

/// A store that this process may write to.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    bytes_max: u64,
    next: u64,
    /// Held for as long as the store is open. The kernel gives it up when the process ends in any way.
    _lock: File,
}

impl Store {
    /// Opens a store, or makes one. Segments that an earlier watch could not condense are condensed now.
    pub fn open(folder: &Path, bytes_max: u64) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(failed(folder, "make the folder of the store"))?;
        let lock = lock(folder)?;
        let mut store = Self { folder: folder.to_owned(), bytes_max, next: 1, _lock: lock };
        store.tidy()?;
        for file in store.files()?.iter().filter(|file| file.level.is_none()) {
            // A segment that cannot be condensed now stays as it is, and is tried again after the next one.
            let _ = condense(file, 0);
        }
        store.next = store.files()?.last().map_or(1, |last| last.number + 1);
        store.fit()?;
        Ok(store)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Size that the growing segment should not exceed.
    pub fn growing_max(&self) -> u64 {
        self.bytes_max / GROWING_PART
    }

    /// Begins the next segment. The previous one must have ended.
    pub fn begin(&mut self) -> Result<RecordingWriter, StoreError> {
        let writer = RecordingWriter::create(&self.folder.join(name(self.next, None)))?;
        self.next += 1;
        Ok(writer)
    }

    /// Condenses all segments, the last of which has ended, and makes the store as small as it has to be.
    pub fn end(&mut self) -> Result<(), StoreError> {
        for file in self.files()?.iter().filter(|file| file.level.is_none()) {
            condense(file, 0)?;
        }
        self.fit()
    }

    fn files(&self) -> Result<Vec<SegmentFile>, StoreError> {
        files(&self.folder).map_err(failed(&self.folder, "list the store"))
    }

    /// Removes what a crash left behind: files that were being written, originals of condensed segments, and segments that
    /// were never begun.
    fn tidy(&self) -> Result<(), StoreError> {
        let listed = fs::read_dir(&self.folder).map_err(failed(&self.folder, "list the store"))?;
        let mut all: Vec<SegmentFile> = Vec::new();
        for entry in listed.flatten() {
            let file_name = entry.file_name();
            if file_name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(NEW)) {
                remove(&entry.path())?;
            }
            all.extend(parsed(&entry));
        }
        let kept = newest_of_each(all.clone());
        for file in all {
            let never_begun = || {
                let header = check_header(&file.path);
                matches!(
                    header,
                    Err(RecordingError::Unreadable { reason: Unreadable::Empty | Unreadable::NoHeader, .. })
                )
            };
            if !kept.contains(&file) || (file.level.is_none() && never_begun()) {
                remove(&file.path)?;
            }
        }
        Ok(())
    }

    /// Condenses the oldest segments further until all fit, and removes the oldest if that is not enough. The newest keep
    /// their detail: a coarse picture of last year is worth less than a fine one of last week.
    fn fit(&self) -> Result<(), StoreError> {
        let room = self.bytes_max - self.growing_max();
        for level in 1..=LEVELS.len() {
            let files = self.files()?;
            let mut newest = 0;
            let is_new = |file: &&SegmentFile| {
                newest += file.bytes;
                newest <= room / 2
            };
            let new = files.iter().rev().take_while(is_new).count();
            let spared = if level == LEVELS.len() { 1 } else { new.max(1) };
            for file in files.iter().take(files.len().saturating_sub(spared)) {
                if self.bytes()? <= room {
                    return Ok(());
                }
                match file.level {
                    _ if level == LEVELS.len() => remove(&file.path)?,
                    Some(now) if now < level => condense(file, level)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.files()?.iter().map(|file| file.bytes).sum())
    }
}

/// The segments of a store, read in the order of their numbers. A store may be read while a watch writes to it.
pub fn read_segments(folder: &Path) -> Result<Vec<Segment>, StoreError> {
    let mut segments: BTreeMap<u64, Segment> = BTreeMap::new();
    // A segment may be condensed between listing the folder and reading the file, and has another name then.
    for _ in 0..3 {
        let listed = files(folder).map_err(failed(folder, "list the store"))?;
        if listed.is_empty() {
            return Err(StoreError::NoStore { path: folder.to_owned() });
        }
        let mut is_whole = true;
        for file in listed.iter().filter(|file| !segments.contains_key(&file.number)).collect::<Vec<_>>() {
            match read_file(&file.path) {
                Ok(recording) => {
                    segments.insert(file.number, Segment::of(file.number, &recording));
                }
                Err(RecordingError::Read { reason, .. }) if reason.kind() == io::ErrorKind::NotFound => {
                    is_whole = false;
                }
                // The watch has just begun this segment.
                Err(RecordingError::Unreadable { reason: Unreadable::Empty | Unreadable::NoHeader, .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if is_whole {
            break;
        }
    }
    Ok(segments.into_values().collect())
}

/// Of these segments, those that measured the same as the segment `like` does, one behind the other in one recording.
/// Without `like`, the first segment decides. `None` if no segment is there any more.
pub fn read_together(folder: &Path, numbers: &[u64], like: Option<u64>) -> Result<Option<Recording>, StoreError> {
    let listed = files(folder).map_err(failed(folder, "list the store"))?;
    let wanted: Vec<&SegmentFile> = listed.iter().filter(|file| numbers.contains(&file.number)).collect();
    let Some(model) = wanted.iter().find(|file| Some(file.number) == like).or(wanted.first()) else { return Ok(None) };
    let model = read_file(&model.path)?;
    let (threads, program) = (model.header.scenario.threads, model.program);
    let mut growing = Growing::default();
    for file in wanted {
        if check_header(&file.path).is_err() {
            continue;
        }
        let other = read_file(&file.path)?;
        let is_alike = match (&program, &other.program) {
            (Some(program), Some(other)) => program.is_alike(other),
            (None, None) => true,
            _ => false,
        };
        if !is_alike || other.header.scenario.threads != threads {
            continue;
        }
        read_frames(&file.path, |frame| {
            let placed = growing.placed(frame);
            growing.add(placed);
        })?;
    }
    Ok(growing.into_recording())
}

/// One file for each segment, in the order of their numbers.
pub fn files(folder: &Path) -> io::Result<Vec<SegmentFile>> {
    let all = fs::read_dir(folder)?.flatten().filter_map(|entry| parsed(&entry)).collect();
    Ok(newest_of_each(all))
}

/// Of several files of one segment, the most condensed was written last and is complete.
fn newest_of_each(mut all: Vec<SegmentFile>) -> Vec<SegmentFile> {
    all.sort_by_key(|file| (file.number, std::cmp::Reverse(file.level)));
    all.dedup_by_key(|file| file.number);
    all
}

fn parsed(entry: &fs::DirEntry) -> Option<SegmentFile> {
    let name = entry.file_name();
    let stem = name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(ENDING)?;
    let (digits, level) = match stem.split_once('-') {
        Some((digits, word)) => (digits, Some(LEVELS.iter().position(|level| *level == word)?)),
        None => (stem, None),
    };
    let number = digits.parse().ok()?;
    Some(SegmentFile { number, level, path: entry.path(), bytes: entry.metadata().ok()?.len() })
}

fn name(number: u64, level: Option<usize>) -> String {
    let level = level.and_then(|level| LEVELS.get(level)).map_or_else(String::new, |word| format!("-{word}"));
    format!("{PREFIX}{number:06}{level}{ENDING}")
}

/// Writes a segment in less detail, and then removes the file it was read from. A damaged segment is left alone, because the
/// bytes behind the damage could still be of use.
fn condense(file: &SegmentFile, level: usize) -> Result<(), StoreError> {
    let (Some(detail), Some(folder)) = (Detail::LEVELS.get(level), file.path.parent()) else { return Ok(()) };
    if read_file(&file.path)?.cut_off.is_some_and(|cut| !cut.is_clean()) {
        return Ok(());
    }
    let mut frames = Vec::new();
    read_frames(&file.path, |frame| frames.push(frame))?;
    let to = folder.join(name(file.number, Some(level)));
    let new = folder.join(format!("{}{NEW}", name(file.number, Some(level))));
    write(&new, condensed(frames, *detail)).inspect_err(|_| {
        let _best_effort = fs::remove_file(&new);
    })?;
    fs::rename(&new, &to).map_err(failed(&to, "name a condensed segment"))?;
    let _best_effort = File::open(folder).and_then(|folder| folder.sync_all());
    if file.path == to { Ok(()) } else { remove(&file.path) }
}

fn write(path: &Path, frames: Vec<Frame>) -> Result<(), StoreError> {
    let mut writer = RecordingWriter::create(path)?;
    for frame in frames {
        writer.append(&frame)?;
    }
    Ok(writer.finish()?)
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(failed(&path, "open the lock of the store"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let _best_effort = file.take(20).read_to_string(&mut text);
            let pid = Some(text.trim().to_owned()).filter(|pid| pid.parse::<u32>().is_ok());
            return Err(StoreError::Held { path: folder.to_owned(), pid });
        }
        Err(errno) => return Err(failed(&path, "lock the store")(errno.into())),
    }
    let written = file.set_len(0).and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
    written.map_err(failed(&path, "write the lock of the store"))?;
    Ok(file)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(failed(path, "remove")(reason)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |reason| StoreError::Io { path, what, reason }
}

#[cfg(test)]
mod tests;
