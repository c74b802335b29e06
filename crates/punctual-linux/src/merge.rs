//! Combines the runs of several recordings into one recording.
//!
//! The caller has decided which runs to write, and in which order. Frames are read from one file and appended to
//! another, one at a time, so that memory does not grow with the recordings.

use crate::recording::{RecordingError, RecordingWriter, read_frames};
use punctual_numbers::recording::{Frame, Merging};
use std::path::{Path, PathBuf};

/// Writes the recordings as one into `out`, which must not exist. Returns its length in bytes.
pub fn merge(merging: &Merging, from: &[PathBuf], out: &Path) -> Result<u64, RecordingError> {
    let mut writer = RecordingWriter::create(out)?;
    let written = append(merging, from, &mut writer).and_then(|()| writer.finish());
    if let Err(error) = written {
        // The partial copy would look like a complete recording. Nothing is lost, because the original recordings still
        // exist.
        let _best_effort = std::fs::remove_file(out);
        return Err(error);
    }
    Ok(writer.good_bytes())
}

fn append(merging: &Merging, from: &[PathBuf], writer: &mut RecordingWriter) -> Result<(), RecordingError> {
    for part in &merging.parts {
        let Some(path) = from.get(part.recording) else { continue };
        let (mut run, mut written) = (0, Ok(()));
        read_frames(path, |frame| {
            run += usize::from(matches!(frame, Frame::FurtherRun(_)));
            if run == part.run && written.is_ok() {
                written = writer.append(&part.place.map_or(frame.clone(), |place| place.put(frame)));
            }
        })?;
        written?;
    }
    Ok(())
}
