//! Writes the frames of a measurement to a recording file, and adds them to a recording in memory even if they cannot
//! be written.

use crate::recording::{RecordingError, RecordingWriter};
use punctual_hist::MonoTime;
use punctual_numbers::recording::{Frame, Growing, Mark, MarkKind, Recording};
use std::path::Path;

#[derive(Debug)]
pub struct RecordingKeeper {
    writer: RecordingWriter,
    growing: Growing,
    failure: Option<String>,
}

impl RecordingKeeper {
    /// Creates a keeper for a new recording, in a file that must not exist yet.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        Ok(Self { writer: RecordingWriter::create(path)?, growing: Growing::default(), failure: None })
    }

    /// Creates a keeper for another run of a recording that was read from this file.
    pub fn resume(path: &Path, former: Recording) -> Result<Self, RecordingError> {
        let writer = RecordingWriter::resume(path, former.cut_off.as_ref())?;
        Ok(Self { writer, growing: Growing::behind(former), failure: None })
    }

    /// Writes a frame, and adds it to the recording in memory in any case. The first write error is returned.
    pub fn keep(&mut self, frame: Frame) -> Result<(), RecordingError> {
        let frame = self.growing.placed(frame);
        let written = self.writer.append(&frame);
        self.growing.add(frame);
        self.noted(written)
    }

    /// Adds a note that a person made at an instant of the measurement's clock.
    pub fn note(&mut self, at: MonoTime, text: String) -> Result<(), RecordingError> {
        let at = self.growing.since_epoch(at);
        self.keep(Frame::Mark(Mark { at, kind: MarkKind::Note(text) }))
    }

    /// Starts syncing all frames written so far.
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

    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub fn growing(&self) -> &Growing {
        &self.growing
    }

    /// The recording in memory. The first write error is stored in its end, because the frame that reports the error
    /// may itself be lost.
    pub fn into_recording(self) -> Option<Recording> {
        let mut recording = self.growing.into_recording()?;
        if let Some(end) = &mut recording.end {
            end.write_error = self.failure;
        }
        Some(recording)
    }
}
