//! Where facts and numbers come from: a captured machine in a file, found, bounded and understood, or this machine; files
//! with results.

use super::internal::READ;
use crate::render::audit::Captured;
use crate::render::words;
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::tree::{MemTree, Tree};
use punctual_linux::live::LiveTree;
use punctual_linux::result_file::{ResultError, ResultFile, read_result};
use punctual_numbers::foreign::{ImportOptions, Problem};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Two tables of interrupts of the largest machines, and everything else.
const MOST_BYTES: u64 = 64 << 20;

/// A machine that can be asked.
pub struct Source {
    /// What answers.
    pub tree: Box<dyn Tree>,
    captured: Option<(PathBuf, String)>,
}

impl Source {
    /// A captured machine, or this one.
    pub fn open(captured: Option<&Path>) -> Result<Self> {
        let Some(path) = captured else { return Ok(Self { tree: Box::new(LiveTree::apart(READ)), captured: None }) };
        let name = path.display();
        let unread = || format!("cannot read the captured machine {name}; is the path right?");
        let not_one = || format!("{name} is not a captured machine this program understands");
        refuse_pipe(path)?;
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).with_context(unread)?;
        if bytes.len() as u64 > MOST_BYTES {
            bail!("{name} is larger than {MOST_BYTES} bytes, which no captured machine is");
        }
        let tree = MemTree::from_bytes(&bytes).with_context(not_one)?;
        let text = String::from_utf8(bytes).with_context(not_one)?;
        Ok(Self { tree: Box::new(tree), captured: Some((path.to_owned(), text)) })
    }

    /// The file, where it is one.
    pub fn captured(&self) -> Option<Captured<'_>> {
        self.captured.as_ref().map(|(path, text)| Captured { path, text })
    }
}

/// What is in a file with a result, one of several: it is what its bytes say; `options` are for those whose bytes do not.
pub fn result(path: &Path, options: ImportOptions) -> Result<ResultFile> {
    refuse_pipe(path)?;
    let mut read = read_result(path, ImportOptions { format: None, ..options });
    if matches!(read, Err(ResultError::Import { .. })) && options.format.is_some() {
        read = read_result(path, options);
    }
    // Its unit or its period may be its own, and those of the command line for another file.
    let is_told = options.unit.is_some() || options.period.is_some();
    match read {
        Err(ResultError::Import { path, problem }) if is_told => {
            let untold = ImportOptions { format: options.format, ..ImportOptions::default() };
            let own = read_result(&path, ImportOptions::default()).or_else(|_| read_result(&path, untold));
            own.map_err(|_| not_imported(&path, &problem))
        }
        Err(ResultError::Import { path, problem }) => Err(not_imported(&path, &problem)),
        read => Ok(read?),
    }
}

fn not_imported(path: &Path, problem: &Problem) -> anyhow::Error {
    anyhow!("{}: import: {}", path.display(), words::import_problem(problem))
}

/// Refuses what somebody must write into before it can be opened; what is not there is told by who opens it.
pub fn refuse_pipe(path: &Path) -> Result<()> {
    let is_other = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if path == Path::new("-") && !path.exists() {
        bail!("`-` is taken for the name of a file; standard input is read as /dev/stdin");
    }
    if is_other && !is_handed_over(path) {
        // Whoever opens a pipe waits for somebody to write.
        bail!("{} is not a regular file; a pipe is read as /dev/stdin or as a shell's <(COMMAND) only", path.display());
    }
    Ok(())
}

/// Whether the path names what somebody opened for this program, and so may be a pipe.
fn is_handed_over(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}
