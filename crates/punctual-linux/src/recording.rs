//! Recordings as files: frames are appended, checkpoints bring them to the disk, and an unfinished file can still be
//! read.
//!
//! Only `punctual_numbers::recording` knows the format of frames. Nothing here runs on a measuring thread.

use crate::sync::Syncer;
use punctual_numbers::recording::{
    CutOff, CutReason, Frame, FrameReader, Header, Recording, RecordingReader, Stretch, Unencodable, Unreadable,
    encode, encode_preamble,
};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const PIECE: usize = 1 << 18;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("{}: create recording: the file exists", path.display())]
    Exists { path: PathBuf },
    #[error("{}: create recording: {reason}", path.display())]
    Create { path: PathBuf, reason: io::Error },
    /// Writing a frame failed. The file up to this frame is a readable recording.
    #[error("{}: write recording: {reason}", path.display())]
    Write { path: PathBuf, reason: io::Error },
    #[error("{}: go on with recording: {reason}", path.display())]
    Resume { path: PathBuf, reason: Unresumable },
    #[error("{}: write recording: {reason}", path.display())]
    Frame { path: PathBuf, reason: Unencodable },
    #[error("{}: read recording: {reason}", path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("{}: read recording: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: Unreadable },
}

#[derive(Debug, thiserror::Error)]
pub enum Unresumable {
    #[error("{0}")]
    Refused(io::Error),
    /// Another program appends to the file, perhaps a running measurement.
    #[error("another program writes to it")]
    Held,
    /// The file is damaged before its end, and the bytes behind the damage could still be of use.
    #[error("{reason}, and {rest} bytes after it would be lost")]
    Damaged { reason: CutReason, rest: u64 },
}

/// Appends frames to a recording, in memory that does not grow with the run. The first error is returned once. Later
/// frames are counted and dropped, and the file ends with the last good frame.
#[derive(Debug)]
pub struct RecordingWriter {
    path: PathBuf,
    file: File,
    /// The thread that syncs the file; `None` before the first checkpoint, and once the recording is finished.
    syncer: Option<Syncer>,
    buffer: Vec<u8>,
    /// Length of the file up to the end of the last good frame.
    good_bytes: u64,
    failed: bool,
    dropped: u64,
}

