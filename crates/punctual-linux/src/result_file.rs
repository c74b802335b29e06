//! A file with a result: a recording of ours, or a run of another program.
//!
//! The file is opened once and read in pieces, so that it may be a pipe, and memory does not grow with it. Only
//! `punctual_numbers` knows what the bytes mean.

use crate::recording::{RecordingError, fold_from, in_pieces};
use punctual_numbers::foreign::{ForeignRun, Import, ImportOptions, Problem, SNIFFED};
use punctual_numbers::recording::{Recording, RecordingReader, begins_like_a_recording};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub enum ResultFile {
    Recording(Box<Recording>),
    Foreign(Box<ForeignRun>),
}

#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("{}: read result: {reason}. Check the name and that you may read it", path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("{}: import: {problem}", path.display())]
    Import { path: PathBuf, problem: Problem },
}

/// Reads a file in the format that `options` name, or otherwise in the format that its first bytes show.
pub fn read_result(path: &Path, options: ImportOptions) -> Result<ResultFile, ResultError> {
    let unread = |reason| ResultError::Read { path: path.to_owned(), reason };
    let mut file = File::open(path).map_err(unread)?;
    let mut first = Vec::with_capacity(SNIFFED);
    (&mut file).take(SNIFFED as u64).read_to_end(&mut first).map_err(unread)?;
    let first = first.as_slice();
    if options.format.is_none() && (first.is_empty() || begins_like_a_recording(first)) {
        let recording = fold_from(path, &mut first.chain(file), RecordingReader::new())?;
        return Ok(ResultFile::Recording(Box::new(recording)));
    }
    let problem = |problem| ResultError::Import { path: path.to_owned(), problem };
    let mut import = Import::begin(first, options).map_err(problem)?;
    in_pieces(&mut first.chain(file), |piece| import.feed(piece).map_err(problem), unread)?;
    import.finish().map(Box::new).map(ResultFile::Foreign).map_err(problem)
}

/// Replaces a file in one step: readers find either the old content or the complete new one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no name of a file"))?;
    // Programs that collect files by their ending ignore this name.
    let mut beside = name.to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = folder.join(beside);
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let done = written.and_then(|()| std::fs::rename(&beside, path));
    done.inspect_err(|_| {
        let _best_effort = std::fs::remove_file(&beside);
    })
}
