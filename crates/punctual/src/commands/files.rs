//! Files that commands read and write. Reads are bounded, in case the user named a wrong file; existing files are not
//! overwritten.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Reads a whole file. `what` names the expected contents in errors. A file of more than `most_bytes` is refused,
/// because it cannot hold them.
pub fn read_at_most(path: &Path, most_bytes: u64, what: &str) -> Result<Vec<u8>> {
    refuse_pipe(path)?;
    let name = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most_bytes + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read the {what}, {name}; is the path right?"))?;
    if bytes.len() as u64 > most_bytes {
        bail!("{name} is larger than {most_bytes} bytes, which no {what} is");
    }
    Ok(bytes)
}

/// An error of one file among many, with the file's name, which most errors hold already.
pub fn of_file(path: &Path, error: &anyhow::Error) -> String {
    let (name, told) = (path.display().to_string(), format!("{error:#}"));
    if told.contains(&name) { told } else { format!("{name}: {told}") }
}

pub fn write_new(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    write_new_with(path, |mut file| file.write_all(contents.as_ref()))
}

/// Writes a new file through a function. After an error the file is removed, because half of a file would look like a
/// whole one.
pub fn write_new_with(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> Result<()> {
    write(create_new(path)?).inspect_err(|_| remove(path)).with_context(|| format!("write {}", path.display()))
}

/// Creates a file that must not exist yet, so that no result is ever overwritten.
pub fn create_new(path: &Path) -> Result<File> {
    File::options().write(true).create_new(true).open(path).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AlreadyExists => "choose another path, or remove what is there",
            ErrorKind::NotFound => "create its folder, or choose another path",
            ErrorKind::PermissionDenied => "choose a folder you may write to",
            _ => "choose another path",
        };
        anyhow::Error::new(error).context(format!("create {}: {remedy}", path.display()))
    })
}

/// Makes sure that a file can be created, and leaves none behind.
pub fn check_new(path: &Path) -> Result<()> {
    create_new(path).map(|_| remove(path))
}

/// The first of `STEM.ENDING`, `STEM-2.ENDING` and so on for which neither the file nor its HTML page exists. Another
/// program may create the file before the caller does.
pub fn unused(stem: &Path, ending: &str) -> PathBuf {
    let named = |number: u32, ending: &str| {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let mut name = stem.as_os_str().to_owned();
        name.push(format!("{number}{ending}"));
        PathBuf::from(name)
    };
    let is_free = |path: &Path| path.symlink_metadata().is_err();
    let mut number = 1;
    while !(is_free(&named(number, ending)) && is_free(&named(number, ".html"))) {
        number += 1;
    }
    named(number, ending)
}

/// Removes a file after a failure. An error is ignored: whoever needs the path next reports it.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

pub fn title(recording: &Path) -> String {
    recording.file_stem().map_or_else(|| "recording".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Refuses pipes and devices, because reading them can block for ever. A missing file passes: opening it reports the
/// error.
pub fn refuse_pipe(path: &Path) -> Result<()> {
    let is_other = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if path == Path::new("-") && !path.exists() {
        bail!("`-` is taken for the name of a file; standard input is read as /dev/stdin");
    }
    if is_other && !is_handed_over(path) {
        // Opening a named pipe waits until another process opens it for writing.
        bail!("{} is not a regular file; a pipe is read as /dev/stdin or as a shell's <(COMMAND) only", path.display());
    }
    Ok(())
}

/// Whether the path names a file descriptor that a shell passed to this process. A pipe is intended there.
fn is_handed_over(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}