impl RecordingWriter {
    /// Creates the file, which must not exist, and writes its first line. From then on, exceeding `ulimit -f` is an
    /// ordinary error, because the signal that would end the process is caught.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|reason| match reason.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists { path: path.to_owned() },
            _ => RecordingError::Create { path: path.to_owned(), reason },
        })?;
        // Cannot fail because of another program, which cannot have opened the new file yet.
        let _best_effort = hold(&file);
        let mut writer = Self::over(path, file);
        survive_file_size_limit().map_err(|reason| RecordingError::Create { path: path.to_owned(), reason })?;
        encode_preamble(&mut writer.buffer);
        if let Err(error) = writer.flush().and_then(|()| writer.sync()) {
            // The file is new and empty. Removing it frees the name for the next attempt.
            let _best_effort = std::fs::remove_file(path);
            return Err(error);
        }
        sync_directory(path);
        Ok(writer)
    }

    /// Opens a recording to append to it. An incomplete last frame is removed permanently. A recording with damage
    /// before its end is refused.
    pub fn resume(path: &Path, cut_off: Option<&CutOff>) -> Result<Self, RecordingError> {
        let refused = |reason| RecordingError::Resume { path: path.to_owned(), reason };
        let unopened = |reason| refused(Unresumable::Refused(reason));
        let mut file = OpenOptions::new().append(true).open(path).map_err(unopened)?;
        hold(&file).map_err(|_| refused(Unresumable::Held))?;
        let length = file.metadata().map_err(unopened)?.len();
        let good_bytes = cut_off.map_or(length, |cut| cut.good_bytes).min(length);
        if let Some(cut) = cut_off.filter(|cut| !cut.is_clean()) {
            return Err(refused(Unresumable::Damaged { reason: cut.reason, rest: length - good_bytes }));
        }
        survive_file_size_limit().map_err(unopened)?;
        file.set_len(good_bytes).and_then(|()| file.flush()).map_err(unopened)?;
        Ok(Self { good_bytes, ..Self::over(path, file) })
    }

    fn over(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file, syncer: None, buffer: Vec::new(), good_bytes: 0, failed: false, dropped: 0 }
    }

    fn sync(&mut self) -> Result<(), RecordingError> {
        self.file.sync_data().map_err(|reason| self.fail(reason))
    }

    /// Appends one frame. After an error, frames are dropped and counted without further errors.
    pub fn append(&mut self, frame: &Frame) -> Result<(), RecordingError> {
        if self.failed {
            self.dropped = self.dropped.saturating_add(1);
            return Ok(());
        }
        self.buffer.clear();
        if let Err(reason) = encode(frame, &mut self.buffer) {
            self.dropped = self.dropped.saturating_add(1);
            return Err(RecordingError::Frame { path: self.path.clone(), reason });
        }
        self.flush()
    }

    /// Writes the whole buffer, or nothing of it.
    fn flush(&mut self) -> Result<(), RecordingError> {
        match self.file.write_all(&self.buffer) {
            Ok(()) => {
                self.good_bytes = self.good_bytes.saturating_add(self.buffer.len() as u64);
                Ok(())
            }
            Err(reason) => {
                self.dropped = self.dropped.saturating_add(1);
                Err(self.fail(reason))
            }
        }
    }

    /// Removes a partial frame from the end, so that readers need not ignore it.
    fn fail(&mut self, reason: io::Error) -> RecordingError {
        self.failed = true;
        let _best_effort = self.file.set_len(self.good_bytes);
        RecordingError::Write { path: self.path.clone(), reason }
    }

    /// Starts syncing what was appended, without waiting. Appended frames survive the end of this process in any case.
    pub fn checkpoint(&mut self) -> Result<(), RecordingError> {
        if self.failed {
            return Ok(());
        }
        self.request_sync().map_err(|reason| self.fail(reason))
    }

    /// Requests a sync. The first request starts the syncing thread, which runs on the CPUs of the requesting thread.
    fn request_sync(&mut self) -> io::Result<()> {
        match &self.syncer {
            Some(syncer) => syncer.request(),
            None => self.syncer.insert(Syncer::new(&self.file)?).request(),
        }
    }

    pub fn finish(&mut self) -> Result<(), RecordingError> {
        let done = self.syncer.take().map_or(Ok(()), Syncer::wait);
        if self.failed {
            return Ok(());
        }
        done.and_then(|()| self.file.sync_data()).map_err(|reason| self.fail(reason))
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn good_bytes(&self) -> u64 {
        self.good_bytes
    }
}

/// Prevents other programs from appending to the file. Some file systems have no locks.
fn hold(file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(held @ rustix::io::Errno::WOULDBLOCK) => Err(held.into()),
        _ => Ok(()),
    }
}

/// Catches `SIGXFSZ`, which by default ends the process in the middle of a measurement.
fn survive_file_size_limit() -> io::Result<()> {
    static ONCE: std::sync::OnceLock<Result<(), i32>> = std::sync::OnceLock::new();
    let seen = std::sync::Arc::default();
    let register = || signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen).map(drop);
    let registered = ONCE.get_or_init(|| register().map_err(|reason| reason.raw_os_error().unwrap_or(0)));
    registered.map_err(io::Error::from_raw_os_error)
}

/// Syncs the folder of a file. Without this, a power failure may lose the file's name although its content is on the
/// disk. A refusal is ignored, because some file systems cannot sync folders.
fn sync_directory(path: &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _best_effort = File::open(parent).and_then(|directory| directory.sync_all());
}

/// Reads a recording in memory that does not grow with its length. If the file was cut off, all good frames are read,
/// and the result reports it.
pub fn read_file(path: &Path) -> Result<Recording, RecordingError> {
    fold(path, RecordingReader::new())
}

/// Reads the part of a recording that lies within a stretch of time.
pub fn read_stretch(path: &Path, stretch: Stretch) -> Result<Recording, RecordingError> {
    fold(path, RecordingReader::of_stretch(stretch))
}

