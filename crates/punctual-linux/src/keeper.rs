//! A measurement's frames on their way into a recording: written to its file and folded, whether or not they can be written.

use crate::recording::{RecordingError, RecordingWriter};
use punctual_hist::MonoTime;
use punctual_numbers::recording::{Frame, Growing, Mark, MarkKind, Recording};
use std::path::Path;

/// Writes frames to a file and folds them.
#[derive(Debug)]
pub struct RecordingKeeper {
    writer: RecordingWriter,
    growing: Growing,
    /// The first thing that could not be written.
    failure: Option<String>,
}

impl RecordingKeeper {
    /// For a recording of its own, in a file that must not exist yet.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        Ok(Self { writer: RecordingWriter::create(path)?, growing: Growing::default(), failure: None })
    }

    /// For a further run of a recording, which was read from this file.
    pub fn resume(path: &Path, former: Recording) -> Result<Self, RecordingError> {
        let writer = RecordingWriter::resume(path, former.cut_off.as_ref())?;
        Ok(Self { writer, growing: Growing::behind(former), failure: None })
    }

    /// The next frame of the measurement. An error is told once; the frame is folded all the same.
    pub fn keep(&mut self, frame: Frame) -> Result<(), RecordingError> {
        let frame = self.growing.placed(frame);
        let written = self.writer.append(&frame);
        self.growing.add(frame);
        self.noted(written)
    }

    /// Something that was noted by hand, at an instant of the measurement's clock.
    pub fn note(&mut self, at: MonoTime, text: String) -> Result<(), RecordingError> {
        let at = self.growing.since_epoch(at);
        self.keep(Frame::Mark(Mark { at, kind: MarkKind::Note(text) }))
    }

    /// Sends what was kept on its way to the disk.
    pub fn checkpoint(&mut self) -> Result<(), RecordingError> {
        let written = self.writer.checkpoint();
        self.noted(written)
    }

    /// Waits until everything is on the disk.
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        let written = self.writer.finish();
        self.noted(written)
    }

    fn noted(&mut self, written: Result<(), RecordingError>) -> Result<(), RecordingError> {
        written.inspect_err(|error| {
            self.failure.get_or_insert(error.to_string());
        })
    }

    /// The first thing that could not be written.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The recording so far, and where the measurement stands in it.
    pub fn growing(&self) -> &Growing {
        &self.growing
    }

    /// The recording, which also says what could not be written: the frame that tells it may be what was lost.
    pub fn into_recording(self) -> Option<Recording> {
        let mut recording = self.growing.into_recording()?;
        if let Some(end) = &mut recording.end {
            end.write_error = self.failure;
        }
        Some(recording)
    }
}
