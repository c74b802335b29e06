//! A file with a line for each cycle.

use super::InspectError;
use punctual_numbers::inspect::Cycle;
use punctual_numbers::trace::Tid;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub struct CyclesFile {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl CyclesFile {
    /// Makes the file, with the names of its columns, in place of one that is there.
    pub fn create(path: &Path) -> Result<Self, InspectError> {
        let opened = File::create(path).and_then(|file| {
            let mut file = BufWriter::new(file);
            file.write_all(Cycle::CSV_HEADER.as_bytes())?;
            Ok(file)
        });
        let refused = |error| InspectError::Cycles { path: path.to_owned(), error };
        Ok(Self { path: path.to_owned(), file: opened.map_err(refused)?, failed: None })
    }

    /// Adds cycles. After a failure nothing more is written, and the observation goes on.
    pub fn add(&mut self, ended: &[(Tid, Cycle)]) {
        let Self { file, failed, .. } = self;
        if failed.is_none() {
            *failed = ended.iter().try_for_each(|(tid, cycle)| file.write_all(cycle.csv_line(*tid).as_bytes())).err();
        }
    }

    /// The error tells why cycles are missing.
    pub fn end(mut self) -> Result<(), InspectError> {
        match self.failed.take().or_else(|| self.file.flush().err()) {
            None => Ok(()),
            Some(error) => Err(InspectError::Cycles { path: self.path, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_made_or_written_is_said() {
        assert!(CyclesFile::create(Path::new("/proc/nowhere")).is_err());
        let full = CyclesFile::create(Path::new("/dev/full")).unwrap();
        let error = full.end().unwrap_err();
        assert!(error.to_string().starts_with("write the cycles to /dev/full: "), "{error}");
    }
}