/// Reads the beginning of a file, to find out whether it can be shown at all: whether it is a recording with a header.
pub fn check_header(path: &Path) -> Result<(), RecordingError> {
    read_header(path).map(drop)
}

/// Reads the header of a recording, and no more of the file than that takes in most recordings.
pub fn read_header(path: &Path) -> Result<Header, RecordingError> {
    const MOSTLY: u64 = 64 << 10;
    // The header is the first frame, and no frame takes more than 8 MiB.
    const BEGINNING: u64 = 9 << 20;
    let read = |most: u64| fold_from(path, &mut open(path)?.take(most), RecordingReader::new());
    read(MOSTLY).or_else(|_| read(BEGINNING)).map(|recording| recording.header)
}

/// Whether a program appends to the recording just now. Some file systems do not tell.
pub fn is_written(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
}

/// Passes the good frames of a recording to `sink`, one by one.
pub fn read_frames(path: &Path, mut sink: impl FnMut(Frame)) -> Result<(), RecordingError> {
    let mut reader = FrameReader::new();
    pieces(path, &mut open(path)?, |piece| reader.feed(piece, &mut sink))
}

fn fold(path: &Path, reader: RecordingReader) -> Result<Recording, RecordingError> {
    fold_from(path, &mut open(path)?, reader)
}

/// Reads the rest of an open file into a recording.
pub(crate) fn fold_from(
    path: &Path,
    source: &mut impl Read,
    mut reader: RecordingReader,
) -> Result<Recording, RecordingError> {
    pieces(path, source, |piece| reader.feed(piece))?;
    reader.finish().map_err(|reason| RecordingError::Unreadable { path: path.to_owned(), reason })
}

fn open(path: &Path) -> Result<File, RecordingError> {
    File::open(path).map_err(|reason| RecordingError::Read { path: path.to_owned(), reason })
}

/// Passes the bytes of a file to `feed`, piece by piece.
fn pieces(
    path: &Path,
    source: &mut impl Read,
    mut feed: impl FnMut(&[u8]) -> Result<(), Unreadable>,
) -> Result<(), RecordingError> {
    let unread = |reason| RecordingError::Read { path: path.to_owned(), reason };
    let unreadable = |reason| RecordingError::Unreadable { path: path.to_owned(), reason };
    in_pieces(source, |piece| feed(piece).map_err(unreadable), unread)
}

/// Passes the rest of a file to `take`, piece by piece.
pub(crate) fn in_pieces<E>(
    source: &mut impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
    unread: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => take(piece.get(..length).unwrap_or_default())?,
            Err(interrupted) if interrupted.kind() == io::ErrorKind::Interrupted => {}
            Err(reason) => return Err(unread(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::recording::{Mark, MarkKind, RecTime};

    fn note() -> Frame {
        Frame::Mark(Mark { at: RecTime::EPOCH, kind: MarkKind::Note("a note".to_owned()) })
    }

    #[test]
    fn a_full_disk_is_told_once_and_the_run_goes_on() {
        let full = Path::new("/dev/full");
        let mut writer = RecordingWriter::over(full, OpenOptions::new().write(true).open(full).unwrap());
        let told = writer.append(&note()).unwrap_err().to_string();
        assert!(told.starts_with("/dev/full: write recording: No space left on device"), "{told}");
        assert!(writer.append(&note()).is_ok() && writer.checkpoint().is_ok());
        assert!(writer.failed);
        assert_eq!((writer.dropped(), writer.good_bytes()), (2, 0));
        writer.finish().unwrap();
        assert_eq!(writer.dropped(), 2);
    }

    #[test]
    fn a_frame_that_cannot_be_is_dropped_and_the_file_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = RecordingWriter::create(&directory.path().join("run.punctual")).unwrap();
        let endless = Mark { at: RecTime::EPOCH, kind: MarkKind::Note("x".repeat(9 << 20)) };
        assert!(matches!(writer.append(&Frame::Mark(endless)), Err(RecordingError::Frame { .. })));
        assert!(!writer.failed && writer.append(&note()).is_ok());
        writer.finish().unwrap();
        assert_eq!(writer.dropped(), 1);
    }
}
