//! Recordings as files: frames are appended, checkpoints reach the disk, and a file that could not be finished can
//! still be read.
//!
//! What a frame looks like is known to `punctual_numbers::recording` alone. Nothing here runs on a measuring thread.

use crate::sync::Syncer;
use punctual_numbers::recording::{
    CutOff, CutReason, Frame, FrameReader, Recording, RecordingReader, Stretch, Unencodable, Unreadable, encode,
    encode_preamble,
};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// How much of a recording is read at once.
const PIECE: usize = 1 << 18;

/// Why a recording could not be written or read: path, operation, reason.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file exists; a recording is never overwritten.
    #[error("{}: create recording: the file exists", path.display())]
    Exists { path: PathBuf },
    #[error("{}: create recording: {reason}", path.display())]
    Create { path: PathBuf, reason: io::Error },
    /// A frame could not be written. What was written before is a recording that can be read.
    #[error("{}: write recording: {reason}", path.display())]
    Write { path: PathBuf, reason: io::Error },
    /// The recording cannot be gone on with.
    #[error("{}: go on with recording: {reason}", path.display())]
    Resume { path: PathBuf, reason: Unresumable },
    /// A frame that has no place in a recording.
    #[error("{}: write recording: {reason}", path.display())]
    Frame {
        path: PathBuf,
        /// What is wrong with the frame.
        reason: Unencodable,
    },
    #[error("{}: read recording: {reason}", path.display())]
    Read { path: PathBuf, reason: io::Error },
    /// The file was read and is no recording.
    #[error("{}: read recording: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: Unreadable },
}

/// Why a recording cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum Unresumable {
    #[error("{0}")]
    Refused(io::Error),
    /// Another program appends to it, perhaps the one that measures it.
    #[error("another program writes to it")]
    Held,
    /// Bytes that could still be of use to somebody stand behind what is damaged.
    #[error("{reason}, and {rest} bytes after it would be lost")]
    Damaged { reason: CutReason, rest: u64 },
}

/// Appends frames to a recording. Uses the same memory however long the run.
///
/// The first error is returned once; from then on frames are counted and dropped, and the file stays as it was after
/// the last good frame.
#[derive(Debug)]
pub struct RecordingWriter {
    path: PathBuf,
    file: File,
    /// `None` before the first checkpoint, and once the recording is finished.
    syncer: Option<Syncer>,
    buffer: Vec<u8>,
    /// Length of the file up to the last good frame.
    good_bytes: u64,
    failed: bool,
    dropped: u64,
}

impl RecordingWriter {
    /// Makes the file, which must not exist, and writes its first line.
    ///
    /// A file beyond `ulimit -f` is then an error like any other: the signal that would end the process is caught.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|reason| match reason.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists { path: path.to_owned() },
            _ => RecordingError::Create { path: path.to_owned(), reason },
        })?;
        // Nobody else can have opened it yet.
        let _best_effort = hold(&file);
        let mut writer = Self::over(path, file);
        survive_file_size_limit().map_err(|reason| RecordingError::Create { path: path.to_owned(), reason })?;
        encode_preamble(&mut writer.buffer);
        if let Err(error) = writer.flush().and_then(|()| writer.sync()) {
            // Made just now and empty: nobody misses it, and the name is free for the next attempt.
            let _best_effort = std::fs::remove_file(path);
            return Err(error);
        }
        sync_directory(path);
        Ok(writer)
    }

    /// Opens a recording that was read, to append to it. What was `cut_off` in the middle of a frame is cut off for
    /// good; bytes that could still be of use to somebody are left alone, and the recording is refused.
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

    /// Appends one frame. After a failure the frame is dropped, and counted, without another error.
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

    /// Writes the buffer in full, or not at all.
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

    /// Half a frame at the end would be found and ignored by any reader; without it there is nothing to find.
    fn fail(&mut self, reason: io::Error) -> RecordingError {
        self.failed = true;
        let _best_effort = self.file.set_len(self.good_bytes);
        RecordingError::Write { path: self.path.clone(), reason }
    }

    /// Sends everything appended so far on its way to the disk, without waiting for it. What has been appended
    /// survives the end of this process in any case.
    pub fn checkpoint(&mut self) -> Result<(), RecordingError> {
        if self.failed {
            return Ok(());
        }
        self.request_sync().map_err(|reason| self.fail(reason))
    }

    /// The thread that syncs starts with the first request, and so stays where the requesting thread is by then.
    fn request_sync(&mut self) -> io::Result<()> {
        match &self.syncer {
            Some(syncer) => syncer.request(),
            None => self.syncer.insert(Syncer::new(&self.file)?).request(),
        }
    }

    /// Waits until all of it is on the disk.
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        let done = self.syncer.take().map_or(Ok(()), Syncer::wait);
        if self.failed {
            return Ok(());
        }
        done.and_then(|()| self.file.sync_data()).map_err(|reason| self.fail(reason))
    }

    /// How many frames are not in the file.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Length of the file up to the last good frame.
    pub fn good_bytes(&self) -> u64 {
        self.good_bytes
    }
}

/// Keeps others from appending to the file as long as this program writes to it. Some file systems know no locks.
fn hold(file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(held @ rustix::io::Errno::WOULDBLOCK) => Err(held.into()),
        _ => Ok(()),
    }
}

/// The default action of `SIGXFSZ` ends the process in the middle of a measurement.
fn survive_file_size_limit() -> io::Result<()> {
    static ONCE: std::sync::OnceLock<Result<(), i32>> = std::sync::OnceLock::new();
    let seen = std::sync::Arc::default();
    let register = || signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen).map(drop);
    let registered = ONCE.get_or_init(|| register().map_err(|reason| reason.raw_os_error().unwrap_or(0)));
    registered.map_err(io::Error::from_raw_os_error)
}

/// Without this the name may be lost with the power although the content is not. Some file systems refuse it; then
/// nothing better can be done.
fn sync_directory(path: &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _best_effort = File::open(parent).and_then(|directory| directory.sync_all());
}

/// Reads a recording and folds it, in memory that does not grow with its length. A file that was cut off is read up to
/// its last good frame, and says so.
pub fn read_file(path: &Path) -> Result<Recording, RecordingError> {
    fold(path, RecordingReader::new())
}

/// Reads what happened in a stretch of a recording.
pub fn read_stretch(path: &Path, stretch: Stretch) -> Result<Recording, RecordingError> {
    fold(path, RecordingReader::of_stretch(stretch))
}

/// Hands out the frames of a recording one by one, as far as it is good.
pub fn read_frames(path: &Path, mut sink: impl FnMut(Frame)) -> Result<(), RecordingError> {
    let mut reader = FrameReader::new();
    pieces(path, |piece| reader.feed(piece, &mut sink))
}

fn fold(path: &Path, mut reader: RecordingReader) -> Result<Recording, RecordingError> {
    pieces(path, |piece| reader.feed(piece))?;
    reader.finish().map_err(|reason| RecordingError::Unreadable { path: path.to_owned(), reason })
}

/// Hands out the bytes of a file, some at a time.
fn pieces(path: &Path, mut feed: impl FnMut(&[u8]) -> Result<(), Unreadable>) -> Result<(), RecordingError> {
    let unread = |reason| RecordingError::Read { path: path.to_owned(), reason };
    let unreadable = |reason| RecordingError::Unreadable { path: path.to_owned(), reason };
    in_pieces(&mut File::open(path).map_err(unread)?, |piece| feed(piece).map_err(unreadable), unread)
}

/// Hands out what is left of a file, some at a time.
pub(crate) fn in_pieces<E>(
    file: &mut File,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
    unread: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
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
